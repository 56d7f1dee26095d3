//! An unbounded queue, first in first out, for many producers that push single values and consumers that take runs of them.
//!
//! It is made for the way into an executor. A producer pays for every single task, so its side is as short as it can be:
//! one read-modify-write to claim a place, the value, and one store that says that the value is there. Consumers
//! come for dozens at a time, so they may share a lock. Nobody of the one side writes what the other side reads all the time.
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
//! # What it promises
//!
//! - First in, first out, in the order in which places were claimed; so the values of one producer stay in order.
//! - A consumer never waits for a producer: it takes what is ready, up to the first place whose producer is not done yet.
//! - What a consumer puts back stays first, and counts.
//!
//! # Falling asleep over it
//!
//! A consumer that wants to sleep and a producer that may have to wake it each pass a `fence(SeqCst)`:
//!
//! ```text
//!   producer                          consumer
//!   push                              register as a sleeper
//!   ── fence ──                       ── fence ──
//!   is anybody registered?            has_ready, or is_empty?
//! ```
//!
//! Whichever fence comes second, its side sees the other's write. If it is the consumer's, then `is_empty` says `false` until
//! the value is taken. `has_ready` says `true` as well, unless a place before the value has been claimed by a producer that
//! is not done yet; that producer has its fence still before it, so it will see the consumer, and its wake is for both values.
//! Nothing is lost, then, by going to sleep over a value that is not ready, and a consumer that does so does not spin
//! for a producer that has been interrupted.
//!
//! The queue has no fence of its own: whoever never sleeps pays for none.
//!
//! A producer that is in a hurry can do without its fence, since a push is a sequentially consistent operation on the
//! queue's index: then `is anybody registered?` has to be a `SeqCst` load, and the consumer has to ask
//! `is_empty`, and to wait for the producer, not to sleep, if that says `false` while nothing is ready.
//!
//! # What it refuses to do
//!
//! It has no bound, no closing, no waiting, and no way to take one value from the middle.
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
