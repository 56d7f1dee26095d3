//! Queries from SQL to rows, through every layer below the program.

mod cancelling;
mod differential;
mod folder;
mod gated_table;
mod inputs;
mod planner;
mod run;
mod tpch;
