//! What the executor reports: trace hooks, and the events of `tracing`.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;

use executor_threaded::hooks::{ExecTraceEvent, TraceHooks};
use executor_threaded::{ChromeTrace, Executor, OnPanic};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber, span};

use crate::support::{both_ways_of_parking, config};

type Log = Arc<Mutex<BTreeMap<usize, Vec<ExecTraceEvent<u32>>>>>;

struct Recorder {
    worker: usize,
    log: Log,
}

impl TraceHooks<u32> for Recorder {
    type Tag = u32;

    fn tag(&mut self, task: &u32) -> u32 {
        *task
    }

    fn event(&mut self, event: ExecTraceEvent<u32>) {
        let mut log = self.log.lock().expect("nobody panics here");
        log.entry(self.worker).or_default().push(event);
    }
}

both_ways_of_parking! {
    fn trace_hooks_see_each_task_start_and_end_on_its_worker_and_each_worker_leave(park_timeout) {
        let log = Log::default();
        let writes = Arc::clone(&log);
        let executor = Executor::<u32>::builder()
            .config(config(2, park_timeout))
            .trace_hooks(move |worker| Recorder { worker, log: Arc::clone(&writes) })
            .build(|_| (), |task, cx| {
                if task < 100 {
                    cx.spawn_local(task + 100);
                }
            })
            .expect("the executor starts");
        executor.spawn_external_batch((0..100).collect()).expect("the gate is open");
        let metrics = executor.join();
        let log = log.lock().expect("nobody panics here");
        assert_eq!(log.len(), 2);
        let mut ran = Vec::new();
        for (worker, events) in log.iter() {
            assert_eq!(events.last(), Some(&ExecTraceEvent::Exit));
            assert_eq!(events.iter().filter(|event| matches!(event, ExecTraceEvent::Exit)).count(), 1);
            let mut running = None;
            for event in events {
                match *event {
                    ExecTraceEvent::TaskStart { tag, .. } => {
                        assert_eq!(running.replace(tag), None, "one task at a time");
                    }
                    ExecTraceEvent::TaskEnd { tag } => {
                        assert_eq!(running.take(), Some(tag));
                        ran.push(tag);
                    }
                    _ => assert_eq!(running, None),
                }
            }
            let starts = |event: &&ExecTraceEvent<u32>| matches!(event, ExecTraceEvent::TaskStart { .. });
            let started = events.iter().filter(starts).count() as u64;
            assert_eq!(started, metrics.workers[*worker].executed());
        }
        ran.sort_unstable();
        assert_eq!(ran, (0..200).collect::<Vec<_>>());
    }
}

const LEVEL: Level = if cfg!(feature = "task-events") {
    Level::TRACE
} else {
    Level::DEBUG
};

struct Listener(Heard);

type Heard = Arc<Mutex<Vec<(String, String)>>>;

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("executor_threaded") && *metadata.level() <= LEVEL
    }

    fn new_span(&self, _span: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _span: &span::Id, _values: &span::Record<'_>) {}

    fn record_follows_from(&self, _span: &span::Id, _follows: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        struct Text(String);
        impl Visit for Text {
            fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
                self.0.push_str(&format!("{field}={value:?} "));
            }
        }
        let mut text = Text(format!("{} ", event.metadata().level()));
        event.record(&mut text);
        let thread = thread::current().name().unwrap_or_default().to_owned();
        self.0.lock().expect("nobody panics here").push((thread, text.0));
    }

    fn enter(&self, _span: &span::Id) {}

    fn exit(&self, _span: &span::Id) {}
}

fn heard(prefix: &str) -> Vec<String> {
    static HEARD: OnceLock<Heard> = OnceLock::new();
    let heard = HEARD.get_or_init(|| {
        let heard = Arc::default();
        tracing::subscriber::set_global_default(Listener(Arc::clone(&heard)))
            .expect("nobody else in these tests listens");
        heard
    });
    let heard = heard.lock().expect("nobody panics here");
    let ours = heard.iter().filter(|(thread, _)| thread.starts_with(prefix));
    ours.map(|(_, text)| text.clone()).collect()
}

#[test]
fn start_stop_and_panic_are_events() {
    assert_eq!(heard("told"), [""; 0]);
    let executor = Executor::<u32>::builder()
        .config(config(1, None))
        .thread_name("told")
        .build(|_| (), |_task, _cx| panic!("for all to hear"))
        .expect("the executor starts");
    executor.spawn_external(0).expect("the gate is open");
    executor.try_join().expect_err("a task panicked");
    let heard = heard("told");
    let kept = |level: &&String| !level.starts_with("TRACE");
    let loud: Vec<&String> = heard.iter().filter(kept).collect();
    assert_eq!(loud.len(), 3, "{heard:?}");
    assert!(
        loud[0].starts_with("DEBUG") && loud[0].contains("worker started"),
        "{heard:?}"
    );
    assert!(
        loud[1].starts_with("ERROR") && loud[1].contains("for all to hear"),
        "{heard:?}"
    );
    assert!(
        loud[2].starts_with("DEBUG") && loud[2].contains("executed=1"),
        "{heard:?}"
    );
    let task_events = heard.iter().filter(|text| text.contains("task started")).count();
    assert_eq!(
        task_events,
        usize::from(cfg!(feature = "task-events")),
        "{heard:?}"
    );
}

/// Phase, name and microseconds of each row. Bars are not nested.
fn lanes(trace: &ChromeTrace<u32>) -> BTreeMap<u64, Vec<(String, String, f64)>> {
    let mut file = Vec::new();
    trace.write_to(&mut file).expect("a vector takes it");
    let json: serde_json::Value = serde_json::from_slice(&file).expect("it is JSON");
    let rows = json["traceEvents"].as_array().expect("it has rows");
    let mut lanes: BTreeMap<u64, Vec<_>> = BTreeMap::new();
    for row in rows {
        let text = |field: &str| row[field].as_str().expect("it is text").to_owned();
        let lane = lanes.entry(row["tid"].as_u64().expect("a lane")).or_default();
        if text("ph") == "M" {
            assert_eq!(row["args"]["name"], format!("worker {}", row["tid"]));
        } else {
            lane.push((text("ph"), text("name"), row["ts"].as_f64().expect("a time")));
        }
    }
    for lane in lanes.values() {
        assert!(lane.is_sorted_by(|a, b| a.2 <= b.2), "{lane:?}");
        let mut open: Option<&str> = None;
        for (phase, name, _) in lane {
            match phase.as_str() {
                "B" => assert_eq!(open.replace(name), None, "{lane:?}"),
                "E" => assert_eq!(open.take(), Some(name.as_str()), "{lane:?}"),
                _ => {}
            }
        }
        assert_eq!(open, None, "{lane:?}");
    }
    lanes
}

fn bars(lanes: &BTreeMap<u64, Vec<(String, String, f64)>>) -> Vec<u32> {
    let begun = lanes.values().flatten().filter(|(phase, ..)| phase == "B");
    let mut bars: Vec<u32> = begun.filter_map(|(_, name, _)| name.parse().ok()).collect();
    bars.sort_unstable();
    bars
}

both_ways_of_parking! {
    fn a_chrome_trace_has_a_lane_a_worker_and_a_bar_a_task_that_ends_though_it_panics(park_timeout) {
        let trace = ChromeTrace::new();
        let executor = Executor::<u32>::builder()
            .config(config(2, park_timeout).on_panic(OnPanic::Isolate))
            .trace_hooks(trace.hooks(|task: &u32| *task))
            .build(|_| (), |task, cx| {
                if task < 100 {
                    cx.spawn_local(task + 100);
                }
                assert_ne!(task, 50, "this one panics");
            })
            .expect("the executor starts");
        executor.spawn_external_batch((0..100).collect()).expect("the gate is open");
        executor.wait_idle();
        assert!(lanes(&trace).is_empty(), "workers hand over when they leave");
        executor.join();
        let lanes = lanes(&trace);
        assert_eq!(lanes.keys().copied().collect::<Vec<_>>(), [0, 1]);
        assert_eq!(bars(&lanes), (0..200).collect::<Vec<_>>());
        let instants = |name: &str| lanes.values().flatten().filter(|row| row.0 == "i" && row.1 == name).count();
        assert_eq!((instants("panicked"), instants("exit")), (1, 2));
    }
}

both_ways_of_parking! {
    fn a_chrome_trace_of_an_aborted_run_shows_what_was_handed_back(park_timeout) {
        let trace = ChromeTrace::new();
        let executor = Executor::<u32>::builder()
            .config(config(1, park_timeout))
            .trace_hooks(trace.hooks(|task: &u32| *task))
            .build(|_| (), |task, _cx| assert_ne!(task, 3, "this one panics"))
            .expect("the executor starts");
        executor.spawn_external_batch((0..10).collect()).expect("the gate is open");
        let aborted = executor.try_join().expect_err("a task panicked");
        let lanes = lanes(&trace);
        let returned = lanes[&0].iter().filter(|row| row.1 == "returned").count();
        assert_eq!(returned, aborted.tasks.len());
        assert_eq!(bars(&lanes).len() as u64, aborted.metrics.total.executed());
    }
}

both_ways_of_parking! {
    fn a_chrome_trace_that_is_full_counts_what_it_does_not_show(park_timeout) {
        let trace = ChromeTrace::with_entries_max(9);
        let executor = Executor::<u32>::builder()
            .config(config(1, park_timeout))
            .trace_hooks(trace.hooks(|task: &u32| *task))
            .build(|_| (), |_task, _cx| {})
            .expect("the executor starts");
        executor.spawn_external_batch((0..100).collect()).expect("the gate is open");
        executor.join();
        let lanes = lanes(&trace);
        assert!(lanes[&0].len() <= 9 + 1);
        assert_eq!(lanes[&0].last().map(|row| row.1.as_str()), Some("no room for more"));
    }
}
