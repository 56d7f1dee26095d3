//! A verifier: what a server keeps of a password (RFC 5802). It checks a proof of the password, and
//! the password cannot be computed from it.
//!
//! ```text
//! password ── SASLprep, PBKDF2 with salt and iterations ──► salted password
//! salted password ── HMAC "Client Key" ──► ClientKey ── SHA-256 ──► StoredKey: checks a client
//! salted password ── HMAC "Server Key" ──► ServerKey: proves the server to a client
//!
//! as text, PostgreSQL's own:  SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>
//! ```
//!
//! A secret: with its keys a server can be imitated. `Debug` shows the iterations alone.

use std::fmt;
use std::num::NonZeroU32;
use std::ops::RangeInclusive;

use anyhow::{Context, bail, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::rand::{SecureRandom, SystemRandom};
use ring::{digest, hmac, pbkdf2};

/// PostgreSQL's default, and the least that RFC 7677 allows.
// `unwrap`: the compiler evaluates it.
pub(super) const ITERATIONS_DEFAULT: NonZeroU32 = NonZeroU32::new(4096).unwrap();

/// Iterations that a verifier may ask of clients.
const ITERATIONS: RangeInclusive<u32> = ITERATIONS_DEFAULT.get()..=1_000_000;

/// As PostgreSQL makes them.
pub(super) const SALT_BYTES: usize = 16;

const SALT_BYTES_MAX: usize = 64;

const SCHEME: &str = "SCRAM-SHA-256";

/// A key, a proof or a digest.
pub(super) type Key = [u8; digest::SHA256_OUTPUT_LEN];

/// What the server keeps of a password.
#[derive(Clone, PartialEq, Eq)]
pub struct Verifier {
    iterations: u32,
    salt: Vec<u8>,
    stored_key: Key,
    server_key: Key,
}

impl Verifier {
    /// Makes a password's verifier, with a random salt.
    ///
    /// # Errors
    ///
    /// If the system gives no random bytes.
    pub fn of_password(password: &[u8]) -> anyhow::Result<Self> {
        let mut salt = vec![0; SALT_BYTES];
        let filled = SystemRandom::new().fill(&mut salt);
        filled.ok().context("the system gives no random bytes")?;
        Ok(Self::derived(password, salt, ITERATIONS_DEFAULT))
    }

    /// Reads PostgreSQL's text of a verifier.
    ///
    /// # Errors
    ///
    /// If it is anything else. The error shows nothing of the text.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        let parts = text.strip_prefix(SCHEME).and_then(|rest| rest.strip_prefix('$'));
        let parts = parts.and_then(|rest| {
            let (head, keys) = rest.split_once('$')?;
            Some((head.split_once(':')?, keys.split_once(':')?))
        });
        let Some(((iterations, salt), (stored_key, server_key))) = parts else {
            bail!("the verifier is not SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>");
        };
        let digits = !iterations.is_empty() && iterations.bytes().all(|byte| byte.is_ascii_digit());
        let iterations: Option<u32> = iterations.parse().ok().filter(|_| digits);
        let Some(iterations) = iterations.filter(|count| ITERATIONS.contains(count)) else {
            let (min, max) = (ITERATIONS.start(), ITERATIONS.end());
            bail!("the iterations are not a number from {min} to {max}");
        };
        let salt = STANDARD.decode(salt).ok().context("the salt is not base64")?;
        ensure!(
            (1..=SALT_BYTES_MAX).contains(&salt.len()),
            "the salt has {} bytes, not 1 to {SALT_BYTES_MAX}",
            salt.len()
        );
        let stored_key = key("StoredKey", stored_key)?;
        let server_key = key("ServerKey", server_key)?;
        Ok(Self::of_parts(iterations, salt, stored_key, server_key))
    }

    pub(super) fn derived(password: &[u8], salt: Vec<u8>, iterations: NonZeroU32) -> Self {
        let (client_key, server_key) = keys(password, &salt, iterations);
        Self::of_parts(iterations.get(), salt, sha256(&client_key), server_key)
    }

    pub(super) fn of_parts(iterations: u32, salt: Vec<u8>, stored_key: Key, server_key: Key) -> Self {
        Self {
            iterations,
            salt,
            stored_key,
            server_key,
        }
    }

    /// Returns PostgreSQL's text of the verifier: a secret.
    #[must_use]
    pub fn to_text(&self) -> String {
        let [salt, stored_key, server_key] =
            [&self.salt[..], &self.stored_key, &self.server_key].map(|bytes| STANDARD.encode(bytes));
        format!("{SCHEME}${}:{salt}${stored_key}:{server_key}", self.iterations)
    }

    pub(super) fn iterations(&self) -> u32 {
        self.iterations
    }

    pub(super) fn salt(&self) -> &[u8] {
        &self.salt
    }

    pub(super) fn stored_key(&self) -> &Key {
        &self.stored_key
    }

    pub(super) fn server_key(&self) -> &Key {
        &self.server_key
    }
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verifier")
            .field("iterations", &self.iterations)
            .finish_non_exhaustive()
    }
}

pub(super) fn keys(password: &[u8], salt: &[u8], iterations: NonZeroU32) -> (Key, Key) {
    let mut salted: Key = [0; _];
    let password = prepare(password);
    pbkdf2::derive(
        pbkdf2::PBKDF2_HMAC_SHA256,
        iterations,
        salt,
        &password,
        &mut salted,
    );
    (
        hmac_sha256(&salted, b"Client Key"),
        hmac_sha256(&salted, b"Server Key"),
    )
}

pub(super) fn hmac_sha256(key: &Key, message: &[u8]) -> Key {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), message);
    fixed(tag.as_ref())
}

pub(super) fn sha256(bytes: &[u8]) -> Key {
    fixed(digest::digest(&digest::SHA256, bytes).as_ref())
}

fn fixed(bytes: &[u8]) -> Key {
    let mut key: Key = [0; _];
    // Does not panic: the digests have a key's length.
    key.copy_from_slice(bytes);
    key
}

fn key(name: &str, text: &str) -> anyhow::Result<Key> {
    let bytes = STANDARD
        .decode(text)
        .ok()
        .with_context(|| format!("{name} is not base64"))?;
    let length = bytes.len();
    let key = Key::try_from(bytes).ok();
    key.with_context(|| format!("{name} has {length} bytes, not {}", size_of::<Key>()))
}

/// As PostgreSQL does: SASLprep, or nothing if the password is not UTF-8, has prohibited
/// characters, or would become empty.
fn prepare(password: &[u8]) -> Vec<u8> {
    let prepared = str::from_utf8(password)
        .ok()
        .and_then(|text| stringprep::saslprep(text).ok());
    match prepared {
        Some(prepared) if !prepared.is_empty() => prepared.into_owned().into_bytes(),
        _ => password.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Of `pencil` with the salt of RFC 7677's example, computed by Python's hashlib.
    const PENCIL: &str = "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$\
                          WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=";

    fn complaint(text: &str) -> String {
        let error = Verifier::parse(text).unwrap_err();
        format!("{error:#}")
    }

    #[test]
    fn a_password_gives_the_keys_that_other_implementations_compute() {
        let salt = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        assert_eq!(
            Verifier::derived(b"pencil", salt, ITERATIONS_DEFAULT).to_text(),
            PENCIL
        );
    }

    #[test]
    fn a_text_that_was_read_is_written_as_it_was() {
        assert_eq!(Verifier::parse(PENCIL).unwrap().to_text(), PENCIL);
    }

    #[test]
    fn two_verifiers_of_one_password_differ() {
        let [one, other] = [(); 2].map(|()| Verifier::of_password(b"pencil").unwrap());
        assert_ne!(one, other);
        assert_eq!((one.iterations, one.salt.len()), (4096, 16));
    }

    #[test]
    fn a_bad_text_is_refused_with_what_is_wrong_and_without_itself() {
        let key = STANDARD.encode([7; 32]);
        let texts = [
            ("secret", "the verifier is not SCRAM-SHA-256$"),
            ("md5secret", "the verifier is not"),
            ("SCRAM-SHA-256$4096:c2FsdA==", "the verifier is not"),
            (
                &format!("SCRAM-SHA-256$4095:c2FsdA==${key}:{key}"),
                "from 4096 to",
            ),
            (
                &format!("SCRAM-SHA-256$1000001:c2FsdA==${key}:{key}"),
                "to 1000000",
            ),
            (&format!("SCRAM-SHA-256$+4096:c2FsdA==${key}:{key}"), "iterations"),
            (&format!("SCRAM-SHA-256$:c2FsdA==${key}:{key}"), "iterations"),
            (
                &format!("SCRAM-SHA-256$99999999999:c2FsdA==${key}:{key}"),
                "iterations",
            ),
            (&format!("SCRAM-SHA-256$4096:c2Fsd?==${key}:{key}"), "salt is not"),
            (&format!("SCRAM-SHA-256$4096:${key}:{key}"), "salt has 0 bytes"),
            (
                &format!("SCRAM-SHA-256$4096:{}${key}:{key}", STANDARD.encode([1; 65])),
                "salt has 65",
            ),
            (
                &format!("SCRAM-SHA-256$4096:c2FsdA==${key}"),
                "the verifier is not",
            ),
            (
                &format!("SCRAM-SHA-256$4096:c2FsdA==$secret:{key}"),
                "StoredKey is not base64",
            ),
            (
                &format!("SCRAM-SHA-256$4096:c2FsdA==${key}:{key} "),
                "ServerKey is not base64",
            ),
            (
                &format!("SCRAM-SHA-256$4096:c2FsdA==${key}:c2FsdA=="),
                "ServerKey has 4 bytes, not 32",
            ),
        ];
        for (text, expected) in texts {
            let found = complaint(text);
            assert!(found.contains(expected), "{text}: {found}");
            for secret in ["c2Fsd", "secret", &key[..]] {
                assert!(!found.contains(secret), "{text}: {found}");
            }
        }
    }

    #[test]
    fn debug_shows_no_key_and_no_salt() {
        let verifier = Verifier::parse(PENCIL).unwrap();
        assert_eq!(format!("{verifier:?}"), "Verifier { iterations: 4096, .. }");
    }

    #[test]
    fn passwords_are_normalised_where_sasl_prep_can() {
        // RFC 4013's examples, then what PostgreSQL leaves as it is.
        let prepared = [
            ("I\u{ad}X", "IX"),
            ("user", "user"),
            ("USER", "USER"),
            ("\u{aa}", "a"),
            ("\u{2168}", "IX"),
            ("a\u{a0}b", "a b"),
            ("tab\there", "tab\there"),
            ("\u{627}1", "\u{627}1"),
            ("\u{ad}", "\u{ad}"),
        ];
        for (password, expected) in prepared {
            assert_eq!(prepare(password.as_bytes()), expected.as_bytes(), "{password:?}");
        }
        assert_eq!(prepare(b"\xff\xfe"), b"\xff\xfe");
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".*", near in "SCRAM-SHA-256\\$[0-9]{0,8}:[A-Za-z0-9+/=]*\\$[A-Za-z0-9+/=]*:[A-Za-z0-9+/=]*") {
            let _ = Verifier::parse(&text);
            let _ = Verifier::parse(&near);
        }

        #[test]
        fn what_is_written_reads_the_same(
            iterations in ITERATIONS,
            salt in prop::collection::vec(any::<u8>(), 1..=SALT_BYTES_MAX),
            stored_key: Key,
            server_key: Key,
        ) {
            let verifier = Verifier::of_parts(iterations, salt, stored_key, server_key);
            prop_assert!(Verifier::parse(&verifier.to_text()).unwrap() == verifier);
        }
    }
}
