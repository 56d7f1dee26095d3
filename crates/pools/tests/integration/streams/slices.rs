//! Slices of batches, beside the reading.

use std::convert::Infallible;
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::task::{Context, Waker};

use pools::stream::{BatchStream, StreamError, Weighed};
use pools::{CpuCx, CpuError, Pools};

use crate::support::{Gate, pools};

type Numbers = Weighed<Vec<u64>>;

fn numbers(pools: &Pools, batches: u64, read_ahead_bytes: usize) -> BatchStream<Numbers, String> {
    let mut next = 0..batches;
    let source = move || {
        Ok(next.next().map(|batch| Weighed {
            value: (0..batch).map(|n| batch * 1_000 + n).collect(),
            bytes: 100,
        }))
    };
    BatchStream::read(&pools.mixed(), source, read_ahead_bytes)
}

fn cut(batch: Numbers) -> Vec<Vec<u64>> {
    batch.value.chunks(3).map(<[u64]>::to_vec).collect()
}

#[test]
fn values_come_in_order_with_any_number_of_workers() {
    let expected: Vec<u64> = (0..40)
        .flat_map(|batch| (0..batch).map(move |n| batch * 1_000 + n))
        .collect();
    for workers in [1, 2, 4] {
        let pools = pools(workers);
        for read_ahead_bytes in [0, 250, 10_000] {
            let stream = numbers(&pools, 40, read_ahead_bytes);
            let handle = stream.handle();
            let all = stream.fold_slices_blocking(
                &pools.cpu(),
                cut,
                |slice, _cx| Ok(slice),
                Vec::new(),
                |mut all, slice: Vec<u64>| {
                    all.extend(slice);
                    all
                },
            );
            assert_eq!(all.unwrap(), expected);
            assert!(handle.snapshot().bytes_peak <= read_ahead_bytes.max(100));
        }
    }
}

#[test]
fn the_next_batch_is_read_while_slices_run() {
    let pools = pools(1);
    let meet = Arc::new(Barrier::new(2));
    let (reads, computes) = (meet.clone(), meet);
    let mut batch = 0;
    let source = move || {
        batch += 1;
        if batch == 2 {
            reads.wait();
        }
        Ok::<_, Infallible>((batch <= 2).then(|| vec![batch; 100]))
    };
    let stream = BatchStream::read(&pools.mixed(), source, 200);
    let done = stream.for_each_slice_blocking(
        &pools.cpu(),
        |batch| vec![batch],
        move |slice, _cx| {
            if slice[0] == 1 {
                computes.wait();
            }
            Ok(())
        },
    );
    done.unwrap();
}

#[test]
fn a_batch_counts_until_its_slices_are_done() {
    let pools = pools(2);
    let gate = Gate::new();
    let stream = numbers(&pools, 30, 300);
    let (handle, held) = (stream.handle(), gate.clone());
    let cpu = pools.cpu();
    let computes = std::thread::spawn(move || {
        stream.for_each_slice_blocking(&cpu, cut, move |_slice, _cx| {
            held.pass();
            Ok(())
        })
    });
    gate.wait_for(2);
    let at_rest = loop {
        let snapshot = handle.snapshot();
        let is_full = snapshot.batches >= 4 && snapshot.bytes >= 300;
        if snapshot.over || is_full && pools.mixed().snapshot().blocking_running == 0 {
            break snapshot;
        }
        std::thread::yield_now();
    };
    gate.open();
    computes.join().unwrap().unwrap();
    assert_eq!(at_rest.batches, 4);
    assert_eq!(handle.snapshot().batches, 30);
    assert_eq!(handle.snapshot().bytes_peak, 300);
}

#[test]
fn after_an_error_no_slice_runs_and_nothing_is_read() {
    let pools = pools(2);
    let running = Arc::new(AtomicUsize::new(0));
    let ran = running.clone();
    let stream = numbers(&pools, u64::MAX, 1_000);
    let handle = stream.handle();
    let failed = stream.for_each_slice_blocking(&pools.cpu(), cut, move |slice, _cx| {
        ran.fetch_add(1, Ordering::SeqCst);
        let fails = slice.contains(&20_007);
        std::thread::yield_now();
        ran.fetch_sub(1, Ordering::SeqCst);
        if fails { Err("seven".to_owned()) } else { Ok(()) }
    });
    assert!(
        matches!(&failed, Err(StreamError::Slice(error)) if error == "seven"),
        "{failed:?}"
    );
    assert_eq!(running.load(Ordering::SeqCst), 0);
    assert_eq!(failed.unwrap_err().into_inner().unwrap(), "seven");
    while !handle.snapshot().over {
        std::thread::yield_now();
    }
}

#[test]
fn a_slice_that_fails_is_heard_of_wherever_it_is_in_its_batch() {
    let pools = pools(1);
    for fails in 5_000..5_005 {
        let failed =
            numbers(&pools, 6, 1_000).for_each_slice_blocking(&pools.cpu(), cut, move |slice, _cx| {
                let is_bad = slice.contains(&fails);
                if is_bad { Err(fails.to_string()) } else { Ok(()) }
            });
        assert!(
            matches!(&failed, Err(StreamError::Slice(error)) if *error == fails.to_string()),
            "{failed:?}"
        );
    }
}

#[test]
fn an_error_waits_for_the_slices_of_later_batches() {
    let pools = pools(2);
    let (fails, runs) = (Gate::new(), Gate::new());
    let (of_first, of_second) = (fails.clone(), runs.clone());
    let stream = numbers(&pools, 3, 1_000);
    let handle = stream.handle();
    let cpu = pools.cpu();
    let each = move |slice: Vec<u64>, _cx: &CpuCx<'_>| {
        if slice.contains(&1_000) {
            of_first.pass();
            return Err("first".to_owned());
        }
        of_second.pass();
        Ok(())
    };
    let mut computes = Box::pin(stream.for_each_slice(&cpu, cut, each));
    let mut is_told = || {
        std::thread::yield_now();
        let polled = computes.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        polled.is_ready()
    };
    let mut told = false;
    while fails.arrived() + runs.arrived() < 2 {
        told |= is_told();
    }
    fails.open();
    while !told && handle.snapshot().bytes > 100 {
        told = is_told();
    }
    told = told || is_told();
    runs.open();
    assert!(!told, "a slice runs");
    let failed = pollster::block_on(computes);
    assert!(
        matches!(&failed, Err(StreamError::Slice(error)) if error == "first"),
        "{failed:?}"
    );
}

#[test]
fn a_batch_whose_slices_were_skipped_is_not_all_of_it() {
    let pools = pools(1);
    let stream = numbers(&pools, 6, 1_000);
    let handle = stream.handle();
    let computed = stream.for_each_slice_blocking(&pools.cpu(), cut, move |slice, _cx| {
        if slice.contains(&5_000) {
            while !handle.snapshot().over || handle.snapshot().ready > 0 {
                std::thread::yield_now();
            }
            handle.close();
        }
        Ok(())
    });
    assert!(matches!(computed, Err(StreamError::Closed)), "{computed:?}");
}

#[test]
fn a_pool_that_has_ended_computes_nothing() {
    let (reads, computes) = (pools(1), pools(1));
    assert!(
        computes
            .shutdown(std::time::Duration::from_secs(3_600))
            .unwrap()
            .is_clean()
    );
    let stream = numbers(&reads, 30, 300);
    let refused = stream.for_each_slice_blocking(&computes.cpu(), cut, |_slice, _cx| Ok(()));
    assert!(
        matches!(refused, Err(StreamError::Cpu(CpuError::Closed))),
        "{refused:?}"
    );
}

#[test]
fn slices_are_refused_where_batches_are() {
    let own = pools(1);
    let (stream, cpu) = (numbers(&own, 3, 300), own.cpu());
    let inside = own.cpu();
    let refused = cpu.run(move |_cx| stream.for_each_slice_blocking(&inside, cut, |_slice, _cx| Ok(())));
    let refused = refused.wait().unwrap();
    assert!(matches!(refused, Err(StreamError::WrongPool(_))), "{refused:?}");

    let (stream, inside) = (numbers(&own, 3, 300), own.cpu());
    let awaited =
        cpu.run(move |_cx| pollster::block_on(stream.for_each_slice(&inside, cut, |_slice, _cx| Ok(()))));
    let refused = awaited.wait().unwrap();
    assert!(matches!(refused, Err(StreamError::WrongPool(_))), "{refused:?}");

    let (stream, inside) = (numbers(&own, 3, 300), own.cpu());
    let refused = own
        .mixed()
        .block_on(async move { stream.for_each_slice_blocking(&inside, cut, |_slice, _cx| Ok(())) });
    let refused = refused.unwrap();
    assert!(
        matches!(refused, Err(StreamError::InAsync { call }) if call.contains("for_each_slice_blocking")),
    );
}

#[test]
fn slices_may_have_parts_of_their_own() {
    let pools = pools(1);
    let sum = numbers(&pools, 10, 300).fold_slices_blocking(
        &pools.cpu(),
        cut,
        |slice, cx| {
            let parts = cx.map(slice.len(), move |n, _cx| slice[n] % 1_000);
            Ok(parts.map_err(|error| error.to_string())?.into_iter().sum::<u64>())
        },
        0,
        |sum, part| sum + part,
    );
    assert_eq!(sum.unwrap(), (0..10).map(|batch| (0..batch).sum::<u64>()).sum());
}
