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
//! its key, and a file of users, or [`Access::decide`] is an error that says what is missing. On
//! loopback TLS and users are welcome, too; a client may come without TLS there.
//!
//! The parts, lowest first. None does I/O on a connection: bytes go in, bytes come out.
//!
//! - `verifier`: what is kept of a password; `file`, `reread`: files that are read again when they
//!   changed, at the next look, and whose last good content stays.
//! - [`Users`]: the file of verifiers. [`run_passwd`] edits it.
//! - [`Exchange`]: a login by SCRAM-SHA-256, with channel binding over TLS.
//! - [`Identity`]: certificate and key.
//! - [`Attempts`]: wrong passwords by address.
//!
//! A login, with the connection's part left out:
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
pub(crate) use tls::read_chain;

pub use attempts::{Attempts, Refused, TooMany};
pub use password::{Edited, Source, passwd, remove_user, run_passwd};
pub use reread::{Change, Current};
pub use scram::{Denied, Exchange, SCRAM_SHA_256, SCRAM_SHA_256_PLUS};
pub use tls::{ALPN, Identity, IdentityFiles};
pub use users::{Users, UsersFile};
pub use verifier::Verifier;

/// Options that say who may come in.
#[derive(Debug, Clone, Default)]
pub struct AccessOptions {
    /// `--users`: the file of users.
    pub users: Option<PathBuf>,
    /// `--tls-cert`: the certificate, with its chain.
    pub tls_cert: Option<PathBuf>,
    /// `--tls-key`: the certificate's key.
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
    /// Lets everybody in, without a password. For a server that listens on loopback addresses only.
    #[must_use]
    pub fn open_loopback() -> Self {
        Self {
            users: None,
            identity: None,
            needs_tls: false,
            attempts: Attempts::new(),
        }
    }

    /// Decides whether a server may listen on these addresses with these options, and reads the
    /// files that the options name.
    ///
    /// `listen` has to be what the server then binds to, not a name that is resolved once more: see
    /// [`resolve`].
    ///
    /// # Errors
    ///
    /// If an address is not loopback and TLS or users are missing, if only one of certificate and
    /// key is there, or if a file cannot be used. The error names the options that are missing.
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

    /// Returns the users, or `None` if everybody is let in without a password.
    #[must_use]
    pub fn users(&self) -> Option<&UsersFile> {
        self.users.as_ref()
    }

    /// Returns the server's identity, or `None` if there is no TLS.
    #[must_use]
    pub fn identity(&self) -> Option<&IdentityFiles> {
        self.identity.as_ref()
    }

    /// Returns whether a client without TLS is to be refused.
    #[must_use]
    pub fn needs_tls(&self) -> bool {
        self.needs_tls
    }

    /// Returns the count of failed logins.
    #[must_use]
    pub fn attempts(&self) -> &Attempts {
        &self.attempts
    }
}

/// Returns the addresses that `--listen HOST:PORT` stands for: all that a host name has.
///
/// # Errors
///
/// If it is no address, or the name is unknown.
pub fn resolve(listen: &str) -> anyhow::Result<Vec<SocketAddr>> {
    let addresses = listen.to_socket_addrs();
    let addresses: Vec<_> = addresses
        .with_context(|| format!("--listen {listen}: HOST:PORT is expected"))?
        .collect();
    ensure!(
        !addresses.is_empty(),
        "--listen {listen}: the name has no address"
    );
    Ok(addresses)
}

/// The policy. Returns whether clients need TLS.
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

pub(crate) fn is_loopback(address: &SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

#[cfg(all(test, unix))]
mod tests;
