//! Which partition a key belongs to, and rows in the order of their partitions.

mod hash;
mod radix;

pub use hash::{StableHasher, partition_index};
pub(crate) use hash::{bits_of, hash_bytes, hash_fixed_key, hash_word, spread};
pub(crate) use radix::{PARTITIONS, Starts, partition_of, partition_rows};
