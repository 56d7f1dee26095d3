//! The server through its sockets, as clients see it.

mod access;
mod browser;
mod cancelling;
mod draining;
mod extended;
mod flow;
mod hostile;
mod limits;
mod nodes;
mod raw;
mod read_only;
mod served;
mod simple;
mod system;
mod tables;
mod tpch;
mod ui;
