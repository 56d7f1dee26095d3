//! The simulator, seen from outside: it is deterministic, it notices, and what it says leads back.

mod corpus;
mod determinism;
mod failures;
mod faults;
mod jobs;
mod page;
mod program;
mod races;
mod recorded;
mod scenes;
mod shrinking;
mod shutdown;
mod virtual_time;
