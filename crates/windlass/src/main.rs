//! The command-line program.
//!
//! ```text
//!   arguments ──► query_command ──► query (tables, plan, job) ──► stdout, once the whole result is there
//!                      │
//!                      └─ terminal: a bar on stderr, Ctrl-C cancels
//! ```
//!
//! It holds no logic that a library could hold: what a query means lives in `query`, how it runs in
//! `pipeline-exec`. Messages go to stderr, and stdout holds a result or nothing.
//!
//! Exit codes: 0 the result was written, 1 an error, 2 the arguments make no sense, 130 cancelled by Ctrl-C. `windlass query --help`
//! says so as well.

mod amount;
mod message;
mod query_command;
mod terminal;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Query Parquet and CSV files in parallel.
#[derive(Debug, Parser)]
#[command(version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Query(query_command::QueryArguments),
}

fn main() -> ExitCode {
    // A damaged file is an error message, not a trace of the reader.
    query::source::silence_reader_panics();
    match Arguments::parse().command {
        Command::Query(arguments) => query_command::run(&arguments),
    }
}
