//! The simulator as its users see it: deterministic, watchful, and reproducible.

mod corpus;
mod determinism;
mod equal_slots;
mod explored;
mod failures;
mod faults;
mod growing;
mod jobs;
mod latency;
mod page;
mod program;
mod races;

mod shrinking;
mod shutdown;
mod speed_up;
mod virtual_time;
mod worked_examples;
