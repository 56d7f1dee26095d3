//! Many waiting jobs: the cost to add one, to serve one, and to cancel one.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use pipeline_exec::{Job, JobControl, JobStatus, PipelineExecutor, Stage, StepCx, StepError, step};

use super::{builder, started};
use crate::THREADS;
use crate::burn::now_ns;
use crate::contender::{Contender, Outcome};
use crate::options::Options;
use crate::stats::percentile;
use crate::target::{Of, Target};
use crate::workload::{Column, Workload};

/// Most jobs that a round adds, cancels and serves.
const TOUCHED: usize = 1_000;

/// Time between two looks of a thread that waits outside the measured time.
const PATIENCE: Duration = Duration::from_micros(50);

const SIZES: [usize; 4] = [10, 1_000, 100_000, 1_000_000];

pub(super) fn workloads(options: &Options) -> Vec<Workload> {
    let sizes = SIZES.into_iter();
    let last = options.of(1_000_000, 100_000) as usize;
    sizes.filter(|size| *size <= last).map(workload).collect()
}

fn workload(waiting: usize) -> Workload {
    let contender = |name, kind| {
        let start = move || {
            let board = Board::start(waiting, kind);
            move || board.measure()
        };
        Contender::ours(name, start)
    };
    let contenders: Vec<Contender> = vec![
        contender("windlass", Kind::Single),
        contender("windlass, stated costs", Kind::Costed),
    ];
    let aims =
        ["windlass", "windlass, stated costs"].map(|row| Target::at_most(1_000.0, Of::Number(1.0)).row(row));
    Workload::new(
        format!("board of {waiting}"),
        format!(
            "Jobs of one slot wait, and every worker is held in a slot, so that none is woken. *Submit*: {TOUCHED} more, built before; *cancel*: these again; the mean of \
             each. *Serve*: a worker is let go; from the start of a job to the start of the next, \
             the median of up to {TOUCHED}. Without a cost, and with stated ones that are all over."
        ),
    )
    .columns([
        Column::measured("submit, ns", 0),
        Column::measured("cancel, ns", 1),
        Column::measured("serve, main, ns", 2),
        Column::measured("serve, reserve, ns", 3),
    ])
    .cold()
    .rounds_max(if waiting > 100_000 { 1 } else { usize::MAX })
    .answer(|| TOUCHED as u64)
    .rows(contenders)
    .targets(aims)
    .family("waiting jobs", "jobs that wait", waiting as f64)
}

#[derive(Clone, Copy)]
enum Kind {
    /// Jobs without a stated cost.
    Single,
    /// Jobs with stated costs, which are all over.
    Costed,
}

/// An executor whose workers are held.
struct Board {
    executor: PipelineExecutor,
    kind: Kind,
    waiting: usize,
    crew: Arc<Crew>,
}

impl Board {
    fn start(waiting: usize, kind: Kind) -> Self {
        let executor = started(builder().queue_capacity(waiting + TOUCHED + 1));
        let crew = Arc::new(Crew::default());
        let hold = || {
            let crew = Arc::clone(&crew);
            step(move |cx| {
                crew.hold(cx.worker_id());
                Ok(())
            })
        };
        let board = Self {
            executor,
            kind,
            waiting,
            crew: Arc::clone(&crew),
        };
        board.submit(Job::from_steps("hold", (0..THREADS).map(|_| hold()).collect()));
        crew.wait_held();
        (0..waiting).for_each(|number| drop(board.submit(board.job(number))));
        board
    }

    fn job(&self, number: usize) -> Job {
        let crew = Arc::clone(&self.crew);
        let serve = move |cx: &StepCx<'_>| {
            crew.serve(cx.worker_id());
            Ok(())
        };
        let job = Job::builder("waiting").stage(Arc::new(Serve(serve)));
        match self.kind {
            Kind::Single => job.build(),
            // Numbers that jump about.
            Kind::Costed => job
                .cost(2 + (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) % 1_000_000)
                .build(),
        }
    }

    fn submit(&self, job: Job) -> JobControl {
        self.executor.submit(job).expect("there is room").control()
    }

    fn measure(&self) -> Outcome {
        let jobs: Vec<Job> = (0..TOUCHED)
            .map(|number| self.job(self.waiting + number))
            .collect();
        let mut more = Vec::with_capacity(TOUCHED);
        let begun = Instant::now();
        jobs.into_iter().for_each(|job| more.push(self.submit(job)));
        let submit_ns = begun.elapsed().as_nanos() as f64 / TOUCHED as f64;

        let begun = Instant::now();
        more.iter().for_each(JobControl::cancel);
        let cancel_ns = begun.elapsed().as_nanos() as f64 / TOUCHED as f64;
        let ended = more
            .iter()
            .filter(|control| matches!(control.status(), JobStatus::Ended(_)));
        let answer = ended.count() as u64;

        let served = (self.waiting / THREADS).min(TOUCHED);
        let [main, reserve] = [0, 1].map(|worker| self.crew.let_go(worker, served));
        Outcome {
            answer,
            measured: vec![submit_ns, cancel_ns, main, reserve],
            ..Outcome::default()
        }
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        self.crew.turn.store(ALL_WORKERS, Ordering::Release);
    }
}

struct Serve<F>(F);

impl<F: Fn(&StepCx<'_>) -> Result<(), StepError> + Send + Sync> Stage for Serve<F> {
    fn slots(&self) -> usize {
        1
    }

    fn run(&self, _slot: usize, cx: &StepCx<'_>) -> Result<(), StepError> {
        (self.0)(cx)
    }
}

const NO_WORKER: usize = usize::MAX;
const ALL_WORKERS: usize = usize::MAX - 1;

/// Holds workers in their slots, and lets one of them go for a while.
struct Crew {
    held: AtomicUsize,
    /// The worker that may continue, `NO_WORKER` or `ALL_WORKERS`.
    turn: AtomicUsize,
    /// Slots until that worker is held again.
    left: AtomicUsize,
    /// Start times of those slots.
    starts: Mutex<Vec<u64>>,
}

impl Default for Crew {
    fn default() -> Self {
        Self {
            held: AtomicUsize::new(0),
            turn: AtomicUsize::new(NO_WORKER),
            left: AtomicUsize::new(0),
            starts: Mutex::default(),
        }
    }
}

impl Crew {
    /// Keeps a slot's worker until that may continue.
    fn hold(&self, worker: usize) {
        self.held.fetch_add(1, Ordering::AcqRel);
        while ![worker, ALL_WORKERS].contains(&self.turn.load(Ordering::Acquire)) {
            thread::sleep(PATIENCE);
        }
        self.held.fetch_sub(1, Ordering::AcqRel);
    }

    /// Called by the slot of a job that has waited.
    fn serve(&self, worker: usize) {
        if self.turn.load(Ordering::Acquire) == ALL_WORKERS {
            return;
        }
        self.starts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(now_ns());
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.turn.store(NO_WORKER, Ordering::Release);
            self.hold(worker);
        }
    }

    fn wait_held(&self) {
        while self.held.load(Ordering::Acquire) < THREADS {
            thread::sleep(PATIENCE);
        }
    }

    /// Lets `worker` serve `jobs` jobs. Returns the median from one start to the next, in
    /// nanoseconds.
    fn let_go(&self, worker: usize, jobs: usize) -> f64 {
        self.left.store(jobs, Ordering::Release);
        self.turn.store(worker, Ordering::Release);
        while self.turn.load(Ordering::Acquire) != NO_WORKER {
            thread::sleep(PATIENCE);
        }
        self.wait_held();
        let starts = std::mem::take(&mut *self.starts.lock().unwrap_or_else(PoisonError::into_inner));
        assert_eq!(starts.len(), jobs, "the other worker is held");
        let mut apart: Vec<f64> = starts.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        apart.sort_by(f64::total_cmp);
        percentile(&apart, 50.0)
    }
}
