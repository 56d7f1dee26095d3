#![doc = include_str!("../README.md")]
//! # What is where
//!
//! ```text
//!   producers                                              consumers
//!   tail: index, block ──────────────────┐          ┌────── head: block, index, what was put back
//!   compare-and-swap                     ▼          ▼       under a lock
//!                        ┌───────┐   ┌───────┐  ┌───────┐
//!         next block ◄── │ ready │ ◄ │ ready │  │ taken │ ──► spare: emptied blocks, a few
//!                        │   .   │   │  ...  │  │  ...  │
//!                        └───────┘   └───────┘  └───────┘
//! ```
//!
//! # Sleeping over the queue
//!
//! A consumer that wants to sleep and a producer that may have to wake it each pass a
//! `fence(SeqCst)`:
//!
//! ```text
//!   producer                          consumer
//!   push                              register as a sleeper
//!   ── fence ──                       ── fence ──
//!   is a sleeper registered?          has_ready, or is_empty?
//! ```
//!
//! The side of the later fence sees the other's write. If it is the consumer's, `is_empty` returns
//! `false` until the value is taken. `has_ready` returns `true`, unless an earlier place is claimed
//! by a producer that has not finished; that producer's fence is still to come, so it sees the
//! consumer, and its wake is for both values.
//!
//! The queue itself has no fence. A producer may omit its own, since a push is sequentially
//! consistent on the queue's index: then it must read the registration by a `SeqCst` load, and the
//! consumer must ask `is_empty` and wait, not sleep, while a value is there and none is ready.
#![deny(unsafe_op_in_unsafe_fn)]
#![expect(
    unsafe_code,
    reason = "a slot is written by one thread and read by another, in turns that the compiler cannot know"
)]

mod block;
mod head;
mod injector;
mod spare;
mod sync;
mod tail;

pub use injector::{Contended, Injector, Next};
