//! The server through its sockets, as clients see it.

mod cancelling;
mod draining;
mod extended;
mod flow;
mod limits;
mod read_only;
mod served;
mod simple;
mod system;
mod tables;
mod tpch;
