//! Batches cut into slices, which run on the CPU pool while the next batches are read.
//!
//! A batch is a CPU task, which cuts it; slices are parts of the task. The consumer awaits tasks in
//! order, and a batch's bytes count until then.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;

use executor_threaded::lock;

use super::channel::Stop;
use super::error::StreamError;
use super::reader::Shared;
use super::{BatchStream, Held, may_block};
use crate::cpu::{CpuCx, CpuPool, CpuTask};
use crate::error::CpuError;

impl<B: Send + 'static, E: Send + 'static> BatchStream<B, E> {
    /// Cuts each batch and computes its slices on the CPU pool, while the next batches are read.
    ///
    /// Slices run in any order. The first error closes the stream and is returned: later slices
    /// never start, and none runs when this returns. Dropping the future closes the stream and
    /// cancels.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    /// use std::sync::Arc;
    /// use pools::Pools;
    /// use pools::stream::{BatchStream, StreamError};
    ///
    /// let pools = Pools::builder().cpu_threads(2).build()?;
    /// let mut left = 8;
    /// let source = move || {
    ///     left -= 1;
    ///     Ok((left > 0).then(|| vec![1_u8; 1_000]))
    /// };
    /// let stream = BatchStream::read(&pools.mixed(), source, 4_000);
    /// let ones = Arc::new(AtomicUsize::new(0));
    /// let counts = ones.clone();
    /// let (cpu, mixed) = (pools.cpu(), pools.mixed());
    /// mixed.block_on(async move {
    ///     let halves = |batch: Vec<u8>| batch.chunks(500).map(<[u8]>::to_vec).collect();
    ///     stream.for_each_slice(&cpu, halves, move |slice, _cx| {
    ///         if slice.contains(&0) {
    ///             return Err(std::io::Error::other("a zero"));
    ///         }
    ///         counts.fetch_add(slice.len(), Ordering::Relaxed);
    ///         Ok(())
    ///     }).await
    /// })??;
    /// assert_eq!(ones.load(Ordering::Relaxed), 7_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The stream's; [`StreamError::Slice`] if a slice failed; [`StreamError::Cpu`] if one panicked
    /// or the CPU pool has ended.
    pub async fn for_each_slice<S: Send + 'static>(
        self,
        cpu: &CpuPool,
        cut: impl Fn(B) -> Vec<S> + Send + Sync + 'static,
        each: impl Fn(S, &CpuCx<'_>) -> Result<(), E> + Send + Sync + 'static,
    ) -> Result<(), StreamError<E>> {
        self.fold_slices(cpu, cut, each, (), |(), ()| ()).await
    }

    /// As [`for_each_slice`](Self::for_each_slice), for a thread that may block.
    ///
    /// # Errors
    ///
    /// As [`for_each_slice`](Self::for_each_slice); and in a CPU task or async code, without
    /// effect.
    pub fn for_each_slice_blocking<S: Send + 'static>(
        self,
        cpu: &CpuPool,
        cut: impl Fn(B) -> Vec<S> + Send + Sync + 'static,
        each: impl Fn(S, &CpuCx<'_>) -> Result<(), E> + Send + Sync + 'static,
    ) -> Result<(), StreamError<E>> {
        may_block("BatchStream::for_each_slice_blocking")?;
        pollster::block_on(self.for_each_slice(cpu, cut, each))
    }

    /// As [`for_each_slice`](Self::for_each_slice), and folds the values in order. `fold` runs
    /// where the future is polled, so it should be short.
    ///
    /// # Errors
    ///
    /// As [`for_each_slice`](Self::for_each_slice).
    pub async fn fold_slices<S, T, A>(
        self,
        cpu: &CpuPool,
        cut: impl Fn(B) -> Vec<S> + Send + Sync + 'static,
        each: impl Fn(S, &CpuCx<'_>) -> Result<T, E> + Send + Sync + 'static,
        init: A,
        mut fold: impl FnMut(A, T) -> A,
    ) -> Result<A, StreamError<E>>
    where
        S: Send + 'static,
        T: Send + 'static,
    {
        let mut slicing = Slicing {
            cpu: cpu.clone(),
            work: Arc::new(Work {
                shared: Arc::clone(&self.shared),
                cut,
                each,
            }),
            stream: self,
            running: VecDeque::new(),
            end: None,
        };
        let mut folded = init;
        while let Some(values) = poll_fn(|cx| slicing.poll_next(cx)).await {
            match values {
                Ok(values) => folded = values.into_iter().fold(folded, &mut fold),
                Err(error) => return Err(slicing.wind_up(error).await),
            }
        }
        Ok(folded)
    }

    /// As [`fold_slices`](Self::fold_slices), for a thread that may block.
    ///
    /// # Errors
    ///
    /// As [`fold_slices`](Self::fold_slices); and in a CPU task or async code, without effect.
    pub fn fold_slices_blocking<S, T, A>(
        self,
        cpu: &CpuPool,
        cut: impl Fn(B) -> Vec<S> + Send + Sync + 'static,
        each: impl Fn(S, &CpuCx<'_>) -> Result<T, E> + Send + Sync + 'static,
        init: A,
        fold: impl FnMut(A, T) -> A,
    ) -> Result<A, StreamError<E>>
    where
        S: Send + 'static,
        T: Send + 'static,
    {
        may_block("BatchStream::fold_slices_blocking")?;
        pollster::block_on(self.fold_slices(cpu, cut, each, init, fold))
    }
}

/// `None`: slices were skipped after an error elsewhere.
type Sliced<T, E> = Result<Vec<T>, Option<StreamError<E>>>;

struct Slicing<B: Send + 'static, E: Send + 'static, C, F, T> {
    cpu: CpuPool,
    work: Arc<Work<B, E, C, F>>,
    stream: BatchStream<B, E>,
    running: VecDeque<Running<B, E, T>>,
    end: Option<Option<StreamError<E>>>,
}

struct Running<B: Send + 'static, E: Send + 'static, T> {
    task: CpuTask<Sliced<T, E>>,
    _held: Arc<Held<B, E>>,
}

impl<B, E, C, F, S, T> Slicing<B, E, C, F, T>
where
    B: Send + 'static,
    E: Send + 'static,
    C: Fn(B) -> Vec<S> + Send + Sync + 'static,
    F: Fn(S, &CpuCx<'_>) -> Result<T, E> + Send + Sync + 'static,
    S: Send + 'static,
    T: Send + 'static,
{
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Sliced<T, E>>> {
        while self.end.is_none() {
            match self.stream.poll_next_held(cx) {
                Poll::Ready(Some(Ok((batch, held)))) => self.compute(batch, held),
                Poll::Ready(Some(Err(error))) => self.end = Some(Some(error)),
                Poll::Ready(None) => self.end = Some(None),
                Poll::Pending => break,
            }
        }
        let Some(first) = self.running.front_mut() else {
            return match self.end.take() {
                None => Poll::Pending,
                Some(end) => {
                    self.end = Some(None);
                    Poll::Ready(end.map(|error| Err(Some(error))))
                }
            };
        };
        let Poll::Ready(sliced) = Pin::new(&mut first.task).poll(cx) else {
            return Poll::Pending;
        };
        self.running.pop_front();
        Poll::Ready(Some(flat(sliced)))
    }

    fn compute(&mut self, batch: B, held: Held<B, E>) {
        let (work, held) = (Arc::clone(&self.work), Arc::new(held));
        let holds = Arc::clone(&held);
        let task = self.cpu.run(move |cx| {
            let sliced = work.compute(batch, cx);
            // The consumer may drop the task before its slices end.
            drop(holds);
            sliced
        });
        self.running.push_back(Running { task, _held: held });
    }

    /// The error is another batch's if this one's slices were skipped.
    async fn wind_up(mut self, mut error: Option<StreamError<E>>) -> StreamError<E> {
        let mut end = self.end.take();
        let mut cx = Context::from_waker(Waker::noop());
        // Skipped slices saw a stop, and the stream may say why.
        while error.is_none() && end.is_none() {
            match self.stream.poll_next_held(&mut cx) {
                Poll::Ready(Some(Ok(_batch))) => {}
                Poll::Ready(Some(Err(error))) => end = Some(Some(error)),
                Poll::Ready(None) | Poll::Pending => end = Some(None),
            }
        }
        self.stream.close();
        for Running { task, _held } in self.running {
            if let Err(Some(other)) = flat(task.await) {
                error.get_or_insert(other);
            }
        }
        error.or(end.flatten()).unwrap_or(StreamError::Closed)
    }
}

fn flat<T, E>(sliced: Result<Sliced<T, E>, CpuError>) -> Sliced<T, E> {
    sliced.unwrap_or_else(|error| Err(Some(StreamError::Cpu(error))))
}

struct Work<B: Send + 'static, E: Send + 'static, C, F> {
    shared: Arc<Shared<B, E>>,
    cut: C,
    each: F,
}

impl<B, E, C, F, S, T> Work<B, E, C, F>
where
    B: Send + 'static,
    E: Send + 'static,
    C: Fn(B) -> Vec<S> + Send + Sync + 'static,
    F: Fn(S, &CpuCx<'_>) -> Result<T, E> + Send + Sync + 'static,
    S: Send + 'static,
    T: Send + 'static,
{
    fn compute(self: &Arc<Self>, batch: B, cx: &CpuCx<'_>) -> Sliced<T, E> {
        if self.shared.channel.is_stopped() {
            return Err(None);
        }
        let _guard = StopOnPanic(&self.shared);
        let mut slices = (self.cut)(batch);
        if slices.len() <= 1 {
            let slice = slices.pop().map(|slice| self.slice(slice, cx));
            return slice.into_iter().collect();
        }
        let places: Vec<_> = slices.into_iter().map(|slice| Mutex::new(Some(slice))).collect();
        let work = Arc::clone(self);
        let sliced = cx.map(places.len(), move |n, cx| {
            let slice = lock(&places[n]).take();
            work.slice(slice.expect("each slice is computed once"), cx)
        });
        let sliced = sliced.map_err(|error| Some(StreamError::Cpu(error)))?;
        let mut values = Vec::new();
        let mut skipped = false;
        for value in sliced {
            match value {
                Ok(value) => values.push(value),
                Err(Some(error)) => return Err(Some(error)),
                Err(None) => skipped = true,
            }
        }
        if skipped {
            return Err(None);
        }
        Ok(values)
    }

    fn slice(&self, slice: S, cx: &CpuCx<'_>) -> Result<T, Option<StreamError<E>>> {
        if self.shared.channel.is_stopped() {
            return Err(None);
        }
        let _guard = StopOnPanic(&self.shared);
        (self.each)(slice, cx).map_err(|error| {
            self.shared.stop(Stop::Consumer);
            Some(StreamError::Slice(error))
        })
    }
}

/// Lets the other slices skip after a panic.
struct StopOnPanic<'a, B: Send + 'static, E: Send + 'static>(&'a Arc<Shared<B, E>>);

impl<B: Send + 'static, E: Send + 'static> Drop for StopOnPanic<'_, B, E> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop(Stop::Consumer);
        }
    }
}
