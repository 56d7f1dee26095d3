//! The pools' behaviour from outside, as sentences.
#![cfg(not(windlass_loom))]

mod async_jobs;
mod computing;
mod ending;
mod hand_over;
mod maintenance;
mod mixed;
mod nesting;
mod odd_ends;
mod runtimes;
mod setting_up;
mod streams;
mod support;
mod wrong_pool;
