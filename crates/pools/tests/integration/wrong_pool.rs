//! Calls from CPU tasks into the mixed pool are refused on every path.

use std::error::Error as _;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use pipeline_exec::{Job, PipelineExecutor, StepCx, StepError, step};
use pools::{CpuError, MaintenanceError, MixedError, PoolKind, Pools, WrongPool};

use crate::support::{hold_cpu, pools};

fn try_everything(pools: &Pools) -> Vec<String> {
    let mut let_through = Vec::new();
    let mut expect = |path: &str, refused: Option<WrongPool>, to| {
        let from = PoolKind::Cpu;
        if refused != Some(WrongPool { from, to }) {
            let_through.push(format!("{path}: {refused:?}"));
        }
    };
    let mixed = |error: MixedError| match error {
        MixedError::WrongPool(wrong) => Some(wrong),
        _ => None,
    };
    let cpu = |error: CpuError| match error {
        CpuError::WrongPool(wrong) => Some(wrong),
        _ => None,
    };
    let maintenance = |error: MaintenanceError| match error {
        MaintenanceError::WrongPool(wrong) => Some(wrong),
        _ => None,
    };
    let to = PoolKind::Mixed;
    expect("spawn", pools.mixed().spawn(async {}).err().and_then(mixed), to);
    expect(
        "run_blocking",
        pools.mixed().run_blocking(|| {}).err().and_then(mixed),
        to,
    );
    expect(
        "block_on",
        pools.mixed().block_on(async {}).err().and_then(mixed),
        to,
    );
    expect(
        "tokio_handle",
        pools.mixed().tokio_handle().err().and_then(mixed),
        to,
    );
    expect(
        "global",
        Pools::global().mixed().spawn(async {}).err().and_then(mixed),
        to,
    );
    let to = PoolKind::Maintenance;
    expect(
        "maintenance",
        pools.maintenance().spawn(|| {}).err().and_then(maintenance),
        to,
    );
    let every = pools.maintenance().every(Duration::from_secs(1), || {});
    expect("every", every.err().and_then(maintenance), to);
    let to = PoolKind::Cpu;
    expect("wait", pools.cpu().run(|_cx| {}).wait().err().and_then(cpu), to);
    let awaited = pollster::block_on(pools.cpu().run(|_cx| {}));
    expect("await", awaited.err().and_then(cpu), to);
    expect("shutdown", pools.shutdown(Duration::ZERO).err(), PoolKind::Mixed);
    let_through
}

fn nothing() -> Vec<String> {
    Vec::new()
}

#[test]
fn from_a_cpu_task() {
    let pools = pools(1);
    let captured = pools.clone();
    assert_eq!(
        pools
            .cpu()
            .run(move |_cx| try_everything(&captured))
            .wait()
            .unwrap(),
        nothing()
    );
    let snapshot = pools.snapshot();
    assert_eq!(
        (snapshot.mixed.tasks_in_all, snapshot.mixed.blocking_in_all),
        (0, 0)
    );
    assert_eq!(snapshot.maintenance.threads, 0);
}

#[test]
fn from_a_part_of_a_cpu_task() {
    for capacity in [8, 1] {
        // With room for one job, parts run inline.
        let pools = Pools::builder()
            .cpu_threads(1)
            .cpu_queue_capacity(capacity)
            .build()
            .unwrap();
        let captured = pools.clone();
        let task = pools.cpu().run(move |cx| {
            let (a, b) = (captured.clone(), captured.clone());
            let (mapped, joined) = (captured.clone(), captured);
            let mapped = cx
                .map(2, move |_n, _cx| try_everything(&mapped))
                .unwrap()
                .concat();
            let (left, right) = cx
                .join(
                    move |_cx| try_everything(&a),
                    move |cx| cx.map(1, move |_n, _cx| try_everything(&b)),
                )
                .unwrap();
            let job = Job::builder("inner")
                .output(move |_cx| Ok(try_everything(&joined)))
                .build();
            let job = cx.run_job(job).unwrap().output;
            [mapped, left, right.unwrap().concat(), job].concat()
        });
        assert_eq!(task.wait().unwrap(), nothing(), "capacity {capacity}");
    }
}

fn job(pools: &Pools) -> Job<Vec<String>> {
    let found = Arc::new(Mutex::new(Vec::new()));
    let (in_slot, in_output) = (pools.clone(), pools.clone());
    let finds = found.clone();
    let slot = step(move |_cx: &StepCx<'_>| -> Result<(), StepError> {
        finds.lock().unwrap().extend(try_everything(&in_slot));
        Ok(())
    });
    Job::builder("query")
        .stage(pipeline_exec::steps(vec![slot]))
        .output(move |_cx| {
            let mut found = std::mem::take(&mut *found.lock().unwrap());
            found.extend(try_everything(&in_output));
            Ok(found)
        })
        .build()
}

#[test]
fn from_the_slots_of_a_query() {
    let pools = pools(2);
    let ticket = pools.cpu().submit(job(&pools)).unwrap();
    assert_eq!(ticket.wait().unwrap().output, nothing());
}

#[test]
fn from_the_slots_of_an_executor_that_is_not_the_pools_own() {
    let (pools, other) = (pools(1), PipelineExecutor::new(1).unwrap());
    assert_eq!(
        other.submit(job(&pools)).unwrap().wait().unwrap().output,
        nothing()
    );
}

#[test]
fn from_a_thread_that_is_lent_to_a_cpu_job_as_long_as_it_is() {
    let pools = pools(1);
    let (gate, held) = hold_cpu(&pools, 1);
    let ticket = pools.cpu().submit(job(&pools)).unwrap();
    assert_eq!(ticket.run().unwrap().output, nothing());
    assert_eq!(pools.mixed().spawn(async { 1 }).unwrap().wait().unwrap(), 1);
    gate.open();
    drop(held);
}

#[test]
fn by_a_task_that_was_captured() {
    let pools = pools(1);
    let (awaited, waited) = (
        pools.mixed().spawn(async { 1 }).unwrap(),
        pools.mixed().spawn(async { 2 }).unwrap(),
    );
    let other = pools.cpu().run(|_cx| 3);
    let task = pools.cpu().run(move |_cx| {
        (
            pollster::block_on(awaited).unwrap_err(),
            waited.wait().unwrap_err(),
            pollster::block_on(other).unwrap_err(),
        )
    });
    let (awaited, waited, other) = task.wait().unwrap();
    let (from, to) = (PoolKind::Cpu, PoolKind::Mixed);
    for error in [awaited, waited] {
        assert!(
            matches!(error, MixedError::WrongPool(wrong) if wrong == WrongPool { from, to }),
            "{error}"
        );
    }
    assert!(matches!(
        other,
        CpuError::WrongPool(WrongPool {
            from: PoolKind::Cpu,
            to: PoolKind::Cpu
        })
    ));
}

#[test]
fn the_error_says_from_where_to_where_and_what_to_do_instead() {
    let pools = pools(1);
    let captured = pools.mixed();
    let error = pools
        .cpu()
        .run(move |_cx| captured.spawn(async {}).unwrap_err())
        .wait()
        .unwrap();
    assert_eq!(
        error.to_string(),
        "the mixed pool was called from the CPU pool: a CPU task must not wait for what may block; \
         do that first in the mixed pool, and hand its result to `cpu().run`"
    );
    assert!(error.source().is_none(), "a chain of errors says it once");
}

#[test]
fn the_other_way_round_is_the_way() {
    let pools = pools(1);
    let inner = pools.clone();
    let task = pools.mixed().spawn(async move { inner.cpu().run(|_cx| 1).await });
    assert_eq!(task.unwrap().wait().unwrap().unwrap(), 1);
    let inner = pools.clone();
    let task = pools
        .mixed()
        .run_blocking(move || inner.cpu().run(|_cx| 2).wait());
    assert_eq!(task.unwrap().wait().unwrap().unwrap(), 2);
    let (inner, (send, sent)) = (pools.clone(), mpsc::channel());
    let keeps_house = move || {
        let both = (
            inner.cpu().run(|_cx| 3).wait(),
            inner.mixed().spawn(async { 4 }).unwrap().wait(),
        );
        send.send((both.0.unwrap(), both.1.unwrap())).unwrap();
    };
    pools.maintenance().spawn(keeps_house).unwrap();
    assert_eq!(sent.recv(), Ok((3, 4)));
}

#[test]
fn a_foreign_runtimes_handle_passes_by_the_fence() {
    let pools = pools(1);
    let handle = pools.mixed().tokio_handle().unwrap();
    let task = pools
        .cpu()
        .run(move |_cx| handle.block_on(handle.spawn(async { 1 })).unwrap());
    assert_eq!(task.wait().unwrap(), 1);
}
