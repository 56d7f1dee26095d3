//! What the executor tells those who listen: trace hooks of its own, and the events of `tracing`.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;

use executor_threaded::{ExecTraceEvent, Executor, TraceHooks};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber, span};

use crate::support::{both_ways_of_parking, config};

type Log = Arc<Mutex<BTreeMap<usize, Vec<ExecTraceEvent<u32>>>>>;

/// Writes down one worker's events.
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

/// Per-task events are heard where they are compiled in.
const LEVEL: Level = if cfg!(feature = "task-events") {
    Level::TRACE
} else {
    Level::DEBUG
};

/// Collects the events of this crate as text, by the name of the thread that they happened on.
struct Listener(Heard);

/// Thread and text of each event.
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

/// Every event so far that happened on a thread whose name starts with `prefix`.
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
