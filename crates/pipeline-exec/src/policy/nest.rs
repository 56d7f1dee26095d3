//! How a slot waits for a job of its own: it runs that job, and no other.
//!
//! A slot that blocked until other workers have run something for it would take its worker out of the pool, and once all workers
//! wait like that nobody is left. One that ran whatever the board has meanwhile would run a stranger's code on its own stack, with the locks
//! held that it holds: the stranger may want the same. So it does neither.
//!
//! # States of a slot that waits
//!
//! | state | means | leaves it |
//! |---|---|---|
//! | admitted | its job is on the board like any other, and says inside which job it was submitted | when the worker lends itself to it |
//! | lent | the worker runs slots of that job, as [a lent thread](mod@super::lend) does, and sleeps while none can be claimed | the job has ended |
//! | by hand | the executor was full, or drains: the worker runs all of it on the spot | the job has ended |
//!
//! # Steps
//!
//! - **submit**: as from outside. *Full* and *closed* lead to **by hand**.
//! - **lend**: the steps of the lent thread, with its number: nobody else has the job's ticket, so that number is free.
//! - **orphan**: before each slot, whoever runs one asks whether a job around this one was closed; then this one is, too.
//! - **return**: the job has ended, and says how.
//!
//! # The races
//!
//! - *A worker claims the last slot of the inner job while the waiting one finds nothing and falls asleep.* The race of every lent thread: that job's ledger
//!   orders the two, as the page on lending shows.
//! - *The outer job is closed while the waiting worker sleeps.* It sleeps only while others are in slots of the inner job, or there is no
//!   room for it; those take the step **orphan** at their next slot boundary, or leave and tell. What nobody has claimed is open to the
//!   waiting worker itself, which is then not asleep.
//! - *A shutdown finds the inner job in the table.* It is cancelled and not handed back: it is a part of a slot that is running.
//! - *A drain.* The gate is closed, and slots that are running may still need jobs of their own: they run them by hand.
//!
//! # Why nobody waits for ever
//!
//! Say that slot *s* waits for slot *t* if *s* has submitted a job, `Sleeps` in **lend**, and *t* is a slot of that job that somebody has claimed. Then
//! *t* is younger than *s*: it belongs to a job that was submitted inside *s*. So there is no circle, and among the slots that run one
//! waits for none. Its worker runs code of the user, claims another slot, or accounts for one; each of these ends in finitely many steps,
//! and the `Tell` of the lend protocol wakes who waited. No step needs a worker that is not there already, so one worker is enough, however
//! many waits there are and however deep, as far as the stack reaches.

use std::sync::Arc;
use std::task::Waker;

use super::board::JobHandle;
use super::by_hand;
use super::job_spec::JobSpec;
use super::job_state::{JobBody, JobEnd};
use super::lend::lend;
use super::ports::{NestAnswer, PipelineEvent, PipelinePorts, StateOf};
use super::role::visit_as_main;
use super::submit::{Admitted, Refused, submit};
use crate::error::{JobError, JobErrorKind};
use crate::mutant;
use crate::step_cx::{Role, StepCx};

/// Runs a job for the slot whose context is `cx`, which waits for it. For whoever drives the policy; users say
/// [`StepCx::run`].
pub fn nest(cx: &StepCx<'_>, spec: JobSpec) -> JobEnd {
    cx.nest_as(cx, spec)
}

/// The same for a slot of `outer` in environment `E`.
pub(crate) fn nest_in<E: PipelinePorts>(
    env: &E,
    outer: (&Arc<StateOf<E>>, JobHandle),
    cx: &StepCx<'_>,
    spec: JobSpec,
) -> JobEnd {
    let (state, job) = outer;
    env.observe(PipelineEvent::Nests { job });
    let workers = env.shared().workers();
    let mut body = JobBody::new(spec, workers, env.place(), |value| env.word(value));
    body.put_inside(state);
    let submitted = submit(env, body);
    let answer = match &submitted {
        Ok(admitted) => NestAnswer::Admitted(admitted.job),
        Err(Refused::Full(_)) => NestAnswer::Full,
        Err(Refused::Closed(_) | Refused::Stopped(_)) => NestAnswer::Closed,
    };
    env.observe(PipelineEvent::NestAnswered { job, answer });
    let end = match submitted {
        Ok(Admitted { state, job }) => {
            env.park_with(|waker, sleep| {
                lend(env, &state, job, waker, || {
                    if !runs_a_stranger(env, cx) {
                        sleep();
                    }
                });
            });
            let end = state.poll(env, Waker::noop());
            end.expect("a thread is lent until the job has ended")
        }
        Err(Refused::Full(_)) if mutant::m87_full_is_waited_for() => {
            env.park_with(|_waker, sleep| sleep());
            Err(JobError::plain(JobErrorKind::Cancelled))
        }
        Err(Refused::Full(body) | Refused::Closed(body)) => by_hand::run(
            env,
            |value| env.word(value),
            || env.now_ns(),
            workers,
            &body.spec(),
            cx,
        ),
        Err(Refused::Stopped(_)) => Err(JobError::plain(JobErrorKind::Cancelled)),
    };
    env.observe(PipelineEvent::NestOver { job, end: &end });
    end
}

/// Never, but for a planted bug.
fn runs_a_stranger<E: PipelinePorts>(env: &E, cx: &StepCx<'_>) -> bool {
    if !mutant::m85_nested_wait_runs_anything() || cx.role() == Role::Lent {
        return false;
    }
    let now_ns = env.now_ns();
    visit_as_main(env, cx.worker_id(), now_ns, now_ns).is_some()
}
