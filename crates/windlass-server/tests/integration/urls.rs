//! Tables by URL: what a statement reads, and what a server's faults become.

mod faults;
mod host;
mod program;
mod reading;
