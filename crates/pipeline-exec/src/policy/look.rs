#![doc = include_str!("look/README.md")]
//!
//! This file is that protocol.

use std::sync::atomic::Ordering;

use crossbeam::utils::CachePadded;
use executor_core::ports::{Fetch, Memory};

use super::close::close_late;
use super::ports::PipelinePorts;
use super::role::{has_work, role_of, visit_as_main, visit_as_reserve};
use crate::mutant;
use crate::step_cx::Role;

/// How many looks are out.
#[derive(Debug)]
pub struct Looks<W> {
    out: CachePadded<W>,
    max: usize,
}

/// What becomes of a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookEnd {
    /// It goes to the back of the executor's queue: there is more to do, and others may want the
    /// worker.
    Again,
    /// It is over. The party that publishes work next hands over another.
    Over,
}

/// Runs one look on `worker`: visits jobs until a quantum is over or nothing is left. The last
/// visit may last longer, in an old job.
pub fn look<E: PipelinePorts>(env: &E, worker: usize) -> LookEnd {
    let shared = env.shared();
    let mut now_ns = env.now_ns();
    let until_ns = now_ns.saturating_add(shared.quantum_ns());
    if shared.has_deadlines(env) && !mutant::m60_deadlines_not_looked_at() && close_late(env, now_ns) {
        now_ns = env.now_ns();
    }
    loop {
        let visited = if role_of(env, worker) == Role::Reserve {
            visit_as_reserve(env, worker, now_ns, until_ns)
        } else {
            visit_as_main(env, worker, now_ns, until_ns)
        };
        let Some(ended_ns) = visited else {
            if !shared.looks.lay_down(env, || has_work(env)) {
                return LookEnd::Over;
            }
            now_ns = env.now_ns();
            continue;
        };
        // One reading of the clock does for the end of a visit and the beginning of the next.
        now_ns = ended_ns;
        if now_ns >= until_ns && !mutant::m50_quantum_never_over() && has_work(env) {
            return LookEnd::Again;
        }
    }
}

/// Lets up to `wanted` workers more look, as far as there are any. The caller has published, and
/// has passed a sequentially consistent fence. `false` if none of them will, because the workers
/// are leaving.
pub(crate) fn call_up<E: PipelinePorts>(env: &E, wanted: usize) -> bool {
    let looks = &env.shared().looks;
    let taken = looks.take_up(env, wanted);
    if taken > 0 && !env.hand_over(taken) {
        looks.drop_taken(env, taken);
        return false;
    }
    true
}

impl<W> Looks<W> {
    /// None is out; at most `max` may be.
    pub(crate) fn new(max: usize, mut word: impl FnMut(usize) -> W) -> Self {
        Self {
            out: CachePadded::new(word(0)),
            max,
        }
    }

    /// How many are out. It may change at once.
    pub fn out<M: Memory<Word = W>>(&self, mem: &M) -> usize {
        // Ordering: Relaxed. A number for people and oracles.
        mem.load(&self.out, Ordering::Relaxed)
    }

    /// Step take-up: takes up to `wanted` looks for the caller to hand over. The caller has
    /// published, and has passed a sequentially consistent fence.
    pub(crate) fn take_up<M: Memory<Word = W>>(&self, mem: &M, wanted: usize) -> usize {
        // Ordering: Relaxed. Step read-out; the caller's fence orders it, edge `look/publish`.
        let mut out = mem.load(&self.out, Ordering::Relaxed);
        loop {
            let taken = wanted.min(self.max.saturating_sub(out));
            if taken == 0 {
                return 0;
            }
            // Ordering: Relaxed. A bound on one word; the look itself is handed over by the
            // executor's queue.
            match mem.compare_exchange(&self.out, out, out + taken, Ordering::Relaxed) {
                Ok(_) => return taken,
                Err(now) => out = now,
            }
        }
    }

    /// Puts back looks that were taken up and that no worker will run.
    pub(crate) fn drop_taken<M: Memory<Word = W>>(&self, mem: &M, looks: usize) {
        // Ordering: Relaxed. It happens only when the workers leave for good.
        mem.fetch(&self.out, Fetch::Sub(looks), Ordering::Relaxed);
    }

    /// Steps lay-down, lay-fence, look-again: a look that found nothing. `true` if it goes on after
    /// all.
    pub(crate) fn lay_down<M: Memory<Word = W>>(&self, mem: &M, look_again: impl Fn() -> bool) -> bool {
        // Ordering: Relaxed. Step lay-down; ordered by the fence.
        mem.fetch(&self.out, Fetch::Sub(1), Ordering::Relaxed);
        // Ordering: SeqCst fence, step lay-fence. Edge `look/publish`: pairs with the fence in
        // `publish`. Whichever comes second, its side sees the other's write: the job on the board,
        // or one look fewer.
        mem.fence(Ordering::SeqCst);
        look_again() && self.take_up(mem, 1) == 1
    }
}

#[cfg(test)]
mod tests {
    use executor_core::ports::{Native, NativeWord};

    use super::*;

    #[test]
    fn a_look_that_is_laid_down_is_taken_up_again_if_there_is_something_and_nobody_was_first() {
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
