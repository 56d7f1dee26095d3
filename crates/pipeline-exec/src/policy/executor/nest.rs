//! How a slot waits for a job of its own: it runs that job, and no other.
//!
//! A slot that blocked would take its worker out of the pool. A slot that ran any job would run
//! foreign code with its own locks held, and that code may want them.
//!
//! | state of a waiting slot | means | leaves it when |
//! |---|---|---|
//! | admitted | its job is on the board, and knows its outer job | the worker helps it |
//! | lent | its worker [helps](mod@super::lend): it runs that job's slots or sleeps | the job has ended |
//! | by hand | the executor is full, or drains: the worker runs the whole job | the job has ended |
//!
//! # Steps
//!
//! - **submit**: as from outside. *Full* and *closed* lead to **by hand**.
//! - **lend**: the helper's steps, with its number, which is free: no other thread has the job's
//!   ticket.
//! - **orphan**: before each slot, its worker closes the job if a job around it was closed.
//! - **return**: the job has ended, and its end is the result.
//!
//! # The races
//!
//! - *A worker claims the inner job's last slot while the waiting one falls asleep.* The ledger
//!   orders the two, as for every helper.
//! - *The outer job is closed while the waiting worker sleeps.* Other workers are then in slots of
//!   the inner job, or it has no room. They take the step **orphan** at their next slot boundary,
//!   or leave and tell.
//! - *A shutdown finds the inner job in the table.* It cancels the job and does not return it,
//!   because the job is part of a running slot.
//! - *A drain closes the gate.* Running slots run their jobs by hand.
//!
//! # Why no slot waits for ever
//!
//! Slot *s* waits for slot *t* if *s* has submitted a job, `Sleeps` in **lend**, and *t* is a
//! claimed slot of that job. Then *t* is younger: its job was submitted inside *s*. So there is no
//! circle, and one running slot waits for none. Its worker runs user code, claims another slot, or
//! accounts for one. Each ends in finitely many steps, and the `Tell` of the lend protocol wakes
//! the waiting slot. No step needs another worker, so one worker is enough for any depth of waits.

use std::sync::Arc;
use std::task::Waker;

use super::lend::lend;
use super::submit::{Admitted, Refused, submit};
use crate::error::{JobError, JobErrorKind};
use crate::policy::job::body::JobBody;
use crate::policy::job::handle::JobHandle;
use crate::policy::job::spec::JobSpec;
use crate::policy::job::{by_hand, nested};
use crate::policy::ports::{InnerEvent, NestAnswer, PipelineEvent, PipelinePorts, StateOf};
use crate::report::JobEnd;
use crate::step_cx::StepCx;

/// Runs a job for the slot whose context is `cx`. For drivers of the policy; users call
/// [`StepCx::run`].
pub fn nest(cx: &StepCx<'_>, spec: JobSpec) -> JobEnd {
    nested::run(cx, spec)
}

/// Runs a job for a slot of `outer`: every environment's [`PipelinePorts::nest`].
pub fn nest_in<E: PipelinePorts>(
    env: &E,
    outer: (&Arc<StateOf<E>>, JobHandle),
    cx: &StepCx<'_>,
    spec: JobSpec,
) -> JobEnd {
    let (state, job) = outer;
    env.observe(PipelineEvent::Inner(InnerEvent::Nests { job }));
    let workers = env.shared().workers();
    let mut body = JobBody::new(spec, workers, env.place(), |value| env.word(value));
    body.put_inside(state);
    let submitted = submit(env, body);
    let answer = match &submitted {
        Ok(admitted) => NestAnswer::Admitted(admitted.job),
        Err(Refused::Full(_)) => NestAnswer::Full,
        Err(Refused::Closed(_) | Refused::Stopped(_)) => NestAnswer::Closed,
    };
    env.observe(PipelineEvent::Inner(InnerEvent::NestAnswered { job, answer }));
    let end = match submitted {
        Ok(Admitted { state, job }) => {
            env.park_with(|waker, sleep| {
                lend(env, &state, job, waker, sleep);
            });
            let end = state.poll(env, Waker::noop());
            end.expect("a thread is lent until the job has ended")
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
    env.observe(PipelineEvent::Inner(InnerEvent::NestOver { job, end: &end }));
    end
}
