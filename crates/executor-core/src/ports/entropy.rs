//! Chance, as a port: the choices that do not matter for correctness.

/// A source of random choices.
pub trait Entropy {
    /// A number below `bound`, which is not 0: random on threads, a choice in the simulator.
    fn below(&self, bound: usize) -> usize;
}
