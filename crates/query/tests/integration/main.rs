//! Queries from SQL to rows, through every layer below the program.

mod differential;
mod folder;
mod inputs;
mod planner;
mod run;
mod tpch;
