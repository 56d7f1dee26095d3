//! The bytes that a query may hold at once, reserved before they are allocated.
//!
//! A job has one [`MemoryPool`] for all threads, and each owner of memory a [`Reservation`]. A
//! query over its limit fails with an error that names it. Dropping the owner releases its bytes,
//! also after an error or a panic.
//!
//! The pool counts reserved bytes; it is no allocator.

mod hash_index;
mod pool;
mod reservation;
mod reserved;
mod retained;
mod shared;

pub(crate) use hash_index::HashIndex;
pub use pool::{MemoryExceeded, MemoryPool};
pub use reservation::Reservation;
pub(crate) use reserved::ReservedVec;
pub(crate) use retained::{
    BorrowedBuffer, RetainedSize, compact, compact_bytes, compacts_bytes, copies_bytes, encoded_bytes, width,
    with_own_strings,
};
pub use shared::SharedMemory;
