//! What benches of short queries beside heavy ones have in common.
//!
//! ```text
//!   command line ─► Settings ─► Load ─► Engine ─► Measured, a round ─► Rounds ─► a line or a row
//!                   read                │   └ a client for each thread
//!                                       ├ heavy clients, back to back
//!                                       └ a client with a short query at a fixed pace
//! ```
//!
//! A bench brings its engines and its options, and says how its figures look.

#![forbid(unsafe_code)]

mod load;
pub mod percentile;
mod rounds;
mod settings;
mod span;

pub use load::{Engine, Load, Measured, sleep_until};
pub use rounds::Rounds;
pub use settings::{Settings, seconds};
