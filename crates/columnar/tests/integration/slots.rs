//! Slots that a caller reads itself, in place of a job.

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use columnar::{Comparison, Expr, ScanStage, SelectPlan};
use pipeline_exec::Stage as _;
use proptest::prelude::*;

use crate::scan::{column, grouped, integers, rows_where, run, table, values};

fn read(scan: SelectPlan, needed: Option<&Expr>) -> RecordBatch {
    let stage = ScanStage::new(scan);
    let slots = (0..stage.slots()).flat_map(|slot| stage.read_slot(slot, needed).unwrap());
    let batches: Vec<RecordBatch> = slots.collect();
    assert!(batches.iter().all(|batch| batch.num_rows() > 0));
    concat_batches(&stage.schema(), &batches).unwrap()
}

proptest! {
    #[test]
    fn slots_have_the_rows_of_a_job_but_for_those_that_are_not_needed(
        numbers in proptest::collection::vec(proptest::option::weighted(0.9, -50..50_i64), 0..400),
        repeats in 1..500_usize,
        at_most in -60..60_i64,
        below in -60..60_i64,
    ) {
        let repeated = numbers.iter().flat_map(|number| std::iter::repeat_n(*number, repeats));
        let table = table([("n", integers(repeated))]);
        let compare = |op, bound| {
            Expr::compare(op, column(table.as_ref(), "n"), Expr::int64(bound)).unwrap()
        };
        let scan = || rows_where(&table, Some(compare(Comparison::LessEqual, at_most)), &["n"]);
        let all = values(&run(scan()).unwrap(), 0);
        prop_assert_eq!(&values(&read(scan(), None), 0), &all);

        let given = values(&read(scan(), Some(&compare(Comparison::Less, below))), 0);
        let is_needed = |number: &Option<i64>| number.is_some_and(|number| number < below);
        let needed = |rows: &[Option<i64>]| rows.iter().copied().filter(is_needed).collect::<Vec<_>>();
        prop_assert_eq!(needed(&given), needed(&all));
        prop_assert!(given.len() <= all.len());
        // The first rows are looked at, whatever the share of needed ones.
        if numbers.len() * repeats <= 16_384 {
            prop_assert_eq!(needed(&given), given);
        }
    }
}

#[test]
fn rows_that_are_all_needed_are_not_looked_at_again() {
    let table = table([("n", integers((0..400_000).map(Some)))]);
    let scan = || rows_where(&table, None, &["n"]);
    let is_not = |number| {
        let n = column(table.as_ref(), "n");
        Expr::compare(Comparison::NotEqual, n, Expr::int64(number)).unwrap()
    };
    assert_eq!(
        read(scan(), Some(&is_not(5))).num_rows(),
        399_999,
        "in the first chunk"
    );
    assert_eq!(
        read(scan(), Some(&is_not(399_999))).num_rows(),
        400_000,
        "in the last one"
    );
}

#[test]
fn rows_of_which_half_are_needed_are_all_looked_at() {
    let table = table([("n", integers((0..400_000).map(|n| Some(n % 100))))]);
    let n = column(table.as_ref(), "n");
    let half = Expr::compare(Comparison::Less, n, Expr::int64(50)).unwrap();
    assert_eq!(
        read(rows_where(&table, None, &["n"]), Some(&half)).num_rows(),
        200_000
    );
}

#[test]
#[should_panic(expected = "have no rows of their own")]
fn slots_of_groups_cannot_be_read() {
    let table = table([("n", integers([Some(1)]))]);
    let stage = ScanStage::new(grouped(table.clone(), vec![column(table.as_ref(), "n")], vec![]));
    drop(stage.read_slot(0, None));
}

#[test]
#[should_panic(expected = "depend on each other")]
fn slots_of_a_limit_cannot_be_read() {
    let table = table([("n", integers([Some(1)]))]);
    let scan = SelectPlan {
        limit: Some(1),
        ..rows_where(&table, None, &["n"])
    };
    drop(ScanStage::new(scan).read_slot(0, None));
}
