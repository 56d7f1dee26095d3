//! Every decision of the pipeline executor, over ports: what is claimed, by whom, in which order, and how it ends.
//!
//! Nothing in here names a thread, a lock, an atomic or a clock. The functions take an environment, one party's handle to
//! everything that is shared ([`PipelinePorts`]), and each port call is one shared operation. So the same code runs on
//! threads, under a simulator that may switch workers before each of them, and under the loom model checker.
//!
//! ```text
//!   submit ──► board ◄────────────── start of the next stages
//!     │          ▲ take off            ▲
//!     ▼          │                     │ last finisher
//!   looks ──► look ──► role: which job ──► visit: claim, run, account ──► its time is over: look again
//!                                            │
//!                                            └─► last slot of the last stage, or closed: the ticket fires
//! ```
//!
//! | module | decides |
//! |---|---|
//! | [`mod@claim`] | which slots are whose, when a stage is over |
//! | [`board`] | in which order jobs stand |
//! | [`standing`] | whether a job stands on the board |
//! | [`role`] | which job a worker takes |
//! | [`allowance`] | how much of its time a worker may give to young jobs |
//! | [`visit`] | how many slots it claims, how long it stays, what it gives back |
//! | `finish` | what follows the last slot of a stage |
//! | [`need`] | how many workers a job is worth |
//! | [`mod@lend`] | when a thread that waits for a job runs its slots, and that it sleeps through none |
//! | [`mod@nest`] | how a slot waits for a job of its own: it runs that job and no other |
//! | [`mod@look`] | how many workers look at the board, and that no job is overlooked |
//! | [`mod@grow`] | how tasks are added to a job, run in turns, wait and end |
//! | [`mod@submit`] | who is let in |
//! | [`close`] | how a job ends early, and how every job ends |

pub mod allowance;
pub mod board;
pub(crate) mod by_hand;
pub mod claim;
pub mod close;
pub(crate) mod finish;
pub mod grow;
pub mod job_spec;
pub mod job_state;
pub mod ledger;
pub mod lend;
pub mod look;
pub mod need;
pub mod nest;
pub mod ports;
pub mod role;
pub mod shared;
pub mod standing;
pub mod submit;
pub(crate) mod tasks;
pub mod visit;

pub(crate) mod guard;

pub use board::{JobBoard, JobHandle};
pub use claim::{Claim, Claims, Piece};
pub use close::{cancel, close_gate, stop};
pub use job_spec::{Class, JobSpec, Terms};
pub use job_state::{JobBody, JobEnd, JobState};
pub use ledger::{JobStatus, Ledger};
pub use lend::lend;
pub use look::{LookEnd, Looks, look};
pub use nest::nest;
pub use ports::{BodyOf, NestAnswer, PipelineEvent, PipelinePorts, SharedOf, StateOf};
pub use role::{run_main_worker, run_reserve_worker, select_heaviest, select_old, select_young};
pub use shared::{PipelineConfig, PipelineShared};
pub use submit::{Admitted, AdmittedOf, Refused, RefusedOf, submit};

pub use crate::spans::JobSpans;
