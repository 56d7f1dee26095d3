//! A source that follows a script and records the calls to it.

use std::future::Future;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use pools::Pools;
use pools::stream::{AsyncBatchSource, BatchSource, BatchStream, Weigh};
use tokio::sync::Semaphore;

use crate::support::Gate;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Point {
    Expect(usize),
    Read(usize),
    Weigh(usize),
    Close,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Error,
    Panic,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Script {
    pub(crate) sizes: Vec<usize>,
    pub(crate) knows_sizes: bool,
    pub(crate) fault: Option<(Point, Fault)>,
    pub(crate) holds: Option<usize>,
    pub(crate) is_async: bool,
}

#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) closes: AtomicUsize,
    pub(crate) source_drops: AtomicUsize,
    pub(crate) bytes_alive: AtomicUsize,
    pub(crate) on_close: AtomicUsize,
    gate: Gate,
}

pub(crate) struct Piece {
    pub(crate) n: usize,
    bytes: usize,
    panics: bool,
    seen: Arc<Seen>,
}

struct Scripted {
    script: Script,
    seen: Arc<Seen>,
    permits: Arc<Semaphore>,
    reads: usize,
}

pub(crate) struct Scene {
    pub(crate) stream: BatchStream<Piece, String>,
    pub(crate) watch: Watch,
}

pub(crate) struct Watch {
    pub(crate) seen: Arc<Seen>,
    permits: Arc<Semaphore>,
    closed: mpsc::Receiver<()>,
}

impl Script {
    pub(crate) fn message(&self) -> Option<String> {
        let (point, fault) = self.fault?;
        Some(format!("{fault:?} at {point:?}"))
    }

    pub(crate) fn batches(&self) -> usize {
        match self.fault {
            Some((Point::Expect(n) | Point::Read(n) | Point::Weigh(n), _)) => n,
            Some((Point::Close, _)) | None => self.sizes.len(),
        }
    }

    pub(crate) fn start(&self, pools: &Pools, read_ahead_bytes: usize) -> Scene {
        let (seen, permits) = (Arc::<Seen>::default(), Arc::new(Semaphore::new(0)));
        let source = Scripted {
            script: self.clone(),
            seen: seen.clone(),
            permits: permits.clone(),
            reads: 0,
        };
        let stream = if self.is_async {
            BatchStream::from_async(&pools.mixed(), Awaited(source), read_ahead_bytes)
        } else {
            BatchStream::read(&pools.mixed(), source, read_ahead_bytes)
        };
        let (close, closed) = mpsc::channel();
        let tells = seen.clone();
        stream.on_close(move || {
            // Ordering: SeqCst. Counters of a test, here and below.
            tells.on_close.fetch_add(1, Ordering::SeqCst);
            close.send(()).expect("the test waits");
        });
        let watch = Watch {
            seen,
            permits,
            closed,
        };
        Scene { stream, watch }
    }

    fn at(&self, point: Point) -> Result<(), String> {
        match self.fault {
            Some((at, fault)) if at == point => {
                let message = format!("{fault:?} at {point:?}");
                match fault {
                    Fault::Error => Err(message),
                    Fault::Panic => planned_panic(message),
                }
            }
            _ => Ok(()),
        }
    }
}

pub(crate) fn planned_panic(message: String) -> ! {
    resume_unwind(Box::new(message))
}

impl Watch {
    pub(crate) fn wait_for_hold(&self) {
        self.seen.gate.wait_for(1);
    }

    pub(crate) fn is_held(&self) -> bool {
        self.seen.gate.arrived() > 0
    }

    pub(crate) fn let_go(&self) {
        self.seen.gate.open();
        self.permits.add_permits(1);
    }

    pub(crate) fn assert_closed_once(&self) {
        self.closed.recv().expect("it is told before it is dropped");
        let told = self.closed.recv();
        assert!(told.is_err(), "told twice");
        let Seen {
            closes,
            source_drops,
            bytes_alive,
            on_close,
            ..
        } = &*self.seen;
        let counted = [closes, source_drops, on_close].map(|count| count.load(Ordering::SeqCst));
        assert_eq!(counted, [1, 1, 1], "closed, dropped, told");
        while bytes_alive.load(Ordering::SeqCst) > 0 {
            thread::yield_now();
        }
    }
}

impl Scripted {
    fn begin(&mut self) -> usize {
        self.reads += 1;
        self.reads - 1
    }

    fn holds(&self, read: usize) -> bool {
        self.script.holds == Some(read)
    }

    fn give(&self, n: usize) -> Result<Option<Piece>, String> {
        self.script.at(Point::Read(n))?;
        Ok(self.script.sizes.get(n).map(|&bytes| {
            self.seen.bytes_alive.fetch_add(bytes, Ordering::SeqCst);
            Piece {
                n,
                bytes,
                panics: self.script.fault == Some((Point::Weigh(n), Fault::Panic)),
                seen: self.seen.clone(),
            }
        }))
    }

    fn expects(&self) -> Option<usize> {
        if let Err(message) = self.script.at(Point::Expect(self.reads)) {
            panic!("{message}: it cannot fail");
        }
        let next = self.script.sizes.get(self.reads).copied();
        next.filter(|_| self.script.knows_sizes)
    }

    fn close(&self) {
        self.seen.closes.fetch_add(1, Ordering::SeqCst);
        if let Err(message) = self.script.at(Point::Close) {
            panic!("{message}: it cannot fail");
        }
    }
}

impl BatchSource for Scripted {
    type Batch = Piece;
    type Error = String;

    fn next(&mut self) -> Result<Option<Piece>, String> {
        let read = self.begin();
        if self.holds(read) {
            self.seen.gate.pass();
        }
        self.give(read)
    }

    fn expected_bytes(&self) -> Option<usize> {
        self.expects()
    }

    fn close(&mut self) {
        Self::close(self);
    }
}

struct Awaited(Scripted);

impl AsyncBatchSource for Awaited {
    type Batch = Piece;
    type Error = String;

    fn next(&mut self) -> impl Future<Output = Result<Option<Piece>, String>> + Send {
        let read = self.0.begin();
        async move {
            if self.0.holds(read) {
                self.0.seen.gate.arrive();
                self.0.permits.acquire().await.expect("it stays open").forget();
            }
            self.0.give(read)
        }
    }

    fn expected_bytes(&self) -> Option<usize> {
        self.0.expects()
    }

    fn close(&mut self) {
        self.0.close();
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.seen.source_drops.fetch_add(1, Ordering::SeqCst);
    }
}

impl Weigh for Piece {
    fn bytes(&self) -> usize {
        if self.panics {
            planned_panic(format!("Panic at Weigh({})", self.n));
        }
        self.bytes
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        self.seen.bytes_alive.fetch_sub(self.bytes, Ordering::SeqCst);
    }
}
