//! The third floor: what a worker does with the board.
//!
//! | module | decides |
//! |---|---|
//! | [`mod@look`] | how long a worker looks at the board, and that no job is overlooked |
//! | [`role`] | which job a worker takes |
//! | [`visit`] | how many slots it claims, how long it stays, what it returns to the job |
//! | [`stay`] | until when a visit lasts, and what a slot that runs in it may ask |
//! | `piece` | how the slots of one claim run, and why they stop |
//! | [`mod@stand_in`] | when a spare thread takes young work that every worker leaves waiting |

pub mod look;
pub(crate) mod piece;
pub mod role;
pub mod stand_in;
pub mod stay;
pub mod visit;
