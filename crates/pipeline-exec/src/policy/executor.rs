//! The highest floor: what callers outside ask for.
//!
//! | module | decides |
//! |---|---|
//! | [`mod@submit`] | which jobs are let in |
//! | [`mod@stop`] | how callers close jobs: cancel, drain, shutdown |
//! | [`mod@lend`] | when a waiting thread runs its job's slots, and why it sleeps through none |
//! | [`mod@nest`] | how a slot waits for a job of its own: it runs that job and no other |
//! | [`mod@grow`] | how tasks are added to a job that grows, woken and cancelled |

pub mod grow;
pub mod lend;
pub mod nest;
pub mod stop;
pub mod submit;
