#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod encoding;
pub mod engine;
pub mod object;
pub mod output;
pub mod pattern;
pub mod print;
