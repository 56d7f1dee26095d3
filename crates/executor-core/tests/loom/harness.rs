//! What every model stands on: loom's atomics as the policy's `Memory`, a runner, and a whole executor as a scene.

pub(crate) mod memory;
mod model;
pub(crate) mod scene;

pub(crate) use model::model;
