//! The stages of a job and what each comes after.

use std::fmt;
use std::sync::Arc;

use crate::stage::Stage;

/// Stages, and for each the stages that have to be finished before it starts.
///
/// A stage has the number of those that were added before it, and can come after those alone: a circle cannot be said. Stages of
/// which neither comes after the other run at the same time.
///
/// ```
/// use std::sync::Arc;
/// use pipeline_exec::{Stage, StageGraph, StepCx, StepError};
///
/// struct Nothing;
///
/// impl Stage for Nothing {
///     fn slots(&self) -> usize { 0 }
///     fn run(&self, _slot: usize, _cx: &StepCx<'_>) -> Result<(), StepError> { Ok(()) }
/// }
///
/// let mut diamond = StageGraph::default();
/// let read = diamond.then(Arc::new(Nothing));
/// let by_price = diamond.after(&[read], Arc::new(Nothing));
/// let by_city = diamond.after(&[read], Arc::new(Nothing));
/// let both = diamond.then(Arc::new(Nothing));
/// assert_eq!(diamond.followers(read), [by_price, by_city]);
/// assert_eq!(diamond.before(both), [by_price, by_city]);
/// ```
#[derive(Clone, Default)]
pub struct StageGraph {
    nodes: Vec<Node>,
}

#[derive(Clone)]
struct Node {
    stage: Arc<dyn Stage>,
    /// Numbers of those that it comes after.
    before: Box<[usize]>,
    /// Numbers of those that come after it.
    followers: Vec<usize>,
}

impl StageGraph {
    /// Adds a stage that comes after all that nothing follows yet; the first one comes after none. Gives its number.
    pub fn then(&mut self, stage: Arc<dyn Stage>) -> usize {
        let ends = (0..self.len()).filter(|&number| self.followers(number).is_empty());
        let ends: Vec<usize> = ends.collect();
        self.after(&ends, stage)
    }

    /// Adds a stage that comes after those with the numbers `before`, or, if there are none, after nothing. Gives its number.
    ///
    /// # Panics
    ///
    /// If a number is not that of a stage added before, or stands there twice.
    pub fn after(&mut self, before: &[usize], stage: Arc<dyn Stage>) -> usize {
        let number = self.len();
        for (place, &earlier) in before.iter().enumerate() {
            assert!(
                earlier < number,
                "stage {number} can come after stages added before it, and {earlier} is none of them"
            );
            assert!(
                !before[..place].contains(&earlier),
                "stage {number} is said to come after stage {earlier} twice"
            );
            self.nodes[earlier].followers.push(number);
        }
        self.nodes.push(Node {
            stage,
            before: before.into(),
            followers: Vec::new(),
        });
        number
    }

    /// Number of stages.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Stage number `number`.
    ///
    /// # Panics
    ///
    /// If there is none of that number.
    #[must_use]
    pub fn stage(&self, number: usize) -> &dyn Stage {
        &*self.nodes[number].stage
    }

    /// Numbers of the stages that have to be finished before stage number `number` starts.
    ///
    /// # Panics
    ///
    /// If there is none of that number.
    #[must_use]
    pub fn before(&self, number: usize) -> &[usize] {
        &self.nodes[number].before
    }

    /// Numbers of the stages that come after stage number `number`, directly.
    ///
    /// # Panics
    ///
    /// If there is none of that number.
    #[must_use]
    pub fn followers(&self, number: usize) -> &[usize] {
        &self.nodes[number].followers
    }

    /// Numbers of the stages that come after none: they start with the job.
    pub fn first(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.len()).filter(|&number| self.before(number).is_empty())
    }

    /// For each stage, how many it comes after.
    pub(crate) fn counts(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.nodes.iter().map(|node| node.before.len())
    }
}

/// One after another.
impl From<Vec<Arc<dyn Stage>>> for StageGraph {
    fn from(stages: Vec<Arc<dyn Stage>>) -> Self {
        let mut graph = Self::default();
        for (number, stage) in stages.into_iter().enumerate() {
            let before = number.checked_sub(1);
            graph.after(before.as_slice(), stage);
        }
        graph
    }
}

impl fmt::Debug for StageGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let edges = self.nodes.iter().map(|node| (node.stage.name(), &node.followers));
        f.debug_map().entries(edges).finish()
    }
}
