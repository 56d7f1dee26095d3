//! The highest floor: what callers outside ask for.

pub mod grow;
pub mod lend;
pub mod nest;
pub mod stop;
pub mod submit;
