//! DataFusion's tasks and queries under windlass, through public names.

mod engine;
mod faults;
mod hook;
mod logic;
mod operators;
mod rows;
mod runtimes;
mod scans;
mod settings;
mod source;
mod streams;
mod tpch;
