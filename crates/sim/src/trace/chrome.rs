//! A run in the Chrome trace format, for Perfetto and `chrome://tracing`.
//!
//! One lane an actor, on its virtual clock: bars for tasks and parks, instants for everything else.

use std::io::{self, Write};

use executor_core::{ChromeArg, ChromeFile, ChromePhase, ChromeRow};

use pipeline_exec::trace::{JobLane, JobNames};

use super::{Event, JobEvent, Op};

/// Writes `events` of `actors`, and the events of `jobs`, as JSON.
///
/// # Errors
///
/// Any error of writing to `out`.
pub fn write_chrome_trace(
    mut out: impl Write,
    events: &[Event],
    jobs: &[JobEvent],
    actors: &[String],
) -> io::Result<()> {
    let names = JobNames::of(jobs.iter().map(|job| &job.entry));
    let mut lanes: Vec<_> = (0..actors.len()).map(|lane| JobLane::new(lane, &names)).collect();
    let mut rows = Vec::with_capacity(events.len());
    let mut jobs = jobs.iter().peekable();
    for (at, event) in events.iter().enumerate() {
        while let Some(job) = jobs.next_if(|job| job.after <= at) {
            lanes[job.actor as usize].draw(job.clock_ns, &job.entry, &mut rows);
        }
        rows.push(row(event));
    }
    for job in jobs {
        lanes[job.actor as usize].draw(job.clock_ns, &job.entry, &mut rows);
    }
    let mut last_ns = vec![0; lanes.len()];
    for row in &rows {
        last_ns[row.lane] = row.at_ns;
    }
    for (lane, last_ns) in lanes.into_iter().zip(last_ns) {
        lane.finish(last_ns, &mut rows);
    }
    let rows = rows.iter().cloned();
    write!(out, "{}", ChromeFile { lanes: actors, rows })
}

fn row(event: &Event) -> ChromeRow<String> {
    let (phase, name) = match event.op {
        Op::Start => (ChromePhase::Begin, event.object.to_string()),
        Op::End | Op::Panic => (ChromePhase::End, event.object.to_string()),
        Op::Park => (ChromePhase::Begin, "parked".to_owned()),
        Op::Awake => (ChromePhase::End, "parked".to_owned()),
        op => (ChromePhase::Instant, op.name().to_owned()),
    };
    let args = match phase {
        ChromePhase::Instant => vec![
            ("step", ChromeArg::Number(event.step)),
            ("on", ChromeArg::Text(event.object.to_string())),
            ("value", ChromeArg::Number(event.value)),
        ],
        _ => Vec::new(),
    };
    ChromeRow {
        lane: event.actor as usize,
        at_ns: event.clock_ns,
        phase,
        name,
        args,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Object;

    #[test]
    fn it_is_json_with_a_row_an_actor_and_a_bar_a_task() {
        let at = |op, object, clock_ns| Event {
            step: 1,
            actor: 0,
            op,
            object,
            value: 0,
            clock_ns,
        };
        let events = [
            at(Op::Start, Object::Task(7), 1_500),
            at(Op::Push, Object::Worker(0), 1_505),
            at(Op::End, Object::Task(7), 2_000),
        ];
        let mut out = Vec::new();
        write_chrome_trace(&mut out, &events, &[], &["worker 0".to_owned()]).expect("a vector takes it");
        let json: serde_json::Value = serde_json::from_slice(&out).expect("it is JSON");
        let rows = json["traceEvents"].as_array().expect("it has rows");
        let phases: Vec<_> = rows
            .iter()
            .map(|row| row["ph"].as_str().expect("a phase"))
            .collect();
        assert_eq!(phases, ["M", "B", "i", "E"]);
        assert_eq!(rows[1]["ts"], 1.5);
        assert_eq!(rows[1]["name"], "task 7");
    }
}
