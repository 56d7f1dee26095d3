//! Tasks on the executor alone, in the shapes that schedulers get wrong: floods from outside, trees that everybody
//! steals from, chains in which there is never more than one task, fans from one worker, and a mixture.

use std::fmt;
use std::str::FromStr;

use executor_core::TaskCtx;

use super::Summary;
use crate::line::{Fields, LineError};
use crate::oracle::{Oracle, Violation};
use crate::report::Failure;
use crate::simulation::Simulation;

/// A load of tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tasks {
    /// What the tasks spawn.
    pub shape: Shape,
    /// Tasks that are handed over from outside.
    pub roots: u32,
    /// Size of what each of them grows into; see [`Shape`].
    pub size: u32,
}

/// What a task handed over from outside grows into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// Nothing.
    Flat,
    /// A binary tree of depth `size`.
    Tree,
    /// `size` tasks, each of which spawns the next, by turns into its own queue and into the injector.
    Chain,
    /// `size` tasks spawned at once.
    Fan,
    /// `size` tasks altogether, in uneven bunches, by turns into its own queue and into the injector.
    Mixed,
}

impl Shape {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Flat, Self::Tree, Self::Chain, Self::Fan, Self::Mixed];

    fn name(self) -> &'static str {
        match self {
            Self::Flat => "flat",
            Self::Tree => "tree",
            Self::Chain => "chain",
            Self::Fan => "fan",
            Self::Mixed => "mixed",
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Shape {
    type Err = LineError;

    fn from_str(text: &str) -> Result<Self, LineError> {
        Self::ALL
            .into_iter()
            .find(|shape| shape.name() == text)
            .ok_or_else(|| LineError(format!("`{text}` is no shape")))
    }
}

impl Tasks {
    pub(super) fn write(&self, fields: &mut Fields) {
        fields.push("scenario", self.shape);
        fields.push("roots", self.roots);
        fields.push("size", self.size);
    }

    pub(super) fn read(shape: Shape, fields: &mut Fields) -> Result<Self, LineError> {
        let tasks = Self {
            shape,
            roots: fields.take("roots")?.unwrap_or(1),
            size: fields.take("size")?.unwrap_or(0),
        };
        if shape == Shape::Tree && tasks.size > TREE_DEPTH_MAX {
            return Err(LineError(format!(
                "`size={}`: a tree may be {TREE_DEPTH_MAX} deep at most",
                tasks.size
            )));
        }
        Ok(tasks)
    }

    /// How many tasks there are altogether.
    #[must_use]
    pub fn count(&self) -> u64 {
        let each = match self.shape {
            Shape::Flat => 1,
            Shape::Tree => (2 << self.size) - 1,
            Shape::Chain | Shape::Fan | Shape::Mixed => 1 + u64::from(self.size),
        };
        u64::from(self.roots) * each
    }

    pub(super) fn run(&self, simulation: Simulation) -> Result<Summary, Failure> {
        let root = match self.shape {
            Shape::Flat => Work::Leaf,
            Shape::Tree => Work::Tree(self.size),
            Shape::Chain => Work::Chain(self.size),
            Shape::Fan => Work::Fan(self.size),
            Shape::Mixed => Work::Mixed(self.size),
        };
        let roots = (0..self.roots).map(|_| root);
        let report = simulation.run(roots, |_worker| 0, |task, cx| run(task, cx))?;
        let ran: u64 = report.scratches.iter().sum();
        let all_ran =
            report.refused.is_empty() && report.metrics.panicked == 0 && report.handed_back.is_empty();
        if all_ran && ran != self.count() {
            let message = format!("{ran} tasks ran, but the scenario has {}", self.count());
            return Err(Failure::new(
                Violation::new(Oracle::ExactlyOnce, message),
                report.course,
            ));
        }
        Ok(Summary {
            metrics: report.metrics,
            makespan_ns: report.makespan_ns,
            course: report.course,
        })
    }
}

/// A deeper tree would have more than a million tasks.
const TREE_DEPTH_MAX: u32 = 20;

/// A scenario's task.
#[derive(Clone, Copy, Debug)]
enum Work {
    Leaf,
    Tree(u32),
    Chain(u32),
    Fan(u32),
    Mixed(u32),
}

/// The runner: the scratch value counts the tasks that came to their end.
fn run<C: TaskCtx<Work, u64>>(task: Work, cx: &mut C) {
    match task {
        Work::Leaf | Work::Tree(0) | Work::Chain(0) | Work::Mixed(0) => {}
        Work::Tree(depth) => {
            cx.spawn_local(Work::Tree(depth - 1));
            cx.spawn_local(Work::Tree(depth - 1));
        }
        Work::Chain(left) if left % 2 == 0 => cx.spawn_local(Work::Chain(left - 1)),
        Work::Chain(left) => cx.spawn_global(Work::Chain(left - 1)),
        Work::Fan(leaves) => (0..leaves).for_each(|_| cx.spawn_local(Work::Leaf)),
        Work::Mixed(left) => {
            // One to three children, who share what is left unevenly.
            let children = (1 + left % 3).min(left);
            let mut rest = left - children;
            for sibling in (0..children).rev() {
                let share = if sibling == 0 { rest } else { rest / 2 };
                rest -= share;
                if share % 2 == 0 {
                    cx.spawn_local(Work::Mixed(share));
                } else {
                    cx.spawn_global(Work::Mixed(share));
                }
            }
        }
    }
    *cx.scratch() += 1;
}
