//! What every model stands on: the memory and the runner that executor-core's models have, and a pipeline as a scene.

#[path = "../../../executor-core/tests/loom/harness/memory.rs"]
pub(crate) mod memory;
#[path = "../../../executor-core/tests/loom/harness/model.rs"]
mod model;
pub(crate) mod scene;

pub(crate) use model::model;
