//! What slots learnt of the keys, for the slots that begin later.

use std::sync::{Arc, Mutex};

use pipeline_exec::lock;

use super::heavy_hitters::Mode;
use super::table::GroupCount;

/// Groups for each one that is added to those of the last slot: a table that is too small by one
/// doubles.
const MARGIN_ONE_IN: usize = 16;

#[derive(Debug, Default)]
pub(super) struct KeySample {
    mode: Mutex<Option<Arc<Mode>>>,
    groups: Mutex<GroupCount>,
}

impl KeySample {
    pub(super) fn known(&self) -> Option<Arc<Mode>> {
        lock(&self.mode).clone()
    }

    pub(super) fn learn(&self, mode: Mode) -> Arc<Mode> {
        let mode = Arc::new(mode);
        *lock(&self.mode) = Some(Arc::clone(&mode));
        mode
    }

    /// Room for the groups of a slot: those of the last slot that was done, and a few more.
    pub(super) fn groups(&self) -> GroupCount {
        let GroupCount { all, long } = *lock(&self.groups);
        GroupCount {
            all: all + all / MARGIN_ONE_IN,
            long: long + long / MARGIN_ONE_IN,
        }
    }

    pub(super) fn learn_groups(&self, groups: GroupCount) {
        *lock(&self.groups) = groups;
    }
}
