//! The decision that every policy makes after each step of a long task.

/// Decides when a long task puts its cursor back.
pub trait YieldPolicy {
    /// A turn begins.
    fn begin_turn(&mut self) {}

    /// Whether the turn is over after a step, with more to do. `has_idle_workers` is the answer of
    /// [`TaskCtx::has_idle_workers`](executor_core::TaskCtx::has_idle_workers).
    #[must_use]
    fn should_yield(&mut self, has_idle_workers: bool) -> bool;
}
