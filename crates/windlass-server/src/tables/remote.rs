//! Tables by URL: one Parquet or CSV file of an HTTP server each.
//!
//! ```text
//!   --table NAME=URL ─► RemoteTable: look, one byte ─► the file's version: length, ETag or Last-Modified
//!                            │ another version: columns, from the file's end or beginning
//!                            ▼
//!                       snapshot ─► plan ─► RemoteStore ─► HttpStore ─► the server
//!                                              └── an answer of another version is an error
//! ```
//!
//! A statement looks at the URL when it names the table. The plan carries the version that the look
//! found, and every answer is compared with it, so that no statement returns rows of two versions.
//! Only URLs that the command line named are asked: a plan of another machine names a table, not a
//! server.

mod address;
mod dial;
mod file;
mod store;
mod table;
mod version;

pub(crate) use address::has_scheme;
pub use address::{TableUrl, redacted};
pub use dial::UrlOptions;
pub(crate) use dial::client;
pub(crate) use file::RemoteFile;
pub(crate) use store::{RemoteStore, store_url};
pub(crate) use table::RemoteTable;
