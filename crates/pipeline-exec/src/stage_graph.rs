//! The stages of a job and their order.

use std::fmt;
use std::sync::Arc;

use crate::error::StepError;
use crate::stage::{OneStep, PipelineStep, Stage, Steps};
use crate::step_cx::StepCx;

/// Stages, and the stages before each.
///
/// Stages are numbered in the order of adding, and follow earlier ones alone, so they form no
/// circle. Unordered stages run in parallel.
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
/// assert_eq!(diamond.followers(read.number()), [by_price.number(), by_city.number()]);
/// assert_eq!(diamond.before(both.number()), [by_price.number(), by_city.number()]);
/// ```
#[derive(Clone, Default)]
pub struct StageGraph {
    nodes: Nodes,
}

/// A stage of the [`StageGraph`] that returned it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StageId(usize);

impl StageId {
    /// The stage's number, from 0.
    #[must_use]
    pub fn number(self) -> usize {
        self.0
    }
}

#[derive(Clone)]
enum Nodes {
    One(Arc<dyn Stage>),
    /// One step, inline, because most jobs have this form.
    Step(OneStep),
    Tasks,
    /// Boxed, because every job holds a graph.
    #[expect(clippy::box_collection, reason = "a word here, and three in a vector")]
    Several(Option<Box<Vec<Node>>>),
}

impl Default for Nodes {
    fn default() -> Self {
        Self::Several(None)
    }
}

#[derive(Clone)]
struct Node {
    stage: Arc<dyn Stage>,
    before: Box<[usize]>,
    followers: Vec<usize>,
}

impl StageGraph {
    pub(crate) fn of_steps(mut steps: Vec<Box<dyn PipelineStep>>) -> Self {
        let nodes = match (steps.pop(), steps.is_empty()) {
            (Some(step), true) => Nodes::Step(OneStep(step.into())),
            (last, _) => {
                steps.extend(last);
                Nodes::One(Arc::new(Steps(steps)))
            }
        };
        Self { nodes }
    }

    pub(crate) fn of_tasks() -> Self {
        Self { nodes: Nodes::Tasks }
    }

    pub(crate) fn grows(&self) -> bool {
        matches!(self.nodes, Nodes::Tasks)
    }

    pub(crate) fn is_step(&self) -> bool {
        matches!(self.nodes, Nodes::Step(_))
    }

    /// Adds a stage after all stages without a follower.
    pub fn then(&mut self, stage: Arc<dyn Stage>) -> StageId {
        let ends = (0..self.len()).filter(|&number| self.followers(number).is_empty());
        let ends: Vec<StageId> = ends.map(StageId).collect();
        self.after(&ends, stage)
    }

    /// Adds a stage after those in `before`; with none, it starts with the job.
    ///
    /// # Panics
    ///
    /// If `before` repeats a stage, or has one that is not in this graph.
    pub fn after(&mut self, before: &[StageId], stage: Arc<dyn Stage>) -> StageId {
        let number = self.len();
        if number == 0 && before.is_empty() {
            self.nodes = Nodes::One(stage);
            return StageId(number);
        }
        let before: Box<[usize]> = before.iter().map(|id| id.number()).collect();
        let nodes = self.several();
        for (place, &earlier) in before.iter().enumerate() {
            assert!(
                earlier < number,
                "stage {number} can come after stages added before it, and {earlier} is none of them"
            );
            assert!(
                !before[..place].contains(&earlier),
                "stage {number} is said to come after stage {earlier} twice"
            );
            nodes[earlier].followers.push(number);
        }
        nodes.push(Node {
            stage,
            before,
            followers: Vec::new(),
        });
        StageId(number)
    }

    fn several(&mut self) -> &mut Vec<Node> {
        let first: Option<Arc<dyn Stage>> = match &self.nodes {
            Nodes::One(first) => Some(Arc::clone(first)),
            Nodes::Step(step) => Some(Arc::new(step.clone())),
            Nodes::Tasks | Nodes::Several(_) => None,
        };
        if let Some(stage) = first {
            self.nodes = Nodes::Several(Some(Box::new(vec![Node {
                stage,
                before: Box::default(),
                followers: Vec::new(),
            }])));
        }
        match &mut self.nodes {
            Nodes::One(_) | Nodes::Step(_) => unreachable!("it is a list now"),
            Nodes::Tasks => unreachable!("users add no stage to a job that grows"),
            Nodes::Several(nodes) => nodes.get_or_insert_default(),
        }
    }

    fn nodes(&self) -> Option<&[Node]> {
        match &self.nodes {
            Nodes::One(_) | Nodes::Step(_) | Nodes::Tasks => None,
            Nodes::Several(nodes) => Some(nodes.as_ref().map_or(&[], |nodes| nodes)),
        }
    }

    /// Number of stages.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes().map_or(1, <[Node]>::len)
    }

    /// Whether there is no stage.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Stage number `number`.
    ///
    /// # Panics
    ///
    /// If there is no such stage.
    #[must_use]
    pub fn stage(&self, number: usize) -> &dyn Stage {
        match (&self.nodes, self.nodes()) {
            (Nodes::One(stage), _) if number == 0 => &**stage,
            (Nodes::Step(step), _) if number == 0 => step,
            (Nodes::Tasks, _) if number == 0 => &TasksStage,
            (_, nodes) => &*nodes.unwrap_or_default()[number].stage,
        }
    }

    /// The stages that must finish before stage `number` starts.
    ///
    /// # Panics
    ///
    /// If there is no such stage.
    #[must_use]
    pub fn before(&self, number: usize) -> &[usize] {
        self.edges(number).map_or(&[], |node| &node.before)
    }

    /// The stages directly after stage `number`.
    ///
    /// # Panics
    ///
    /// If there is no such stage.
    #[must_use]
    pub fn followers(&self, number: usize) -> &[usize] {
        self.edges(number).map_or(&[], |node| &node.followers)
    }

    /// The stages that start with the job.
    pub fn first(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.len()).filter(|&number| self.before(number).is_empty())
    }

    pub(crate) fn counts(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        (0..self.len()).map(|number| self.before(number).len())
    }

    fn edges(&self, number: usize) -> Option<&Node> {
        match self.nodes() {
            None if number == 0 => None,
            nodes => Some(&nodes.unwrap_or_default()[number]),
        }
    }
}

/// Stands for all tasks.
struct TasksStage;

impl Stage for TasksStage {
    fn name(&self) -> &str {
        "tasks"
    }

    fn slots(&self) -> usize {
        1
    }

    fn run(&self, _slot: usize, _cx: &StepCx<'_>) -> Result<(), StepError> {
        Err("the slot of a job that grows was run".into())
    }
}

impl From<Vec<Arc<dyn Stage>>> for StageGraph {
    fn from(stages: Vec<Arc<dyn Stage>>) -> Self {
        let mut graph = Self::default();
        for stage in stages {
            graph.then(stage);
        }
        graph
    }
}

impl fmt::Debug for StageGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let edges = (0..self.len()).map(|number| (self.stage(number).name(), self.followers(number)));
        f.debug_map().entries(edges).finish()
    }
}
