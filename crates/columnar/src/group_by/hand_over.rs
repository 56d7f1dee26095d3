//! Tables that slots hand to later slots, so fewer groups are merged.
//!
//! If every slot meets the same few thousand groups, merging costs more than adding the rows. A
//! slot then leaves its table to a later slot, if the order of additions does not matter.
//!
//! A slot takes a table only from an earlier slot, so a group's first position holds for all slots
//! of the table. Among tables the least counts, so the result is the same for any hand-over.

use std::sync::Mutex;

use pipeline_exec::lock;

use super::slot_groups::SlotGroups;
use super::table::GroupTable;
use crate::aggregate::States;
use crate::memory::MemoryExceeded;

/// Groups of a table at most: more exceed a core's second level of cache.
const GROUPS_MAX: usize = 1 << 15;
/// Groups below which a table is always handed over.
const GROUPS_FEW: usize = 1 << 13;
/// Rows per new group, at least, to hand over a table of more groups. A table of all groups is met
/// only by going on: with 10,000 groups it brings new ones in a fifth of the rows at first.
const NEW_ONE_IN: usize = 2;

pub(crate) struct OpenTable {
    pub(crate) keys: GroupTable,
    pub(crate) states: States,
    /// The first slot that had it.
    pub(crate) begun_by: usize,
}

#[derive(Default)]
pub(crate) struct HandOver(Mutex<Left>);

#[derive(Default)]
struct Left {
    waiting: Vec<(usize, OpenTable)>,
    partitioned: Vec<SlotGroups>,
    is_given_up: bool,
}

impl OpenTable {
    /// `new` of the last `rows` rows brought a group.
    pub(crate) fn goes_on(&self, new: usize, rows: usize) -> bool {
        let groups = self.keys.len();
        groups <= GROUPS_FEW || (groups <= GROUPS_MAX && new * NEW_ONE_IN < rows)
    }

    pub(crate) fn partitioned(self) -> Result<SlotGroups, MemoryExceeded> {
        let mut states = self.states;
        let (keys, order) = self.keys.into_partitions()?;
        states.iter_mut().try_for_each(|state| state.arrange(&order))?;
        Ok(SlotGroups {
            keys: Some(keys),
            states,
            passing: Vec::new(),
        })
    }
}

impl HandOver {
    /// Takes the latest one, so slots run in turns keep their own tables.
    pub(crate) fn take_before(&self, slot: usize) -> Option<OpenTable> {
        let mut left = lock(&self.0);
        let waiting = left.waiting.iter().enumerate();
        let before = waiting.filter(|(_, (last, _))| *last < slot);
        let (at, _) = before.max_by_key(|(_, (last, _))| *last)?;
        Some(left.waiting.swap_remove(at).1)
    }

    pub(crate) fn leave(&self, slot: usize, table: OpenTable) {
        let mut left = lock(&self.0);
        if !left.is_given_up {
            left.waiting.push((slot, table));
        }
    }

    pub(crate) fn keep(&self, groups: SlotGroups) {
        let mut left = lock(&self.0);
        if !left.is_given_up {
            left.partitioned.push(groups);
        }
    }

    /// Also frees tables that slots leave later.
    pub(crate) fn give_up(&self) {
        let none = Left {
            is_given_up: true,
            ..Left::default()
        };
        let left = std::mem::replace(&mut *lock(&self.0), none);
        drop(left);
    }

    pub(crate) fn waiting(&self) -> usize {
        lock(&self.0).waiting.len()
    }

    /// Called after the last slot; false if no table waits.
    pub(crate) fn partition_one(&self) -> Result<bool, MemoryExceeded> {
        let waiting = lock(&self.0).waiting.pop();
        let Some((_, table)) = waiting else {
            return Ok(false);
        };
        self.keep(table.partitioned()?);
        Ok(true)
    }

    pub(crate) fn take_all(&self) -> Vec<SlotGroups> {
        let mut left = lock(&self.0);
        assert!(
            left.waiting.is_empty(),
            "tables are laid out before they are merged"
        );
        std::mem::take(&mut left.partitioned)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int64Array};
    use arrow::datatypes::DataType;

    use super::*;
    use crate::group_by::keys::{KeyEncoding, RowKeys};
    use crate::partition::PARTITIONS;

    fn table(begun_by: usize, groups: i64) -> OpenTable {
        let encoding = Arc::new(KeyEncoding::new(&[DataType::Int64]).unwrap());
        let column: ArrayRef = Arc::new(Int64Array::from_iter_values(0..groups));
        let mut rows = RowKeys::default();
        encoding.read(std::slice::from_ref(&column), groups as usize, &mut rows);
        let mut keys = GroupTable::new(encoding, None);
        keys.assign(&[column], &rows, |row| row as u64).unwrap();
        OpenTable {
            keys,
            states: Vec::new(),
            begun_by,
        }
    }

    #[test]
    fn a_slot_goes_on_with_the_table_of_the_latest_slot_before_it() {
        let hand_over = HandOver::default();
        for last in [7, 2, 5] {
            hand_over.leave(last, table(last, 1));
        }
        let taken = |slot| hand_over.take_before(slot).map(|table| table.begun_by);
        assert_eq!(taken(2), None, "not with its own, and with none of a later slot");
        assert_eq!(taken(7), Some(5));
        assert_eq!(taken(7), Some(2));
        assert_eq!(taken(7), None);
        assert_eq!(taken(9), Some(7));
        assert_eq!(hand_over.waiting(), 0);
    }

    #[test]
    fn a_table_that_is_large_goes_on_only_if_most_keys_are_known() {
        let (few, many) = (GROUPS_FEW as i64, GROUPS_MAX as i64);
        assert!(table(0, few).goes_on(800, 800));
        assert!(!table(0, few + 1).goes_on(400, 800));
        assert!(table(0, many).goes_on(399, 800));
        assert!(!table(0, many + 1).goes_on(0, 800));
    }

    #[test]
    fn nothing_is_kept_after_the_query_was_given_up() {
        let hand_over = HandOver::default();
        hand_over.leave(3, table(0, 10));
        hand_over.give_up();
        hand_over.leave(4, table(0, 10));
        hand_over.keep(table(1, 20).partitioned().unwrap());
        assert_eq!((hand_over.waiting(), hand_over.take_all().len()), (0, 0));
    }

    #[test]
    fn all_groups_are_there_when_tables_are_laid_out() {
        let hand_over = HandOver::default();
        hand_over.leave(3, table(0, 10));
        hand_over.keep(table(1, 20).partitioned().unwrap());
        assert!(hand_over.partition_one().unwrap());
        assert!(!hand_over.partition_one().unwrap());
        let all = hand_over.take_all();
        let mut groups: Vec<usize> = all.iter().map(|one| one.entries(&(0..PARTITIONS))).collect();
        groups.sort_unstable();
        assert_eq!(groups, [10, 20]);
    }
}
