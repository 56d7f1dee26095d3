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
    /// Nobody wants them.
    is_given_up: bool,
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
        let mut left = lock(&self.0);
        if !left.is_given_up {
            left.waiting.push((slot, table));
        }
    }

    /// Keeps the groups of a table that no slot goes on with.
    pub(super) fn keep(&self, groups: SlotGroups) {
        let mut left = lock(&self.0);
        if !left.is_given_up {
            left.laid_out.push(groups);
        }
    }

    /// Frees all that is there, and whatever slots still leave.
    pub(super) fn give_up(&self) {
        let mut left = lock(&self.0);
        *left = Left {
            is_given_up: true,
            ..Left::default()
        };
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int64Array};
    use arrow::datatypes::DataType;

    use super::*;
    use crate::aggregate::{KeyEncoding, PARTITIONS, RowKeys};

    /// With the groups `0..groups`, and as many rows.
    fn table(begun_by: usize, groups: i64) -> Table {
        let encoding = Arc::new(KeyEncoding::new(&[DataType::Int64]).unwrap());
        let column: ArrayRef = Arc::new(Int64Array::from_iter_values(0..groups));
        let mut rows = RowKeys::default();
        encoding.read(std::slice::from_ref(&column), groups as usize, &mut rows);
        let mut keys = GroupKeys::new(encoding, None);
        keys.assign(&[column], &rows, |row| row as u64).unwrap();
        Table {
            keys,
            states: Vec::new(),
            begun_by,
        }
    }

    #[test]
    fn a_slot_goes_on_with_the_table_of_the_latest_slot_before_it() {
        let tables = Tables::default();
        for last in [7, 2, 5] {
            tables.leave(last, table(last, 1));
        }
        let taken = |slot| tables.take_before(slot).map(|table| table.begun_by);
        assert_eq!(taken(2), None, "not with its own, and with none of a later slot");
        assert_eq!(taken(7), Some(5));
        assert_eq!(taken(7), Some(2));
        assert_eq!(taken(7), None);
        assert_eq!(taken(9), Some(7));
        assert_eq!(tables.waiting(), 0);
    }

    #[test]
    fn a_table_that_is_large_goes_on_only_if_it_hardly_grows() {
        let (few, many) = (GROUPS_FEW as i64, GROUPS_MAX as i64);
        assert!(table(0, few).goes_on(800, 800));
        assert!(!table(0, few + 1).goes_on(100, 800));
        assert!(table(0, many).goes_on(99, 800));
        assert!(!table(0, many + 1).goes_on(0, 800));
    }

    #[test]
    fn nothing_is_kept_of_what_nobody_wants() {
        let tables = Tables::default();
        tables.leave(3, table(0, 10));
        tables.give_up();
        tables.leave(4, table(0, 10));
        tables.keep(table(1, 20).laid_out().unwrap());
        assert_eq!((tables.waiting(), tables.take_all().len()), (0, 0));
    }

    #[test]
    fn all_groups_are_there_when_tables_are_laid_out() {
        let tables = Tables::default();
        tables.leave(3, table(0, 10));
        tables.keep(table(1, 20).laid_out().unwrap());
        assert!(tables.lay_out_one().unwrap());
        assert!(!tables.lay_out_one().unwrap());
        let all = tables.take_all();
        let mut groups: Vec<usize> = all.iter().map(|one| one.entries(&(0..PARTITIONS))).collect();
        groups.sort_unstable();
        assert_eq!(groups, [10, 20]);
    }
}
