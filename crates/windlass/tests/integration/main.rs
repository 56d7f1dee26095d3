//! The program as a user meets it: arguments in, text and an exit code out.

mod answers;
mod bad_input;
mod bounds;
mod cancel;
mod program;
mod scans;
