//! The two sharding operations, as stages of a pipeline job.

use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Mutex};

use pipeline_exec::{Stage, StepCx, StepError, lock};

use super::shards::{Lists, Shards};
use crate::chunked::ChunkedVec;
use crate::memory::{MemoryExceeded, MemoryPool, Reservation};
use crate::partition::partition_index;

/// A stage that runs `f` on each partition, one slot each, for a step that keeps the grouping key.
/// The shards that come back hold the values that `f` returns, once the stage is over.
///
/// ```
/// use columnar::sharding::{Shards, sharded_for_each};
/// use pipeline_exec::{Job, PipelineExecutor};
///
/// let numbers = Shards::new([vec![1, 2], vec![3], vec![]]);
/// let (stage, sums) = sharded_for_each(&numbers, |partition, numbers: Vec<usize>, _cx| {
///     Ok(100 * partition + numbers.iter().sum::<usize>())
/// });
/// let job = Job::builder("sums").stage(stage).output(move |_cx| sums.take_all()).build();
/// assert_eq!(PipelineExecutor::new(2)?.submit(job)?.wait()?.output, [3, 103, 200]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn sharded_for_each<P, R, F>(input: &Shards<P>, f: F) -> (Arc<dyn Stage>, Shards<R>)
where
    P: Send + 'static,
    R: Send + 'static,
    F: Fn(usize, P, &StepCx<'_>) -> Result<R, StepError> + Send + Sync + 'static,
{
    let output = Shards::to_come(input.len(), input.pool());
    let stage = Sharded {
        input: input.clone(),
        output: output.clone(),
        f,
    };
    (Arc::new(stage), output)
}

/// A stage that splits records anew into `partitions` partitions. It has a slot for each value of
/// `input`, in which `f` writes records to the slot's own [`Targets`]. A partition's records are in
/// the order of the slots.
///
/// ```
/// use columnar::sharding::{Shards, partition_index, sharding_for_each};
/// use pipeline_exec::{Job, PipelineExecutor};
///
/// let morsels = Shards::new([1..500, 500..1_000]);
/// let (stage, numbers) = sharding_for_each(&morsels, 16, |morsel: std::ops::Range<u32>, targets, _cx| {
///     Ok(morsel.into_iter().try_for_each(|number| targets.push(&number, number))?)
/// });
/// let job = Job::builder("numbers").stage(stage).output(move |_cx| numbers.take_all()).build();
/// let partitions = PipelineExecutor::new(2)?.submit(job)?.wait()?.output;
/// for (index, numbers) in partitions.iter().enumerate() {
///     assert!(numbers.iter().all(|number| partition_index(number, 16) == index));
///     assert!(numbers.iter().is_sorted());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Panics
///
/// If there are no partitions.
pub fn sharding_for_each<I, T, F>(
    input: &Shards<I>,
    partitions: usize,
    f: F,
) -> (Arc<dyn Stage>, Shards<Lists<T>>)
where
    I: Send + 'static,
    T: Send + 'static,
    F: Fn(I, &mut Targets<T>, &StepCx<'_>) -> Result<(), StepError> + Send + Sync + 'static,
{
    assert!(partitions > 0, "records are split into one partition or more");
    let output = Shards::to_come(partitions, input.pool());
    let stage = Sharding {
        written: (0..input.len()).map(|_| Mutex::new(None)).collect(),
        input: input.clone(),
        output: output.clone(),
        f,
    };
    (Arc::new(stage), output)
}

/// The lists that one slot writes, one per target. They grow in chunks, reserved from the pool of
/// the [`Shards`] that the stage reads. An empty target costs a list's head until the slot ends.
#[derive(Debug)]
pub struct Targets<T> {
    lists: Vec<ChunkedVec<T>>,
    /// Counts the lists' heads.
    reservation: Reservation,
}

struct Written<T> {
    lists: Vec<(usize, ChunkedVec<T>)>,
    _reservation: Reservation,
}

impl<T> Targets<T> {
    fn new(partitions: usize, pool: Option<&Arc<MemoryPool>>) -> Result<Self, MemoryExceeded> {
        let mut reservation = Reservation::of(pool.cloned());
        reservation.grow(partitions.saturating_mul(size_of::<ChunkedVec<T>>()))?;
        Ok(Self {
            lists: (0..partitions).map(|_| list(pool)).collect(),
            reservation,
        })
    }

    fn written(self) -> Result<Written<T>, MemoryExceeded> {
        let count = self.lists.iter().filter(|list| !list.is_empty()).count();
        let mut reservation = Reservation::of(self.reservation.pool().cloned());
        reservation.grow(count.saturating_mul(size_of::<(usize, ChunkedVec<T>)>()))?;
        let mut lists = Vec::with_capacity(count);
        lists.extend(
            self.lists
                .into_iter()
                .enumerate()
                .filter(|(_, list)| !list.is_empty()),
        );
        Ok(Written {
            lists,
            _reservation: reservation,
        })
    }

    /// Writes `record` to the partition of `key`: see [`partition_index`].
    ///
    /// # Errors
    ///
    /// When the list has to grow and the pool has no room.
    pub fn push<K: Hash + ?Sized>(&mut self, key: &K, record: T) -> Result<(), MemoryExceeded> {
        let target = partition_index(key, self.lists.len());
        self.lists[target].push(record)
    }

    /// Writes `record` to the partition `target`.
    ///
    /// # Errors
    ///
    /// As [`push`](Self::push).
    ///
    /// # Panics
    ///
    /// If there is no such partition.
    pub fn push_to(&mut self, target: usize, record: T) -> Result<(), MemoryExceeded> {
        self.lists[target].push(record)
    }

    /// The number of targets.
    #[must_use]
    pub fn partitions(&self) -> usize {
        self.lists.len()
    }
}

struct Sharded<P, R, F> {
    input: Shards<P>,
    output: Shards<R>,
    f: F,
}

impl<P, R, F> Stage for Sharded<P, R, F>
where
    P: Send,
    R: Send,
    F: Fn(usize, P, &StepCx<'_>) -> Result<R, StepError> + Send + Sync,
{
    fn name(&self) -> &str {
        "for each partition"
    }

    fn slots(&self) -> usize {
        self.input.len()
    }

    fn run(&self, slot: usize, cx: &StepCx<'_>) -> Result<(), StepError> {
        let value = (self.f)(slot, self.input.take(slot)?, cx)?;
        self.output.put(slot, value);
        Ok(())
    }
}

struct Sharding<I, T, F> {
    input: Shards<I>,
    written: Vec<Mutex<Option<Written<T>>>>,
    output: Shards<Lists<T>>,
    f: F,
}

impl<I, T, F> Stage for Sharding<I, T, F>
where
    I: Send,
    T: Send,
    F: Fn(I, &mut Targets<T>, &StepCx<'_>) -> Result<(), StepError> + Send + Sync,
{
    fn name(&self) -> &str {
        "split into partitions"
    }

    fn slots(&self) -> usize {
        self.input.len()
    }

    fn run(&self, slot: usize, cx: &StepCx<'_>) -> Result<(), StepError> {
        let mut targets = Targets::new(self.output.len(), self.output.pool())?;
        (self.f)(self.input.take(slot)?, &mut targets, cx)?;
        *lock(&self.written[slot]) = Some(targets.written()?);
        Ok(())
    }

    /// Lists change hands; no record moves.
    fn finish(&self, _cx: &StepCx<'_>) -> Result<(), StepError> {
        let mut counts = vec![0; self.output.len()];
        for (slot, written) in self.written.iter().enumerate() {
            let written = lock(written);
            let written = written
                .as_ref()
                .ok_or_else(|| format!("slot {slot} has left no records"))?;
            written.lists.iter().for_each(|(at, _)| counts[*at] += 1);
        }
        let pool = self.output.pool();
        let lists = counts.into_iter().map(|count| Lists::with_room(count, pool));
        let mut partitions = lists.collect::<Result<Vec<_>, _>>()?;
        for written in &self.written {
            if let Some(Written { lists, _reservation }) = lock(written).take() {
                lists.into_iter().for_each(|(at, list)| partitions[at].add(list));
            }
        }
        for (at, lists) in partitions.into_iter().enumerate() {
            self.output.put(at, lists);
        }
        Ok(())
    }
}

fn list<T>(pool: Option<&Arc<MemoryPool>>) -> ChunkedVec<T> {
    pool.map_or_else(ChunkedVec::new, |pool| ChunkedVec::with_pool(Arc::clone(pool)))
}

impl<P, R, F> fmt::Debug for Sharded<P, R, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sharded")
            .field("input", &self.input)
            .finish_non_exhaustive()
    }
}

impl<I, T, F> fmt::Debug for Sharding<I, T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sharding")
            .field("input", &self.input)
            .finish_non_exhaustive()
    }
}
