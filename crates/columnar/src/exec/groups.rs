//! The output of groups.
//!
//! ```text
//!   scan slots           merge slots                        order slots
//!   slot 0 ─► groups ┐   partitions 0 .. 4  ─► a shard ┐    groups first met in slots 0 .. 3 ─► a batch
//!   slot 1 ─► groups ┼─► partitions 4 .. 8  ─► a shard ┼─►  ...                              ─► a batch
//!   ...              ┘   ...                           ┘    (with ORDER BY: the output merges sorted shards)
//! ```
//!
//! Workers merge ranges of partitions in parallel, each in slot order, so no thread decides the
//! order of additions. The groups' first rows give their order ([`super::ordering`]).

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray as _, UInt32Array, UInt64Array};
use arrow::compute::{filter, take, take_arrays};
use arrow::datatypes::UInt64Type;

use super::chosen_groups::GroupChoice;
use super::kept_groups::KeptGroups;
use super::morsel::{Chunk, Columns};
use super::rows::RowPlan;
use super::slot_filter::SlotFilter;
use super::sort::sorted_rows;
use crate::aggregate::States;
use crate::error::ExecError;
use crate::expr::{ColumnSource, Expr, Filtered};
use crate::filter::Selection;
use crate::group_by::{ExpectedGroups, GroupBy, GroupTable, Grouping, Merged, SlotGroups, merge};
use crate::memory::{MemoryPool, Reservation, width};
use crate::plan::{Output, SelectPlan};

pub(super) struct GroupPlan {
    group_by: GroupBy,
    choice: GroupChoice,
    /// Unless the choice decides it.
    having: Option<Expr>,
    output: RowPlan,
    role: Role,
    pool: Option<Arc<MemoryPool>>,
}

/// What a scan's groups are made of, and what for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Role {
    pub(super) input: Input,
    /// Groups without an order may come in any.
    pub(super) any_order: bool,
    /// Whether shards keep their groups' states, for coarser groups.
    pub(super) keeps_groups: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Input {
    /// A table's rows.
    #[default]
    Rows,
    /// The groups of a scan below, a shard in each slot.
    Groups {
        /// The column of their first rows, if they are read as rows.
        firsts: Option<usize>,
        /// The slots of these first rows.
        slots: usize,
        /// Whether no group has rows of two shards.
        are_apart: bool,
    },
}

#[derive(Debug, Default)]
pub(super) struct Shard {
    /// The output columns, then the order's keys; no columns without groups.
    pub(super) columns: Vec<ArrayRef>,
    /// The first row of each group: slot in the upper half, row in the lower.
    pub(super) firsts: Vec<u64>,
    /// All its groups, also those that HAVING drops.
    pub(super) groups: Option<Arc<KeptGroups>>,
    pub(super) reservation: Reservation,
}

impl GroupPlan {
    pub(super) fn new(scan: &SelectPlan, role: Role) -> Self {
        let having = match &scan.output {
            Output::Groups { having, .. } => having.clone(),
            Output::Rows { .. } => None,
        };
        let choice = GroupChoice::new(scan);
        Self {
            group_by: GroupBy::new(
                scan,
                match role.input {
                    Input::Rows => None,
                    Input::Groups { firsts, .. } => firsts,
                },
            ),
            // Groups that are kept are not chosen from.
            having: having.filter(|_| role.keeps_groups || !choice.decides_having()),
            choice,
            output: RowPlan::new(scan),
            role: Role {
                any_order: role.any_order && scan.order.is_empty(),
                ..role
            },
            pool: scan.memory_pool.clone(),
        }
    }

    pub(super) fn group_by(&self) -> &GroupBy {
        &self.group_by
    }

    /// Whether each slot has all rows of its groups.
    pub(super) fn are_apart(&self) -> bool {
        matches!(self.role.input, Input::Groups { are_apart: true, .. })
    }

    /// The slots that the groups' first rows name, of `slots` that were run.
    pub(super) fn slots_of_firsts(&self, slots: usize) -> usize {
        match self.role.input {
            Input::Rows => slots,
            Input::Groups { slots, .. } => slots,
        }
    }

    pub(super) fn collect<'m, 't: 'm>(
        &self,
        slot: usize,
        filter: &SlotFilter<'_>,
        chunks: &mut dyn Iterator<Item = Chunk<'m, 't>>,
    ) -> Result<Option<SlotGroups>, ExecError> {
        let mut grouping = None;
        for chunk in chunks {
            let selection = filter.select(&chunk, None)?;
            if selection.count() == 0 {
                continue;
            }
            if selection.is_all() {
                self.add(&mut grouping, slot, &chunk)?;
            } else {
                let rows = Filtered::new(&chunk, &selection.mask(), self.group_by.exprs());
                self.add(&mut grouping, slot, &rows)?;
            }
        }
        match grouping {
            Some(grouping) => grouping.finish(),
            None => Ok(Some(self.group_by.of_no_rows()?)),
        }
    }

    /// The first rows begin the grouping.
    fn add<'p>(
        &'p self,
        grouping: &mut Option<Grouping<'p>>,
        slot: usize,
        rows: &dyn ColumnSource,
    ) -> Result<(), ExecError> {
        let grouping = match grouping {
            Some(grouping) => grouping,
            None => {
                self.group_by.look_at(rows)?;
                grouping.insert(Grouping::new(&self.group_by, slot)?)
            }
        };
        grouping.add(rows)
    }

    pub(super) fn merge(
        &self,
        slots: &[SlotGroups],
        partitions: &Range<usize>,
        expected: &ExpectedGroups,
        leave_off: &dyn Fn() -> bool,
    ) -> Result<Option<Shard>, ExecError> {
        let merged = merge(&self.group_by, slots, partitions, expected, leave_off)?;
        let Some(Merged { keys, states }) = merged else {
            return Ok(None);
        };
        let groups = keys.as_ref().map_or(1, GroupTable::len);
        let mut reservation = Reservation::of(self.pool.clone());
        let aggregates_bytes = self.aggregates_bytes(&states, groups);
        reservation.grow(aggregates_bytes)?;
        let mut aggregates = self.group_by.aggregates().finish(&states)?;
        // Coarser groups are made of all.
        let chosen = match self.role.keeps_groups {
            true => None,
            false => self.choice.choose(groups, &aggregates, self.pool())?,
        };
        let numbers = chosen.as_ref().map(|chosen| &**chosen.values());
        let key_bytes = keys.as_ref().map_or(0, |keys| keys.column_bytes(numbers));
        reservation.grow(self.shard_bytes(key_bytes, numbers, aggregates_bytes, groups))?;
        let fail = |error| ExecError::of("group by", error);
        let columns = match &keys {
            Some(keys) => keys.columns(numbers).map_err(fail)?,
            None => Vec::new(),
        };
        reservation.grow((1 + self.copies()) * self.group_by.value_bytes(&columns))?;
        let mut columns = self.group_by.values(columns).map_err(fail)?;
        let (mut firsts, _firsts) = keys.map_or_else(
            || (vec![0], Reservation::none()),
            |keys| keys.into_firsts().into_parts(),
        );
        let groups = match self.role.keeps_groups {
            true => {
                let reservation = Reservation::of(self.pool.clone());
                let kept = KeptGroups::new(columns.clone(), firsts.clone(), states, reservation)?;
                Some(Arc::new(kept))
            }
            false => {
                drop(states);
                None
            }
        };
        if let Some(chosen) = &chosen {
            aggregates = take_arrays(&aggregates, chosen, None).map_err(fail)?;
            firsts = chosen
                .values()
                .iter()
                .map(|&group| firsts[group as usize])
                .collect();
        }
        columns.extend(aggregates);
        let (columns, firsts) = self.shard(columns, firsts)?;
        let columns_bytes: usize = columns.iter().map(|column| column.get_buffer_memory_size()).sum();
        reservation.resize(columns_bytes + firsts.capacity() * size_of::<u64>())?;
        Ok(Some(Shard {
            columns,
            firsts,
            groups,
            reservation,
        }))
    }

    fn aggregates_bytes(&self, states: &States, groups: usize) -> usize {
        let texts = states.iter().map(|state| state.finish_bytes());
        let row: usize = self.group_by.aggregates().result_types().map(width).sum();
        texts.fold(row.saturating_mul(groups), usize::saturating_add)
    }

    /// Beside the aggregates of all groups. `keys` are the bytes of the keys that are chosen.
    fn shard_bytes(
        &self,
        keys: usize,
        chosen: Option<&[u32]>,
        aggregates_bytes: usize,
        groups: usize,
    ) -> usize {
        let rows = chosen.map_or(groups, <[u32]>::len);
        // First rows are copied once more.
        let copies = self.copies();
        let aggregates = aggregates_bytes as u128 * rows as u128 / groups.max(1) as u128;
        let copied = keys
            .saturating_add(aggregates as usize)
            .saturating_add(2 * rows * size_of::<u64>())
            .saturating_mul(copies);
        let chosen = chosen.map_or(0, |_| aggregates as usize + rows * size_of::<u32>());
        keys.saturating_add(2 * groups * size_of::<u64>())
            .saturating_add(chosen)
            .saturating_add(copied)
    }

    /// How often chosen groups are copied: HAVING and ordering do so.
    fn copies(&self) -> usize {
        let is_put_in_order = self.group_by.may_hand_over() || !self.output.order().is_empty();
        usize::from(self.having.is_some()) + usize::from(is_put_in_order)
    }

    fn shard(
        &self,
        columns: Vec<ArrayRef>,
        firsts: Vec<u64>,
    ) -> Result<(Vec<ArrayRef>, Vec<u64>), ExecError> {
        let rows = Columns {
            rows: firsts.len(),
            columns: &columns,
        };
        if rows.rows == 0 {
            return Ok((Vec::new(), Vec::new()));
        }
        let Some(having) = &self.having else {
            return self.sorted(self.output.evaluate(&rows)?, firsts);
        };
        let mut selection = Selection::all(rows.rows);
        selection.and(&having.evaluate_condition(&rows)?);
        if selection.count() == 0 {
            return Ok((Vec::new(), Vec::new()));
        }
        let mask = selection.mask();
        let columns = self
            .output
            .evaluate(&Filtered::new(&rows, &mask, self.output.exprs()))?;
        let kept = filter(&UInt64Array::from(firsts), &mask).map_err(|error| ExecError::of(having, error))?;
        self.sorted(columns, kept.as_primitive::<UInt64Type>().values().to_vec())
    }

    /// Ties, and groups without an order, follow first rows.
    pub(super) fn sorted(
        &self,
        columns: Vec<ArrayRef>,
        firsts: Vec<u64>,
    ) -> Result<(Vec<ArrayRef>, Vec<u64>), ExecError> {
        let keys = self.output.order();
        if self.role.any_order || keys.is_empty() && firsts.is_sorted() {
            return Ok((columns, firsts));
        }
        let fail = |error| ExecError::of("order by", error);
        let order = if keys.is_empty() {
            in_order_of(&firsts)
        } else {
            let values = &columns[self.output.width()..];
            sorted_rows(keys, values, Some(&firsts), self.output.needed(), self.pool())?
        };
        let firsts = take(&UInt64Array::from(firsts), &order, None).map_err(fail)?;
        Ok((
            take_arrays(&columns, &order, None).map_err(fail)?,
            firsts.as_primitive::<UInt64Type>().values().to_vec(),
        ))
    }

    pub(super) fn any_order(&self) -> bool {
        self.role.any_order
    }

    pub(super) fn output(&self) -> &RowPlan {
        &self.output
    }

    pub(super) fn pool(&self) -> Option<&Arc<MemoryPool>> {
        self.pool.as_ref()
    }
}

fn in_order_of(firsts: &[u64]) -> UInt32Array {
    let mut places: Vec<u32> = (0..firsts.len() as u32).collect();
    places.sort_unstable_by_key(|&place| firsts[place as usize]);
    places.into()
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int64Array, RecordBatch, StringArray};
    use arrow::compute::{SortOptions, concat_batches};
    use arrow::datatypes::{DataType, Int64Type};
    use arrow::row::{RowConverter, SortField};
    use proptest::prelude::*;

    use super::super::ordering::Ordering;
    use super::*;
    use crate::aggregate::{Aggregate, AggregateFunction};
    use crate::encoding::RowEncoder;
    use crate::expr::Comparison;
    use crate::group_by::HeavyHitters;
    use crate::partition::{PARTITIONS, hash_bytes};
    use crate::plan::SortKey;
    use crate::table::{MemoryTable, TableSource};

    fn query(text_keys: bool) -> SelectPlan {
        let rows: [(&str, ArrayRef); 3] = [
            ("n", Arc::new(Int64Array::from(Vec::<i64>::new()))),
            ("t", Arc::new(StringArray::from(Vec::<&str>::new()))),
            ("v", Arc::new(Int64Array::from(Vec::<i64>::new()))),
        ];
        let batch = RecordBatch::try_from_iter_with_nullable(rows.map(|(name, rows)| (name, rows, true)));
        let batch = batch.unwrap();
        let table = Arc::new(MemoryTable::try_new("t", batch.schema(), [batch]).unwrap());
        let column = |at: usize| Expr::column(at, table.schema().field(at));
        let keys = vec![column(usize::from(text_keys))];
        let aggregates = vec![
            Aggregate::new(AggregateFunction::Sum, Some(column(2))).unwrap(),
            Aggregate::new(AggregateFunction::Count, None).unwrap(),
        ];
        let fields = SelectPlan::group_fields(&keys, &aggregates).unwrap();
        let columns = fields.iter().enumerate();
        let columns = columns.map(|(at, field)| (field.name().clone(), Expr::column(at, field)));
        let output = Output::Groups {
            keys,
            aggregates,
            having: None,
            columns: columns.collect(),
        };
        SelectPlan::new(table, output)
    }

    /// Two chunks of a slot: a number, whether its key is a long text, a value.
    type SlotRows = [Vec<(Option<i64>, bool, i64)>; 2];

    fn columns(rows: &[(Option<i64>, bool, i64)]) -> [ArrayRef; 3] {
        let texts = rows.iter().map(|&(n, is_long, _)| n.map(|n| text(n, is_long)));
        [
            Arc::new(Int64Array::from_iter(rows.iter().map(|row| row.0))),
            Arc::new(StringArray::from_iter(texts)),
            Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.2))),
        ]
    }

    fn text(key: i64, is_long: bool) -> String {
        let padding = if is_long { "a text that is too long " } else { "" };
        format!("{padding}{key}")
    }

    fn hash_of_text(text: &str) -> u64 {
        let encoder = RowEncoder::new([DataType::Utf8].iter()).unwrap();
        let column: ArrayRef = Arc::new(StringArray::from(vec![text]));
        let mut hash = 0;
        let encoded = encoder.for_batches(&[column], None, None, |_first, batch| {
            hash = hash_bytes(batch[0]);
            Ok(())
        });
        encoded.unwrap();
        hash
    }

    #[derive(Clone, Copy, Debug)]
    enum Way {
        Alone,
        Shared,
        /// Rows of a heavy hitter are grouped.
        PassThrough(Option<i64>),
    }

    /// Slots begin in the order `begun`, `at_once` of them at a time.
    fn result(
        scan: &SelectPlan,
        slots: &[SlotRows],
        cuts: &[usize],
        ways: &[Way],
        begun: &[usize],
        at_once: usize,
    ) -> RecordBatch {
        let plan = GroupPlan::new(scan, Role::default());
        let mut cells: Vec<Option<SlotGroups>> = slots.iter().map(|_| None).collect();
        let run = |number: usize, mut grouping: Grouping<'_>| {
            for (at, rows) in slots[number].iter().enumerate() {
                match ways[number] {
                    Way::Shared => grouping.group_all(),
                    Way::PassThrough(heavy) if at > 0 => {
                        let number = heavy.map(|key| u128::from(key as u64));
                        let text = heavy.map(|key| hash_of_text(&text(key, true)));
                        grouping.pass_through_but(HeavyHitters::of(number, text));
                    }
                    _ => {}
                }
                let columns = columns(rows);
                grouping
                    .add(&Columns {
                        rows: rows.len(),
                        columns: &columns,
                    })
                    .unwrap();
            }
            grouping.finish().unwrap()
        };
        let mut in_the_works: Vec<(usize, Grouping<'_>)> = Vec::new();
        for &number in begun {
            in_the_works.push((number, Grouping::new(plan.group_by(), number).unwrap()));
            if in_the_works.len() >= at_once {
                let (first, grouping) = in_the_works.remove(0);
                cells[first] = run(first, grouping);
            }
        }
        for (number, grouping) in in_the_works {
            cells[number] = run(number, grouping);
        }
        while plan.group_by().hand_over().partition_one().unwrap() {}
        let groups: Vec<SlotGroups> = cells
            .into_iter()
            .flatten()
            .chain(plan.group_by().hand_over().take_all())
            .collect();
        let mut bounds = vec![0, PARTITIONS];
        bounds.extend(cuts);
        bounds.sort_unstable();
        bounds.dedup();
        let shards: Vec<Arc<Shard>> = bounds
            .windows(2)
            .map(|pair| {
                let expected = ExpectedGroups::new(30);
                let shard = plan
                    .merge(&groups, &(pair[0]..pair[1]), &expected, &|| false)
                    .unwrap();
                let shard = shard.expect("it was not told to leave off");
                assert!(
                    !scan.order.is_empty() || shard.firsts.is_sorted(),
                    "its groups come in the order of their first rows"
                );
                Arc::new(shard)
            })
            .collect();
        let batches = Ordering::new(&plan, shards, slots.len())
            .finish(scan, &plan)
            .unwrap();
        concat_batches(&scan.schema(), &batches).unwrap()
    }

    fn ways() -> impl Strategy<Value = [Way; 6]> {
        proptest::array::uniform6(prop_oneof![
            Just(Way::Alone),
            Just(Way::Shared),
            proptest::option::of(0i64..30).prop_map(Way::PassThrough),
        ])
    }

    fn drawn_slots() -> impl Strategy<Value = Vec<SlotRows>> {
        let row = (
            proptest::option::weighted(0.9, 0i64..30),
            any::<bool>(),
            -5i64..100,
        );
        proptest::collection::vec(
            proptest::array::uniform2(proptest::collection::vec(row, 0..40)),
            0..6,
        )
    }

    proptest! {
        #[test]
        fn no_cut_and_no_way_of_a_row_is_seen_in_the_result(
            text_keys in any::<bool>(),
            slots in drawn_slots(),
            cuts in proptest::collection::vec(0..=PARTITIONS, 0..20),
            ways in ways(),
            begun in Just((0..6).collect::<Vec<usize>>()).prop_shuffle(),
            at_once in 1usize..4,
        ) {
            let scan = query(text_keys);
            let in_order: Vec<usize> = (0..slots.len()).collect();
            let begun: Vec<usize> = begun.into_iter().filter(|&slot| slot < slots.len()).collect();
            let serial = result(&scan, &slots, &[], &[Way::Alone; 6], &in_order, 1);
            prop_assert_eq!(result(&scan, &slots, &cuts, &ways, &begun, at_once), serial);
        }

        #[test]
        fn the_first_groups_that_having_keeps_are_those_of_all_in_order(
            text_keys in any::<bool>(),
            slots in drawn_slots(),
            cuts in proptest::collection::vec(0..=PARTITIONS, 0..20),
            ways in ways(),
            order in proptest::sample::subsequence(vec![1usize, 2, 0], 1..3).prop_shuffle(),
            descending: bool,
            more_than in proptest::option::of(0i64..200),
            reads_a_key: bool,
            limit in 0usize..12,
        ) {
            let in_order: Vec<usize> = (0..slots.len()).collect();
            let all = result(&query(text_keys), &slots, &[], &[Way::Alone; 6], &in_order, 1);
            let mut scan = query(text_keys);
            let schema = scan.schema();
            let column = |at: usize| Expr::column(at, schema.field(at));
            if let (Output::Groups { having, .. }, Some(more_than)) = (&mut scan.output, more_than) {
                let value: ArrayRef = Arc::new(Int64Array::from(vec![more_than]));
                let kept = Expr::compare(Comparison::Greater, column(1), Expr::literal(value)).unwrap();
                *having = Some(match reads_a_key {
                    true => Expr::and(kept, Expr::not(Expr::is_null(column(0))).unwrap()).unwrap(),
                    false => kept,
                });
            }
            let key = |&at: &usize| SortKey::new(column(at), descending, descending).unwrap();
            scan.order = order.iter().map(key).collect();
            scan.limit = Some(limit);
            let found = result(&scan, &slots, &cuts, &ways, &in_order, 1);

            // Ties follow first rows, in which order they are.
            let sums = all.column(1).as_primitive::<Int64Type>();
            let keeps = |&row: &usize| more_than.is_none_or(|more_than| {
                sums.value(row) > more_than && (!reads_a_key || all.column(0).is_valid(row))
            });
            let mut rows: Vec<usize> = (0..all.num_rows()).filter(keeps).collect();
            let fields = order.iter().map(|&at| {
                let options = SortOptions { descending, nulls_first: descending };
                SortField::new_with_options(all.column(at).data_type().clone(), options)
            });
            let converter = RowConverter::new(fields.collect()).unwrap();
            let keys: Vec<ArrayRef> = order.iter().map(|&at| all.column(at).clone()).collect();
            let keys = converter.convert_columns(&keys).unwrap();
            rows.sort_by_key(|&row| keys.row(row));
            rows.truncate(limit);
            let rows: UInt32Array = rows.iter().map(|&row| row as u32).collect();
            let expected = take_arrays(all.columns(), &rows, None).unwrap();
            prop_assert_eq!(found.columns(), &expected);
        }
    }
}
