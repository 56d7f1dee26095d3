//! Queries from SQL to rows, through every layer below the program.

mod cancelling;
mod clustered;
mod deadlines;
mod differential;
mod folder;
mod gated_table;
mod grouping_sets;
mod inputs;
mod nested;
#[cfg(feature = "object-store")]
mod objects;
mod planner;
mod run;
mod sessions;
mod statistical_aggregates;
mod stored_table;
mod streaming;
mod tpch;
