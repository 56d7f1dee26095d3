//! Ends of streams, refused calls, and the bytes held.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use pools::stream::{BatchStream, StreamError};
use pools::{PoolKind, Pools, WrongPool};

use super::script::{Point, Scene, Script};
use crate::support::{Gate, pools};

const WRONG: WrongPool = WrongPool {
    from: PoolKind::Cpu,
    to: PoolKind::Mixed,
};

fn script(batches: usize) -> Script {
    Script {
        sizes: vec![100; batches],
        ..Script::default()
    }
}

fn wait_for_rest(pools: &Pools, bytes: usize, snapshot: impl Fn() -> pools::stream::StreamSnapshot) -> usize {
    while snapshot().bytes < bytes || pools.mixed().snapshot().blocking_running > 0 {
        thread::yield_now();
    }
    snapshot().ready
}

#[test]
fn a_source_reads_ahead_as_much_as_it_may_and_then_rests_without_a_thread() {
    let pools = pools(1);
    let Scene { mut stream, watch } = script(10).start(&pools, 350);
    assert_eq!(wait_for_rest(&pools, 300, || stream.snapshot()), 3);
    assert_eq!(pools.mixed().snapshot().blocking_waiting, 0);
    stream.next_blocking().unwrap().unwrap();
    let started = pools.mixed().snapshot().blocking_in_all;
    assert_eq!(wait_for_rest(&pools, 300, || stream.snapshot()), 3);
    assert_eq!(started, 2, "a call for what fits, and one for what was taken");
    let text = stream.snapshot().to_string();
    assert!(
        text.starts_with("300 of 350 bytes held (at most 300), 3 batches ready of 4 read"),
        "{text}"
    );
    drop(stream);
    watch.assert_closed_once();
}

#[test]
fn a_batch_above_the_bound_goes_alone() {
    let pools = pools(1);
    for knows_sizes in [true, false] {
        let script = Script {
            sizes: vec![100, 5_000, 100, 100],
            knows_sizes,
            ..Script::default()
        };
        let Scene { mut stream, watch } = script.start(&pools, 0);
        for n in 0..4 {
            assert_eq!(stream.next_blocking().unwrap().unwrap().n, n);
        }
        assert!(stream.next_blocking().is_none());
        assert_eq!(stream.snapshot().bytes_peak, 5_000);
        watch.assert_closed_once();
    }
}

#[test]
fn who_has_been_given_the_end_or_an_error_knows_that_the_source_is_closed() {
    let pools = pools(1);
    let faults = [
        None,
        Some((Point::Read(2), super::script::Fault::Error)),
        Some((Point::Read(2), super::script::Fault::Panic)),
        Some((Point::Close, super::script::Fault::Panic)),
    ];
    for is_async in [false, true] {
        for fault in faults {
            let script = Script {
                fault,
                is_async,
                ..script(2)
            };
            let Scene { mut stream, watch } = script.start(&pools, 1_000);
            while let Some(Ok(_)) = stream.next_blocking() {}
            assert_eq!(watch.seen.closes.load(Ordering::SeqCst), 1);
            assert_eq!(watch.seen.on_close.load(Ordering::SeqCst), 1);
            let told = Arc::new(AtomicUsize::new(0));
            let tells = told.clone();
            stream.on_close(move || {
                tells.fetch_add(1, Ordering::SeqCst);
            });
            assert_eq!(told.load(Ordering::SeqCst), 1);
        }
    }
}

#[test]
fn everybody_is_told_in_turn_though_one_of_them_panics() {
    let pools = pools(1);
    let gate = Gate::new();
    let held = gate.clone();
    let source = move || {
        held.pass();
        Ok::<Option<Vec<u8>>, Infallible>(None)
    };
    let mut stream = BatchStream::read(&pools.mixed(), source, 1);
    let (send, told) = mpsc::channel();
    let first = send.clone();
    stream.on_close(move || first.send("first").unwrap());
    stream.on_close(|| super::script::planned_panic("out of ink".to_owned()));
    stream.on_close(move || send.send("last").unwrap());
    gate.open();
    let end = stream.next_blocking().unwrap().unwrap_err();
    assert!(
        matches!(&end, StreamError::Panicked { message } if message == "out of ink"),
        "{end}"
    );
    assert!(stream.next_blocking().is_none());
    assert_eq!(told.into_iter().collect::<Vec<_>>(), ["first", "last"]);
}

#[test]
fn a_source_is_read_and_closed_on_the_mixed_pool() {
    let pools = Pools::builder().name("streams").build().unwrap();
    struct Tells(mpsc::Sender<String>);
    impl Tells {
        fn tell(&self) {
            self.0.send(thread::current().name().unwrap().to_owned()).unwrap();
        }
    }
    impl pools::stream::BatchSource for Tells {
        type Batch = Vec<u8>;
        type Error = Infallible;
        fn next(&mut self) -> Result<Option<Vec<u8>>, Infallible> {
            self.tell();
            Ok(Some(vec![0; 100]))
        }
        fn close(&mut self) {
            self.tell();
        }
    }
    let (send, told) = mpsc::channel();
    let mut stream = BatchStream::read(&pools.mixed(), Tells(send), 300);
    stream.next_blocking().unwrap().unwrap();
    wait_for_rest(&pools, 300, || stream.snapshot());
    stream.close();
    let names: Vec<_> = told.into_iter().collect();
    assert_eq!(names.len(), 5, "four batches and a close");
    assert!(
        names.iter().all(|name| name.starts_with("streams-mixed")),
        "{names:?}"
    );
}

#[test]
fn in_a_cpu_task_streams_are_refused_and_closed() {
    let pools = pools(1);
    let Scene { stream, watch } = script(3).start(&pools, 1_000);
    let refused = pools.cpu().run(move |_cx| {
        let mut stream = stream;
        let items: Vec<_> = (&mut stream).take(5).collect();
        assert_eq!(items.len(), 1, "it is the last item");
        items.into_iter().next().unwrap().map(drop)
    });
    let refused = refused.wait().unwrap();
    assert!(
        matches!(refused, Err(StreamError::WrongPool(WRONG))),
        "{refused:?}"
    );
    watch.assert_closed_once();

    let Scene { mut stream, watch } = script(3).start(&pools, 1_000);
    let inner = pools.clone();
    let refused = pools.cpu().run(move |_cx| {
        let awaited = pollster::block_on(stream.next()).unwrap().map(drop);
        let Scene {
            mut stream,
            watch: started,
        } = script(3).start(&inner, 1_000);
        (awaited, stream.next_blocking().unwrap().map(drop), started)
    });
    let (awaited, began, started) = refused.wait().unwrap();
    assert!(
        matches!(awaited, Err(StreamError::WrongPool(WRONG))),
        "{awaited:?}"
    );
    assert!(matches!(began, Err(StreamError::WrongPool(WRONG))), "{began:?}");
    watch.assert_closed_once();
    started.assert_closed_once();
}

#[test]
fn in_async_code_what_blocks_is_refused() {
    let pools = pools(1);
    let Scene { mut stream, watch } = script(3).start(&pools, 1_000);
    let refused = pools
        .mixed()
        .block_on(async { stream.next_blocking().unwrap().map(drop) });
    let refused = refused.unwrap().unwrap_err();
    assert!(
        refused.to_string().contains("BatchStream::next_blocking"),
        "{refused}"
    );
    assert!(stream.next_blocking().is_none());
    watch.assert_closed_once();
}

#[test]
fn after_the_end_of_the_pools_streams_say_so() {
    let pools = pools(1);
    let Scene { mut stream, watch } = script(9).start(&pools, 250);
    wait_for_rest(&pools, 200, || stream.snapshot());
    assert!(pools.shutdown(Duration::from_secs(3_600)).unwrap().is_clean());
    for n in 0..2 {
        assert_eq!(stream.next_blocking().unwrap().unwrap().n, n);
    }
    let ended = stream.next_blocking().unwrap().map(drop);
    assert!(matches!(ended, Err(StreamError::PoolsEnded)), "{ended:?}");
    watch.assert_closed_once();

    for is_async in [false, true] {
        let late = Script {
            is_async,
            ..script(3)
        };
        let Scene { mut stream, watch } = late.start(&pools, 1_000);
        let ended = stream.next_blocking().unwrap().map(drop);
        assert!(matches!(ended, Err(StreamError::PoolsEnded)), "{ended:?}");
        watch.assert_closed_once();
    }
}

#[test]
fn when_the_pools_end_what_was_read_can_still_be_had() {
    for is_async in [false, true] {
        let pools = pools(1);
        let held = Script {
            holds: Some(2),
            is_async,
            ..script(3)
        };
        let Scene { mut stream, watch } = held.start(&pools, 1_000);
        watch.wait_for_hold();
        assert!(!pools.shutdown(Duration::ZERO).unwrap().is_clean());
        for n in 0..2 {
            assert_eq!(stream.next_blocking().unwrap().unwrap().n, n);
        }
        let ended = stream.next_blocking().unwrap().map(drop);
        assert!(matches!(ended, Err(StreamError::PoolsEnded)), "{ended:?}");
        watch.let_go();
        watch.assert_closed_once();
    }
}

#[test]
fn a_stream_keeps_its_pools_and_the_last_handle_may_be_its_reader() {
    let own = pools(1);
    let held = Script {
        holds: Some(1),
        ..script(3)
    };
    let Scene { mut stream, watch } = held.start(&own, 1_000);
    drop(own);
    assert_eq!(stream.next_blocking().unwrap().unwrap().n, 0);
    watch.wait_for_hold();
    drop(stream);
    watch.let_go();
    watch.assert_closed_once();
}

#[test]
fn streams_run_on_a_runtime_of_one_thread() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let own = Pools::builder()
        .cpu_threads(1)
        .runtime(runtime.handle().clone())
        .build()
        .unwrap();
    for is_async in [false, true] {
        let script = Script {
            is_async,
            ..script(5)
        };
        let Scene { mut stream, watch } = script.start(&own, 150);
        let read = runtime.block_on(async {
            let mut read = 0;
            while let Some(batch) = stream.next().await {
                read += usize::from(batch.is_ok());
            }
            read
        });
        assert_eq!(read, 5);
        watch.assert_closed_once();
    }
}

#[test]
fn a_source_that_is_always_ready_lets_its_neighbours_run() {
    let own = Pools::builder().cpu_threads(1).mixed_threads(1).build().unwrap();
    let (stop, stopped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let asks = stop.clone();
    let source = move || {
        let more = asks.load(Ordering::SeqCst) == 0;
        async move { Ok::<_, Infallible>(more.then(|| vec![0_u8; 1])) }
    };
    let mut stream = BatchStream::from_async(&own.mixed(), source, usize::MAX);
    let neighbour = own.mixed().spawn(async move { stop.store(1, Ordering::SeqCst) });
    neighbour.unwrap().wait().unwrap();
    while let Some(batch) = stream.next_blocking() {
        stopped.fetch_add(batch.unwrap().len(), Ordering::SeqCst);
    }
}
