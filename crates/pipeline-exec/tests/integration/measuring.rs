//! The counters of an executor, and the text of its snapshot.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pipeline_exec::{
    Class, Job, JobBuilder, JobErrorKind, PipelineExecutor, SubmitError,
    metrics::{Activity, PipelineSnapshot},
    step,
};

use crate::support::{Counting, Gate, hold_workers};

fn counting(slots: usize) -> Job {
    Job::builder("t").stage(Counting::new(slots)).build()
}

fn gated(gate: &Arc<Gate>) -> JobBuilder {
    let gate = gate.clone();
    Job::builder("gated").stage(Arc::new(AtGate(gate)))
}

struct AtGate(Arc<Gate>);

impl pipeline_exec::Stage for AtGate {
    fn slots(&self) -> usize {
        1
    }

    fn run(&self, _slot: usize, _cx: &pipeline_exec::StepCx<'_>) -> Result<(), pipeline_exec::StepError> {
        self.0.pass();
        Ok(())
    }
}

#[test]
fn every_way_in_which_a_job_can_end_is_counted_by_itself() {
    let executor = PipelineExecutor::builder()
        .threads(1)
        .queue_capacity(6)
        .build()
        .unwrap();
    let failing = |panics: bool| {
        let failing = step(move |_| {
            assert!(!panics, "as it should");
            Err("no luck".into())
        });
        executor.submit(Job::from_steps("t", vec![failing])).unwrap()
    };
    executor.submit(counting(3)).unwrap().wait().unwrap();
    failing(false).wait().unwrap_err();
    failing(true).wait().unwrap_err();
    let gate = hold_workers(&executor, 1);
    let cancelled = executor.submit(counting(1)).unwrap();
    cancelled.control().cancel();
    let late = Job::builder("t")
        .stage(Counting::new(1))
        .deadline(Duration::ZERO)
        .build();
    let late = executor.submit(late).unwrap();
    let kept: Vec<_> = (0..4).map(|_| executor.submit(counting(1)).unwrap()).collect();
    assert!(matches!(executor.submit(counting(1)), Err(SubmitError::Full(_))));
    gate.open();
    assert_eq!(
        late.wait().unwrap_err().kind,
        JobErrorKind::DeadlineExceeded,
        "a worker has come by"
    );
    for ticket in kept {
        ticket.wait().unwrap();
    }

    let jobs = executor.snapshot().jobs;
    assert_eq!((jobs.submitted, jobs.refused_full), (10, 1));
    assert_eq!((jobs.completed, jobs.failed, jobs.panicked), (6, 1, 1));
    assert_eq!(
        (jobs.cancelled, jobs.deadline_exceeded, jobs.handed_back),
        (1, 1, 0)
    );
    assert_eq!(jobs.ended(), jobs.submitted);
}

#[test]
fn jobs_that_a_shutdown_hands_back_are_counted() {
    let executor = PipelineExecutor::new(1).unwrap();
    let handle = executor.handle();
    let gate = hold_workers(&executor, 1);
    let tickets = [(); 3].map(|()| executor.submit(counting(1)).unwrap());
    let opener = std::thread::spawn({
        let handle = handle.clone();
        move || {
            while handle.snapshot().jobs.handed_back < 3 {
                std::thread::yield_now();
            }
            gate.open();
        }
    });
    assert_eq!(executor.shutdown().len(), 3);
    opener.join().unwrap();
    drop(tickets);
    let snapshot = handle.snapshot();
    assert_eq!((snapshot.jobs.handed_back, snapshot.jobs.ended()), (3, 4));
    assert_eq!((snapshot.waiting, snapshot.running), (0, 0));
    assert_eq!(snapshot.others.jobs_ended, 3, "on the thread that shut down");
}

#[test]
fn the_depth_of_the_queue_is_what_waits_and_what_runs() {
    let executor = PipelineExecutor::new(2).unwrap();
    let depths = |snapshot: PipelineSnapshot| (snapshot.queue_depth, snapshot.waiting, snapshot.running);
    assert_eq!(depths(executor.snapshot()), (0, 0, 0));
    let gate = hold_workers(&executor, 2);
    let tickets = [(); 3].map(|()| executor.submit(counting(1)).unwrap());
    assert_eq!(depths(executor.snapshot()), (4, 3, 1));
    let [first, ..] = &tickets;
    first.control().cancel();
    assert_eq!(depths(executor.snapshot()), (3, 2, 1), "it waits no longer");
    gate.open();
    for ticket in tickets {
        drop(ticket.wait());
    }
    executor.drain();
}

#[test]
fn times_are_told_by_class_and_count_jobs_that_ended_early() {
    let executor = PipelineExecutor::new(1).unwrap();
    let gate = Gate::new();
    let running = executor
        .submit(gated(&gate).class(Class::Interactive).build())
        .unwrap();
    gate.wait_for(1);
    let batch = Job::builder("t").stage(Counting::new(1)).class(Class::Batch);
    let cancelled = executor.submit(batch.clone().build()).unwrap();
    let waited = executor.submit(batch.build()).unwrap();
    // A delay of this thread from here on makes the jobs wait as well.
    let began = Instant::now();
    std::thread::sleep(Duration::from_millis(2));
    let held = began.elapsed();
    cancelled.control().cancel();
    gate.open();
    running.wait().unwrap();
    waited.wait().unwrap();

    let snapshot = executor.snapshot();
    let samples = |class| {
        let times = snapshot.times_of(class);
        (times.wait.samples(), times.run.samples())
    };
    assert_eq!(Class::ALL.map(samples), [(1, 1), (0, 0), (2, 1)]);
    let batch = &snapshot.times_of(Class::Batch).wait;
    assert!(batch.percentile(1.0) >= held, "{snapshot}");
    assert!(
        snapshot.times_of(Class::Interactive).run.max() >= held,
        "{snapshot}"
    );
}

#[test]
fn each_worker_says_what_it_did_and_the_sum_is_what_was_done() {
    let executor = PipelineExecutor::new(3).unwrap();
    let tickets: Vec<_> = (0..50).map(|_| executor.submit(counting(20)).unwrap()).collect();
    for ticket in tickets {
        ticket.wait().unwrap();
    }
    let snapshot = executor.snapshot();
    assert_eq!((snapshot.workers.len(), snapshot.workers_main), (3, 2));
    let total = snapshot.total();
    assert_eq!((total.slots(), total.jobs_ended), (1_000, 50));
    for (id, worker) in snapshot.workers.iter().enumerate() {
        let in_other_role = if id < 2 {
            worker.slots_reserve
        } else {
            worker.slots_main
        };
        assert_eq!(in_other_role, 0, "worker {id} has one role: {worker:?}");
        assert!(
            worker.claims <= worker.slots() && worker.visits <= worker.claims + 50,
            "{snapshot}"
        );
        assert_eq!(worker.busy() > Duration::ZERO, worker.slots() > 0, "{snapshot}");
    }
    assert_eq!(snapshot.others, Activity::default());
}

#[test]
fn a_visit_that_goes_on_counts_as_busy_time() {
    let executor = PipelineExecutor::new(1).unwrap();
    let gate = hold_workers(&executor, 1);
    let first = executor.snapshot();
    std::thread::sleep(Duration::from_millis(2));
    let between = executor.snapshot().since(&first);
    assert_eq!(between.total().busy(), between.elapsed, "all that time");
    assert!(between.elapsed >= Duration::from_millis(2));
    gate.open();
    let handle = executor.handle();
    executor.drain();
    let [after, later] = [handle.snapshot(), handle.snapshot()];
    assert!(later.elapsed > after.elapsed);
    assert_eq!(later.total(), after.total(), "nobody is busy any more");
}

#[test]
fn what_came_between_two_snapshots_is_their_difference() {
    let executor = PipelineExecutor::new(2).unwrap();
    let run = |jobs: usize| {
        for _ in 0..jobs {
            executor.submit(counting(5)).unwrap().wait().unwrap();
        }
        executor.snapshot()
    };
    let (earlier, later) = (run(7), run(4));
    let between = later.since(&earlier);
    assert_eq!((between.jobs.submitted, between.jobs.completed), (4, 4));
    assert_eq!(between.total().slots(), 20);
    assert_eq!(between.times_of_all().run.samples(), 4);
    assert_eq!(between.elapsed, later.elapsed - earlier.elapsed);
    let nothing = later.since(&later);
    assert_eq!((nothing.jobs.ended(), nothing.total()), (0, Activity::default()));
    assert_eq!(nothing.times_of_all().wait.samples(), 0);
}

#[test]
fn a_snapshot_is_a_few_lines_in_columns() {
    let executor = PipelineExecutor::new(2).unwrap();
    for class in [Class::Batch, Class::Normal] {
        let job = Job::builder("t").stage(Counting::new(3)).class(class).build();
        executor.submit(job).unwrap().wait().unwrap();
    }
    let text = executor.snapshot().to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].starts_with("2 jobs submitted, 0 wait, 0 run in "),
        "{text}"
    );
    assert_eq!(lines[1], "2 ended: 2 completed");
    let words = |line: &str| -> Vec<String> { line.split_whitespace().map(str::to_owned).collect() };
    assert_eq!(words(lines[3])[..2], ["0", "main"]);
    assert_eq!(words(lines[4])[..2], ["1", "reserve"]);
    assert_eq!(words(lines[5])[..2], ["total", "6"]);
    let times: Vec<_> = lines[7..].iter().map(|line| words(line)[..3].join(" ")).collect();
    assert_eq!(
        times,
        ["waited normal 1", "waited batch 1", "ran normal 1", "ran batch 1"]
    );
    for table in [&lines[2..6], &lines[6..]] {
        let width = |line: &&str| line.chars().count();
        assert!(table.iter().all(|line| width(line) == width(&table[0])), "{text}");
    }

    let idle = PipelineExecutor::new(1).unwrap().snapshot().to_string();
    assert_eq!(
        idle.lines().count(),
        4,
        "nothing is said of times, and one worker needs no sum: {idle}"
    );
    assert!(idle.contains("both"), "{idle}");
}

#[test]
fn classes_stand_in_snapshots_in_the_order_of_their_list() {
    for (place, class) in Class::ALL.into_iter().enumerate() {
        assert_eq!(class as usize, place, "{}", class.name());
    }
}

#[test]
fn a_job_that_waits_for_room_is_not_counted_as_refused() {
    let executor = PipelineExecutor::builder()
        .threads(1)
        .queue_capacity(1)
        .build()
        .unwrap();
    let gate = hold_workers(&executor, 1);
    let handle = executor.handle();
    let waiter = std::thread::spawn(move || handle.submit_blocking(counting(1)).unwrap().wait());
    gate.open();
    waiter.join().unwrap().unwrap();
    let jobs = executor.snapshot().jobs;
    assert_eq!((jobs.submitted, jobs.refused_full), (2, 0));
}
