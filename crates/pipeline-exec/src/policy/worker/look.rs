#![doc = include_str!("look/README.md")]

use super::role::{role_of, visit_as_main, visit_as_reserve};
use crate::policy::board::ending::enforce_all_deadlines;
use crate::policy::board::select::has_work;
use crate::policy::ports::PipelinePorts;
use crate::step_cx::Role;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookEnd {
    /// There is more to do: the look goes to the back of the executor's queue.
    Again,
    /// The party that publishes work next hands over another look.
    Over,
}

/// Visits jobs until a quantum is over or nothing is left. The last visit, in an old job, may last
/// longer.
pub fn look<E: PipelinePorts>(env: &E, worker: usize) -> LookEnd {
    let shared = env.shared();
    let mut now_ns = env.now_ns();
    let until_ns = now_ns.saturating_add(shared.quantum_ns());
    if shared.has_deadlines(env) && enforce_all_deadlines(env, now_ns) {
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
        // One reading of the clock ends a visit and begins the next.
        now_ns = ended_ns;
        if now_ns >= until_ns && has_work(env) {
            return LookEnd::Again;
        }
    }
}
