//! Slots that run jobs of their own, and wait for them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

use pipeline_exec::{
    Job, JobError, JobErrorKind, PipelineExecutor, Role, StepCx, StepError, on_worker_thread, step,
};

use crate::support::{Counting, Gate};

fn one_slot<F>(run: F) -> Job
where
    F: Fn(&StepCx<'_>) -> Result<(), StepError> + Send + Sync + 'static,
{
    Job::from_steps("outer", vec![step(run)])
}

fn outer<F>(executor: &PipelineExecutor, run: F) -> Result<(), JobError>
where
    F: Fn(&StepCx<'_>) -> Result<(), StepError> + Send + Sync + 'static,
{
    executor.submit(one_slot(run)).unwrap().wait().map(drop)
}

fn counted(stage: &Arc<Counting>) -> Job {
    Job::builder("inner").stage(stage.clone()).build()
}

#[test]
fn the_only_worker_runs_the_inner_job_and_no_other_while_it_waits() {
    let executor = PipelineExecutor::new(1).unwrap();
    let (inner, other) = (Counting::new(20), Counting::new(3));
    let (ran_inner, ran_other) = (inner.clone(), other.clone());
    let others = Mutex::new(Vec::new());
    let handle = executor.handle();
    outer(&executor, move |cx| {
        let job = Job::builder("other").stage(ran_other.clone()).cost(99).build();
        others.lock().unwrap().push(handle.submit(job).unwrap());
        let report = cx.run(counted(&ran_inner))?;
        assert_eq!((report.slots, report.slots_per_worker), (20, vec![0, 20]));
        assert_eq!(ran_other.ran(), 0, "nothing else was run meanwhile");
        Ok(())
    })
    .unwrap();
    inner.assert_each_ran_once();
    executor.drain();
    other.assert_each_ran_once();
}

#[test]
fn the_inner_job_gives_its_output_and_knows_that_it_is_on_a_worker() {
    let executor = PipelineExecutor::new(2).unwrap();
    let job = Job::builder("outer").output(|cx| {
        let inner = Job::builder("inner").output(|_cx| Ok((on_worker_thread(), thread::current().id())));
        Ok(cx.run(inner.build())?.output)
    });
    let (on_worker, _) = executor.submit(job.build()).unwrap().wait().unwrap().output;
    assert!(on_worker);
    assert!(!on_worker_thread());
}

#[test]
fn idle_workers_join_in() {
    let executor = PipelineExecutor::new(2).unwrap();
    outer(&executor, |cx| {
        let meet = Arc::new(Barrier::new(2));
        let steps = (0..2).map(|_| {
            let meet = meet.clone();
            step(move |_cx| {
                meet.wait();
                Ok(())
            })
        });
        let report = cx.run(
            Job::builder("meet")
                .stage(pipeline_exec::steps(steps.collect()))
                .cost(u64::MAX)
                .build(),
        )?;
        assert_eq!(report.slots, 2);
        Ok(())
    })
    .unwrap();
}

#[test]
fn ten_thousand_waits_beside_one_another_end_with_one_worker() {
    let executor = PipelineExecutor::new(1).unwrap();
    let ran = Arc::new(AtomicUsize::new(0));
    let steps = (0..10_000).map(|_| {
        let ran = ran.clone();
        step(move |cx| {
            let inner = Counting::new(2);
            cx.run(counted(&inner))?;
            inner.assert_each_ran_once();
            ran.fetch_add(1, Ordering::Relaxed);
            Ok(())
        })
    });
    executor
        .submit(Job::from_steps("outer", steps.collect()))
        .unwrap()
        .wait()
        .unwrap();
    assert_eq!(ran.load(Ordering::Relaxed), 10_000);
}

fn descend(cx: &StepCx<'_>, depth: usize, deepest: &Arc<AtomicUsize>) -> Result<(), StepError> {
    deepest.fetch_add(1, Ordering::Relaxed);
    if depth == 0 {
        return Ok(());
    }
    let below = deepest.clone();
    cx.run(one_slot(move |cx| descend(cx, depth - 1, &below)))?;
    Ok(())
}

#[test]
fn ten_thousand_waits_inside_one_another_end_with_one_worker_and_the_stack_for_them() {
    for capacity in [65_536, 100] {
        let executor = PipelineExecutor::builder()
            .threads(1)
            .queue_capacity(capacity)
            .stack_size(1 << 28)
            .build()
            .unwrap();
        let deepest = Arc::new(AtomicUsize::new(0));
        let reached = deepest.clone();
        outer(&executor, move |cx| descend(cx, 10_000, &reached)).unwrap();
        assert_eq!(deepest.load(Ordering::Relaxed), 10_001);
        let submitted = executor.snapshot().jobs.submitted;
        assert_eq!(submitted, capacity.min(10_001) as u64, "the rest was run by hand");
    }
}

#[test]
fn when_the_executor_is_full_the_inner_job_runs_on_the_spot() {
    let executor = PipelineExecutor::builder()
        .threads(2)
        .queue_capacity(1)
        .build()
        .unwrap();
    let stages = [Counting::new(5), Counting::new(0), Counting::new(2)];
    let inner = stages.clone();
    outer(&executor, move |cx| {
        let (me, worker, role) = (thread::current().id(), cx.worker_id(), cx.role());
        let mut job = Job::builder("inner");
        for stage in &inner {
            job = job.stage(stage.clone());
        }
        let job = job.output(move |cx| {
            assert_eq!(
                (thread::current().id(), cx.worker_id(), cx.role()),
                (me, worker, role)
            );
            assert_ne!(role, Role::Lent);
            Ok(7)
        });
        let report = cx.run(job.build())?;
        assert_eq!((report.output, report.slots), (7, 7));
        assert_eq!(report.slots_per_worker.len(), 3);
        assert_eq!(report.slots_per_worker[worker], 7);
        Ok(())
    })
    .unwrap();
    stages.iter().for_each(|stage| stage.assert_each_ran_once());
}

#[test]
fn an_inner_job_that_runs_by_hand_has_its_deadline_and_fails_as_any_other() {
    let executor = PipelineExecutor::builder()
        .threads(1)
        .queue_capacity(1)
        .build()
        .unwrap();
    outer(&executor, |cx| {
        let late = Job::builder("late")
            .stage(Counting::new(3))
            .deadline(Duration::ZERO)
            .build();
        assert_eq!(cx.run(late).unwrap_err().kind, JobErrorKind::DeadlineExceeded);
        let fails = vec![
            step(|_| Ok(())),
            step(|_| Err("no luck".into())),
            step(|_| panic!("not run")),
        ];
        let error = cx.run(Job::from_steps("fails", fails)).unwrap_err();
        assert_eq!((error.kind, error.slot), (JobErrorKind::Failed, Some(1)));
        let panics = cx.run(Job::from_steps("panics", vec![step(|_| panic!("on purpose"))]));
        assert_eq!(panics.unwrap_err().kind, JobErrorKind::Panicked);
        Ok(())
    })
    .unwrap();
}

#[test]
fn what_an_inner_job_fails_with_is_for_its_slot_to_handle() {
    let executor = PipelineExecutor::new(2).unwrap();
    let error = outer(&executor, |cx| {
        cx.run(Job::from_steps("inner", vec![step(|_| Err("no luck".into()))]))?;
        Ok(())
    })
    .unwrap_err();
    assert_eq!(error.kind, JobErrorKind::Failed);
    assert!(
        error
            .to_string()
            .ends_with("step `step` failed in slot 0: no luck"),
        "{error}"
    );
    outer(&executor, |cx| {
        let inner = cx.run(Job::from_steps("inner", vec![step(|_| panic!("caught"))]));
        assert_eq!(inner.unwrap_err().kind, JobErrorKind::Panicked);
        Ok(())
    })
    .unwrap();
}

#[test]
fn locks_that_are_held_while_waiting_meet_no_strangers() {
    // If waiting workers ran any job, one would come to another of these slots and want the lock
    // again.
    for threads in [1, 2, 4] {
        let executor = PipelineExecutor::new(threads).unwrap();
        let lock = Arc::new(Mutex::new(0));
        let steps = (0..64).map(|_| {
            let lock = lock.clone();
            step(move |cx| {
                let mut sum = lock.lock().unwrap();
                *sum += cx.run(counted(&Counting::new(8)))?.slots;
                Ok(())
            })
        });
        executor
            .submit(Job::from_steps("locked", steps.collect()))
            .unwrap()
            .wait()
            .unwrap();
        assert_eq!(*lock.lock().unwrap(), 64 * 8);
    }
}

#[test]
fn a_cancel_of_the_outer_job_ends_the_inner_one_at_its_next_slot() {
    for capacity in [8, 1] {
        let executor = PipelineExecutor::builder()
            .threads(1)
            .queue_capacity(capacity)
            .build()
            .unwrap();
        let (gate, ran) = (Gate::new(), Arc::new(AtomicUsize::new(0)));
        let (at_gate, count) = (gate.clone(), ran.clone());
        let seen = Arc::new(Mutex::new(None));
        let tells = seen.clone();
        let ticket = executor
            .submit(one_slot(move |cx| {
                let steps = (0..100).map(|_| {
                    let (gate, ran) = (at_gate.clone(), count.clone());
                    step(move |cx| {
                        assert!(!cx.is_cancelled());
                        ran.fetch_add(1, Ordering::Relaxed);
                        gate.pass();
                        assert!(cx.is_cancelled());
                        Ok(())
                    })
                });
                let end = cx.run(Job::from_steps("inner", steps.collect()));
                *tells.lock().unwrap() = Some(end.unwrap_err().kind);
                Ok(())
            }))
            .unwrap();
        gate.wait_for(1);
        ticket.control().cancel();
        gate.open();
        assert_eq!(ticket.wait().unwrap_err().kind, JobErrorKind::Cancelled);
        assert_eq!(*seen.lock().unwrap(), Some(JobErrorKind::Cancelled));
        assert_eq!(ran.load(Ordering::Relaxed), 1, "capacity {capacity}");
    }
}

#[test]
fn the_deadline_of_the_outer_job_is_the_inner_ones_as_well() {
    let executor = PipelineExecutor::new(1).unwrap();
    let late = |cx: &StepCx<'_>| {
        let wait = step(|cx| {
            while !cx.is_cancelled() {
                thread::yield_now();
            }
            Ok(())
        });
        let end = cx.run(Job::from_steps("inner", vec![wait, step(|_| panic!("not run"))]));
        assert_eq!(end.unwrap_err().kind, JobErrorKind::Cancelled);
        Ok(())
    };
    let job = Job::builder("outer")
        .stage(pipeline_exec::steps(vec![step(late)]))
        .deadline(Duration::from_millis(1))
        .build();
    let error = executor.submit(job).unwrap().wait().unwrap_err();
    assert_eq!(error.kind, JobErrorKind::DeadlineExceeded);
}

#[test]
fn a_drain_lets_slots_that_run_have_their_inner_jobs() {
    let executor = PipelineExecutor::new(1).unwrap();
    let (gate, inner) = (Gate::new(), Counting::new(6));
    let (at_gate, ran) = (gate.clone(), inner.clone());
    let ticket = executor
        .submit(one_slot(move |cx| {
            at_gate.pass();
            cx.run(counted(&ran))?;
            Ok(())
        }))
        .unwrap();
    gate.wait_for(1);
    let drained = executor.drain_timeout(Duration::ZERO);
    gate.open();
    drained.expect_err("a slot stands at the gate").drain();
    ticket.wait().unwrap();
    inner.assert_each_ran_once();
}

#[test]
fn a_shutdown_ends_inner_jobs_and_hands_none_of_them_back() {
    let executor = PipelineExecutor::new(1).unwrap();
    let gate = Gate::new();
    let at_gate = gate.clone();
    let kind = Arc::new(Mutex::new(None));
    let tells = kind.clone();
    let ticket = executor
        .submit(one_slot(move |cx| {
            at_gate.pass();
            while !cx.is_cancelled() {
                thread::yield_now();
            }
            let end = cx.run(counted(&Counting::new(4)));
            *tells.lock().unwrap() = Some(end.map(drop).unwrap_err().kind);
            Ok(())
        }))
        .unwrap();
    gate.wait_for(1);
    let control = ticket.control();
    gate.open();
    control.cancel();
    assert!(executor.shutdown().is_empty());
    assert_eq!(*kind.lock().unwrap(), Some(JobErrorKind::Cancelled));
    assert_eq!(ticket.wait().unwrap_err().kind, JobErrorKind::Cancelled);
}

#[test]
fn a_slot_on_a_lent_thread_waits_in_the_same_way() {
    let executor = PipelineExecutor::new(1).unwrap();
    let gate = crate::support::hold_workers(&executor, 1);
    let inner = Counting::new(9);
    let ran = inner.clone();
    let ticket = executor
        .submit(one_slot(move |cx| {
            assert_eq!(cx.role(), Role::Lent);
            assert!(on_worker_thread());
            assert_eq!(cx.run(counted(&ran))?.slots_per_worker, [0, 9]);
            Ok(())
        }))
        .unwrap();
    ticket.run().unwrap();
    inner.assert_each_ran_once();
    gate.open();
}

#[test]
fn without_an_executor_an_inner_job_runs_by_hand() {
    let inner = Counting::new(3);
    let report = StepCx::detached().run(counted(&inner)).unwrap();
    assert_eq!(report.slots, 3);
    inner.assert_each_ran_once();

    let inner = Counting::new(2);
    let ran = inner.clone();
    let job = one_slot(move |cx| {
        cx.run(counted(&ran))?;
        Ok(())
    });
    assert_eq!(job.get_next().unwrap().unwrap(), 0);
    inner.assert_each_ran_once();
}

#[test]
fn a_job_that_was_begun_by_hand_is_ended_by_hand_in_a_slot() {
    let executor = PipelineExecutor::new(2).unwrap();
    outer(&executor, |cx| {
        let stage = Counting::new(4);
        let job = counted(&stage);
        job.get_next().unwrap().unwrap();
        assert_eq!(cx.run(job)?.slots, 3);
        stage.assert_each_ran_once();
        let failed = Job::from_steps("failed", vec![step(|_| Err("no".into())), step(|_| Ok(()))]);
        assert!(failed.get_next().unwrap().is_err());
        assert_eq!(cx.run(failed).unwrap_err().kind, JobErrorKind::Failed);
        Ok(())
    })
    .unwrap();
}
