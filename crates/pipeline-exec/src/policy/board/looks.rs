//! The word of the [protocol of looks](mod@crate::policy::worker::look): how many workers look at
//! the board.

use std::sync::atomic::Ordering;

use crossbeam::utils::CachePadded;
use executor_core::ports::{Fetch, Memory};

#[derive(Debug)]
pub struct Looks<W> {
    out: CachePadded<W>,
    max: usize,
}

impl<W> Looks<W> {
    pub(crate) fn new(max: usize, mut word: impl FnMut(usize) -> W) -> Self {
        Self {
            out: CachePadded::new(word(0)),
            max,
        }
    }

    pub fn out<M: Memory<Word = W>>(&self, mem: &M) -> usize {
        // Ordering: Relaxed. A statistic.
        mem.load(&self.out, Ordering::Relaxed)
    }

    /// Step take-up. The caller has published and passed a sequentially consistent fence.
    pub(crate) fn take_up<M: Memory<Word = W>>(&self, mem: &M, wanted: usize) -> usize {
        // Ordering: Relaxed. Step read-out; the caller's fence orders it, edge `look/publish`.
        let mut out = mem.load(&self.out, Ordering::Relaxed);
        loop {
            let taken = wanted.min(self.max.saturating_sub(out));
            if taken == 0 {
                return 0;
            }
            // Ordering: Relaxed. A bound on one word; the executor's queue hands the look over.
            match mem.compare_exchange(&self.out, out, out + taken, Ordering::Relaxed) {
                Ok(_) => return taken,
                Err(now) => out = now,
            }
        }
    }

    pub(crate) fn drop_taken<M: Memory<Word = W>>(&self, mem: &M, looks: usize) {
        // Ordering: Relaxed. It happens only when the workers leave for good.
        mem.fetch(&self.out, Fetch::Sub(looks), Ordering::Relaxed);
    }

    /// Steps lay-down, lay-fence and look-again. Returns whether the look goes on.
    pub(crate) fn lay_down<M: Memory<Word = W>>(&self, mem: &M, look_again: impl Fn() -> bool) -> bool {
        // Ordering: Relaxed. Step lay-down; the fence orders it.
        mem.fetch(&self.out, Fetch::Sub(1), Ordering::Relaxed);
        // Ordering: SeqCst fence, step lay-fence. Edge `look/publish`: pairs with the fence in
        // `publish`. The side that comes second sees the other's write: the job on the board, or
        // one look fewer.
        mem.fence(Ordering::SeqCst);
        look_again() && self.take_up(mem, 1) == 1
    }
}

#[cfg(test)]
mod tests {
    use executor_core::ports::{Native, NativeWord};

    use super::*;

    #[test]
    fn a_look_that_is_laid_down_is_taken_up_again_if_there_is_something_and_no_other_came_first() {
        let looks = Looks::new(2, NativeWord::new);
        assert_eq!(looks.take_up(&Native, 2), 2);
        assert!(looks.lay_down(&Native, || true));
        assert_eq!(looks.out(&Native), 2);
        let somebody_was_first = || looks.take_up(&Native, 1) == 1;
        assert!(!looks.lay_down(&Native, somebody_was_first));
        assert_eq!(looks.out(&Native), 2);
        assert!(!looks.lay_down(&Native, || false));
        assert_eq!(looks.out(&Native), 1);
        looks.drop_taken(&Native, 1);
        assert_eq!(looks.out(&Native), 0);
    }
}
