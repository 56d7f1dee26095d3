//! The third floor: what a worker does with the board.

pub mod look;
pub(crate) mod piece;
pub mod role;
pub mod stand_in;
pub mod stay;
pub mod visit;
