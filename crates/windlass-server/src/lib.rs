//! PostgreSQL's protocol over DataFusion on windlass: one process that people share.
//!
//! ```text
//!   client ─► login ─► session ─► statement ─► admission ─► a job: plan, compute, write rows
//!                │         │                                          │
//!              access   settings, portals                             ▼
//!                                       client ◄─ connection ◄─ two chunks of rows at most
//! ```
//!
//! Each statement is a job on the pools' workers, so a short one does not wait for heavy ones. A
//! connection holds no worker. Nothing is written, and nothing is read but the tables' folders and
//! URLs. [`Server`] is the whole; the program `windlass-server` only reads arguments for it.
#![forbid(unsafe_code)]

pub mod access;
mod admission;
mod blocking;
mod complexity;
mod connection;
mod connections;
mod dialect;
mod ends;
mod engine;
mod http;
mod listener;
mod login;
mod logins;
mod machine_memory;
mod memory;
pub mod nodes;
mod operator;
mod parameters;
mod plan;
mod queries;
mod recent;
mod relations;
mod rows;
mod runtime;
mod savepoints;
mod server;
mod session;
mod settings;
mod shared;
mod spill;
mod statement;
mod system_tables;
pub mod tables;
mod turns;
mod ui;
mod wire;

pub use access::Access;
pub use admission::StatementLimits;
pub use machine_memory::machine_memory;
pub use memory::MemoryLimits;
pub use operator::{Observed, Operators};
pub use runtime::Spill;
pub use server::{Drained, Load, Server, ServerConfig, Watch};
pub use spill::SpillFolder;
pub use tables::{NamedTable, Source, TableSummary, Tables, TablesError, UrlOptions};
pub use ui::UiConfig;

pub use windlass_datafusion::pools;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
