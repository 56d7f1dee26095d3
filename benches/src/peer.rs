//! The trait that all contenders stand behind.

/// Somebody who can do a workload. Threads are started when it is made and stopped when it is dropped, outside of what is
/// measured.
pub(crate) trait Contender {
    /// Name in the table; `windlass` is ours, `serial` is no executor at all.
    fn name(&self) -> &'static str;

    /// Does the work once and gives its answer.
    fn run(&mut self) -> u64;
}

/// A contender made of a name and a closure.
pub(crate) struct Named<F>(pub(crate) &'static str, pub(crate) F);

impl<F: FnMut() -> u64> Contender for Named<F> {
    fn name(&self) -> &'static str {
        self.0
    }

    fn run(&mut self) -> u64 {
        self.1()
    }
}
