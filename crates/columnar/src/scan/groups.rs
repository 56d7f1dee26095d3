//! The output of groups: aggregates of the rows that the filter lets through.
//!
//! ```text
//!   scan slots           merge slots                        order slots
//!   slot 0 ─► groups ┐   partitions 0 .. 4  ─► a shard ┐    groups first met in slots 0 .. 3 ─► a batch
//!   slot 1 ─► groups ┼─► partitions 4 .. 8  ─► a shard ┼─►  ...                              ─► a batch
//!   ...              ┘   ...                           ┘    (with ORDER BY: sorted shards are merged by the output)
//! ```
//!
//! Each slot of the scan groups its own rows and lays its groups out by partitions of their keys ([`super::grouping`]). What has one key is in one
//! partition, so ranges of partitions are merged at the same time ([`super::merging`]), each in slot order: sums of floats are added in an
//! order that no thread decides. HAVING and the output expressions run over the groups of a shard as they would over rows. A group knows
//! where its first row was, and by that the groups of all shards are put in order ([`super::ordering`]).

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray as _, UInt32Array, UInt64Array};
use arrow::compute::{filter, take};
use arrow::datatypes::{DataType, UInt64Type};

use super::collect::SlotGroups;
use super::grouping::{Grouping, Sampled};
use super::growth::Growth;
use super::partitioning::Partitioning;
use super::rows::RowPlan;
use super::tables::Tables;
use super::{Output, Scan};
use crate::aggregate::{AggregatePlan, AggregateState, GroupKeys, KeyEncoding};
use crate::error::ExecError;
use crate::expr::{Expr, Filtered};
use crate::filter::{FilterPlan, cost_per_row};
use crate::footprint::width;
use crate::morsel::{Chunk, Columns};
use crate::quota::{Charge, Quota};
use crate::selection::Selection;
use crate::sort::{sorted_rows, take_rows};

/// How rows become groups.
pub(super) struct GroupPlan {
    keys: Vec<Expr>,
    /// What the slots' keys share; absent without keys.
    encoding: Option<Arc<KeyEncoding>>,
    aggregates: AggregatePlan,
    /// Whether rows may be grouped later than in their slot.
    may_be_loose: bool,
    sampled: Sampled,
    /// Whether a slot may go on with the table of another.
    may_share_tables: bool,
    tables: Tables,
    having: Option<Expr>,
    output: RowPlan,
    quota: Option<Arc<Quota>>,
}

/// What is known of each group, by aggregate.
pub(super) type States = Vec<Box<dyn AggregateState>>;

/// The part of the result that one range of partitions gives.
#[derive(Debug, Default)]
pub(super) struct Shard {
    /// The output columns, then the order's keys; no columns without groups.
    pub(super) columns: Vec<ArrayRef>,
    /// Of each group where its first row was: the slot in the upper half, the row in the lower.
    pub(super) firsts: Vec<u64>,
    /// For both.
    pub(super) charge: Charge,
}

impl GroupPlan {
    pub(super) fn new(scan: &Scan) -> Self {
        let Output::Groups {
            keys,
            aggregates,
            having,
            ..
        } = &scan.output
        else {
            unreachable!("a plan of groups is made for an output of groups")
        };
        let partitioning = Partitioning::of(scan);
        let plain = |key: &Expr| key.clone().plain().expect("a dictionary has values");
        let keys: Vec<Expr> = keys.iter().map(plain).collect();
        let encoding = (!keys.is_empty()).then(|| {
            let types: Vec<DataType> = keys.iter().map(|key| key.data_type().clone()).collect();
            // `Scan::group_fields` refused what cannot be encoded.
            let encoding = KeyEncoding::new(&types).expect("keys of comparable types");
            Arc::new(match &partitioning {
                Partitioning::ShardKey { keys, .. } => encoding.with_partitions_by(keys),
                Partitioning::Pinned | Partitioning::Keys => encoding,
            })
        });
        let aggregates = AggregatePlan::new(aggregates.clone());
        let is_exact = aggregates.is_exact();
        Self {
            may_be_loose: encoding.as_ref().is_some_and(|encoding| encoding.has_words())
                && is_exact
                && partitioning != Partitioning::Pinned,
            may_share_tables: is_exact && encoding.is_some(),
            tables: Tables::default(),
            keys,
            encoding,
            aggregates,
            sampled: Sampled::default(),
            having: having.clone(),
            output: RowPlan::new(scan),
            quota: scan.quota.clone(),
        }
    }

    /// What it costs to add a row, by the estimate that orders filters.
    pub(super) fn cost_per_row(&self) -> f64 {
        let expressions = self.keys.iter().chain(self.aggregates.arguments());
        expressions.map(cost_per_row).sum::<f64>() + self.aggregates.states() as f64
    }

    /// The groups of the chunks of the slot number `slot`.
    pub(super) fn collect<'m, 't: 'm>(
        &self,
        slot: usize,
        filter: &FilterPlan,
        order: &[usize],
        chunks: &mut dyn Iterator<Item = Chunk<'m, 't>>,
    ) -> Result<Option<SlotGroups>, ExecError> {
        let mut grouping = Grouping::new(self, slot)?;
        for chunk in chunks {
            let selection = filter.select(&chunk, order)?;
            if selection.count() == 0 {
                continue;
            }
            if selection.is_all() {
                grouping.add(&chunk)?;
            } else {
                grouping.add(&Filtered::new(&chunk, &selection.mask()))?;
            }
        }
        grouping.finish()
    }

    /// Merges the groups of some partitions, slots in their order before tables that several had, and makes the output of them. `None` if
    /// `leave_off` said so between two of them.
    pub(super) fn merge(
        &self,
        slots: &[SlotGroups],
        partitions: &Range<usize>,
        leave_off: &dyn Fn() -> bool,
    ) -> Result<Option<Shard>, ExecError> {
        let (mut keys, mut states) = self.no_groups()?;
        if let Some(keys) = &mut keys {
            let of_slot =
                |slot: &SlotGroups| slot.keys.as_ref().map_or(0, |keys| keys.places(partitions).len());
            // There are at least as many groups as the slot with the most of them has.
            keys.reserve(slots.iter().map(of_slot).max().unwrap_or(0))?;
        }
        let mut growth = Growth::new(slots.iter().map(|slot| slot.entries(partitions)).sum());
        for slot in slots {
            if leave_off() {
                return Ok(None);
            }
            let (Some(keys), Some(more)) = (&mut keys, &slot.keys) else {
                for (state, more) in states.iter_mut().zip(&slot.states) {
                    state.merge(more.as_ref(), 0, &[0])?;
                }
                continue;
            };
            let places = more.places(partitions);
            if !places.is_empty() {
                keys.merge(more, places.clone())?;
                for (state, more) in states.iter_mut().zip(&slot.states) {
                    state.resize(keys.len())?;
                    state.merge(more.as_ref(), places.start, keys.groups())?;
                }
            }
            for loose in &slot.loose {
                let places = loose.starts.places(partitions);
                if places.is_empty() {
                    continue;
                }
                let rows = &loose.rows[places.clone()];
                let position = |row: usize| loose.base + u64::from(rows[row]);
                keys.assign_words(&loose.words[places.clone()], position)?;
                let arguments = loose.arguments.iter();
                let arguments: Vec<ArrayRef> = arguments
                    .map(|values| values.slice(places.start, places.len()))
                    .collect();
                let len = keys.len();
                states.iter_mut().try_for_each(|state| state.resize(len))?;
                self.aggregates.update(&mut states, &arguments, keys.ids()?)?;
            }
            if let Some(groups) = growth.note(slot.entries(partitions), keys.len()) {
                // Where the quota has no room for what may not come, tables grow step by step.
                keys.reserve(groups).ok();
            }
        }
        let groups = keys.as_ref().map_or(1, GroupKeys::len);
        let mut charge = Charge::of(self.quota.clone());
        charge.grow(self.shard_bytes(keys.as_ref(), &states, groups))?;
        let mut columns = match &keys {
            Some(keys) => keys.columns().map_err(|error| ExecError::of("group by", error))?,
            None => Vec::new(),
        };
        columns.extend(self.aggregates.finish(&states)?);
        drop(states);
        // What is charged for the list of first rows is as long as the list is; what is made of it is in the shard's.
        let (firsts, _firsts) = keys.map_or_else(
            || (vec![0], Charge::none()),
            |keys| keys.into_firsts().into_parts(),
        );
        let (columns, firsts) = self.shard(columns, firsts)?;
        let columns_bytes: usize = columns.iter().map(|column| column.get_buffer_memory_size()).sum();
        charge.resize(columns_bytes + firsts.capacity() * size_of::<u64>())?;
        Ok(Some(Shard {
            columns,
            firsts,
            charge,
        }))
    }

    /// An estimate of what making a shard takes: keys about what their encoding does, aggregates about what their states do.
    fn shard_bytes(
        &self,
        keys: Option<&GroupKeys>,
        states: &[Box<dyn AggregateState>],
        groups: usize,
    ) -> usize {
        let keys = keys.map_or(0, GroupKeys::column_bytes);
        let texts = states.iter().map(|state| state.text_bytes());
        let row: usize = self.aggregates.result_types().map(width).sum();
        let columns = texts
            .fold(keys, usize::saturating_add)
            .saturating_add(row.saturating_mul(groups));
        // Those that HAVING lets through are a copy, and so are those that are put in order. First rows are copied once more.
        let is_put_in_order = self.may_share_tables || !self.output.order().is_empty();
        let copies = 1 + usize::from(self.having.is_some()) + usize::from(is_put_in_order);
        columns
            .saturating_add(2 * groups * size_of::<u64>())
            .saturating_mul(copies)
    }

    /// The output of groups: HAVING, then the output columns, then as many rows as the order can need.
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
        let columns = self.output.evaluate(&Filtered::new(&rows, &mask))?;
        let kept = filter(&UInt64Array::from(firsts), &mask).map_err(|error| ExecError::of(having, error))?;
        self.sorted(columns, kept.as_primitive::<UInt64Type>().values().to_vec())
    }

    /// In the query's order, if it has one, and no more than are needed; ties, and all without one, in the order of first rows.
    pub(super) fn sorted(
        &self,
        columns: Vec<ArrayRef>,
        firsts: Vec<u64>,
    ) -> Result<(Vec<ArrayRef>, Vec<u64>), ExecError> {
        let keys = self.output.order();
        if keys.is_empty() && firsts.is_sorted() {
            return Ok((columns, firsts));
        }
        let fail = |error| ExecError::of("order by", error);
        let order = if keys.is_empty() {
            in_order_of(&firsts)
        } else {
            let values = &columns[self.output.width()..];
            sorted_rows(keys, values, Some(&firsts), self.output.needed(), self.quota()).map_err(fail)?
        };
        let firsts = take(&UInt64Array::from(firsts), &order, None).map_err(fail)?;
        Ok((
            take_rows(&columns, &order).map_err(fail)?,
            firsts.as_primitive::<UInt64Type>().values().to_vec(),
        ))
    }

    pub(super) fn keys(&self) -> &[Expr] {
        &self.keys
    }

    pub(super) fn encoding(&self) -> Option<&KeyEncoding> {
        self.encoding.as_deref()
    }

    pub(super) fn aggregates(&self) -> &AggregatePlan {
        &self.aggregates
    }

    pub(super) fn may_be_loose(&self) -> bool {
        self.may_be_loose
    }

    pub(super) fn may_share_tables(&self) -> bool {
        self.may_share_tables
    }

    /// The tables that slots have left for later ones.
    pub(super) fn tables(&self) -> &Tables {
        &self.tables
    }

    pub(super) fn sampled(&self) -> &Sampled {
        &self.sampled
    }

    /// How groups become output.
    pub(super) fn output(&self) -> &RowPlan {
        &self.output
    }

    pub(super) fn quota(&self) -> Option<&Arc<Quota>> {
        self.quota.as_ref()
    }

    /// Keys, absent where all rows are one group, and states of no groups, or of that one.
    pub(super) fn no_groups(&self) -> Result<(Option<GroupKeys>, States), ExecError> {
        let quota = self.quota();
        let encoding = self.encoding.clone();
        let keys = encoding.map(|encoding| GroupKeys::new(encoding, quota));
        let mut states = self.aggregates.new_states(quota);
        if keys.is_none() {
            states.iter_mut().try_for_each(|state| state.resize(1))?;
        }
        Ok((keys, states))
    }
}

/// The places of first rows, the least first.
fn in_order_of(firsts: &[u64]) -> UInt32Array {
    let mut places: Vec<u32> = (0..firsts.len() as u32).collect();
    // No two groups have one first row.
    places.sort_unstable_by_key(|&place| firsts[place as usize]);
    places.into()
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int64Array, RecordBatch, StringArray};
    use arrow::compute::concat_batches;
    use proptest::prelude::*;

    use super::super::ordering::Ordering;
    use super::*;
    use crate::aggregate::{Aggregate, AggregateFunction, PARTITIONS};
    use crate::table::{MemoryTable, TableSource};

    fn query(text_keys: bool) -> Scan {
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
        let fields = Scan::group_fields(&keys, &aggregates).unwrap();
        let columns = fields.iter().enumerate();
        let columns = columns.map(|(at, field)| (field.name().clone(), Expr::column(at, field)));
        Scan {
            table: table.clone(),
            filter: None,
            output: Output::Groups {
                keys,
                aggregates,
                having: None,
                columns: columns.collect(),
            },
            order: vec![],
            offset: 0,
            limit: None,
            quota: None,
            shard_key: None,
        }
    }

    /// Two chunks of a slot: a number, whether its key is a long text, a value.
    type SlotRows = [Vec<(Option<i64>, bool, i64)>; 2];

    fn columns(rows: &[(Option<i64>, bool, i64)]) -> [ArrayRef; 3] {
        let text = |&(n, is_long, _): &(Option<i64>, bool, i64)| {
            let padding = if is_long { "a text that is too long " } else { "" };
            n.map(|n| format!("{padding}{n}"))
        };
        [
            Arc::new(Int64Array::from_iter(rows.iter().map(|row| row.0))),
            Arc::new(StringArray::from_iter(rows.iter().map(text))),
            Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.2))),
        ]
    }

    /// What becomes of the rows of a slot's second chunk.
    #[derive(Clone, Copy, Debug)]
    enum Way {
        Alone,
        /// All rows are grouped, and later slots go on with the table.
        Shared,
        /// Rows are left loose, but for those of a hot key.
        Loose(Option<i64>),
    }

    /// The result of the slots with those ranges of partitions, when they begin in the order `begun` and `at_once` of them are in the works.
    fn result(
        text_keys: bool,
        slots: &[SlotRows],
        cuts: &[usize],
        ways: &[Way],
        begun: &[usize],
        at_once: usize,
    ) -> RecordBatch {
        let scan = query(text_keys);
        let plan = GroupPlan::new(&scan);
        let mut cells: Vec<Option<SlotGroups>> = slots.iter().map(|_| None).collect();
        let run = |number: usize, mut grouping: Grouping<'_>| {
            for (at, rows) in slots[number].iter().enumerate() {
                match ways[number] {
                    Way::Shared => grouping.group_all(),
                    // Numbers are their value and a bit for NULL.
                    Way::Loose(hot) if at > 0 => {
                        grouping.leave_loose(hot.map(|key| u128::from(key as u64) << 1));
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
            in_the_works.push((number, Grouping::new(&plan, number).unwrap()));
            if in_the_works.len() >= at_once {
                let (first, grouping) = in_the_works.remove(0);
                cells[first] = run(first, grouping);
            }
        }
        for (number, grouping) in in_the_works {
            cells[number] = run(number, grouping);
        }
        while plan.tables().lay_out_one().unwrap() {}
        let groups: Vec<SlotGroups> = cells
            .into_iter()
            .flatten()
            .chain(plan.tables().take_all())
            .collect();
        let mut bounds = vec![0, PARTITIONS];
        bounds.extend(cuts);
        bounds.sort_unstable();
        bounds.dedup();
        let shards: Vec<Arc<Shard>> = bounds
            .windows(2)
            .map(|pair| {
                let shard = plan.merge(&groups, &(pair[0]..pair[1]), &|| false).unwrap();
                let shard = shard.expect("nobody said to leave off");
                assert!(
                    shard.firsts.is_sorted(),
                    "its groups come in the order of their first rows"
                );
                Arc::new(shard)
            })
            .collect();
        let batches = Ordering::new(&plan, &shards, slots.len())
            .finish(&scan, &plan, &shards)
            .unwrap();
        concat_batches(&scan.schema(), &batches).unwrap()
    }

    proptest! {
        #[test]
        fn no_cut_and_no_way_of_a_row_is_seen_in_the_result(
            text_keys in any::<bool>(),
            slots in proptest::collection::vec(
                proptest::array::uniform2(proptest::collection::vec(
                    (proptest::option::weighted(0.9, 0i64..30), any::<bool>(), -5i64..100),
                    0..40,
                )),
                0..6,
            ),
            cuts in proptest::collection::vec(0..=PARTITIONS, 0..20),
            ways in proptest::array::uniform6(prop_oneof![
                Just(Way::Alone),
                Just(Way::Shared),
                proptest::option::of(0i64..30).prop_map(Way::Loose),
            ]),
            begun in Just((0..6).collect::<Vec<usize>>()).prop_shuffle(),
            at_once in 1usize..4,
        ) {
            let in_order: Vec<usize> = (0..slots.len()).collect();
            let begun: Vec<usize> = begun.into_iter().filter(|&slot| slot < slots.len()).collect();
            let serial = result(text_keys, &slots, &[], &[Way::Alone; 6], &in_order, 1);
            prop_assert_eq!(result(text_keys, &slots, &cuts, &ways, &begun, at_once), serial);
        }
    }
}
