//! The merge of all slots' groups in a range of partitions.

use std::ops::Range;

use arrow::array::{Array as _, ArrayRef};

use super::expected_groups::ExpectedGroups;
use super::run::GroupBy;
use super::slot_groups::{SlotGroups, SlotKeys};
use super::table::{GroupCount, GroupTable};
use crate::aggregate::States;
use crate::error::ExecError;

pub(crate) struct Merged {
    pub(crate) keys: Option<GroupTable>,
    pub(crate) states: States,
}

/// Slots come in order, then shared tables. `None` if `leave_off` said so between two.
pub(crate) fn merge(
    group_by: &GroupBy,
    slots: &[SlotGroups],
    partitions: &Range<usize>,
    expected: &ExpectedGroups,
    leave_off: &dyn Fn() -> bool,
) -> Result<Option<Merged>, ExecError> {
    let (mut keys, mut states) = group_by.no_groups()?;
    if let Some(keys) = &mut keys {
        let entries = GroupCount {
            all: slots.iter().map(|slot| slot.entries(partitions)).sum(),
            long: slots.iter().map(|slot| slot.long_entries(partitions)).sum(),
        };
        // Otherwise the table grows step by step.
        keys.reserve(expected.within(partitions, entries)).ok();
    }
    for slot in slots {
        if leave_off() {
            return Ok(None);
        }
        let (Some(keys), Some(SlotKeys { keys: more, firsts })) = (&mut keys, &slot.keys) else {
            group_by.aggregates().merge(&mut states, &slot.states, 0, &[0])?;
            continue;
        };
        let places = more.places(partitions);
        if !places.is_empty() {
            let position = |place: usize| firsts[place];
            match keys.len() {
                0 => keys.fill(more, places.clone(), position)?,
                _ => {
                    keys.merge(more, places.clone(), position)?;
                    keys.note_firsts(&firsts[places.clone()]);
                }
            }
            let len = keys.len();
            states.iter_mut().try_for_each(|state| state.resize(len))?;
            group_by
                .aggregates()
                .merge(&mut states, &slot.states, places.start, keys.groups())?;
        }
        for passing in &slot.passing {
            let places = passing.keys.places(partitions);
            if places.is_empty() {
                continue;
            }
            let position = |place: usize| passing.base + u64::from(passing.rows[place]);
            keys.merge(&passing.keys, places.clone(), position)?;
            if states.is_empty() {
                continue;
            }
            let arguments = passing.arguments.iter();
            let arguments: Vec<ArrayRef> = arguments
                .map(|values| values.slice(places.start, places.len()))
                .collect();
            let len = keys.len();
            states.iter_mut().try_for_each(|state| state.resize(len))?;
            group_by
                .aggregates()
                .update(&mut states, &arguments, keys.ids()?)?;
        }
    }
    Ok(Some(Merged { keys, states }))
}
