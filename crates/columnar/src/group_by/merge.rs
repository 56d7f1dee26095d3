//! The merge of all slots' groups in a range of partitions.

use std::ops::Range;

use arrow::array::{Array as _, ArrayRef};

use super::growth::Growth;
use super::run::GroupBy;
use super::slot_groups::SlotGroups;
use super::table::GroupTable;
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
    leave_off: &dyn Fn() -> bool,
) -> Result<Option<Merged>, ExecError> {
    let (mut keys, mut states) = group_by.no_groups()?;
    if let Some(keys) = &mut keys {
        let of_slot = |slot: &SlotGroups| slot.keys.as_ref().map_or(0, |keys| keys.places(partitions).len());
        // A lower bound.
        keys.reserve(slots.iter().map(of_slot).max().unwrap_or(0))?;
    }
    let mut growth = Growth::new(slots.iter().map(|slot| slot.entries(partitions)).sum());
    for slot in slots {
        if leave_off() {
            return Ok(None);
        }
        let (Some(keys), Some(more)) = (&mut keys, &slot.keys) else {
            group_by.aggregates().merge(&mut states, &slot.states, 0, &[0])?;
            continue;
        };
        let places = more.places(partitions);
        if !places.is_empty() {
            keys.merge(more, places.clone())?;
            let len = keys.len();
            states.iter_mut().try_for_each(|state| state.resize(len))?;
            group_by
                .aggregates()
                .merge(&mut states, &slot.states, places.start, keys.groups())?;
        }
        for passing in &slot.passing {
            let places = passing.starts.places(partitions);
            if places.is_empty() {
                continue;
            }
            let rows = &passing.rows[places.clone()];
            let position = |row: usize| passing.base + u64::from(rows[row]);
            keys.assign_fixed_keys(&passing.fixed_keys[places.clone()], position)?;
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
        if let Some(groups) = growth.note(slot.entries(partitions), keys.len()) {
            // Otherwise tables grow step by step.
            keys.reserve(groups).ok();
        }
    }
    Ok(Some(Merged { keys, states }))
}
