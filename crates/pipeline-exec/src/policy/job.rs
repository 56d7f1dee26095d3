//! The lowest floor: one job by itself. It knows no other job, no board and no worker's policy.
//!
//! | module | is |
//! |---|---|
//! | [`spec`] | what a user says about a job |
//! | [`handle`] | the job's key, and the order of keys |
//! | [`mod@claim`] | the words that say which slots are claimed and done |
//! | [`ledger`] | why the job ended, its returned pieces, its waiters |
//! | `tasks` | the tasks of a job that grows |
//! | [`standing`] | the membership word: whether the job's keys are on the board |
//! | [`state`], [`body`] | all of that together, and what the table holds |
//! | `calls`, `finish` | calls into a user's stages, and what follows a stage's last slot |
//! | `by_hand`, `nested` | a job without an executor, and a job submitted in a slot |

pub mod body;
pub(crate) mod by_hand;
pub(crate) mod calls;
pub mod claim;
pub(crate) mod finish;
pub mod handle;
pub mod ledger;
pub(crate) mod nested;
pub(crate) mod numbers;
pub mod spec;
pub mod standing;
pub mod state;
pub(crate) mod tasks;
