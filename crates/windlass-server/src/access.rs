//! Who may come in: users, passwords, TLS, and the policy by which a server starts at all.
//!
//! ```text
//!                                     without --users      with --users
//!  every address is loopback          anybody              a password
//!  any other, without TLS             does not start       does not start
//!  any other, with TLS                does not start       TLS, then a password
//! ```
//!
//! Nothing is let in by default: an address that other machines can reach needs a certificate with
//! its key, and a file of users, or [`Access::decide`] says what is missing. On loopback all are
//! optional. No part does I/O on a connection: bytes go in, bytes come out.
//!
//! A login:
//!
//! ```
//! use std::time::Instant;
//! use windlass_server::access::{Attempts, Exchange, Refused, SCRAM_SHA_256, Users};
//!
//! let (users, attempts) = (Users::default(), Attempts::new());
//! let address = "192.0.2.1".parse()?;
//! attempts.look(address, Instant::now())?;
//! let mut exchange = Exchange::begin(&users, "alice", None)?;
//! let challenge = exchange.first(SCRAM_SHA_256, b"n,,n=,r=rOprNGfwEbeRWgbNEkqO")?;
//! assert!(challenge.starts_with(b"r=rOprNGfwEbeRWgbNEkqO"));
//! let last = b"c=biws,r=...,p=...";
//! let answer = attempts.attempt(address, Instant::now(), || exchange.last(last));
//! assert!(matches!(answer, Err(Refused::Failed(_))));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod attempts;
mod end_point;
mod file;
mod password;
mod plain;
mod reread;
mod scram;
#[cfg(unix)]
mod terminal;
mod tls;
mod users;
mod verifier;

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use anyhow::{Context, bail, ensure};

pub(crate) use file::{Readers, read};
pub(crate) use reread::Reread;
pub(crate) use tls::{NODE_ALPN, read_chain};

pub use attempts::{Attempts, Refused, TooMany};
pub use password::{Edited, Source, passwd, remove_user, run_passwd};
pub(crate) use plain::{Kept, PlainPassword};
pub use reread::{Change, Current};
pub use scram::{Denied, Exchange, SCRAM_SHA_256, SCRAM_SHA_256_PLUS};
pub use tls::{ALPN, Identity, IdentityFiles};
pub use users::{Users, UsersFile};
pub use verifier::Verifier;

/// Options that say who may come in.
#[derive(Debug, Clone, Default)]
pub struct AccessOptions {
    /// `--users`.
    pub users: Option<PathBuf>,
    /// `--tls-cert`: the certificate, with its chain.
    pub tls_cert: Option<PathBuf>,
    /// `--tls-key`.
    pub tls_key: Option<PathBuf>,
}

/// How clients come in.
#[derive(Debug)]
pub struct Access {
    users: Option<UsersFile>,
    identity: Option<IdentityFiles>,
    needs_tls: bool,
    attempts: Attempts,
}

impl Access {
    /// Lets everybody in, without a password: for loopback addresses only.
    #[must_use]
    pub fn open_loopback() -> Self {
        Self {
            users: None,
            identity: None,
            needs_tls: false,
            attempts: Attempts::new(),
        }
    }

    /// Checks that a server may listen on these addresses with these options, and reads the named
    /// files. `listen` must be what the server binds to, not resolved once more: see [`resolve`].
    ///
    /// # Errors
    ///
    /// If an address is not loopback and TLS or users are missing, if only one of certificate and
    /// key is given, or if a file cannot be used. The error names the missing options.
    pub fn decide(listen: &[SocketAddr], options: &AccessOptions) -> anyhow::Result<Self> {
        let needs_tls = check(listen, options)?;
        let users = options.users.as_deref().map(UsersFile::open).transpose()?;
        if let (Some(users), Some(path)) = (&users, &options.users) {
            ensure!(
                !users.current().value.is_empty(),
                "{path}: no user in it, so nobody could log in: windlass-server passwd --users {path} NAME",
                path = path.display()
            );
        }
        let identity = match (&options.tls_cert, &options.tls_key) {
            (Some(certificate), Some(key)) => Some(IdentityFiles::open(certificate, key)?),
            _ => None,
        };
        Ok(Self {
            users,
            identity,
            needs_tls,
            attempts: Attempts::new(),
        })
    }

    /// Returns the users; `None` lets everybody in without a password.
    #[must_use]
    pub fn users(&self) -> Option<&UsersFile> {
        self.users.as_ref()
    }

    /// Returns the certificate with its key; `None` is a server without TLS.
    #[must_use]
    pub fn identity(&self) -> Option<&IdentityFiles> {
        self.identity.as_ref()
    }

    /// Whether a client without TLS is refused.
    #[must_use]
    pub fn needs_tls(&self) -> bool {
        self.needs_tls
    }

    /// Checks that a page may be served at these addresses: at loopback ones always, at others if
    /// there are users and TLS, since the policy for them is that of clients.
    ///
    /// # Errors
    ///
    /// If something is missing. The error names the options.
    pub fn check_page(&self, addresses: &[SocketAddr]) -> anyhow::Result<()> {
        let Some(open) = addresses.iter().find(|address| !is_loopback(address)) else {
            return Ok(());
        };
        let missing = match (&self.users, &self.identity) {
            (Some(_), Some(_)) => return Ok(()),
            (None, Some(_)) => "--users FILE is",
            (Some(_), None) => "--tls-cert FILE and --tls-key FILE are",
            (None, None) => "--users FILE, --tls-cert FILE and --tls-key FILE are",
        };
        bail!("{open} is not a loopback address, so the page needs TLS and passwords: {missing} missing")
    }

    /// Returns the failed logins.
    #[must_use]
    pub fn attempts(&self) -> &Attempts {
        &self.attempts
    }
}

/// Returns every address that `HOST:PORT`, the value of an option such as `--listen`, stands for.
///
/// # Errors
///
/// If it is no address, or the name is unknown.
pub fn resolve(option: &str, value: &str) -> anyhow::Result<Vec<SocketAddr>> {
    let found = value.to_socket_addrs();
    let found = found.with_context(|| format!("{option} {value}: HOST:PORT is expected"))?;
    let mut addresses = Vec::new();
    for address in found {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    ensure!(!addresses.is_empty(), "{option} {value}: the name has no address");
    Ok(addresses)
}

/// Returns whether clients need TLS.
fn check(listen: &[SocketAddr], options: &AccessOptions) -> anyhow::Result<bool> {
    ensure!(
        !listen.is_empty(),
        "there is no address to listen on: --listen HOST:PORT"
    );
    let given = [
        ("--tls-cert FILE", options.tls_cert.is_some()),
        ("--tls-key FILE", options.tls_key.is_some()),
        ("--users FILE", options.users.is_some()),
    ];
    let missing = given
        .iter()
        .filter(|(_, given)| !given)
        .map(|(option, _)| *option);
    let missing: Vec<_> = missing.collect();
    let Some(open) = listen.iter().find(|address| !is_loopback(address)) else {
        match (&options.tls_cert, &options.tls_key) {
            (Some(_), None) => bail!("--tls-cert needs its key: --tls-key FILE is missing"),
            (None, Some(_)) => bail!("--tls-key needs its certificate: --tls-cert FILE is missing"),
            _ => return Ok(false),
        }
    };
    if let Some((last, others)) = missing.split_last() {
        let (and, are) = if others.is_empty() {
            ("", "is")
        } else {
            (" and ", "are")
        };
        let others = others.join(", ");
        bail!(
            "{open} is not a loopback address, so it needs TLS and passwords: {others}{and}{last} {are} \
             missing. `windlass-server passwd --users FILE NAME` makes a file of users; \
             without passwords a server listens on loopback only, as on 127.0.0.1:5432"
        );
    }
    Ok(true)
}

/// Returns whether this machine alone reaches the address.
#[must_use]
pub fn is_loopback(address: &SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

#[cfg(all(test, unix))]
mod tests;
