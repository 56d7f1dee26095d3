//! On `pipeline-exec` alone: sums over a made-up table, in stages and steps, awaited by threads and
//! by a future; stopped, rejected, failed and returned jobs.

use std::error::Error;
use std::future::Future;
use std::num::NonZeroUsize;
use std::panic;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use pipeline_exec::{BuildError, Class, Job, JobControl, JobError, JobErrorKind, JobReport, JobTicket, PipelineExecutor, PipelineStep, Role, Stage, StepCx, StepError, SubmitError, split_threads, step, policy::JobHandle};

type Outcome = Result<(), Box<dyn Error>>;

const ROWS: u64 = 1_000;

struct Sum {
    rows: u64,
    parts: Vec<OnceLock<u64>>,
    total: Arc<OnceLock<u64>>,
}

impl Sum {
    fn new(rows: u64, total: &Arc<OnceLock<u64>>) -> Sum {
        let slots = usize::try_from(rows.div_ceil(ROWS)).expect("a small table");
        Sum {
            rows,
            parts: vec![OnceLock::new(); slots],
            total: Arc::clone(total),
        }
    }
}

impl Stage for Sum {
    fn name(&self) -> &str {
        "sum"
    }

    fn slots(&self) -> usize {
        self.parts.len()
    }

    fn run(&self, slot: usize, cx: &StepCx<'_>) -> Result<(), StepError> {
        // A helping thread has the number after the last worker's.
        assert!(cx.worker_id() <= 8 && cx.job_id().starts_with("pipe-") && !cx.is_cancelled());
        let (_, _): (Role, bool) = (cx.role(), cx.should_yield());
        let from = u64::try_from(slot)? * ROWS;
        let part = (from..self.rows.min(from + ROWS)).sum();
        self.parts[slot]
            .set(part)
            .map_err(|_| StepError::from("a slot ran twice"))
    }

    fn finish(&self, _cx: &StepCx<'_>) -> Result<(), StepError> {
        let parts: Option<Vec<u64>> = self.parts.iter().map(|part| part.get().copied()).collect();
        let total = parts.ok_or("a slot did not run")?.iter().sum();
        self.total.set(total).map_err(|_| "finished twice".into())
    }
}

struct Check(Arc<OnceLock<u64>>);

impl Stage for Check {
    fn slots(&self) -> usize {
        0
    }

    fn run(&self, slot: usize, _cx: &StepCx<'_>) -> Result<(), StepError> {
        panic!("there is no slot {slot}");
    }

    fn finish(&self, _cx: &StepCx<'_>) -> Result<(), StepError> {
        match self.0.get() {
            Some(_) => Ok(()),
            None => Err("the stage before has not finished".into()),
        }
    }
}

struct Named(&'static str);

impl PipelineStep for Named {
    fn name(&self) -> &str {
        self.0
    }

    fn execute(&self, _cx: &StepCx<'_>) -> Result<(), StepError> {
        "twelve".parse::<u32>()?;
        Ok(())
    }
}

fn stages_in_parallel() -> Outcome {
    for threads in [1, 2, 8] {
        let executor = PipelineExecutor::new(threads)?;
        let total = Arc::new(OnceLock::new());
        let result = Arc::clone(&total);
        let job = Job::builder("numbers")
            .stage(Arc::new(Sum::new(100_500, &total)))
            .stage(Arc::new(Check(Arc::clone(&total))))
            .cost(100_500 * 8)
            .class(Class::default())
            .deadline(Duration::from_secs(600))
            .max_workers(4)
            .output(move |_cx| Ok(*result.get().ok_or("nothing was summed")?))
            .build();
        let ticket: JobTicket<u64> = executor.submit(job)?;
        let control: JobControl = ticket.control();
        let bar = control.clone();
        executor.run_until(&ticket);
        let report: JobReport<u64> = ticket.wait()?;
        assert_eq!(bar.progress(), (101, 101));
        control.cancel();
        assert_eq!(report.slots, 101);
        assert_eq!(report.output, 100_499 * 100_500 / 2);
        executor.drain();
    }
    Ok(())
}

fn failures_stay_where_they_are() -> Outcome {
    let executor = PipelineExecutor::new(2)?;
    let done = Arc::new(AtomicUsize::new(0));
    let steps = (0..10).map(|_| {
        let done = Arc::clone(&done);
        step(move |cx| {
            assert!(!cx.is_cancelled());
            done.fetch_add(1, Ordering::Relaxed);
            Ok(())
        })
    });
    let well = executor.submit(Job::from_steps("well", steps.collect()))?;
    let broken = executor.submit(Job::from_steps("broken", vec![Box::new(Named("parse the year"))]))?;
    let wild = executor.submit(Job::from_steps(
        "wild",
        vec![step(|_| panic!("this step is wild"))],
    ))?;
    let error: JobError = broken.wait().expect_err("twelve is not a number");
    assert!(matches!(error.kind, JobErrorKind::Failed), "{error:?}");
    assert_eq!(
        (error.step.as_deref(), error.slot),
        (Some("parse the year"), Some(0))
    );
    let source = error.source.as_deref().expect("the step's own error");
    assert!(source.downcast_ref::<std::num::ParseIntError>().is_some());
    let error = wild.wait().expect_err("it panicked");
    assert_eq!(error.kind, JobErrorKind::Panicked);
    assert!(error.to_string().contains("this step is wild"), "{error}");
    assert_eq!(well.wait()?.slots, 10);
    assert_eq!(done.load(Ordering::Relaxed), 10);
    Ok(())
}

/// A step that reports its start and then waits for `let_go`.
fn held() -> (Box<dyn PipelineStep>, mpsc::Receiver<()>, mpsc::Sender<()>) {
    let (begun, has_begun) = mpsc::channel();
    let (let_go, may_go) = mpsc::channel();
    let may_go = Mutex::new(may_go);
    let step = step(move |_| {
        begun.send(())?;
        may_go.lock().map_err(|_| "a panic elsewhere")?.recv().ok();
        Ok(())
    });
    (step, has_begun, let_go)
}

fn refused_and_handed_back() -> Outcome {
    let executor = PipelineExecutor::builder().threads(1).queue_capacity(2).build()?;
    let (first, has_begun, let_go) = held();
    let running = executor.submit(Job::from_steps("running", vec![first, step(|_| Ok(()))]))?;
    has_begun.recv()?;
    let waiting = executor.submit(Job::from_steps("waiting", vec![step(|_| Ok(()))]))?;
    let job = match executor.submit(Job::from_steps("one too many", vec![step(|_| Ok(()))])) {
        Err(SubmitError::Full(job)) => job,
        Err(SubmitError::Closed(_)) => panic!("it is open"),
        Ok(_) => panic!("two jobs are in flight already"),
    };
    assert_eq!((&*job.table_name, job.cost()), ("one too many", None));
    assert!(job.id.starts_with("pipe-"));
    running.control().cancel();
    let_go.send(())?;
    let error = running.wait().expect_err("it was cancelled");
    assert_eq!(error.kind, JobErrorKind::Cancelled);
    waiting.wait()?;
    executor.submit_blocking(job)?.wait()?;

    let (first, has_begun, let_go) = held();
    let running = executor.submit_blocking(Job::from_steps("running", vec![first]))?;
    has_begun.recv()?;
    let waiting = executor.submit(Job::from_steps("waiting", vec![step(|_| Ok(()))]))?;
    let handle = executor.handle();
    drop(let_go);
    let handed_back: Vec<Job> = executor.shutdown();
    // The second may have run before the end; its ticket tells.
    match waiting.wait() {
        Ok(report) => assert!(handed_back.is_empty() && report.slots == 1),
        Err(error) => assert_eq!((error.kind, handed_back.len()), (JobErrorKind::HandedBack, 1)),
    }
    drop(running);
    let late = handle.submit(Job::from_steps("late", vec![step(|_| Ok(()))]));
    assert!(matches!(late, Err(SubmitError::Closed(job)) if job.table_name == "late"));
    Ok(())
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

fn awaited() -> Outcome {
    let executor = PipelineExecutor::new(2)?;
    let report = block_on(async {
        let ticket = executor
            .submit_async(Job::from_steps("awaited", vec![step(|_| Ok(()))]))
            .await?;
        Ok::<_, Box<dyn Error>>(ticket.await?)
    })?;
    assert_eq!(report.slots, 1);
    let ticket = executor.submit(Job::from_steps("dropped", vec![step(|_| Ok(()))]))?;
    drop(ticket.cancel_on_drop());
    Ok(())
}

fn claimed_by_hand() -> Outcome {
    let job = Job::from_steps(
        "by hand",
        vec![step(|_| Ok(())), step(|_| Err("the second fails".into()))],
    );
    assert_eq!(job.get_next().ok_or("two are free")??, 0);
    assert!(job.get_next().ok_or("one is free")?.is_err());
    assert!(job.get_next().is_none());
    Named("alone")
        .execute(&StepCx::detached())
        .expect_err("twelve is not a number");
    Ok(())
}

fn main() -> Outcome {
    panic::set_hook(Box::new(|panic| eprintln!("{panic}")));
    let split = |threads| split_threads(NonZeroUsize::new(threads).expect("not zero"));
    assert_eq!(
        [1, 2, 4, 8, 16, 32, 100].map(split),
        [(1, 0), (1, 1), (3, 1), (7, 1), (14, 2), (28, 4), (85, 15)]
    );
    let error: BuildError = PipelineExecutor::new(0).expect_err("nobody would work");
    assert!(error.to_string().contains("threads"), "{error}");
    let (heavy, light) = (
        JobHandle {
            rank: 9,
            seq: 2,
            index: 0,
        },
        JobHandle {
            rank: 1,
            seq: 1,
            index: 1,
        },
    );
    assert!(heavy > light && JobHandle { seq: 3, ..light } < light);

    stages_in_parallel()?;
    failures_stay_where_they_are()?;
    refused_and_handed_back()?;
    awaited()?;
    claimed_by_hand()?;
    println!("pipeline-exec: ran, failed, was refused, handed back, awaited and claimed by hand");
    Ok(())
}
