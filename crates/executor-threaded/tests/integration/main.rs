//! The executor's promises, from outside. Nearly every test runs twice: with parking until woken,
//! and with a timeout.

mod building;
mod endings;
mod exactly_once;
mod idle_cost;
mod panics;
mod parking_at_once;
mod scoped;
mod support;
mod tasks;
mod telling;
mod waking;
