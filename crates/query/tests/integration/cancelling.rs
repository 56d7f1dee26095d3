//! A gate in the table holds a slot while its query is stopped.

use std::sync::Arc;
use std::thread;

use query::pipeline_exec::{Job, JobControl, JobErrorKind, JobStatus, JobTicket, PipelineExecutor};
use query::{PipelineBuilder, QueryError, QueryPlanner, QueryResult};

use crate::gated_table::GatedTable;
use crate::run::{Cell, catalog, rows};

const MORSELS: usize = 12;

/// Queries for each kind of result: rows, first rows, rows in order, groups.
const QUERIES: [&str; 4] = [
    "select n from gated where n >= 0",
    "select n from gated where n >= 0 limit 700000",
    "select n from gated order by n desc limit 3",
    "select sum(n), count(*) from gated",
];

struct Running {
    table: Arc<GatedTable>,
    ticket: JobTicket<QueryResult>,
    control: JobControl,
}

impl Running {
    fn start(sql: &str, morsels: usize, executor: &PipelineExecutor) -> Self {
        let table = GatedTable::new(morsels);
        let plan = QueryPlanner::plan(sql, &catalog(table.clone())).expect("a query of the subset");
        let job = PipelineBuilder::new(plan).build();
        let ticket = executor.submit(job).expect("room for a job");
        let control = ticket.control();
        table.wait_for_slots(1);
        assert_eq!(control.status(), JobStatus::Running);
        assert_eq!(control.progress(), (0, morsels));
        Self {
            table,
            ticket,
            control,
        }
    }
}

fn assert_stopped(control: &JobControl, table: &GatedTable, threads: usize) {
    assert_eq!(control.status(), JobStatus::Ended(JobErrorKind::Cancelled));
    let begun = table.slots_begun();
    assert!(
        (1..=threads).contains(&begun),
        "{begun} slots on {threads} threads"
    );
}

#[test]
fn a_query_cancelled_while_a_slot_runs_ends_as_cancelled_and_gives_no_result() {
    for threads in [1, 2, 3] {
        let executor = PipelineExecutor::new(threads).expect("threads start");
        for sql in QUERIES {
            let Running {
                table,
                ticket,
                control,
            } = Running::start(sql, MORSELS, &executor);
            let outcome = thread::scope(|scope| {
                let waiter = scope.spawn(|| ticket.wait());
                control.cancel();
                assert_eq!(control.status(), JobStatus::Running);
                table.let_pass();
                waiter.join().expect("waiting does not panic")
            });
            let error = QueryError::from(outcome.expect_err("it was cancelled"));
            assert!(matches!(error, QueryError::Cancelled), "{sql}: {error:?}");
            assert_stopped(&control, &table, threads);
        }
    }
}

#[test]
fn a_query_cancelled_in_its_last_slot_gives_no_result_either() {
    let executor = PipelineExecutor::new(2).expect("threads start");
    for sql in QUERIES {
        let Running {
            table,
            ticket,
            control,
        } = Running::start(sql, 1, &executor);
        control.cancel();
        table.let_pass();
        assert_eq!(ticket.wait().unwrap_err().kind, JobErrorKind::Cancelled, "{sql}");
        assert_stopped(&control, &table, 1);
    }
}

#[test]
fn after_a_cancelled_query_the_executor_answers_the_next_and_the_old_progress_stands_still() {
    for threads in [1, 2, 3] {
        let executor = PipelineExecutor::new(threads).expect("threads start");
        let Running {
            table,
            ticket,
            control,
        } = Running::start(QUERIES[0], MORSELS, &executor);
        control.cancel();
        // A cancel gives up unclaimed slots at once; running ones are not done.
        let (done, total) = control.progress();
        assert!(done < total && total == MORSELS, "{done} of {total}");
        table.let_pass();
        ticket.wait().unwrap_err();
        let (progress, begun) = (control.progress(), table.slots_begun());
        assert_eq!(progress, (MORSELS, MORSELS));

        let plan = QueryPlanner::plan("select min(n) from gated", &catalog(table.clone())).unwrap();
        let next = executor.submit(PipelineBuilder::new(plan).build()).unwrap();
        assert_eq!(rows(&next.wait().unwrap().output), [[Cell::Int(0)]]);
        assert_eq!(table.slots_begun(), begun + MORSELS);
        assert_eq!(control.progress(), progress);
    }
}

#[test]
fn a_query_beside_the_cancelled_one_gets_its_answer() {
    let executor = PipelineExecutor::new(2).expect("threads start");
    let cancelled = Running::start(QUERIES[3], 1, &executor);
    let other = Running::start("select max(n) from gated", MORSELS, &executor);
    cancelled.control.cancel();
    cancelled.table.let_pass();
    assert_eq!(cancelled.ticket.wait().unwrap_err().kind, JobErrorKind::Cancelled);
    other.table.let_pass();
    let answer = other.ticket.wait().unwrap().output;
    let last = i64::try_from(MORSELS * columnar::MORSEL_ROWS - 1).unwrap();
    assert_eq!(rows(&answer), [[Cell::Int(last)]]);
}

#[test]
fn dropping_a_ticket_that_cancels_stops_the_running_query() {
    for threads in [1, 2, 3] {
        let executor = PipelineExecutor::new(threads).expect("threads start");
        let Running {
            table,
            ticket,
            control,
        } = Running::start(QUERIES[0], MORSELS, &executor);
        drop(ticket.cancel_on_drop());
        table.let_pass();
        executor.drain();
        assert_stopped(&control, &table, threads);
    }
}

#[test]
fn dropping_a_plain_ticket_lets_the_running_query_go_on_to_its_end() {
    let executor = PipelineExecutor::new(2).expect("threads start");
    let Running {
        table,
        ticket,
        control,
    } = Running::start("select count(*), max(n) from gated", MORSELS, &executor);
    drop(ticket);
    table.let_pass();
    executor.drain();
    assert_eq!(control.status(), JobStatus::Completed);
    assert_eq!(table.slots_begun(), MORSELS);
}

fn end_while_running<R: Send + 'static>(
    threads: usize,
    sql: &str,
    end: impl FnOnce(PipelineExecutor) -> R + Send + 'static,
) -> R {
    let executor = PipelineExecutor::new(threads).expect("threads start");
    let Running {
        table,
        ticket,
        control,
    } = Running::start(sql, MORSELS, &executor);
    // Behind the query on the board, so the end reaches the query first.
    table.wait_for_slots(threads);
    let waiting = executor
        .submit(Job::builder("waiting").build())
        .expect("room for a job");
    let ender = thread::spawn(move || end(executor));
    assert_eq!(waiting.wait().unwrap_err().kind, JobErrorKind::HandedBack);
    assert_eq!(control.status(), JobStatus::Running);
    table.let_pass();
    let ended = ender.join().expect("the end does not panic");
    assert_eq!(ticket.wait().unwrap_err().kind, JobErrorKind::Cancelled);
    assert_stopped(&control, &table, threads);
    ended
}

#[test]
fn a_shutdown_while_a_query_runs_cancels_it_and_hands_back_the_one_that_waits() {
    for threads in [1, 2, 3] {
        let back = end_while_running(threads, QUERIES[0], PipelineExecutor::shutdown);
        assert_eq!(back.len(), 1);
    }
}

#[test]
fn dropping_the_executor_while_a_query_runs_cancels_it() {
    for threads in [1, 2, 3] {
        end_while_running(threads, QUERIES[3], drop);
    }
}
