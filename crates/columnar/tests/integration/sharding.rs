//! Splitting records by a key: all arrive, in an order independent of threads, or the job fails.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use columnar::MemoryPool;
use columnar::chunked::ChunkedVec;
use columnar::sharding::{Shards, partition_index, sharded_for_each, sharding_for_each};
use pipeline_exec::{Job, JobErrorKind, PipelineExecutor, StepError};
use proptest::prelude::*;

/// A flag, a supplier, a quantity.
type Record = (u8, u32, u64);

/// The second split has its own pass, or is fused with the first sums.
fn fine_to_coarse(
    morsels: &[Vec<Record>],
    partitions: (usize, usize),
    is_fused: bool,
    threads: usize,
) -> Vec<(u8, u64)> {
    let (rows, finish) = sharding_for_each(
        &Shards::new(morsels.to_vec()),
        partitions.0,
        |rows: Vec<Record>, targets, _cx| {
            Ok(rows
                .into_iter()
                .try_for_each(|row| targets.push(&(row.0, row.1), row))?)
        },
    );
    let fine = |rows: columnar::sharding::Lists<Record>| {
        let mut sums = BTreeMap::new();
        rows.into_iter()
            .for_each(|(flag, supplier, n)| *sums.entry((flag, supplier)).or_insert(0) += n);
        sums.into_iter().map(|((flag, _), sum)| (flag, sum))
    };
    let mut job = Job::builder("sums").stage(rows);
    let coarse = if is_fused {
        let (split, coarse) = sharding_for_each(&finish, partitions.1, move |rows, targets, _cx| {
            Ok(fine(rows).try_for_each(|(flag, sum)| targets.push(&flag, (flag, sum)))?)
        });
        job = job.stage(split);
        coarse
    } else {
        let (sums, by_supplier) =
            sharded_for_each(&finish, move |_partition, rows, _cx| Ok(fine(rows).collect()));
        let (split, coarse) = sharding_for_each(
            &by_supplier,
            partitions.1,
            |sums: Vec<(u8, u64)>, targets, _cx| {
                Ok(sums
                    .into_iter()
                    .try_for_each(|(flag, sum)| targets.push(&flag, (flag, sum)))?)
            },
        );
        job = job.stage(sums).stage(split);
        coarse
    };
    let (totals, result) = sharded_for_each(&coarse, |_partition, sums, _cx| {
        let mut totals = BTreeMap::new();
        sums.into_iter()
            .for_each(|(flag, sum)| *totals.entry(flag).or_insert(0) += sum);
        Ok(totals)
    });
    let job = job.stage(totals).output(move |_cx| result.take_all()).build();
    let report = PipelineExecutor::new(threads)
        .unwrap()
        .submit(job)
        .unwrap()
        .wait()
        .unwrap();
    let mut totals: Vec<(u8, u64)> = report.output.into_iter().flatten().collect();
    totals.sort_unstable();
    totals
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn sums_from_fine_to_coarse_are_those_of_one_loop(
        morsels in proptest::collection::vec(
            proptest::collection::vec((0u8..5, 0u32..40, 0u64..1_000), 0..60),
            0..12,
        ),
        partitions in (1usize..40, 1usize..9),
        threads in 1usize..4,
    ) {
        let mut expected = BTreeMap::new();
        for (flag, _, n) in morsels.iter().flatten() {
            *expected.entry(*flag).or_insert(0) += n;
        }
        let expected: Vec<(u8, u64)> = expected.into_iter().collect();
        for is_fused in [false, true] {
            prop_assert_eq!(&fine_to_coarse(&morsels, partitions, is_fused, threads), &expected);
        }
    }

    #[test]
    fn every_record_is_in_its_partition_and_they_come_in_the_order_of_the_slots(
        slots in 1usize..20,
        partitions in 1usize..70,
        threads in 1usize..4,
    ) {
        let morsels: Vec<Range<usize>> = (0..slots).map(|slot| slot * 100..slot * 100 + 100).collect();
        let (stage, lists) = sharding_for_each(&Shards::new(morsels), partitions, |mut numbers: Range<usize>, targets, _cx| {
            Ok(numbers.try_for_each(|number| targets.push(&number, number))?)
        });
        let job = Job::builder("numbers").stage(stage).output(move |_cx| lists.take_all()).build();
        let executor = PipelineExecutor::new(threads).unwrap();
        let lists = executor.submit(job).unwrap().wait().unwrap().output;
        prop_assert_eq!(lists.iter().map(|list| list.len()).sum::<usize>(), slots * 100);
        for (partition, list) in lists.iter().enumerate() {
            prop_assert!(list.iter().is_sorted());
            prop_assert!(list.iter().all(|number| partition_index(number, partitions) == partition));
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Fault {
    stage: usize,
    slot: usize,
    panics: bool,
}

impl Fault {
    fn strike(self, stage: usize, slot: usize) -> Result<(), StepError> {
        if (self.stage, self.slot) != (stage, slot) {
            return Ok(());
        }
        if self.panics {
            // Without the panic hook's message.
            std::panic::resume_unwind(Box::new("no luck"));
        }
        Err(format!("no luck in slot {slot} of stage {stage}").into())
    }
}

#[test]
fn a_slot_that_fails_anywhere_gives_its_error_and_never_a_part_of_the_result() {
    const SLOTS: usize = 8;
    let executor = PipelineExecutor::new(2).unwrap();
    for seed in 0..1_000usize {
        let fault = Fault {
            stage: seed % 3,
            slot: seed / 3 % SLOTS,
            panics: seed / 24 % 4 == 0,
        };
        let (first, lists) = sharding_for_each(&Shards::new(0..SLOTS), SLOTS, move |slot, targets, _cx| {
            (0..50).try_for_each(|n| targets.push(&(slot * 50 + n), n))?;
            fault.strike(0, slot)
        });
        let (second, lists) = sharding_for_each(&lists, SLOTS, move |numbers, targets, _cx| {
            // The numbers do not name their slot, so count the slots that ran.
            Ok(numbers.into_iter().try_for_each(|n: usize| targets.push(&n, n))?)
        });
        let (third, counts) = sharded_for_each(&lists, move |partition, numbers, _cx| {
            fault.strike(1, partition)?;
            Ok(numbers.len())
        });
        let (fourth, counts) = sharded_for_each(&counts, move |partition, count, _cx| {
            fault.strike(2, partition)?;
            Ok(count)
        });
        let job = Job::builder("faults")
            .stage(first)
            .stage(second)
            .stage(third)
            .stage(fourth);
        let job = job.output(move |_cx| counts.take_all()).build();
        let error = executor
            .submit(job)
            .unwrap()
            .wait()
            .expect_err("a part is no result");
        let expected = if fault.panics {
            matches!(error.kind, JobErrorKind::Panicked)
        } else {
            error.to_string().contains(&format!(
                "no luck in slot {} of stage {}",
                fault.slot, fault.stage
            ))
        };
        assert!(expected, "seed {seed}: {error}");
    }
}

#[test]
fn lists_over_the_quota_fail_the_job_by_name_and_are_given_back() {
    let run = |pool: &Arc<MemoryPool>| {
        let executor = PipelineExecutor::new(2).unwrap();
        let morsels = Shards::new((0..8u64).map(|slot| slot * 1_000..slot * 1_000 + 1_000));
        let morsels = morsels.with_pool(Arc::clone(pool));
        let (first, lists) = sharding_for_each(&morsels, 4, |mut numbers: Range<u64>, targets, _cx| {
            Ok(numbers.try_for_each(|n| targets.push(&n, n))?)
        });
        let (second, lists) = sharding_for_each(&lists, 3, |numbers, targets, _cx| {
            Ok(numbers
                .into_iter()
                .try_for_each(|n: u64| targets.push(&(n / 7), n))?)
        });
        let job = Job::builder("lists").stage(first).stage(second);
        let job = job.output(move |_cx| lists.take_all()).build();
        executor.submit(job).unwrap().wait()
    };
    let pool = Arc::new(MemoryPool::new("lists", usize::MAX));
    let report = run(&pool).unwrap();
    assert_eq!(report.output.iter().map(|list| list.len()).sum::<usize>(), 8_000);
    assert!(pool.used() >= 8_000 * size_of::<u64>(), "the result is held");
    drop(report);
    assert_eq!(pool.used(), 0);
    for limit in [0, 8_000, 8_000 * size_of::<u64>()] {
        let pool = Arc::new(MemoryPool::new("lists", limit));
        let error = run(&pool).expect_err("a part is no result");
        assert!(
            error.to_string().contains("query lists is over its memory quota"),
            "{error}"
        );
        assert!(pool.peak() <= limit);
        drop(error);
        assert_eq!(pool.used(), 0);
    }
}

#[test]
fn a_slot_pays_for_the_heads_of_its_lists_and_keeps_those_that_have_records() {
    const SLOTS: usize = 1_000;
    const PARTITIONS: usize = 256;
    let run = |pool: &Arc<MemoryPool>, records: usize| {
        let executor = PipelineExecutor::new(2).unwrap();
        let slots = Shards::new(0..SLOTS).with_pool(Arc::clone(pool));
        let (stage, lists) = sharding_for_each(&slots, PARTITIONS, move |slot, targets, _cx| {
            Ok((0..records).try_for_each(|_| targets.push_to(slot % PARTITIONS, slot as u64))?)
        });
        let job = Job::builder("lists").stage(stage);
        let job = job.output(move |_cx| lists.take_all()).build();
        executor.submit(job).unwrap().wait()
    };
    let heads = PARTITIONS * size_of::<ChunkedVec<u64>>();

    let pool = Arc::new(MemoryPool::new("nothing", usize::MAX));
    assert!(run(&pool, 0).unwrap().output.iter().all(|list| list.is_empty()));
    assert!(
        (heads..=2 * heads).contains(&pool.peak()),
        "two workers, each with a slot: {}",
        pool.peak()
    );
    let pool = Arc::new(MemoryPool::new("nothing", heads - 1));
    let error = run(&pool, 0).expect_err("no room for the heads of one slot");
    assert!(error.to_string().contains("query nothing is over"), "{error}");

    let pool = Arc::new(MemoryPool::new("one each", SLOTS * heads / 10));
    let lists = run(&pool, 1).unwrap().output;
    let records: usize = lists.into_iter().map(|list| list.into_iter().count()).sum();
    assert_eq!(records, SLOTS);
    assert_eq!(pool.used(), 0);
}
