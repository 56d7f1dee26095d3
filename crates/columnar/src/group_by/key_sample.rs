//! What slots learnt of the keys, for the slots that begin later.

use std::sync::{Arc, Mutex};

use pipeline_exec::lock;

use super::heavy_hitters::Mode;
use super::table::GroupCount;

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

    /// The groups of the last slot that was done. The next one is likely to have about as many.
    pub(super) fn groups(&self) -> GroupCount {
        *lock(&self.groups)
    }

    pub(super) fn learn_groups(&self, groups: GroupCount) {
        *lock(&self.groups) = groups;
    }
}
