#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod engine;
pub mod object;
pub mod output;
