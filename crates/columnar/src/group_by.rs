//! GROUP BY: which group each row belongs to, and what is known of each group.
//!
//! ```text
//!   keys ─► table ─► grouping (a slot) ─► slot groups, by partition ─► merge (a range of partitions)
//!                       │ ▲
//!                       └─┴ hand-over: a table goes on to a later slot
//! ```
//!
//! Rows whose keys are codes or dense numbers need no look-up of their own: [`known_codes`] remembers
//! the groups of codes, [`known_texts`] the numbers that stand for texts in keys ([`numbered_keys`],
//! [`text_numbers`]), and [`direct_address`] the groups of dense numbers.

mod direct_address;
mod expected_groups;
mod fixed_key_table;
mod fixed_keys;
mod grouping;
mod hand_over;
mod heavy_hitters;
mod key_sample;
mod keys;
mod known_codes;
mod known_texts;
mod long_key_table;
mod long_keys;
mod merge;
mod numbered_keys;
mod partitioned_keys;
mod ranges;
mod run;
mod slot_groups;
mod split_rows;
mod table;
mod text_numbers;

pub(crate) use expected_groups::ExpectedGroups;
pub(crate) use grouping::Grouping;
#[cfg(test)]
pub(crate) use heavy_hitters::HeavyHitters;
pub(crate) use merge::{Merged, merge};
pub(crate) use ranges::cut;
pub(crate) use run::GroupBy;
pub(crate) use slot_groups::SlotGroups;
pub(crate) use table::GroupTable;
