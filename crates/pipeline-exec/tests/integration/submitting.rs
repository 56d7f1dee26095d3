//! Submitting jobs: from outside, from steps, to an executor that is full or closed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use pipeline_exec::{BuildError, Job, PipelineExecutor, PipelineHandle, StepError, SubmitError, step};

use crate::support::{Counting, block_on, hold_workers};

#[test]
fn no_threads_and_no_room_are_errors_that_name_the_setting() {
    let error = PipelineExecutor::new(0).unwrap_err();
    assert!(matches!(
        error,
        BuildError::OutOfRange {
            setting: "threads",
            value: 0,
            ..
        }
    ));
    assert!(error.to_string().contains("`threads` is 0"), "{error}");
    let error = PipelineExecutor::new(usize::MAX).unwrap_err();
    assert!(error.to_string().contains("`threads`"), "{error}");
    let error = PipelineExecutor::builder().queue_capacity(0).build().unwrap_err();
    assert!(error.to_string().contains("`queue_capacity` is 0"), "{error}");
}

#[test]
fn a_full_executor_gives_the_job_back_and_takes_it_when_there_is_room() {
    let executor = PipelineExecutor::builder()
        .threads(1)
        .queue_capacity(3)
        .build()
        .unwrap();
    let gate = hold_workers(&executor, 1);
    let tickets = [0, 1].map(|_| {
        executor
            .submit(Job::builder("t").stage(Counting::new(2)).build())
            .unwrap()
    });
    let stage = Counting::new(5);
    let job = Job::builder("one too many").stage(stage.clone()).cost(7).build();
    let id = job.id;
    let error = executor.submit(job).unwrap_err();
    assert!(
        error.to_string().contains("one too many") && error.to_string().contains(&*id),
        "{error}"
    );
    let SubmitError::Full(job) = error else {
        panic!("{error}")
    };
    assert_eq!((job.id.as_str(), job.cost()), (id.as_str(), Some(7)));
    gate.open();
    for ticket in tickets {
        ticket.wait().unwrap();
    }
    executor.submit(job).unwrap().wait().unwrap();
    stage.assert_each_ran_once();
}

#[test]
fn submitters_that_wait_for_room_all_get_in() {
    for _ in 0..20 {
        let executor = PipelineExecutor::builder()
            .threads(2)
            .queue_capacity(2)
            .build()
            .unwrap();
        let stages: Vec<_> = (0..4)
            .map(|_| (0..25).map(|n| Counting::new(n % 4)).collect::<Vec<_>>())
            .collect();
        thread::scope(|scope| {
            for (n, stages) in stages.iter().enumerate() {
                let handle = executor.handle();
                scope.spawn(move || {
                    for stage in stages {
                        let job = Job::builder("t").stage(stage.clone()).build();
                        let ticket = if n % 2 == 0 {
                            handle.submit_blocking(job)
                        } else {
                            block_on(handle.submit_async(job))
                        };
                        drop(ticket.unwrap());
                    }
                });
            }
        });
        executor.drain();
        stages
            .iter()
            .flatten()
            .for_each(|stage| stage.assert_each_ran_once());
    }
}

#[test]
fn a_submitter_that_waits_for_room_is_told_when_the_executor_closes() {
    let executor = PipelineExecutor::builder()
        .threads(1)
        .queue_capacity(1)
        .build()
        .unwrap();
    let gate = hold_workers(&executor, 1);
    let handle = executor.handle();
    let waiter = thread::spawn(move || handle.submit_blocking(Job::builder("waits").build()));
    let stopper = thread::spawn(move || executor.shutdown());
    assert!(matches!(waiter.join().unwrap(), Err(SubmitError::Closed(job)) if job.table_name == "waits"));
    gate.open();
    assert!(stopper.join().unwrap().is_empty());
}

#[test]
fn a_step_may_submit_jobs_of_its_own() {
    fn tree(handle: &PipelineHandle, leaves: &Arc<AtomicUsize>, depth: usize) -> Job {
        let (handle, leaves) = (handle.clone(), leaves.clone());
        Job::from_steps(
            "tree",
            vec![step(move |_cx| {
                if depth == 0 {
                    leaves.fetch_add(1, Ordering::Relaxed);
                    return Ok(());
                }
                for _ in 0..2 {
                    drop(
                        handle
                            .submit(tree(&handle, &leaves, depth - 1))
                            .map_err(StepError::from)?,
                    );
                }
                Ok(())
            })],
        )
    }
    for threads in [1, 2, 8] {
        let executor = PipelineExecutor::new(threads).unwrap();
        let leaves = Arc::new(AtomicUsize::new(0));
        // Children are admitted before their parent ends, so the gate may close only when the tree
        // is in.
        let snapshot = || executor.snapshot().jobs;
        drop(executor.submit(tree(&executor.handle(), &leaves, 6)).unwrap());
        while snapshot().completed < 127 {
            assert_eq!(snapshot().failed, 0);
            thread::yield_now();
        }
        executor.drain();
        assert_eq!(leaves.load(Ordering::Relaxed), 64);
    }
}

#[test]
fn jobs_have_names_of_their_own() {
    let names: std::collections::BTreeSet<_> = (0..1_000).map(|_| Job::builder("t").build().id).collect();
    assert_eq!(names.len(), 1_000);
    for name in names {
        let hex = name.strip_prefix("pipe-").unwrap();
        assert_eq!(hex.len(), 16);
        u64::from_str_radix(hex, 16).unwrap();
    }
}

#[test]
fn a_job_that_limits_its_workers_never_has_more() {
    struct Crowded {
        limit: usize,
        inside: AtomicUsize,
    }
    impl pipeline_exec::Stage for Crowded {
        fn slots(&self) -> usize {
            300
        }
        fn run(&self, _slot: usize, _cx: &pipeline_exec::StepCx<'_>) -> Result<(), StepError> {
            let inside = self.inside.fetch_add(1, Ordering::SeqCst) + 1;
            thread::yield_now();
            self.inside.fetch_sub(1, Ordering::SeqCst);
            if inside <= self.limit {
                Ok(())
            } else {
                Err(format!("{inside} workers").into())
            }
        }
    }
    for limit in [1, 2] {
        let executor = PipelineExecutor::builder()
            .threads(4)
            .quantum(std::time::Duration::ZERO)
            .build()
            .unwrap();
        let tickets: Vec<_> = (0..3)
            .map(|_| {
                let stage = Crowded {
                    limit,
                    inside: AtomicUsize::new(0),
                };
                executor
                    .submit(
                        Job::builder("t")
                            .stage(Arc::new(stage))
                            .max_workers(limit)
                            .build(),
                    )
                    .unwrap()
            })
            .collect();
        for ticket in tickets {
            ticket.wait().unwrap();
        }
    }
}
