//! What the programs have in common on the command line.

use std::fmt::Display;
use std::process::ExitCode;
use std::str::FromStr;

/// Runs a program on its options. What is wrong with them comes with `usage` and exit code 2, what went wrong with 1; `{:#}` so that an
/// error shows what it comes from, if it knows.
pub fn run<O, E: Display>(
    options: Result<O, lexopt::Error>,
    usage: &str,
    run: impl FnOnce(&O) -> Result<(), E>,
) -> ExitCode {
    let options = match options {
        Ok(options) => options,
        Err(error) => {
            eprintln!("{error}\n{usage}");
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The value of `option`: numbers with commas between.
///
/// # Errors
///
/// Which text is no number, and why.
pub fn numbers<N: FromStr<Err: Display>>(option: &str, text: &str) -> Result<Vec<N>, lexopt::Error> {
    let numbers: Result<Vec<N>, _> = text.split(',').map(str::parse).collect();
    numbers.map_err(|error| format!("{option} {text}: {error}").into())
}
