//! What the policy keeps for one worker: plain memory that no other party reads.

pub(crate) mod backoff;
pub(crate) mod popped;
pub(crate) mod private;
pub(crate) mod state;
pub(crate) mod task_time;
pub(crate) mod victim;
