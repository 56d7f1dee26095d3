//! How a slot waits for its own job: it runs that job alone.
//!
//! A blocked slot would take its worker out of the pool. A slot that ran any job would run foreign
//! code while it holds locks that this code may want.
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
//! - **lend**: the helper's steps, with its number, because no other thread has the ticket.
//! - **orphan**: before each claim and each slot, its worker closes the job if an outer job was
//!   closed or is late.
//! - **return**: the ended job's end is the result.
//!
//! # The races
//!
//! - *A worker claims the inner job's last slot while the waiting one falls asleep.* The ledger
//!   orders both.
//! - *The outer job is closed, or gets late, while the waiting worker sleeps.* Then other workers are
//!   in the inner job, or it has no room. They take **orphan** at their next slot boundary, or leave
//!   and tell.
//! - *A shutdown finds the inner job in the table.* It cancels the job, which is part of a running
//!   slot.
//! - *A drain closes the gate.* Running slots run their jobs by hand.
//!
//! # Why no slot waits for ever
//!
//! Slot *s* waits for slot *t* if *s* has submitted a job, `Sleeps` in **lend**, and *t* is a
//! claimed slot of that job. Then *t* is younger, because its job was submitted inside *s*. So
//! waits form no circle, and one running slot waits for none. Its worker runs user code, claims a
//! slot, or accounts for one. Each ends in finitely many steps, and the `Tell` of the lend protocol
//! wakes the waiting slot. So one worker suffices for any depth.

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

pub fn nest(cx: &StepCx<'_>, spec: JobSpec) -> JobEnd {
    nested::run(cx, spec)
}

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
