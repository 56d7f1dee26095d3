//! Recorded runs for Perfetto, with a lane for each worker.

use std::collections::HashMap;
use std::sync::Arc;

use pipeline_exec::{Job, PipelineExecutor, Stage, StepCx, StepError, step, trace::PipelineTrace};
use serde_json::Value;

use crate::support::{Counting, hold_workers};

#[derive(Clone, Debug)]
struct Row {
    phase: String,
    lane: u64,
    us: f64,
    name: String,
    id: Option<u64>,
    args: Value,
}

fn read(trace: &PipelineTrace) -> (Vec<String>, Vec<Row>) {
    let mut file = Vec::new();
    trace.write_to(&mut file).unwrap();
    let json: Value = serde_json::from_slice(&file).expect("it is JSON");
    let rows = json["traceEvents"].as_array().expect("it has rows");
    let (mut lanes, mut told) = (Vec::new(), Vec::new());
    for row in rows {
        let text = |key: &str| row[key].as_str().expect("a text").to_owned();
        if row["ph"] == "M" {
            lanes.push(row["args"]["name"].as_str().expect("a name").to_owned());
            continue;
        }
        told.push(Row {
            phase: text("ph"),
            lane: row["tid"].as_u64().expect("a lane"),
            us: row["ts"].as_f64().expect("a time"),
            name: text("name"),
            id: row["id"].as_u64(),
            args: row["args"].clone(),
        });
    }
    (lanes, told)
}

fn assert_well_formed(lanes: &[String], rows: &[Row]) {
    let mut open: HashMap<u64, Vec<&str>> = HashMap::new();
    let mut last: HashMap<u64, f64> = HashMap::new();
    let mut arrows: HashMap<u64, Vec<(&str, f64)>> = HashMap::new();
    for row in rows {
        assert!((row.lane as usize) < lanes.len(), "{row:?} is in a lane");
        let before = last.insert(row.lane, row.us).unwrap_or(0.0);
        assert!(before <= row.us, "{row:?} comes after {before}");
        let bars = open.entry(row.lane).or_default();
        match &*row.phase {
            "B" => bars.push(&row.name),
            "E" => assert_eq!(bars.pop(), Some(&*row.name)),
            "i" => {}
            "s" | "f" => {
                assert!(!bars.is_empty(), "{row:?} is at a bar");
                let ends = arrows.entry(row.id.expect("a number")).or_default();
                ends.push((&row.phase, row.us));
            }
            phase => panic!("no phase {phase}"),
        }
    }
    assert!(open.values().all(Vec::is_empty), "{open:?}");
    for ends in arrows.values_mut() {
        ends.sort_by(|one, other| other.0.cmp(one.0));
        let [("s", from), ("f", to)] = ends[..] else {
            panic!("an arrow has two ends: {ends:?}")
        };
        assert!(from <= to, "{ends:?}");
    }
}

fn named<'a>(rows: &'a [Row], phase: &'a str, name: &'a str) -> impl Iterator<Item = &'a Row> {
    rows.iter()
        .filter(move |row| row.phase == phase && row.name == name)
}

#[test]
fn a_run_is_drawn_with_a_lane_a_worker_and_a_bar_for_each_visit_claim_and_finish() {
    let trace = PipelineTrace::new();
    let executor = PipelineExecutor::builder()
        .threads(3)
        .thread_name("query")
        .trace(&trace)
        .build()
        .unwrap();
    for _ in 0..20 {
        let job = Job::builder("cities")
            .stage(Counting::new(7))
            .stage(Counting::new(0))
            .stage(Counting::new(5));
        executor.submit(job.build()).unwrap().wait().unwrap();
    }
    let snapshot = {
        let handle = executor.handle();
        executor.drain();
        handle.snapshot()
    };
    let (lanes, rows) = read(&trace);
    assert_well_formed(&lanes, &rows);
    assert_eq!(lanes[..3], ["query-0", "query-1", "query-2"]);
    assert!(lanes[3].starts_with("outside: "), "{lanes:?}");

    let count = |phase: &str, name: &str| named(&rows, phase, name).count();
    assert_eq!((count("B", "submit cities"), count("s", "submitted")), (20, 20));
    assert_eq!(count("f", "submitted"), 20, "each job's first claim");
    assert_eq!((count("B", "finish counting"), count("i", "completed")), (60, 20));
    assert_eq!(count("i", "counting starts"), 60);
    let visits = count("B", "cities, main") + count("B", "cities, reserve");
    assert_eq!(visits as u64, snapshot.total().visits);
    let claims = rows
        .iter()
        .filter(|row| row.phase == "B" && row.name.starts_with("counting "));
    let slots: usize = claims
        .map(|row| {
            let (first, end) = row.name["counting ".len()..].split_once("..").expect("a range");
            end.parse::<usize>().unwrap() - first.parse::<usize>().unwrap()
        })
        .sum();
    assert_eq!(slots, 20 * 12);
    assert!(
        rows.iter()
            .filter(|row| row.lane == 3 && row.phase == "B")
            .all(|row| row.name == "submit cities"),
        "nothing runs outside"
    );
}

#[test]
fn bars_of_visits_are_as_long_as_the_time_that_is_counted_as_busy() {
    let trace = PipelineTrace::new();
    let executor = PipelineExecutor::builder()
        .threads(2)
        .trace(&trace)
        .build()
        .unwrap();
    for _ in 0..5 {
        drop(
            executor
                .submit(Job::builder("t").stage(Counting::new(50)).build())
                .unwrap(),
        );
    }
    let handle = executor.handle();
    executor.drain();
    let (_, rows) = read(&trace);
    for (id, worker) in handle.snapshot().workers.iter().enumerate() {
        let drawn: f64 = rows
            .iter()
            .filter(|row| row.lane == id as u64 && row.name.starts_with("t, "))
            .map(|row| if row.phase == "B" { -row.us } else { row.us })
            .sum();
        let busy = worker.busy().as_secs_f64() * 1e6;
        assert!((drawn - busy).abs() < 0.01 + busy / 1e6, "{drawn} is not {busy}");
    }
}

#[test]
fn jobs_that_end_early_say_how_and_whose_step_failed() {
    let trace = PipelineTrace::new();
    let executor = PipelineExecutor::builder()
        .threads(1)
        .trace(&trace)
        .build()
        .unwrap();
    executor
        .submit(Job::from_steps("failing", vec![step(|_| Err("no luck".into()))]))
        .unwrap()
        .wait()
        .unwrap_err();
    let gate = hold_workers(&executor, 1);
    let waits = executor
        .submit(Job::builder("waits").stage(Counting::new(2)).build())
        .unwrap();
    waits.control().cancel();
    gate.open();
    executor.drain();
    let (lanes, rows) = read(&trace);
    let [from] = named(&rows, "B", "submit waits").collect::<Vec<_>>()[..] else {
        panic!("it was submitted once: {rows:?}")
    };
    let seq = from.args["job"].as_u64();
    let kept: Vec<Row> = rows
        .iter()
        .filter(|row| !(row.phase == "s" && row.id == seq))
        .cloned()
        .collect();
    assert_eq!(kept.len() + 1, rows.len());
    assert_well_formed(&lanes, &kept);
    let failed: Vec<_> = named(&rows, "i", "failed").collect();
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0].args["what"], "step: no luck");
    assert_eq!(named(&rows, "i", "ended: failed").count(), 1);
    let cancelled: Vec<_> = named(&rows, "i", "ended: cancelled").collect();
    assert_eq!(
        (cancelled.len(), cancelled[0].lane),
        (1, 1),
        "by the thread outside"
    );
}

#[test]
fn a_lane_keeps_no_more_than_it_has_room_for_and_says_what_it_left_out() {
    let trace = PipelineTrace::with_entries_max(10);
    let executor = PipelineExecutor::builder()
        .threads(1)
        .trace(&trace)
        .build()
        .unwrap();
    let mut job = Job::builder("cities");
    for _ in 0..400 {
        job = job.stage(Counting::new(1));
    }
    drop(executor.submit(job.build()).unwrap());
    executor.drain();
    let (lanes, rows) = read(&trace);
    assert_well_formed(&lanes, &rows);
    let lost: Vec<_> = named(&rows, "i", "no room for more").collect();
    let [lost] = lost[..] else {
        panic!("one lane was full: {lost:?}")
    };
    assert!(lost.args["entries"].as_u64().unwrap() > 900, "{lost:?}");
    assert!(rows.iter().filter(|row| row.lane == 0).count() < 25);
}

#[test]
fn what_still_runs_is_drawn_up_to_now_and_a_step_that_submits_has_its_bar_inside() {
    struct Submits(pipeline_exec::PipelineHandle);
    impl Stage for Submits {
        fn name(&self) -> &str {
            "parent"
        }
        fn slots(&self) -> usize {
            1
        }
        fn run(&self, _slot: usize, _cx: &StepCx<'_>) -> Result<(), StepError> {
            drop(
                self.0
                    .submit(Job::builder("child").stage(Counting::new(1)).build())?,
            );
            Ok(())
        }
    }
    let trace = PipelineTrace::new();
    let executor = PipelineExecutor::builder()
        .threads(1)
        .trace(&trace)
        .build()
        .unwrap();
    let stage = Arc::new(Submits(executor.handle()));
    executor
        .submit(Job::builder("mother").stage(stage).build())
        .unwrap()
        .wait()
        .unwrap();
    let gate = hold_workers(&executor, 1);
    let (lanes, rows) = read(&trace);
    gate.open();
    assert_well_formed(&lanes, &rows);
    let inside: Vec<_> = rows
        .iter()
        .filter(|row| row.phase != "f")
        .skip_while(|row| row.name != "parent 0..1")
        .map(|row| (&*row.phase, &*row.name))
        .take(4)
        .collect();
    assert_eq!(
        inside,
        [
            ("B", "parent 0..1"),
            ("B", "submit child"),
            ("s", "submitted"),
            ("E", "submit child")
        ]
    );
    assert_eq!(
        named(&rows, "E", "step 0..1").count(),
        0,
        "its stage has the name"
    );
    assert_eq!(named(&rows, "E", "stage 0..1").count(), 1);
}

#[test]
fn two_executors_may_have_one_trace() {
    let trace = PipelineTrace::new();
    for name in ["one", "two"] {
        let executor = PipelineExecutor::builder()
            .thread_name(name)
            .trace(&trace)
            .build()
            .unwrap();
        let job = Job::builder(name).stage(Counting::new(1)).build();
        drop(executor.submit(job).unwrap());
        executor.drain();
    }
    let (lanes, rows) = read(&trace);
    assert_eq!((&*lanes[0], &*lanes[2]), ("one-0", "two-0"));
    let began = |name: &str| {
        named(&rows, "B", name)
            .map(|row| (row.lane, row.us))
            .next()
            .unwrap()
    };
    let (one, two) = (began("submit one"), began("submit two"));
    assert_eq!((one.0, two.0), (1, 3));
    assert!(one.1 < two.1, "on one clock: {one:?} {two:?}");
}
