//! Tables of groups that go from slot to slot, so that groups which all slots meet are not merged slot by slot.
//!
//! ```text
//!   slot 0 ─► table ─► slot 2 ─► slot 3 ─► … ─► laid out by partitions ┐
//!   slot 1 ─► table ─► slot 4 ─► …           ─► laid out by partitions ┴─► merged
//! ```
//!
//! Some thousand groups are met by every slot. To lay them out and to merge them once for each slot is more work than to add the slot's rows. So a slot leaves its table to
//! a later one where the order of additions cannot be seen. There are then about as many tables as workers.
//!
//! A slot takes a table only from slots before it. So what a table says of where a group was first met is true of all its slots; where several tables have a group, the least
//! of them is. Which slots a table went through cannot be seen.

use std::sync::Mutex;

use super::collect::SlotGroups;
use super::groups::States;
use crate::aggregate::GroupKeys;
use crate::lock::lock;
use crate::quota::QuotaExceeded;

/// A table with more groups stays with its slot: it has left the second level of a core's cache.
const GROUPS_MAX: usize = 1 << 15;
/// A table with fewer goes on in any case.
const GROUPS_FEW: usize = 1 << 13;
/// A table between the two goes on if less than one of so many rows still brings a new group.
const NEW_ONE_IN: usize = 8;

/// Groups that rows can be added to.
pub(super) struct Table {
    pub(super) keys: GroupKeys,
    pub(super) states: States,
    /// The first slot that had it.
    pub(super) begun_by: usize,
}

/// Tables between two slots, and those that no slot will have any more.
#[derive(Default)]
pub(super) struct Tables(Mutex<Left>);

#[derive(Default)]
struct Left {
    /// Each with the last slot that had it.
    waiting: Vec<(usize, Table)>,
    laid_out: Vec<SlotGroups>,
}

impl Table {
    /// Whether another slot should go on with it, when `new` of the last `rows` rows brought a group.
    pub(super) fn goes_on(&self, new: usize, rows: usize) -> bool {
        let groups = self.keys.len();
        groups <= GROUPS_FEW || (groups <= GROUPS_MAX && new * NEW_ONE_IN < rows)
    }

    /// Its groups by partitions. No more rows will come.
    pub(super) fn laid_out(self) -> Result<SlotGroups, QuotaExceeded> {
        let mut states = self.states;
        let (keys, order) = self.keys.into_partitions()?;
        states.iter_mut().try_for_each(|state| state.arrange(&order))?;
        Ok(SlotGroups {
            keys: Some(keys),
            states,
            loose: Vec::new(),
        })
    }
}

impl Tables {
    /// The table that `slot` goes on with, if one was left by slots before it: of those the one that the latest of them has left, so that slots
    /// that are run in turns keep to their own.
    pub(super) fn take_before(&self, slot: usize) -> Option<Table> {
        let mut left = lock(&self.0);
        let waiting = left.waiting.iter().enumerate();
        let before = waiting.filter(|(_, (last, _))| *last < slot);
        let (at, _) = before.max_by_key(|(_, (last, _))| *last)?;
        Some(left.waiting.swap_remove(at).1)
    }

    /// Leaves a table that `slot` had last to slots behind it.
    pub(super) fn leave(&self, slot: usize, table: Table) {
        lock(&self.0).waiting.push((slot, table));
    }

    /// Keeps the groups of a table that no slot goes on with.
    pub(super) fn keep(&self, groups: SlotGroups) {
        lock(&self.0).laid_out.push(groups);
    }

    /// How many tables wait for a slot.
    pub(super) fn waiting(&self) -> usize {
        lock(&self.0).waiting.len()
    }

    /// Lays out one of the tables that wait, if there is one, for no slot will come.
    pub(super) fn lay_out_one(&self) -> Result<bool, QuotaExceeded> {
        let waiting = lock(&self.0).waiting.pop();
        let Some((_, table)) = waiting else {
            return Ok(false);
        };
        self.keep(table.laid_out()?);
        Ok(true)
    }

    /// The groups of all tables, when all are laid out.
    pub(super) fn take_all(&self) -> Vec<SlotGroups> {
        let mut left = lock(&self.0);
        assert!(
            left.waiting.is_empty(),
            "tables are laid out before they are merged"
        );
        std::mem::take(&mut left.laid_out)
    }
}
