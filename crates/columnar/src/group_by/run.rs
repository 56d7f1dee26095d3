//! A running GROUP BY and the state its slots share.

use std::sync::{Arc, OnceLock};

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use arrow::error::ArrowError;

use super::hand_over::{HandOver, OpenTable};
use super::key_sample::KeySample;
use super::keys::{KeyEncoding, RowKeys};
use super::numbered_keys::NumberedKeys;
use super::slot_groups::SlotGroups;
use super::table::GroupTable;
use crate::aggregate::{AggregatePlan, States};
use crate::error::ExecError;
use crate::expr::{ColumnSource, Expr};
use crate::filter::cost_per_row;
use crate::memory::MemoryPool;
use crate::plan::{Output, Partitioning, SelectPlan};

pub(crate) struct GroupBy {
    keys: Vec<Expr>,
    /// Absent without keys. Of the keys' own values.
    encoding: Option<Arc<KeyEncoding>>,
    /// Whether texts of the keys are numbered, once the first rows have come.
    numbered: OnceLock<Option<NumberedKeys>>,
    aggregates: AggregatePlan,
    places: Option<usize>,
    may_pass_through: bool,
    key_sample: KeySample,
    may_hand_over: bool,
    hand_over: HandOver,
    pool: Option<Arc<MemoryPool>>,
}

impl GroupBy {
    /// `places` is the column of each row's place in the order of the rows. Without one, a row's
    /// place is its slot and its number there.
    pub(crate) fn new(scan: &SelectPlan, places: Option<usize>) -> Self {
        let Output::Groups { keys, aggregates, .. } = &scan.output else {
            unreachable!("a plan of groups is made for an output of groups")
        };
        let partitioning = Partitioning::of(scan);
        let plain = |key: &Expr| key.clone().plain().expect("a dictionary has values");
        let keys: Vec<Expr> = keys.iter().map(plain).collect();
        let encoding = (!keys.is_empty()).then(|| {
            let types: Vec<DataType> = keys.iter().map(|key| key.data_type().clone()).collect();
            // `SelectPlan::group_fields` rejected keys without an encoding.
            let encoding = KeyEncoding::new(&types).and_then(|encoding| match &partitioning {
                Partitioning::ShardKey { keys, .. } => encoding.with_partitions_by(keys, &types),
                Partitioning::Pinned | Partitioning::Keys => Ok(encoding),
            });
            Arc::new(encoding.expect("keys of comparable types"))
        });
        let aggregates = AggregatePlan::new(aggregates.clone());
        let may_come_in_any_order = aggregates.is_exact() && places.is_none();
        Self {
            may_pass_through: encoding.is_some()
                && may_come_in_any_order
                && partitioning != Partitioning::Pinned,
            may_hand_over: may_come_in_any_order && encoding.is_some(),
            hand_over: HandOver::default(),
            keys,
            encoding,
            numbered: OnceLock::new(),
            aggregates,
            places,
            key_sample: KeySample::default(),
            pool: scan.memory_pool.clone(),
        }
    }

    pub(crate) fn cost_per_row(&self) -> f64 {
        self.exprs().map(cost_per_row).sum::<f64>() + self.aggregates.states() as f64
    }

    /// The keys, then the arguments of aggregates.
    pub(crate) fn exprs(&self) -> impl Iterator<Item = &Expr> {
        self.keys.iter().chain(self.aggregates.arguments())
    }

    pub(crate) fn keys(&self) -> &[Expr] {
        &self.keys
    }

    /// Decides whether texts of the keys are numbered, if these are the first rows. No slot has a table
    /// of groups before.
    pub(crate) fn look_at(&self, rows: &dyn ColumnSource) -> Result<(), ExecError> {
        if let Some(encoding) = &self.encoding
            && self.numbered.get().is_none()
        {
            let numbered = NumberedKeys::of(&self.keys, encoding, rows, self.pool())?;
            // Another slot may have decided meanwhile.
            self.numbered.set(numbered).ok();
        }
        Ok(())
    }

    pub(super) fn numbered(&self) -> Option<&NumberedKeys> {
        self.numbered.get()?.as_ref()
    }

    pub(super) fn encoding(&self) -> Option<&Arc<KeyEncoding>> {
        match self.numbered() {
            Some(numbered) => Some(numbered.encoding()),
            None => self.encoding.as_ref(),
        }
    }

    /// About the bytes to make [`values`](Self::values) of key columns, result included.
    pub(crate) fn value_bytes(&self, columns: &[ArrayRef]) -> usize {
        self.numbered().map_or(0, |keys| keys.value_bytes(columns))
    }

    /// The keys' own values, for the key columns of a table of groups.
    pub(crate) fn values(&self, columns: Vec<ArrayRef>) -> Result<Vec<ArrayRef>, ArrowError> {
        match self.numbered() {
            Some(keys) => keys.values(columns),
            None => Ok(columns),
        }
    }

    pub(super) fn places(&self) -> Option<usize> {
        self.places
    }

    pub(crate) fn aggregates(&self) -> &AggregatePlan {
        &self.aggregates
    }

    pub(crate) fn may_pass_through(&self) -> bool {
        self.may_pass_through
    }

    pub(crate) fn may_hand_over(&self) -> bool {
        self.may_hand_over
    }

    pub(crate) fn hand_over(&self) -> &HandOver {
        &self.hand_over
    }

    pub(super) fn key_sample(&self) -> &KeySample {
        &self.key_sample
    }

    pub(crate) fn pool(&self) -> Option<&Arc<MemoryPool>> {
        self.pool.as_ref()
    }

    /// Groups of finer groups, whose columns `keys` are those of this grouping.
    pub(crate) fn grouped(
        &self,
        keys: &[ArrayRef],
        firsts: &[u64],
        from: &States,
    ) -> Result<SlotGroups, ExecError> {
        let (table, mut states) = self.no_groups()?;
        let (Some(mut table), Some(encoding)) = (table, self.encoding()) else {
            let all = vec![0; firsts.len()];
            self.aggregates.merge(&mut states, from, 0, &all)?;
            return Ok(SlotGroups {
                keys: None,
                states,
                passing: Vec::new(),
            });
        };
        let mut row_keys = RowKeys::default();
        encoding.read(keys, firsts.len(), &mut row_keys);
        let assigned = table.assign(keys, &row_keys, |row| firsts[row]);
        assigned.map_err(|error| ExecError::of("group by", error))?;
        table.note_firsts(firsts);
        let len = table.len();
        states.iter_mut().try_for_each(|state| state.resize(len))?;
        self.aggregates.merge(&mut states, from, 0, table.groups())?;
        let table = OpenTable {
            keys: table,
            states,
            begun_by: 0,
        };
        Ok(table.partitioned()?)
    }

    /// What a slot without rows leaves.
    pub(crate) fn of_no_rows(&self) -> Result<SlotGroups, ExecError> {
        let (keys, states) = self.no_groups()?;
        let keys = keys.map(GroupTable::into_partitions).transpose()?;
        Ok(SlotGroups {
            keys: keys.map(|(keys, _order)| keys),
            states,
            passing: Vec::new(),
        })
    }

    /// No groups; without keys, the one group's states.
    pub(crate) fn no_groups(&self) -> Result<(Option<GroupTable>, States), ExecError> {
        let pool = self.pool();
        let encoding = self.encoding().cloned();
        let keys = encoding.map(|encoding| GroupTable::new(encoding, pool));
        let mut states = self.aggregates.new_states(pool);
        if keys.is_none() {
            states.iter_mut().try_for_each(|state| state.resize(1))?;
        }
        Ok((keys, states))
    }
}
