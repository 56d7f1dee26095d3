//! The state that all handles to the pools share.

use std::sync::Arc;

use crate::cpu::state::CpuState;
use crate::maintenance::state::MaintenanceState;
use crate::mixed::state::MixedState;

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) mixed: MixedState,
    pub(crate) cpu: CpuState,
    pub(crate) maintenance: Arc<MaintenanceState>,
    /// For wake-ups: this thread runs no other work.
    pub(crate) clock: Arc<MaintenanceState>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.mixed.end();
        self.cpu.end();
        self.maintenance.close();
        self.clock.close();
    }
}
