//! The command-line program.
//!
//! ```text
//!   arguments ──► query_command ──► query::Session ──► stdout, once the whole result is there
//!                      │                  ▲
//!                      └─ terminal ───────┘ polls progress for a bar, Ctrl-C cancels a token
//!
//!   arguments ──► scan_command ──► scan::parallel_scan_paths ──► stdout, file by file
//! ```
//!
//! It holds no logic that a library could hold. Messages go to stderr, and stdout holds a result or
//! nothing; of a scan, whole lines. `--help` of a command lists the exit codes.

mod amount;
mod message;
mod query_command;
mod scan_command;
mod terminal;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Query Parquet and CSV files, and scan trees of files, in parallel.
#[derive(Debug, Parser)]
#[command(version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Query(query_command::QueryArguments),
    Scan(Box<scan_command::ScanArguments>),
}

fn main() -> ExitCode {
    quiet_damaged_files();
    match Arguments::parse().command {
        Command::Query(arguments) => query_command::run(&arguments),
        Command::Scan(arguments) => scan_command::run(&arguments),
    }
}

/// The reader's panic on a damaged file prints nothing.
fn quiet_damaged_files() {
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !query::source::is_reading_damaged() {
            previous(panic);
        }
    }));
}
