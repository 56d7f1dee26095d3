//! Models of a reader, a consumer and a closer. Each checks that the source is closed once and that
//! each `on_close` call is made once.

use std::sync::Arc;

use loom::thread;
use pools::stream::StreamError;

use crate::model::model;
use crate::scene::{
    Seen, Stream, block_on, counts, dropped_after, fails_behind, read_ahead, silent, stuck, take_all,
};

struct OnceAtTheEnd(Arc<Seen>);

impl Drop for OnceAtTheEnd {
    fn drop(&mut self) {
        assert_eq!(self.0.counts(), (1, 1));
    }
}

/// Loom reports a missing close as a leak.
fn check_at_the_end(stream: &Stream, seen: &Arc<Seen>) {
    let (check, alive) = (OnceAtTheEnd(seen.clone()), loom::alloc::Track::new(()));
    stream.on_close(move || drop((check, alive)));
}

#[test]
fn delivery_against_a_consumer_that_falls_asleep() {
    model("delivery_against_a_consumer_that_falls_asleep", None, || {
        let (mut stream, seen) = counts(1);
        let (taken, end) = take_all(&mut stream);
        assert!(taken == 1 && end.is_ok());
        assert_eq!(seen.counts(), (1, 1));
    });
}

#[test]
fn rest_against_the_release_that_makes_room() {
    model("rest_against_the_release_that_makes_room", None, || {
        let (mut stream, seen) = counts(2);
        let (taken, end) = take_all(&mut stream);
        assert!(taken == 2 && end.is_ok());
        assert_eq!(stream.snapshot().bytes_peak, 1);
        assert_eq!(seen.counts(), (1, 1));
    });
}

#[test]
fn failure_against_a_consumer_that_falls_asleep() {
    model("failure_against_a_consumer_that_falls_asleep", None, || {
        let (mut stream, seen) = fails_behind(1);
        let (taken, end) = take_all(&mut stream);
        assert!(taken == 1 && matches!(end, Err(StreamError::Source(()))));
        assert_eq!(seen.counts(), (1, 1));
    });
}

#[test]
fn drop_against_a_source_that_comes_to_rest() {
    model("drop_against_a_source_that_comes_to_rest", None, || {
        let (stream, seen) = counts(usize::MAX);
        check_at_the_end(&stream, &seen);
        drop(stream);
    });
}

#[test]
fn drop_after_a_batch_against_the_reader_that_it_started() {
    model(
        "drop_after_a_batch_against_the_reader_that_it_started",
        None,
        || {
            let (mut stream, seen) = counts(3);
            check_at_the_end(&stream, &seen);
            let batch = block_on(stream.next());
            assert_eq!(batch.unwrap().unwrap().value, 0);
            drop(stream);
        },
    );
}

#[test]
fn close_by_a_handle_against_the_release_that_makes_room() {
    model(
        "close_by_a_handle_against_the_release_that_makes_room",
        Some(3),
        || {
            let (mut stream, seen) = counts(2);
            check_at_the_end(&stream, &seen);
            let handle = stream.handle();
            let closes = thread::spawn(move || handle.close());
            let (taken, end) = take_all(&mut stream);
            match end {
                Ok(()) => assert_eq!(taken, 2),
                Err(error) => assert!(matches!(error, StreamError::Closed)),
            }
            closes.join().unwrap();
        },
    );
}

#[test]
fn close_by_a_handle_against_the_end() {
    model("close_by_a_handle_against_the_end", Some(5), || {
        let (mut stream, seen) = read_ahead(1);
        check_at_the_end(&stream, &seen);
        let handle = stream.handle();
        let closes = thread::spawn(move || handle.close());
        let (taken, end) = take_all(&mut stream);
        match end {
            Ok(()) => assert_eq!(taken, 1),
            Err(error) => assert!(matches!(error, StreamError::Closed)),
        }
        closes.join().unwrap();
    });
}

#[test]
fn close_by_a_handle_against_both_sides_that_fall_asleep() {
    model(
        "close_by_a_handle_against_both_sides_that_fall_asleep",
        None,
        || {
            let (mut stream, seen) = silent();
            check_at_the_end(&stream, &seen);
            let handle = stream.handle();
            thread::spawn(move || handle.close());
            let (taken, end) = take_all(&mut stream);
            assert!(taken == 0 && matches!(end, Err(StreamError::Closed)));
        },
    );
}

#[test]
fn on_close_against_the_end() {
    model("on_close_against_the_end", None, || {
        let (mut stream, seen) = counts(0);
        seen.on_close(&stream);
        let (taken, end) = take_all(&mut stream);
        assert!(taken == 0 && end.is_ok());
        assert_eq!(seen.counts(), (1, 2));
        seen.on_close(&stream);
        assert_eq!(seen.counts(), (1, 3));
    });
}

#[test]
fn end_of_the_pool_against_a_consumer_that_falls_asleep() {
    model(
        "end_of_the_pool_against_a_consumer_that_falls_asleep",
        None,
        || {
            let (mut stream, seen, door) = stuck();
            check_at_the_end(&stream, &seen);
            let (taken, end) = take_all(&mut stream);
            assert!(taken == 0 && matches!(end, Err(StreamError::PoolsEnded)));
            door.open();
        },
    );
}

#[test]
fn dropped_call_against_a_consumer_that_falls_asleep() {
    model("dropped_call_against_a_consumer_that_falls_asleep", None, || {
        let (mut stream, seen) = dropped_after(1, 2);
        let (taken, end) = take_all(&mut stream);
        // The reader may have read all before there was a call to drop.
        match end {
            Ok(()) => assert_eq!(taken, 2),
            Err(error) => assert!(taken >= 1 && matches!(error, StreamError::PoolsEnded)),
        }
        assert_eq!(seen.counts(), (1, 1));
    });
}
