//! A stream whose readers are loom's threads, and the records of its source.

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

/// std's atomics will do, since loom runs one thread at a time.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    closes: AtomicUsize,
    on_close: AtomicUsize,
}

#[derive(Debug, Default)]
struct Threads {
    ends: bool,
    /// Later calls are dropped.
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
            // After a failed model loom has no more threads, and a dropped call would return here.
            return std::mem::forget(call);
        }
        thread::spawn(call);
    }
}

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

struct Stuck(Arc<Door>, Arc<Seen>);

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

/// One byte a batch, and a bound of one batch.
pub(crate) fn counts(batches: usize) -> (Stream, Arc<Seen>) {
    read(Threads::default(), batches, false, 1)
}

pub(crate) fn read_ahead(batches: usize) -> (Stream, Arc<Seen>) {
    read(Threads::default(), batches, false, batches + 1)
}

pub(crate) fn fails_behind(batches: usize) -> (Stream, Arc<Seen>) {
    read(Threads::default(), batches, true, batches + 1)
}

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

pub(crate) fn silent() -> (Stream, Arc<Seen>) {
    let seen = Arc::<Seen>::default();
    let stream = model::from_async(Box::new(Threads::default()), Silent(seen.clone()), 1);
    (told(stream, &seen), seen)
}

/// Blocks until the door opens, on a pool that ends meanwhile.
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
    pub(crate) fn on_close(self: &Arc<Self>, stream: &Stream) {
        let seen = self.clone();
        stream.on_close(move || {
            seen.on_close.fetch_add(1, Ordering::Relaxed);
        });
    }

    pub(crate) fn counts(&self) -> (usize, usize) {
        (
            self.closes.load(Ordering::Relaxed),
            self.on_close.load(Ordering::Relaxed),
        )
    }
}

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
