//! A stream with one act at one point, and its allowed outcomes.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use pools::stream::{BatchStream, StreamError};
use pools::{CpuCx, Pools};

use super::script::{Piece, Point, Scene, Script, Watch, planned_panic};
use crate::support::Gate;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Awaiting,
    Blocking,
    Slices,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// 0 is before the first poll.
    After(usize),
    Pending(usize),
    InCut(usize),
    InSlice(usize),
    /// From outside, while its first slice runs.
    BesideSlice(usize),
    InFold(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Close,
    Handle,
    Drop,
    Panic,
    Fail,
    Shutdown,
}

#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) script: Script,
    pub(crate) read_ahead_bytes: usize,
    pub(crate) way: Way,
    pub(crate) act: Option<(When, Act)>,
}

#[derive(Debug, Default)]
struct Got {
    values: Vec<usize>,
    /// `None`: the consumer did not wait, or panicked.
    end: Option<Result<(), String>>,
    acted: bool,
}

type Stream = BatchStream<Piece, String>;

const FAILURE: &str = "the consumer's failure";
const PANIC: &str = "the consumer's panic";

impl Case {
    pub(crate) fn check(&self, pools: &Pools) {
        let (case, pools) = (self.clone(), pools.clone());
        let (done, ended) = mpsc::channel();
        let plays = thread::spawn(move || {
            case.play(&pools);
            done.send(()).expect("somebody waits");
        });
        let hangs = ended.recv_timeout(Duration::from_secs(240)) == Err(mpsc::RecvTimeoutError::Timeout);
        assert!(!hangs, "it hangs: {self:?}");
        if let Err(panicked) = plays.join() {
            panic!("{}: {self:?}", said(&*panicked));
        }
    }

    pub(crate) fn is_possible(&self) -> bool {
        let batches = self.script.batches();
        let Some((when, act)) = self.act else {
            return self.script.holds.is_none();
        };
        let way = match self.way {
            Way::Awaiting | Way::Blocking => matches!(when, When::After(_) | When::Pending(_)),
            Way::Slices => !matches!(when, When::After(1..)),
        };
        let can = match (when, act) {
            (_, Act::Fail) => matches!(when, When::InSlice(_)),
            (When::InCut(_) | When::InSlice(_), _) => matches!(act, Act::Panic | Act::Handle),
            (When::InFold(_), _) => act == Act::Panic,
            (When::BesideSlice(_), _) => matches!(act, Act::Drop | Act::Handle | Act::Shutdown),
            (When::Pending(_), _) if self.way == Way::Blocking => matches!(act, Act::Handle | Act::Shutdown),
            (When::Pending(_), Act::Panic) => false,
            (_, Act::Close) => self.way != Way::Slices,
            (When::After(_), Act::Panic) => self.way != Way::Slices,
            _ => true,
        };
        let comes = match when {
            When::After(n) => n <= batches && self.script.holds.is_none(),
            When::Pending(n) => {
                let reads = !matches!(self.script.fault, Some((Point::Expect(at), _)) if at <= n);
                n <= batches && reads && self.script.holds == Some(n)
            }
            When::InCut(n) | When::InSlice(n) | When::BesideSlice(n) | When::InFold(n) => {
                n < batches && self.script.holds.is_none()
            }
        };
        way && can && comes
    }

    fn play(&self, pools: &Pools) {
        let Scene { stream, watch } = self.script.start(pools, self.read_ahead_bytes);
        let handle = stream.handle();
        let mut got = Got::default();
        let consumes = || match self.way {
            Way::Awaiting | Way::Blocking => self.take(stream, pools, &watch, &mut got),
            Way::Slices => self.slice(stream, pools, &watch, &mut got),
        };
        if let Err(panicked) = catch_unwind(AssertUnwindSafe(consumes)) {
            assert_eq!(said(&*panicked), PANIC);
        }
        if !self.script.is_async {
            // An async read is dropped instead.
            watch.let_go();
        }
        watch.assert_closed_once();
        self.check_got(&got);
        let (peak, max) = (handle.snapshot().bytes_peak, self.peak_max());
        assert!(peak <= max, "held {peak} bytes, and not {max}");
        // A dropped consumer's slices may still run.
        while !handle.snapshot().over || handle.snapshot().bytes > 0 {
            thread::yield_now();
        }
    }

    fn take(&self, mut stream: Stream, pools: &Pools, watch: &Watch, got: &mut Got) {
        loop {
            let here = match self.act {
                Some((When::After(n), act)) if got.values.len() == n && !got.acted => Some((act, false)),
                Some((When::Pending(n), act)) if got.values.len() == n && !got.acted => Some((act, true)),
                _ => None,
            };
            if let Some((act, pending)) = here {
                got.acted = true;
                if pending {
                    watch.wait_for_hold();
                    if self.way == Way::Blocking {
                        got.end = Some(self.told_while_blocking(stream, act, pools));
                        return;
                    }
                    let polled = pin!(stream.next()).poll(&mut Context::from_waker(Waker::noop()));
                    assert!(polled.is_pending());
                }
                match act {
                    Act::Close => {
                        stream.close();
                        stream.close();
                    }
                    Act::Drop => return drop(stream),
                    Act::Panic => planned_panic(PANIC.to_owned()),
                    Act::Handle => stream.handle().close(),
                    Act::Shutdown => shut_down(pools),
                    Act::Fail => unreachable!("only slices fail"),
                }
            }
            let item = match self.way {
                Way::Blocking => stream.next_blocking(),
                _ => pollster::block_on(stream.next()),
            };
            match item {
                Some(Ok(piece)) => got.values.push(piece.n),
                Some(Err(error)) => {
                    assert!(
                        pollster::block_on(stream.next()).is_none(),
                        "an error is the last item"
                    );
                    got.end = Some(Err(error.to_string()));
                    return;
                }
                None => {
                    assert!(stream.next_blocking().is_none());
                    got.end = Some(Ok(()));
                    return;
                }
            }
        }
    }

    fn told_while_blocking(&self, mut stream: Stream, act: Act, pools: &Pools) -> Result<(), String> {
        let handle = stream.handle();
        let waits = thread::spawn(move || stream.next_blocking().map(|item| item.map(drop)));
        match act {
            Act::Handle => handle.close(),
            _ => shut_down(pools),
        }
        let item = waits.join().expect("it does not panic");
        item.unwrap_or(Ok(())).map_err(|error| error.to_string())
    }

    fn slice(&self, stream: Stream, pools: &Pools, watch: &Watch, got: &mut Got) {
        let (act, handle, gate) = (self.act, stream.handle(), Gate::new());
        let closes = handle.clone();
        let here = move |when: When| match act {
            Some((at, Act::Panic)) if at == when => planned_panic(PANIC.to_owned()),
            Some((at, Act::Fail)) if at == when => Err(FAILURE.to_owned()),
            Some((at, Act::Handle)) if at == when => {
                closes.close();
                Ok(())
            }
            _ => Ok(()),
        };
        let (in_cut, in_fold, holds) = (here.clone(), here.clone(), gate.clone());
        let cut = move |piece: Piece| {
            in_cut(When::InCut(piece.n)).expect("no failure there");
            let slices = slices_of(piece.n);
            let piece = Arc::new(piece);
            (0..slices).map(|i| (piece.clone(), i)).collect()
        };
        let each = move |(piece, i): (Arc<Piece>, usize), _cx: &CpuCx<'_>| {
            if i == 0 {
                here(When::InSlice(piece.n))?;
                if matches!(act, Some((When::BesideSlice(n), _)) if n == piece.n) {
                    holds.pass();
                }
            }
            Ok(piece.n)
        };
        let values = &mut got.values;
        let fold = move |(), n| {
            in_fold(When::InFold(n)).expect("no failure there");
            values.push(n);
        };
        let cpu = pools.cpu();
        let mut folds = Box::pin(stream.fold_slices(&cpu, cut, each, (), fold));
        let happens: Option<(bool, &dyn Fn() -> bool, Act)> = match act {
            Some((When::After(_), act)) => Some((false, &|| true, act)),
            Some((When::Pending(_), act)) => Some((true, &|| watch.is_held(), act)),
            Some((When::BesideSlice(_), act)) => Some((true, &|| gate.arrived() > 0, act)),
            _ => None,
        };
        got.acted = act.is_some();
        if let Some((begun, comes, act)) = happens {
            while begun && !comes() {
                assert!(poll_once(folds.as_mut()).is_pending());
                thread::yield_now();
            }
            match act {
                Act::Drop => {
                    drop(folds);
                    return gate.open();
                }
                Act::Handle => handle.close(),
                _ => shut_down(pools),
            }
            gate.open();
        }
        let end = pollster::block_on(folds);
        got.end = Some(end.map_err(|error: StreamError<String>| error.to_string()));
    }

    fn check_got(&self, got: &Got) {
        let slices = |n: usize| vec![n; if self.way == Way::Slices { slices_of(n) } else { 1 }];
        let upto = |n: usize| (0..n).flat_map(slices).collect::<Vec<_>>();
        let before_fault = upto(self.script.batches());
        assert!(before_fault.starts_with(&got.values), "{got:?}");
        let is_all = got.values == before_fault;
        let fault = self.script.message();
        let told = |what: &str| matches!(&got.end, Some(Err(told)) if told.contains(what));
        let own = match self.act.filter(|_| got.acted) {
            None => None,
            Some((_, Act::Drop)) => return assert!(got.end.is_none(), "{got:?}"),
            Some((When::After(_) | When::InFold(_), Act::Panic)) => {
                return assert!(got.end.is_none(), "{got:?}");
            }
            Some((When::After(n) | When::Pending(n), Act::Close)) => {
                assert_eq!(got.values, upto(n));
                return assert_eq!(got.end, Some(Ok(())));
            }
            Some((_, Act::Close | Act::Panic)) => Some((PANIC, true)),
            Some((_, Act::Fail)) => Some((FAILURE, true)),
            Some((_, Act::Handle)) => Some(("closed before everything was read", false)),
            Some((_, Act::Shutdown)) if self.way == Way::Slices && told("cancelled") => {
                Some(("cancelled", false))
            }
            Some((_, Act::Shutdown)) => Some(("pool", false)),
        };
        match got.end.as_ref().expect("it was waited for") {
            Ok(()) => {
                let must_fail = matches!(own, Some((_, true)));
                assert!(is_all && fault.is_none() && !must_fail, "{got:?}");
            }
            Err(_) => {
                let is_fault = fault.is_some_and(|fault| told(&fault));
                let may = match own {
                    None => is_fault && is_all,
                    Some((own, true)) => told(own),
                    Some((own, false)) => told(own) || is_fault,
                };
                assert!(may, "{got:?}");
            }
        }
    }

    fn peak_max(&self) -> usize {
        let sizes = || self.script.sizes.iter().map(|&bytes| bytes.max(1));
        let (largest, smallest) = (sizes().max().unwrap_or(0), sizes().min().unwrap_or(0));
        let alone = self.read_ahead_bytes.max(largest);
        if self.script.knows_sizes || largest == smallest {
            return alone;
        }
        // What a batch weighs more than expected exceeds the bound.
        alone + largest - smallest
    }
}

fn slices_of(n: usize) -> usize {
    n % 3 + 1
}

fn shut_down(pools: &Pools) {
    let report = pools.shutdown(Duration::ZERO).expect("not in a pool");
    assert!(report.maintenance_left == 0, "{report}");
}

fn poll_once<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

fn said(panicked: &(dyn Any + Send)) -> String {
    let text = panicked.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panicked.downcast_ref::<String>().cloned())
        .unwrap_or_default()
}
