//! Jobs that run to their end.

use std::sync::Arc;

use pipeline_exec::{Job, PipelineExecutor};

use crate::support::Counting;

#[test]
fn every_slot_of_a_job_runs_once_with_1_2_and_8_threads() {
    for threads in [1, 2, 8] {
        let executor = PipelineExecutor::new(threads).unwrap();
        for slots in [10, 1_000] {
            let stage = Counting::new(slots);
            let ticket = executor
                .submit(Job::builder("numbers").stage(stage.clone()).build())
                .unwrap();
            let control = ticket.control();
            let report = ticket.wait().unwrap();
            stage.assert_each_ran_once();
            assert_eq!(report.slots, slots);
            assert_eq!(report.slots_per_worker.len(), threads + 1);
            assert_eq!(report.slots_per_worker.iter().sum::<usize>(), slots);
            assert_eq!(control.progress(), (slots, slots));
        }
    }
}

#[test]
fn stages_run_one_after_another_and_each_sees_all_of_the_one_before() {
    let executor = PipelineExecutor::new(8).unwrap();
    for _ in 0..200 {
        let stages: Vec<Arc<Counting>> = [7, 0, 1, 40, 0].map(Counting::new).into();
        let mut job = Job::builder("numbers");
        for stage in &stages {
            job = job.stage(stage.clone());
        }
        let report = executor.submit(job.build()).unwrap().wait().unwrap();
        assert_eq!(report.slots, 48);
        for stage in stages {
            stage.assert_each_ran_once();
        }
    }
}

#[test]
fn a_job_without_stages_and_a_job_without_slots_complete() {
    for threads in [1, 2, 8] {
        let executor = PipelineExecutor::new(threads).unwrap();
        assert_eq!(
            executor
                .submit(Job::builder("nothing").build())
                .unwrap()
                .wait()
                .unwrap()
                .slots,
            0
        );
        assert_eq!(
            executor
                .submit(Job::from_steps("nothing", vec![]))
                .unwrap()
                .wait()
                .unwrap()
                .slots,
            0
        );
        let stage = Counting::new(0);
        let ticket = executor
            .submit(Job::builder("nothing").stage(stage.clone()).build())
            .unwrap();
        assert_eq!(ticket.wait().unwrap().slots, 0);
        stage.assert_each_ran_once();
    }
}

#[test]
fn many_jobs_from_many_threads_all_complete() {
    let executor = PipelineExecutor::new(4).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for n in 0..500 {
                    let stage = Counting::new(n % 5);
                    let job = Job::builder("numbers")
                        .stage(stage.clone())
                        .stage(stage_of(n % 3))
                        .build();
                    executor.submit(job).unwrap().wait().unwrap();
                    stage.assert_each_ran_once();
                }
            });
        }
    });
    let snapshot = executor.snapshot();
    assert_eq!((snapshot.jobs.submitted, snapshot.jobs.completed), (2_000, 2_000));
    assert_eq!(snapshot.queue_depth, 0);
}

fn stage_of(slots: usize) -> Arc<Counting> {
    Counting::new(slots)
}
