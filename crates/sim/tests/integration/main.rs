//! The simulator, seen from outside: it is deterministic, it notices, and what it says leads back.

mod corpus;
mod determinism;
mod failures;
mod jobs;
mod program;
mod races;
mod recorded;
mod scenes;
mod shutdown;
