//! The first message of a connection.

use std::collections::BTreeMap;
use std::fmt;

use bytes::Bytes;

use super::frontend::Body;
use super::sql_error::SqlError;

/// In place of a version.
const CANCEL: u32 = 1234 << 16 | 5678;
const TLS: u32 = 1234 << 16 | 5679;
const GSS: u32 = 1234 << 16 | 5680;

/// What a client wants first.
#[derive(Debug)]
pub(crate) enum Opening {
    Tls,
    /// Encryption by Kerberos, which is refused.
    Gss,
    Cancel(CancelKey),
    Startup(Parameters),
}

/// Names a connection, and is known to its client alone.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct CancelKey {
    pub(crate) process: u32,
    pub(crate) secret: Bytes,
}

#[derive(Clone, Debug)]
pub(crate) struct Parameters {
    /// Of protocol 3.
    pub(crate) minor: u16,
    pub(crate) values: BTreeMap<String, String>,
}

impl Opening {
    /// Fails on a violation of the protocol, or another version of it.
    pub(crate) fn read(body: Bytes) -> Result<Self, SqlError> {
        let mut body = Body(body);
        let opening = match body.u32()? {
            TLS => Self::Tls,
            GSS => Self::Gss,
            CANCEL => {
                let process = body.u32()?;
                let secret = std::mem::take(&mut body.0);
                Self::Cancel(CancelKey { process, secret })
            }
            version if version >> 16 == 3 => Self::Startup(Parameters {
                minor: (version & 0xffff) as u16,
                values: parameters(&mut body)?,
            }),
            version => {
                let what = format!(
                    "this server speaks protocol 3, not {}.{}",
                    version >> 16,
                    version & 0xffff
                );
                return Err(SqlError::fatal("0A000", what));
            }
        };
        if body.0.is_empty() {
            Ok(opening)
        } else {
            Err(SqlError::protocol("the first message is too long"))
        }
    }
}

/// Up to an empty name.
fn parameters(body: &mut Body) -> Result<BTreeMap<String, String>, SqlError> {
    let mut values = BTreeMap::new();
    loop {
        let name = body.text()?;
        if name.is_empty() {
            return Ok(values);
        }
        values.insert(name, body.text()?);
    }
}

impl Parameters {
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// Options of the protocol itself, `_pq_.`.
    pub(crate) fn unknown_options(&self) -> Vec<String> {
        let names = self.values.keys().filter(|name| name.starts_with("_pq_."));
        names.cloned().collect()
    }
}

impl fmt::Debug for CancelKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelKey")
            .field("process", &self.process)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_says_what_it_wants() {
        let read = |body: &'static [u8]| Opening::read(Bytes::from_static(body));
        assert!(matches!(read(b"\x04\xd2\x16\x2f"), Ok(Opening::Tls)));
        match read(b"\x04\xd2\x16\x2e\0\0\0\x07\x01\x02\x03\x04") {
            Ok(Opening::Cancel(key)) => assert_eq!((key.process, &key.secret[..]), (7, &[1, 2, 3, 4][..])),
            other => panic!("{other:?}"),
        }
        match read(b"\0\x03\0\x02user\0alice\0_pq_.a\0\0\0") {
            Ok(Opening::Startup(parameters)) => {
                assert_eq!((parameters.minor, parameters.get("user")), (2, Some("alice")));
                assert_eq!(parameters.unknown_options(), ["_pq_.a"]);
            }
            other => panic!("{other:?}"),
        }
        assert!(read(b"\0\x02\0\0").unwrap_err().message.contains("not 2.0"));
        assert!(read(b"\0\x03\0\0user\0").is_err());
    }
}
