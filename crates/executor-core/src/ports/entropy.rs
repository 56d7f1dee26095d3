//! Chance, as a port.

/// A source of choices that do not matter for correctness.
pub trait Entropy {
    /// A number below `bound`, which is not 0: random on threads, a choice in the simulator.
    fn below(&self, bound: usize) -> usize;
}
