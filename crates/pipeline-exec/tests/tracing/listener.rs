//! A subscriber that keeps spans and events, one test at a time.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use pipeline_exec::JobTicket;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

#[derive(Default)]
pub(crate) struct Heard {
    pub(crate) spans: Vec<HeardSpan>,
    pub(crate) events: Vec<HeardEvent>,
}

#[derive(Debug)]
pub(crate) struct HeardSpan {
    name: &'static str,
    pub(crate) level: Level,
    parent: Option<usize>,
    pub(crate) fields: HashMap<&'static str, String>,
    handles: usize,
    pub(crate) entered: usize,
    pub(crate) closed: bool,
}

#[derive(Debug)]
pub(crate) struct HeardEvent {
    pub(crate) level: Level,
    parent: Option<usize>,
    pub(crate) fields: HashMap<&'static str, String>,
}

pub(crate) fn listen(run: impl FnOnce()) -> Heard {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    static LISTENING: OnceLock<()> = OnceLock::new();
    let _alone = lock(&ONE_AT_A_TIME);
    LISTENING.get_or_init(|| tracing::subscriber::set_global_default(Listener).expect("nobody listens yet"));
    drop(std::mem::take(&mut *lock(&HEARD)));
    run();
    let heard = std::mem::take(&mut *lock(&HEARD));
    drop(std::mem::take(&mut *lock(&KEPT)));
    heard
}

pub(crate) fn keep(tickets: Vec<JobTicket>) {
    lock(&KEPT).extend(tickets);
}

static HEARD: Mutex<Heard> = Mutex::new(Heard {
    spans: Vec::new(),
    events: Vec::new(),
});
static KEPT: Mutex<Vec<JobTicket>> = Mutex::new(Vec::new());

thread_local! {
    static IN: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

impl Heard {
    pub(crate) fn spans_named(&self, name: &str) -> impl Iterator<Item = &HeardSpan> {
        self.spans.iter().filter(move |span| span.name == name)
    }

    pub(crate) fn only_span(&self, name: &str) -> &HeardSpan {
        let named: Vec<_> = self.spans_named(name).collect();
        let [span] = named[..] else {
            panic!("one span {name}, not {named:?}")
        };
        span
    }

    pub(crate) fn stages_of_same_job(&self, stage: &HeardSpan) -> usize {
        self.spans_named("stage")
            .filter(|other| other.parent == stage.parent)
            .count()
    }

    pub(crate) fn around(&self, event: &HeardEvent) -> impl Iterator<Item = &HeardSpan> {
        let mut spans = Vec::new();
        let mut next = event.parent;
        while let Some(at) = next {
            spans.push(&self.spans[at]);
            next = self.spans[at].parent;
        }
        spans.into_iter().rev()
    }

    pub(crate) fn names_around(&self, event: &HeardEvent) -> Vec<String> {
        let named = |span: &HeardSpan| match span.fields.get("name") {
            Some(name) => format!("{} {name}", span.name),
            None => span.name.to_owned(),
        };
        self.around(event).map(named).collect()
    }
}

pub(crate) fn spoil(run: impl FnOnce()) {
    SPOILT.store(true, Ordering::Relaxed);
    run();
    SPOILT.store(false, Ordering::Relaxed);
}

static SPOILT: AtomicBool = AtomicBool::new(false);

fn told() {
    static TOLD: AtomicUsize = AtomicUsize::new(0);
    let spoilt = SPOILT.load(Ordering::Relaxed);
    assert!(
        !spoilt || !TOLD.fetch_add(1, Ordering::Relaxed).is_multiple_of(3),
        "the subscriber is spoilt"
    );
}

struct Listener;

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // The start and end of the threads below belong to no job.
        *metadata.level() <= Level::DEBUG && !metadata.target().starts_with("executor_threaded")
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let parent = parent(span.parent(), span.is_contextual());
        let mut heard = lock(&HEARD);
        heard.spans.push(HeardSpan {
            name: span.metadata().name(),
            level: *span.metadata().level(),
            parent,
            fields: fields(|visit| span.record(visit)),
            handles: 1,
            entered: 0,
            closed: false,
        });
        let id = Id::from_u64(heard.spans.len() as u64);
        drop(heard);
        told();
        id
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        let recorded = fields(|visit| values.record(visit));
        lock(&HEARD).spans[at(span)].fields.extend(recorded);
        told();
    }

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let parent = parent(event.parent(), event.is_contextual());
        let heard_event = HeardEvent {
            level: *event.metadata().level(),
            parent,
            fields: fields(|visit| event.record(visit)),
        };
        lock(&HEARD).events.push(heard_event);
        told();
    }

    fn enter(&self, span: &Id) {
        IN.with_borrow_mut(|spans| spans.push(at(span)));
        lock(&HEARD).spans[at(span)].entered += 1;
    }

    fn exit(&self, span: &Id) {
        let left = IN.with_borrow_mut(Vec::pop);
        assert_eq!(left, Some(at(span)), "spans are left in the opposite order");
        lock(&HEARD).spans[at(span)].entered -= 1;
    }

    fn clone_span(&self, span: &Id) -> Id {
        lock(&HEARD).spans[at(span)].handles += 1;
        span.clone()
    }

    fn try_close(&self, span: Id) -> bool {
        let mut heard = lock(&HEARD);
        let span = &mut heard.spans[at(&span)];
        span.handles -= 1;
        span.closed = span.handles == 0;
        span.closed
    }
}

fn at(span: &Id) -> usize {
    span.into_u64() as usize - 1
}

fn parent(explicit: Option<&Id>, contextual: bool) -> Option<usize> {
    match explicit {
        Some(id) => Some(at(id)),
        None if contextual => IN.with_borrow(|spans| spans.last().copied()),
        None => None,
    }
}

fn fields(record: impl FnOnce(&mut dyn Visit)) -> HashMap<&'static str, String> {
    struct Fields(HashMap<&'static str, String>);
    impl Visit for Fields {
        fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
            self.0.insert(field.name(), format!("{value:?}"));
        }
        fn record_str(&mut self, field: &Field, value: &str) {
            self.0.insert(field.name(), value.to_owned());
        }
    }
    let mut fields = Fields(HashMap::new());
    record(&mut fields);
    fields.0
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
