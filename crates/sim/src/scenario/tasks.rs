//! Tasks on the executor alone, in difficult shapes.
//!
//! A worker keeps tasks private once it has seen that tasks are short, so shapes with private tasks
//! begin with a row of short ones.

use std::cell::RefCell;
use std::fmt;
use std::str::FromStr;

use executor_core::{ExecutorConfig, TaskCtx};

use super::Summary;
use crate::coverage::CoveragePoint;
use crate::line::{Fields, LineError};
use crate::oracle::{Oracle, Violation};
use crate::report::Failure;
use crate::setup::{Ending, Setup};
use crate::simulation::Simulation;
use crate::task::SimCtx;

/// A load of tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tasks {
    /// The shape of what the tasks spawn.
    pub shape: Shape,
    /// Tasks that producers hand over.
    pub roots: u32,
    /// Size of what each root spawns; see [`Shape`].
    pub size: u32,
}

/// What a root task spawns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// Nothing.
    Flat,
    /// A binary tree of depth `size`, whose tasks return one child, on every other level.
    Tree,
    /// Each of `size` tasks returns the next one, or spawns it locally or into the injector.
    Chain,
    /// `size` tasks spawned at once.
    Fan,
    /// `size` tasks in uneven groups, alternately local and into the injector.
    Mixed,
    /// `size` tasks that split the rest in two, in alternating phases of short and long ones. Every
    /// other one returns one of its halves.
    Phases,
    /// A row of short tasks, whose last spawns `size` more at once.
    Burst,
    /// A row of short tasks, whose last spawns `size` more, publishes in between, and takes long.
    Publish,
    /// A row of short tasks, whose last spawns `size` more, publishes, and waits until one has run.
    Meeting,
}

impl Shape {
    /// All shapes.
    pub const ALL: [Self; 9] = [
        Self::Flat,
        Self::Tree,
        Self::Chain,
        Self::Fan,
        Self::Mixed,
        Self::Phases,
        Self::Burst,
        Self::Publish,
        Self::Meeting,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Flat => "flat",
            Self::Tree => "tree",
            Self::Chain => "chain",
            Self::Fan => "fan",
            Self::Mixed => "mixed",
            Self::Phases => "phases",
            Self::Burst => "burst",
            Self::Publish => "publish",
            Self::Meeting => "meeting",
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

    /// Meetings need a worker that is always free to come.
    pub(super) fn check(&self, setup: &Setup) -> Result<(), LineError> {
        let problem = if self.shape == Shape::Phases && self.size > PHASES_MAX {
            format!("`size={}`: phases have {PHASES_MAX} tasks at most", self.size)
        } else if setup.faults.overflows > 0 && !self.fits_beyond_max(&setup.config) {
            "`overflows`: more tasks are spawned than there are counts kept back for".to_owned()
        } else if self.shape != Shape::Meeting {
            return Ok(());
        } else if self.roots as usize >= setup.config.workers {
            format!(
                "`roots={}`: of {} workers one must not wait",
                self.roots, setup.config.workers
            )
        } else if self.size == 0 {
            "`size=0`: there would be nothing to wait for".to_owned()
        } else if setup.faults.panic_something() {
            "`panics`, `inside`, `hooks`: what is waited for must run".to_owned()
        } else if matches!(setup.ending, Ending::Abort | Ending::CloseThenAbort) {
            format!("`end={}`: what is waited for must run", setup.ending)
        } else {
            return Ok(());
        };
        Err(LineError(problem))
    }

    pub(crate) fn fits_beyond_max(&self, config: &ExecutorConfig) -> bool {
        let spawned = self.count().saturating_sub(self.roots.into());
        spawned <= (config.workers * config.tuning.private_tasks) as u64
    }

    /// Number of tasks in all.
    #[must_use]
    pub fn count(&self) -> u64 {
        let each = match self.shape {
            Shape::Flat => 1,
            Shape::Tree => (2 << self.size) - 1,
            Shape::Chain | Shape::Fan | Shape::Mixed => 1 + u64::from(self.size),
            Shape::Phases => u64::from(self.size),
            Shape::Burst | Shape::Publish | Shape::Meeting => 1 + u64::from(ROW) + u64::from(self.size),
        };
        u64::from(self.roots) * each
    }

    pub(super) fn run(&self, simulation: Simulation) -> Result<Summary, Failure> {
        let size = self.size;
        let root = |root: u32| match self.shape {
            Shape::Flat => Work::Leaf,
            Shape::Tree => Work::Tree(size),
            Shape::Chain => Work::Chain(size),
            Shape::Fan => Work::Fan(size),
            Shape::Mixed => Work::Mixed(size),
            Shape::Phases => Work::Phases {
                first: 0,
                count: size as u16,
            },
            Shape::Burst | Shape::Publish | Shape::Meeting => Work::Row {
                left: ROW,
                root: root as u16,
            },
        };
        let roots = (0..self.roots).filter(|_| self.count() > 0).map(root);
        let runner = Runner {
            tasks: self.clone(),
            met: RefCell::new(vec![false; self.roots as usize]),
        };
        let hears_of_tasks = simulation.hears(Oracle::ExactlyOnce);
        let report = simulation.run(roots, |_worker| 0, move |task, cx| runner.run(task, cx))?;
        let ran: u64 = report.scratches.iter().sum();
        let all_ran =
            report.refused.is_empty() && report.metrics.panicked == 0 && report.handed_back.is_empty();
        let all_ran = all_ran && report.course.coverage.count(CoveragePoint::HookDroppedTask) == 0;
        if all_ran && ran != self.count() && !report.course.cut && hears_of_tasks {
            let message = format!("{ran} tasks ran, but the scenario has {}", self.count());
            return Err(Failure::new(
                Violation::new(Oracle::ExactlyOnce, message),
                report.course,
            ));
        }
        Ok(Summary {
            metrics: report.metrics,
            makespan_ns: report.makespan_ns,
            profile: report.profile,
            course: report.course,
        })
    }
}

/// Depth of a tree: a deeper one would have more than a million tasks.
const TREE_DEPTH_MAX: u32 = 20;

const ROW: u8 = 20;

const PHASE: u16 = 24;

/// Tasks in phases: their numbers have few bits.
const PHASES_MAX: u32 = u16::MAX as u32;

const LONG_NS: u64 = 20_000;

#[derive(Clone, Copy, Debug)]
enum Work {
    Leaf,
    Tree(u32),
    Chain(u32),
    Fan(u32),
    Mixed(u32),
    /// The tasks from number `first` on, in the order of a single worker.
    Phases {
        first: u16,
        count: u16,
    },
    Row {
        left: u8,
        root: u16,
    },
    Met(u16),
}

type Cx<'y> = SimCtx<'y, Work, u64>;

struct Runner {
    tasks: Tasks,
    met: RefCell<Vec<bool>>,
}

impl Runner {
    fn run(&self, task: Work, cx: &mut Cx<'_>) -> Option<Work> {
        let mut runs_next = None;
        match task {
            Work::Leaf | Work::Tree(0) | Work::Chain(0) | Work::Mixed(0) => {}
            Work::Tree(depth) if depth % 2 == 0 => cx.spawn_local_all([Work::Tree(depth - 1); 2]),
            Work::Tree(depth) => {
                cx.spawn_local(Work::Tree(depth - 1));
                runs_next = Some(Work::Tree(depth - 1));
            }
            Work::Chain(left) => match left % 3 {
                0 => cx.spawn_local(Work::Chain(left - 1)),
                1 => cx.spawn_global(Work::Chain(left - 1)),
                _ => runs_next = Some(Work::Chain(left - 1)),
            },
            Work::Fan(leaves) => fan(cx, Work::Leaf, leaves),
            Work::Mixed(left) => {
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
            Work::Phases { first, count } => {
                let (sooner, later) = (count / 2, (count - 1) / 2);
                let next = first + 1;
                let half = |first, count| (count > 0).then_some(Work::Phases { first, count });
                let (later, sooner) = (half(next + sooner, later), half(next, sooner));
                later.into_iter().for_each(|half| cx.spawn_local(half));
                if first % 2 == 0 {
                    sooner.into_iter().for_each(|half| cx.spawn_local(half));
                } else {
                    runs_next = sooner;
                }
                if first / PHASE % 2 == 1 {
                    cx.work(LONG_NS);
                }
            }
            Work::Row { left: 0, root } => self.end_row(root, cx),
            Work::Row { left, root } => cx.spawn_local(Work::Row { left: left - 1, root }),
            Work::Met(root) => self.met.borrow_mut()[usize::from(root)] = true,
        }
        *cx.scratch() += 1;
        runs_next
    }

    fn end_row(&self, root: u16, cx: &mut Cx<'_>) {
        let size = self.tasks.size;
        match self.tasks.shape {
            Shape::Publish => {
                fan(cx, Work::Leaf, size / 2);
                cx.publish();
                fan(cx, Work::Leaf, size - size / 2);
                cx.work(LONG_NS);
            }
            Shape::Meeting => {
                fan(cx, Work::Met(root), size);
                // An abort ends the wait.
                let _met = cx.wait_until("the others have come", || self.met.borrow()[usize::from(root)]);
            }
            _ => fan(cx, Work::Leaf, size),
        }
    }
}

fn fan(cx: &mut Cx<'_>, task: Work, times: u32) {
    (0..times).for_each(|_| cx.spawn_local(task));
}
