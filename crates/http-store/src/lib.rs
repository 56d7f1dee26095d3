//! Objects of HTTP servers as a read-only store, for tables by URL.
//!
//! ```text
//!   HttpStore: one object a location below a URL ──► HttpClient ──► Dial: plain sockets, or the user's with TLS
//! ```
//!
//! Every wait has a bound ([`Patience`]), and an error names the request and what the server said.
//! A URL's query may be a secret, so no error has it. The store writes nothing, lists nothing, and
//! follows no redirect.
//!
//! ```
//! use http_store::{HttpClient, HttpStore, Patience};
//!
//! let base = url::Url::parse("http://127.0.0.1:8080/data/")?;
//! let store = HttpStore::new(base, HttpClient::new(Patience::default()));
//! assert_eq!(store.to_string(), "HttpStore(http://127.0.0.1:8080/data/)");
//! # Ok::<(), url::ParseError>(())
//! ```

mod client;
mod dial;
mod patience;
mod store;

pub use client::HttpClient;
pub use dial::{Dial, DialError, Dialing, Io, Sockets};
pub use patience::Patience;
pub use store::HttpStore;
