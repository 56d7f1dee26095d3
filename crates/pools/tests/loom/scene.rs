//! A stream whose readers are loom's threads, and what is seen of its source.

use std::future::{Future, pending};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use loom::sync::{Condvar, Mutex};
use loom::thread::{self, Thread};
use pools::MixedError;
use pools::stream::model::{self, Call, Host, Task};
use pools::stream::{AsyncBatchSource, BatchSource, BatchStream, StreamError, Weighed};

pub(crate) type Batch = Weighed<usize>;
pub(crate) type Stream = BatchStream<Batch, ()>;

/// What was done. Loom runs one thread at a time, so these need not be its own.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    closes: AtomicUsize,
    on_close: AtomicUsize,
}

/// A pool with a thread for each call.
#[derive(Debug, Default)]
struct Threads {
    /// Whether those who gave it a call are told, by a thread of its own, that its time is up.
    ends: bool,
    /// How many calls it runs; it drops the later ones.
    runs: Option<usize>,
    called: AtomicUsize,
}

impl Host for Threads {
    fn check(&self) -> Result<(), MixedError> {
        Ok(())
    }

    fn call(&self, call: Call, tell: Call) {
        let called = self.called.fetch_add(1, Ordering::Relaxed);
        if self.runs.is_some_and(|runs| called >= runs) {
            return;
        }
        thread::spawn(call);
        if self.ends {
            thread::spawn(tell);
        }
    }

    fn task(&self, task: Task) {
        thread::spawn(move || block_on(task));
    }

    fn outside(&self, call: Call) {
        if std::thread::panicking() {
            // The model has failed in the reader, and loom has no thread to give any more. Dropped, the call would come here again.
            return std::mem::forget(call);
        }
        thread::spawn(call);
    }
}

/// Gives so many batches of one byte, and perhaps fails then.
struct Counts {
    batches: usize,
    fails: bool,
    given: usize,
    seen: Arc<Seen>,
}

impl BatchSource for Counts {
    type Batch = Batch;
    type Error = ();

    fn next(&mut self) -> Result<Option<Batch>, ()> {
        let value = self.given;
        self.given += 1;
        match value < self.batches {
            true => Ok(Some(Weighed { value, bytes: 1 })),
            false if self.fails => Err(()),
            false => Ok(None),
        }
    }

    fn close(&mut self) {
        self.seen.closes.fetch_add(1, Ordering::Relaxed);
    }
}

/// Never gives anything.
struct Silent(Arc<Seen>);

impl AsyncBatchSource for Silent {
    type Batch = Batch;
    type Error = ();

    fn next(&mut self) -> impl Future<Output = Result<Option<Batch>, ()>> + Send {
        pending()
    }

    fn close(&mut self) {
        self.0.closes.fetch_add(1, Ordering::Relaxed);
    }
}

/// Blocks until it is let go.
struct Stuck(Arc<Door>, Arc<Seen>);

/// Open or not.
#[derive(Default)]
pub(crate) struct Door(Mutex<bool>, Condvar);

impl Door {
    pub(crate) fn open(&self) {
        *self.0.lock().unwrap() = true;
        self.1.notify_one();
    }

    fn pass(&self) {
        let mut open = self.0.lock().unwrap();
        while !*open {
            open = self.1.wait(open).unwrap();
        }
    }
}

impl BatchSource for Stuck {
    type Batch = Batch;
    type Error = ();

    fn next(&mut self) -> Result<Option<Batch>, ()> {
        self.0.pass();
        Ok(Some(Weighed { value: 0, bytes: 1 }))
    }

    fn close(&mut self) {
        self.1.closes.fetch_add(1, Ordering::Relaxed);
    }
}

/// A stream of so many batches of one byte, of which one is read ahead.
pub(crate) fn counts(batches: usize) -> (Stream, Arc<Seen>) {
    read(Threads::default(), batches, false, 1)
}

/// The same, of which all are read ahead.
pub(crate) fn read_ahead(batches: usize) -> (Stream, Arc<Seen>) {
    read(Threads::default(), batches, false, batches + 1)
}

/// The same, which fails behind them.
pub(crate) fn fails_behind(batches: usize) -> (Stream, Arc<Seen>) {
    read(Threads::default(), batches, true, batches + 1)
}

/// A stream of so many batches of one byte, one of which is read ahead, on a pool that runs so many calls and drops the later ones.
pub(crate) fn dropped_after(calls: usize, batches: usize) -> (Stream, Arc<Seen>) {
    let pool = Threads {
        runs: Some(calls),
        ..Threads::default()
    };
    read(pool, batches, false, 1)
}

fn read(pool: Threads, batches: usize, fails: bool, bytes: usize) -> (Stream, Arc<Seen>) {
    let seen = Arc::<Seen>::default();
    let source = Counts {
        batches,
        fails,
        given: 0,
        seen: seen.clone(),
    };
    let stream = model::read(Box::new(pool), source, bytes);
    (told(stream, &seen), seen)
}

/// A stream whose reader waits for ever.
pub(crate) fn silent() -> (Stream, Arc<Seen>) {
    let seen = Arc::<Seen>::default();
    let stream = model::from_async(Box::new(Threads::default()), Silent(seen.clone()), 1);
    (told(stream, &seen), seen)
}

/// A stream whose source blocks until the door is open, on a pool whose time is up meanwhile.
pub(crate) fn stuck() -> (Stream, Arc<Seen>, Arc<Door>) {
    let (seen, door) = (Arc::<Seen>::default(), Arc::<Door>::default());
    let source = Stuck(door.clone(), seen.clone());
    let pool = Threads {
        ends: true,
        ..Threads::default()
    };
    let stream = model::read(Box::new(pool), source, 1);
    (told(stream, &seen), seen, door)
}

fn told(stream: Stream, seen: &Arc<Seen>) -> Stream {
    seen.on_close(&stream);
    stream
}

impl Seen {
    /// Counts the close of the stream once more.
    pub(crate) fn on_close(self: &Arc<Self>, stream: &Stream) {
        let seen = self.clone();
        stream.on_close(move || {
            seen.on_close.fetch_add(1, Ordering::Relaxed);
        });
    }

    /// How often the source was closed, and how often that was told.
    pub(crate) fn counts(&self) -> (usize, usize) {
        (
            self.closes.load(Ordering::Relaxed),
            self.on_close.load(Ordering::Relaxed),
        )
    }
}

/// Takes everything: how many batches, and how it ended.
pub(crate) fn take_all(stream: &mut Stream) -> (usize, Result<(), StreamError<()>>) {
    let mut taken = 0;
    loop {
        match block_on(stream.next()) {
            Some(Ok(batch)) => {
                assert_eq!(batch.value, taken);
                taken += 1;
            }
            Some(Err(error)) => {
                assert!(block_on(stream.next()).is_none());
                return (taken, Err(error));
            }
            None => return (taken, Ok(())),
        }
    }
}

/// Waits for a future on loom's threads: a wake that is lost leaves it parked.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    struct Unparks(Thread);

    impl Wake for Unparks {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unparks(thread::current())));
    let mut cx = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut cx) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}
