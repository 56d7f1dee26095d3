//! The third floor: what a worker does with the board. A worker's [`mod@look`] takes a job by its
//! [`role`], and stays in it for a [`visit`].

pub mod look;
pub(crate) mod piece;
pub mod role;
pub mod stand_in;
pub mod stay;
pub mod visit;
