//! The base of every model: executor-core's memory and runner, and a pipeline as a scene.

pub(crate) mod cells;
#[path = "../../../executor-core/tests/loom/harness/memory.rs"]
pub(crate) mod memory;
#[path = "../../../executor-core/tests/loom/harness/model.rs"]
mod model;
pub(crate) mod scene;

pub(crate) use model::model;
