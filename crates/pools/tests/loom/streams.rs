//! A reader, a consumer and whoever closes: named after the races in `crates/pools/src/stream/README.md`.
//!
//! That all is done once is looked at when it is: where the consumer knows, right away, else after the last thread, by a value that
//! looks when it is dropped.

use std::sync::Arc;

use loom::thread;
use pools::stream::StreamError;

use crate::model::model;
use crate::scene::{
    Seen, Stream, block_on, counts, dropped_after, fails_behind, read_ahead, silent, stuck, take_all,
};

/// Looks at the end of the scene whether everything was done once: it is kept by whoever is told of the close.
struct OnceAtTheEnd(Arc<Seen>);

impl Drop for OnceAtTheEnd {
    fn drop(&mut self) {
        assert_eq!(self.0.counts(), (1, 1));
    }
}

/// Has the close checked when it comes. That it comes loom sees to: the last handle to what is checked would leak.
fn check_at_the_end(stream: &Stream, seen: &Arc<Seen>) {
    let (check, alive) = (OnceAtTheEnd(seen.clone()), loom::alloc::Track::new(()));
    stream.on_close(move || drop((check, alive)));
}

/// The reader delivers, rests and ends while the consumer looks, finds nothing and falls asleep.
#[test]
fn delivery_against_a_consumer_that_falls_asleep() {
    model("delivery_against_a_consumer_that_falls_asleep", None, || {
        let (mut stream, seen) = counts(1);
        let (taken, end) = take_all(&mut stream);
        assert!(taken == 1 && end.is_ok());
        // Who is given the end knows that everything has been done.
        assert_eq!(seen.counts(), (1, 1));
    });
}

/// The source has no room for the second batch and comes to rest while the consumer takes the first: it is read on.
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

/// The source fails behind a batch while the consumer takes that, finds nothing or falls asleep: he has the batch, and then the error.
#[test]
fn failure_against_a_consumer_that_falls_asleep() {
    model("failure_against_a_consumer_that_falls_asleep", None, || {
        let (mut stream, seen) = fails_behind(1);
        let (taken, end) = take_all(&mut stream);
        assert!(taken == 1 && matches!(end, Err(StreamError::Source(()))));
        assert_eq!(seen.counts(), (1, 1));
    });
}

/// The consumer goes while the reader reads, delivers or rests: the source, which has no end, is closed by one of them.
#[test]
fn drop_against_a_source_that_comes_to_rest() {
    model("drop_against_a_source_that_comes_to_rest", None, || {
        let (stream, seen) = counts(usize::MAX);
        check_at_the_end(&stream, &seen);
        drop(stream);
    });
}

/// The consumer takes a batch and goes, while the reader comes to rest or is started again.
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

/// Somebody closes while the consumer takes a batch, makes room and falls asleep: he is told, and one of the two has the source.
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

/// Somebody closes while all has been read and the source is closed: the consumer has had the batch, or is told that he lacks it.
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

/// Somebody closes while consumer and reader fall asleep: both are woken.
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

/// Somebody wants to be told of the close while the source is being closed: he is, once.
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

/// The pool's time is up while the source blocks and the consumer falls asleep: he is told, and the source is closed when it comes back.
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

/// The pool drops the call that reads on while the consumer falls asleep: the source is closed elsewhere, and the consumer is told.
#[test]
fn dropped_call_against_a_consumer_that_falls_asleep() {
    model("dropped_call_against_a_consumer_that_falls_asleep", None, || {
        let (mut stream, seen) = dropped_after(1, 2);
        let (taken, end) = take_all(&mut stream);
        // Perhaps all was read before there was a call to drop.
        match end {
            Ok(()) => assert_eq!(taken, 2),
            Err(error) => assert!(taken >= 1 && matches!(error, StreamError::PoolsEnded)),
        }
        assert_eq!(seen.counts(), (1, 1));
    });
}
