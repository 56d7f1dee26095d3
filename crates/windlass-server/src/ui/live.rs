//! What the page asks for twice a second: the server at one moment, for one user.

use std::time::Duration;

use serde::Serialize;
use windlass_datafusion::Class;

use crate::queries::Query;
use crate::recent::WINDOW;
use crate::shared::Shared;

/// Number of statements that are told one by one.
const STATEMENTS_MAX: usize = 200;

#[derive(Serialize)]
pub(super) struct Live<'a> {
    user: &'a str,
    /// Whether there are passwords; if not, anyone may cancel anything.
    has_passwords: bool,
    running: usize,
    waiting: usize,
    connections: usize,
    memory_bytes: usize,
    memory_bytes_max: Option<usize>,
    is_draining: bool,
    statements: Vec<Statement>,
    /// Number of statements that are not told.
    statements_more: usize,
    times: Times,
    lanes: Lanes,
}

#[derive(Serialize)]
struct Statement {
    number: u64,
    user: String,
    class: &'static str,
    is_running: bool,
    since_ms: f64,
    cpu_ms: f64,
    waited_ms: f64,
    memory_bytes: usize,
    /// `null` for another user's.
    text: Option<String>,
    may_cancel: bool,
}

#[derive(Serialize)]
struct Times {
    window_s: u64,
    classes: [ClassTimes; Class::ALL.len()],
}

#[derive(Clone, Copy, Serialize)]
struct ClassTimes {
    class: &'static str,
    count: usize,
    p50_ms: f64,
    p99_ms: f64,
}

#[derive(Default, Serialize)]
struct Lanes {
    workers: usize,
    now_us: u64,
    /// Lane, statement, beginning and length in microseconds. The lane behind the last worker's is
    /// that of threads which stand in for workers.
    turns: Vec<(usize, u64, u64, u64)>,
}

/// The server now, with the turns that ended after `since_us`.
pub(super) fn live<'a>(shared: &Shared, user: &'a str, since_us: u64) -> Live<'a> {
    let (running, waiting) = shared.admission.counts();
    let open = shared.queries.open();
    let told = open.iter().take(STATEMENTS_MAX);
    Live {
        user,
        has_passwords: shared.access.users().is_some(),
        running,
        waiting,
        connections: shared.connections.len(),
        memory_bytes: shared.memory.reserved(),
        memory_bytes_max: shared.memory.limit(),
        is_draining: shared.draining.is_cancelled(),
        statements: told.map(|query| statement(shared, user, query)).collect(),
        statements_more: open.len().saturating_sub(STATEMENTS_MAX),
        times: times(shared),
        lanes: lanes(shared, since_us),
    }
}

/// Whether `user` may end a statement: its own, or any where everybody is let in.
pub(super) fn may_cancel(shared: &Shared, user: &str, query: &Query) -> bool {
    shared.access.users().is_none() || *query.user == *user
}

fn statement(shared: &Shared, user: &str, query: &Query) -> Statement {
    let used = query.used();
    Statement {
        number: query.number,
        user: (*query.user).to_owned(),
        class: query.class.name(),
        is_running: query.is_running(),
        since_ms: millis(query.open_for()),
        cpu_ms: millis(used.job.busy),
        waited_ms: millis(used.job.waited),
        memory_bytes: used.memory,
        text: query.text_for(Some(user)).map(str::to_owned),
        may_cancel: may_cancel(shared, user, query),
    }
}

fn times(shared: &Shared) -> Times {
    let of_all = shared.queries.times();
    let mut classes = Class::ALL.map(|class| ClassTimes {
        class: class.name(),
        count: 0,
        p50_ms: 0.0,
        p99_ms: 0.0,
    });
    for (told, times) in classes.iter_mut().zip(of_all) {
        told.count = times.count;
        told.p50_ms = millis(times.p50);
        told.p99_ms = millis(times.p99);
    }
    Times {
        window_s: WINDOW.as_secs(),
        classes,
    }
}

fn lanes(shared: &Shared, since_us: u64) -> Lanes {
    let Some(turns) = &shared.turns else {
        return Lanes::default();
    };
    let look = turns.look(since_us);
    let of = look.turns.into_iter();
    Lanes {
        workers: turns.workers(),
        now_us: look.now_us,
        turns: of
            .map(|(lane, turn)| (lane, turn.statement, turn.from_us, turn.to_us - turn.from_us))
            .collect(),
    }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
