//! Planted bugs: the test of the tests.
//!
//! Simulator and models are trusted because they are seen to notice. Each constant here is true in a build with its
//! `--cfg windlass_mutant="…"` and in no other, and leaves out one step of a protocol where it is used; in a
//! normal build nothing of it is left. Such a build is for one layer of tests to fail on, never to run.

/// Nobody is woken after a push.
pub(crate) const NO_WAKE: bool = cfg!(windlass_mutant = "m03_no_wake");

/// A worker parks after registering as a sleeper without looking again.
pub(crate) const NO_SECOND_LOOK: bool = cfg!(windlass_mutant = "m04_no_second_look");

/// A publisher reads the sleepers without a fence after its push. Only a model of weak memory can see it.
pub(crate) const NO_PUBLISH_FENCE: bool = cfg!(windlass_mutant = "m25_no_publish_fence");

/// A worker with private tasks takes no notice of those who are hungry.
pub(crate) const PRIVATE_WORK_HIDDEN: bool = cfg!(windlass_mutant = "m28_private_work_hidden");

/// The second look comes before leaving the search and registering, and not after.
pub(crate) const LOOK_BEFORE_LEAVING_SEARCH: bool = cfg!(windlass_mutant = "m30_look_before_leaving_search");

/// A private task is kept although no count in the purse covers it.
pub(crate) const PRIVATE_NOT_COVERED: bool = cfg!(windlass_mutant = "m33_private_not_covered");

/// A worker that has looked goes past its private tasks, and parks if there is nothing else.
pub(crate) const PARKS_ON_PRIVATE: bool = cfg!(windlass_mutant = "m34_parks_on_private");

/// Private tasks become public, and nobody is woken for them.
pub(crate) const EXPOSED_WITHOUT_WAKE: bool = cfg!(windlass_mutant = "m35_exposed_without_wake");
