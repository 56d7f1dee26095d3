//! The simulator, seen from outside: it is deterministic, it notices, and what it says leads back.

mod corpus;
mod determinism;
mod equal_slots;
mod failures;
mod faults;
mod growing;
mod jobs;
mod latency;
mod page;
mod program;
mod races;
mod recorded;
mod scenes;
mod shrinking;
mod shutdown;
mod speed_up;
mod virtual_time;
mod worked_examples;
