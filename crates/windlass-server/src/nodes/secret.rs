//! The secret that the nodes of one system share, and the token by which a request shows that its
//! sender has it.
//!
//! A request carries a code made with the secret, not the secret: a log of headers or a peer with
//! another key learns nothing to sign with. Connections that leave the machine are TLS, so the
//! token is not seen on the way.

use std::fmt;
use std::path::Path;

use anyhow::ensure;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use ring::hmac;

use crate::access::{Readers, read};

const HEADER: HeaderName = HeaderName::from_static("windlass-node");

/// What the token is a code of.
const PURPOSE: &[u8] = b"windlass node 1";

/// Bytes below which a secret can be guessed.
const BYTES_MIN: usize = 16;

pub(crate) struct Secret {
    key: hmac::Key,
}

impl Secret {
    /// Reads a file's content, without the line's end.
    pub(crate) fn read(path: &Path) -> anyhow::Result<Self> {
        let bytes = read(path, Readers::Owner)?;
        let secret = bytes.trim_ascii();
        ensure!(
            secret.len() >= BYTES_MIN,
            "{}: a secret has at least {BYTES_MIN} bytes: openssl rand -hex 32",
            path.display()
        );
        Ok(Self::new(secret))
    }

    fn new(secret: &[u8]) -> Self {
        Self {
            key: hmac::Key::new(hmac::HMAC_SHA256, secret),
        }
    }

    /// Shows in `headers` that the sender has the secret.
    pub(crate) fn sign(&self, headers: &mut HeaderMap) {
        let token = STANDARD.encode(hmac::sign(&self.key, PURPOSE));
        // Base64 is made of letters that a header may have.
        if let Ok(mut token) = HeaderValue::try_from(token) {
            token.set_sensitive(true);
            headers.insert(HEADER, token);
        }
    }

    /// Whether the sender of `headers` has the secret. Takes as long for a wrong token as for a
    /// right one.
    pub(crate) fn is_shown_by(&self, headers: &HeaderMap) -> bool {
        let token = headers
            .get(HEADER)
            .and_then(|token| STANDARD.decode(token.as_bytes()).ok());
        token.is_some_and(|token| hmac::verify(&self.key, PURPOSE, &token).is_ok())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_of_one_secret_and_is_not_shown() {
        let (ours, other) = (Secret::new(b"0123456789abcdef"), Secret::new(b"0123456789abcdeg"));
        let mut headers = HeaderMap::new();
        assert!(!ours.is_shown_by(&headers));
        ours.sign(&mut headers);
        assert!(ours.is_shown_by(&headers));
        assert!(!other.is_shown_by(&headers));
        let shown = format!("{headers:?} {ours:?}");
        assert_eq!(shown, "{\"windlass-node\": Sensitive} Secret");
        for wrong in ["", "AAAA", "no base64"] {
            headers.insert(HEADER, HeaderValue::from_static(wrong));
            assert!(!ours.is_shown_by(&headers), "{wrong}");
        }
    }
}
