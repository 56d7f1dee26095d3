//! The server through its sockets, as clients see it.

mod access;
mod browser;
mod cancelling;
mod draining;
mod drivers;
mod extended;
mod flood;
mod flow;
mod hostile;
mod hostile_statements;
mod limits;
mod nodes;
mod program;
mod raw;
mod read_only;
mod served;
mod simple;
mod system;
mod tables;
mod tpch;
mod ui;
mod urls;
