//! What the executor promises, shown from outside. Every test that is not about the cost of idling runs twice:
//! parking until woken, and parking with a timeout.

mod building;
mod endings;
mod exactly_once;
mod idle_cost;
mod panics;
mod scoped;
mod support;
mod tasks;
mod telling;
mod waking;
