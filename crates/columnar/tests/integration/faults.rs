//! A grouping disturbed at any point returns its error or the whole answer. It never hangs, never
//! returns a part, and gives back all memory.
//!
//! Each seed draws rows, threads and a disturbance. Points are before and behind each slot of each
//! stage, each read of a table, each consumer of the sharding operations, and both ends of the
//! output.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use arrow::compute::concat_batches;
use arrow::datatypes::SchemaRef;
use columnar::sharding::{Lists, Shards, sharded_for_each, sharding_for_each};
use columnar::{
    Aggregate, AggregateFunction, MemoryPool, MorselReader, ReadError, ScanStage, SelectPlan, SortKey,
    TableSource,
};
use pipeline_exec::{Job, JobBuilder, JobControl, JobErrorKind, PipelineExecutor, Stage, StepCx, StepError};

use crate::scan::{column, grouped, integers, table_in_morsels};

const SEEDS: u64 = 1_000;
const ROWS: usize = 24_000;
const MORSEL: usize = 4_800;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Nothing,
    Error,
    Panic,
    Cancel,
    Deadline,
    MemoryPool,
}

const KINDS: [Kind; 6] = [
    Kind::Nothing,
    Kind::Error,
    Kind::Panic,
    Kind::Cancel,
    Kind::Deadline,
    Kind::MemoryPool,
];

/// Counts the points of a run, and disturbs one of them.
#[derive(Debug)]
struct Fault {
    kind: Kind,
    at: usize,
    passed: AtomicUsize,
    has_struck: AtomicBool,
    control: OnceLock<JobControl>,
}

impl Fault {
    fn new(kind: Kind, at: usize) -> Arc<Self> {
        Arc::new(Self {
            kind,
            at,
            passed: AtomicUsize::new(0),
            has_struck: AtomicBool::new(false),
            control: OnceLock::new(),
        })
    }

    fn pass(&self) -> Result<(), String> {
        if self.passed.fetch_add(1, Ordering::Relaxed) != self.at {
            return Ok(());
        }
        self.has_struck.store(true, Ordering::Relaxed);
        match self.kind {
            Kind::Error => Err("no luck".to_owned()),
            // Without the panic hook's message.
            Kind::Panic => std::panic::resume_unwind(Box::new("no luck")),
            Kind::Cancel => {
                self.control.wait().cancel();
                Ok(())
            }
            Kind::Nothing | Kind::Deadline | Kind::MemoryPool => Ok(()),
        }
    }
}

struct Disturbed(Arc<dyn Stage>, Arc<Fault>);

impl Stage for Disturbed {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn slots(&self) -> usize {
        self.0.slots()
    }

    fn run(&self, slot: usize, cx: &StepCx<'_>) -> Result<(), StepError> {
        self.1.pass()?;
        self.0.run(slot, cx)?;
        Ok(self.1.pass()?)
    }

    fn finish(&self, cx: &StepCx<'_>) -> Result<(), StepError> {
        self.1.pass()?;
        self.0.finish(cx)
    }
}

/// A table with a point at each read.
#[derive(Debug)]
struct Table {
    rows: Arc<dyn TableSource>,
    fault: Arc<Fault>,
}

impl TableSource for Table {
    fn name(&self) -> &str {
        self.rows.name()
    }

    fn schema(&self) -> SchemaRef {
        self.rows.schema()
    }

    fn morsels(&self) -> usize {
        self.rows.morsels()
    }

    fn rows(&self, morsel: usize) -> usize {
        self.rows.rows(morsel)
    }

    fn open(&self, morsel: usize, projection: &[usize]) -> Result<Box<dyn MorselReader + '_>, ReadError> {
        let reader = self.rows.open(morsel, projection)?;
        Ok(Box::new(Reader(reader, &self.fault)))
    }
}

struct Reader<'a>(Box<dyn MorselReader + 'a>, &'a Fault);

impl MorselReader for Reader<'_> {
    fn column(&mut self, column: usize) -> Result<ArrayRef, ReadError> {
        self.1.pass().map_err(|luck| ReadError::new("t", luck))?;
        self.0.column(column)
    }
}

fn rows(kind: usize) -> RecordBatch {
    let numbers = |key: fn(usize) -> i64| integers((0..ROWS).map(|row| (row % 13 > 0).then(|| key(row))));
    let keys: ArrayRef = match kind {
        0 => numbers(|row| row as i64 * 7 % 5),
        1 => numbers(|row| row as i64 * 1_000_003),
        2 => numbers(|row| if row % 3 == 0 { 7 } else { row as i64 }),
        3 => Arc::new(StringArray::from_iter((0..ROWS).map(|row| match row % 3 {
            0 => None,
            1 => Some(format!("{row}")),
            _ => Some(format!("a text that has no place in a word {}", row / 2)),
        }))),
        _ => integers([]),
    };
    let values = integers((0..keys.len()).map(|row| (row % 7 > 0).then_some(row as i64 % 1_000)));
    RecordBatch::try_from_iter_with_nullable([("k", keys, true), ("v", values, true)]).unwrap()
}

struct Ran<T> {
    outcome: Result<T, (JobErrorKind, String)>,
    points: usize,
    has_struck: bool,
    peak: usize,
}

/// Checks that no byte stays reserved.
fn run<T: Send + 'static>(
    fault: &Arc<Fault>,
    limit: usize,
    threads: usize,
    deadline: Option<Duration>,
    build: impl FnOnce(&Arc<MemoryPool>, JobBuilder) -> Job<T>,
) -> Ran<T> {
    let pool = Arc::new(MemoryPool::new("disturbed", limit));
    let mut builder = Job::builder("disturbed");
    if let Some(deadline) = deadline {
        builder = builder.deadline(deadline);
    }
    let job = build(&pool, builder);
    // Dropping the executor frees what its workers hold of the job.
    let executor = PipelineExecutor::new(threads).unwrap();
    let ticket = executor.submit(job).unwrap();
    fault.control.set(ticket.control()).expect("one job for a fault");
    let outcome = ticket.wait();
    drop(executor);
    let outcome = outcome
        .map(|report| report.output)
        .map_err(|error| (error.kind, error.to_string()));
    assert_eq!(pool.used(), 0, "{:?}", fault.kind);
    assert!(pool.peak() <= limit);
    Ran {
        outcome,
        points: fault.passed.load(Ordering::Relaxed),
        has_struck: fault.has_struck.load(Ordering::Relaxed),
        peak: pool.peak(),
    }
}

fn group(
    batch: &RecordBatch,
    sorted: bool,
    fault: &Arc<Fault>,
    pool: &Arc<MemoryPool>,
    job: JobBuilder,
) -> Job<RecordBatch> {
    let table: Arc<dyn TableSource> = Arc::new(Table {
        rows: table_in_morsels(batch.clone(), MORSEL),
        fault: Arc::clone(fault),
    });
    let value = column(table.as_ref(), "v");
    let aggregates = vec![
        Aggregate::new(AggregateFunction::Sum, Some(value.clone())).unwrap(),
        Aggregate::new(AggregateFunction::Count, None).unwrap(),
        Aggregate::new(AggregateFunction::Max, Some(value)).unwrap(),
    ];
    let key = column(table.as_ref(), "k");
    let mut scan: SelectPlan = grouped(table, vec![key], aggregates);
    if sorted {
        let sum = scan.output.columns()[1].1.clone();
        scan.order = vec![SortKey::new(sum, true, false).unwrap()];
    }
    scan.memory_pool = Some(Arc::clone(pool));
    let stage = Arc::new(ScanStage::new(scan));
    let mut job = job.stage(Arc::new(Disturbed(stage.clone(), Arc::clone(fault))));
    for following in stage.following() {
        job = job.stage(Arc::new(Disturbed(following, Arc::clone(fault))));
    }
    let fault = Arc::clone(fault);
    let output = move |_: &StepCx<'_>| {
        fault.pass()?;
        let result = stage.merge()?;
        fault.pass()?;
        Ok(concat_batches(&result.schema, &result.batches)?)
    };
    job.output(output).build()
}

type Totals = Vec<BTreeMap<u64, u64>>;

fn shard(slots: u64, fault: &Arc<Fault>, pool: &Arc<MemoryPool>, job: JobBuilder) -> Job<Totals> {
    let morsels = Shards::new((0..slots).map(|slot| slot * 500..slot * 500 + 500));
    let at = |_| Arc::clone(fault);
    let [first, second, third] = [0, 1, 2].map(at);
    let (split, fine) = sharding_for_each(
        &morsels.with_pool(Arc::clone(pool)),
        9,
        move |mut numbers: std::ops::Range<u64>, targets, _cx| {
            numbers.try_for_each(|n| targets.push(&(n % 40), n))?;
            Ok(first.pass()?)
        },
    );
    let (again, coarse) = sharding_for_each(&fine, 3, move |numbers: Lists<u64>, targets, _cx| {
        for (at, n) in numbers.into_iter().enumerate() {
            if at == 100 {
                second.pass()?;
            }
            targets.push(&(n % 4), n)?;
        }
        Ok(())
    });
    let (totals, result) = sharded_for_each(&coarse, move |_partition, numbers: Lists<u64>, _cx| {
        let mut totals = BTreeMap::new();
        for n in numbers {
            *totals.entry(n % 4).or_insert(0) += n;
        }
        third.pass()?;
        Ok(totals)
    });
    let stages = [split, again, totals].map(|stage| Arc::new(Disturbed(stage, Arc::clone(fault))));
    let job = stages.into_iter().fold(job, |job, stage| job.stage(stage));
    job.output(move |_| result.take_all()).build()
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(x ^ x >> 31) * bound as u128) >> 64) as usize
    }
}

/// Counts of whole answers and of errors, by kind.
type Ends = BTreeMap<String, [usize; 2]>;

fn disturb<T: Send + PartialEq + std::fmt::Debug + 'static>(
    seeds: impl Iterator<Item = u64>,
    kinds: usize,
    build: impl Fn(usize, &Arc<Fault>, &Arc<MemoryPool>, JobBuilder) -> Job<T>,
) -> Ends {
    let whole: Vec<Ran<T>> = (0..kinds)
        .map(|kind| {
            let fault = Fault::new(Kind::Nothing, usize::MAX);
            run(&fault, usize::MAX, 1, None, |pool, job| {
                build(kind, &fault, pool, job)
            })
        })
        .collect();
    let mut ends = Ends::new();
    for seed in seeds {
        let mut random = Random(seed);
        let of = random.below(kinds);
        let kind = KINDS[random.below(KINDS.len())];
        let threads = 1 + random.below(3);
        let undisturbed = &whole[of];
        let fault = Fault::new(kind, random.below(undisturbed.points));
        let limit = match kind {
            Kind::MemoryPool => random.below(undisturbed.peak * 3 / 2 + 1),
            _ => usize::MAX,
        };
        let deadline = (kind == Kind::Deadline).then(|| Duration::from_micros(random.below(3_000) as u64));
        let ran = run(&fault, limit, threads, deadline, |pool, job| {
            build(of, &fault, pool, job)
        });
        let end = ends.entry(format!("{kind:?}")).or_default();
        match ran.outcome {
            Ok(answer) => {
                end[0] += 1;
                assert_eq!(Ok(&answer), undisturbed.outcome.as_ref(), "seed {seed}");
                let is_final = matches!(kind, Kind::Error | Kind::Panic) && ran.has_struck;
                assert!(!is_final, "seed {seed}: a result in spite of {kind:?}");
            }
            Err((error, text)) => {
                end[1] += 1;
                let is_it = match kind {
                    Kind::Nothing => false,
                    Kind::Error => error == JobErrorKind::Failed && text.contains("no luck"),
                    Kind::Panic => error == JobErrorKind::Panicked,
                    Kind::Cancel => error == JobErrorKind::Cancelled,
                    Kind::Deadline => error == JobErrorKind::DeadlineExceeded,
                    Kind::MemoryPool => {
                        error == JobErrorKind::Failed
                            && text.contains("query disturbed is over its memory quota")
                    }
                };
                assert!(is_it, "seed {seed}, {kind:?}: {text}");
            }
        }
    }
    ends
}

fn assert_both(ends: &Ends) {
    for kind in ["Error", "Panic", "Cancel", "MemoryPool"] {
        assert!(ends[kind][1] > 0, "{ends:?}");
    }
    assert!(ends["MemoryPool"][0] > 0 && ends["Nothing"][0] > 0, "{ends:?}");
}

#[test]
fn a_grouping_disturbed_anywhere_gives_that_error_or_the_whole_answer() {
    let batches: Vec<RecordBatch> = (0..5).map(rows).collect();
    let ends = disturb(0..SEEDS, 2 * batches.len(), |kind, fault, pool, job| {
        group(&batches[kind / 2], kind % 2 > 0, fault, pool, job)
    });
    assert_both(&ends);
}

#[test]
fn a_consumer_of_shards_disturbed_anywhere_gives_that_error_or_the_whole_answer() {
    let ends = disturb(0..SEEDS, 4, |kind, fault, pool, job| {
        shard(kind as u64 * 3, fault, pool, job)
    });
    assert_both(&ends);
}
