//! `cargo xtask <subcommand>`: the one entry point for people and for CI.
//!
//! CI calls only `cargo xtask ci`. Exit codes: 0 success, 1 a failed check, 2 an invalid command
//! line.

mod apart;
mod bench;
mod ci;
mod copy;
mod docs;
mod loom;
mod mutants;
mod outside;
mod process;
mod record;
mod sim;
mod table;
mod tidy;
mod usage;
mod weaken;
mod workspace;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let name = arguments
        .next()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let arguments: Vec<_> = arguments.collect();
    let outcome = match name.as_str() {
        "" | "help" | "-h" | "--help" => usage::run(),
        "ci" | "docs" | "loom" | "mutants" | "outside" | "record" | "tidy" | "weaken"
            if usage::asks_for_help(&arguments) =>
        {
            usage::run()
        }
        "bench" => bench::run(arguments),
        "ci" => ci::run(arguments),
        "docs" => docs::run(arguments),
        "loom" => loom::run(arguments),
        "mutants" => mutants::run(arguments),
        "outside" => outside::run(arguments),
        "record" => record::run(arguments),
        "sim" => sim::run(arguments),
        "tidy" => tidy::run(arguments),
        "weaken" => weaken::run(arguments),
        unknown => Err(usage::Misuse::new(format!("there is no subcommand `{unknown}`")).into()),
    };
    usage::exit_code(outcome)
}
