//! What the models share: loom's atomics as `Memory`, a runner, and a whole executor.

pub(crate) mod memory;
mod model;
pub(crate) mod scene;

pub(crate) use model::model;
