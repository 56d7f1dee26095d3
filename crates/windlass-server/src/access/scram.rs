//! The server's side of SCRAM-SHA-256 and SCRAM-SHA-256-PLUS (RFC 5802, 7677), as PostgreSQL speaks
//! it: messages in, messages out, no I/O.
//!
//! ```text
//! client                                              server
//!   n,,n=,r=<nonce>                        ──► first
//!                                          ◄──   r=<nonce><more>,s=<salt>,i=<iterations>
//!   c=biws,r=<nonce><more>,p=<proof>       ──► last
//!                                          ◄──   v=<the server's own proof>
//! ```
//!
//! - The user is the one that the startup message names. The first message's name is not read, as
//!   in PostgreSQL.
//! - **A stranger learns nothing about names.** An unknown user gets a salt derived from the name
//!   and a secret of the process, and fails like a wrong password, after the same arithmetic.
//! - **No party sits in between.** Over TLS both mechanisms are offered. PLUS binds the proof to
//!   the certificate that the client saw (`tls-server-end-point`, RFC 5929). A client that could
//!   bind but was not offered PLUS says `y`, and is refused: a party in between removed the offer.
//!
//! Secrets are compared in constant time.

use std::fmt;
use std::mem;
use std::sync::OnceLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

use super::users::Users;
use super::verifier::{Key, Verifier, hmac_sha256, sha256};

/// The mechanism without channel binding.
pub const SCRAM_SHA_256: &str = "SCRAM-SHA-256";

/// The mechanism that binds the proof to the server's certificate.
pub const SCRAM_SHA_256_PLUS: &str = "SCRAM-SHA-256-PLUS";

/// A driver's longest has some 250.
const MESSAGE_BYTES_MAX: usize = 1024;

/// As in PostgreSQL.
const NONCE_BYTES: usize = 18;

const END_POINT: &str = "p=tls-server-end-point";

/// Why a login failed. Does not tell whether the user exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denied {
    /// The proof is not the password's, or the user is unknown.
    WrongPassword,
    /// The proof is bound to another certificate.
    WrongBinding,
    /// The client could bind, and thinks that the server cannot: a party in between changed the
    /// offer.
    Downgrade,
    /// A message breaks the protocol; what is wrong with it.
    Malformed(&'static str),
    /// The system gives no random bytes.
    NoRandomness,
}

impl Denied {
    /// Returns PostgreSQL's code of the error.
    #[must_use]
    pub fn sqlstate(self) -> &'static str {
        match self {
            Self::WrongPassword => "28P01",
            Self::WrongBinding | Self::Downgrade => "28000",
            Self::Malformed(_) => "08P01",
            Self::NoRandomness => "58000",
        }
    }
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongPassword => f.write_str("password authentication failed"),
            Self::WrongBinding => f.write_str("SCRAM channel binding check failed"),
            Self::Downgrade => f.write_str(
                "the client supports SCRAM channel binding but thinks the server does not; \
                 this server does support it",
            ),
            Self::Malformed(what) => write!(f, "malformed SCRAM message: {what}"),
            Self::NoRandomness => f.write_str("the system gives no random bytes"),
        }
    }
}

impl std::error::Error for Denied {}

/// One login. After an error it refuses every message.
pub struct Exchange {
    verifier: Verifier,
    /// If not, `verifier` is made up.
    known: bool,
    /// The hash of the certificate that the client was shown.
    binding: Option<Vec<u8>>,
    state: State,
}

enum State {
    Begun,
    Challenged(Challenged),
    Over,
}

struct Challenged {
    /// Must stand after `c=` in the last message.
    binding: String,
    /// The client's, then the server's.
    nonce: String,
    /// The signed text without the last message, with a comma at its end.
    exchanged: String,
}

impl Exchange {
    /// Begins the login of user `name`. `binding` is
    /// [`Identity::end_point`](super::tls::Identity::end_point) if the client came over TLS.
    ///
    /// # Errors
    ///
    /// If the system gives no random bytes.
    pub fn begin(users: &Users, name: &str, binding: Option<&[u8]>) -> Result<Self, Denied> {
        // Also for a known user, so that both take the same time.
        let made_up = made_up(users, name)?;
        let known = users.verifier(name);
        Ok(Self {
            verifier: known.cloned().unwrap_or(made_up),
            known: known.is_some(),
            binding: binding.map(<[u8]>::to_vec),
            state: State::Begun,
        })
    }

    /// Returns the mechanisms to offer, the best first.
    #[must_use]
    pub fn mechanisms(&self) -> &'static [&'static str] {
        if self.binding.is_some() {
            &[SCRAM_SHA_256_PLUS, SCRAM_SHA_256]
        } else {
            &[SCRAM_SHA_256]
        }
    }

    /// Takes the client's first message, for its chosen mechanism, and returns the challenge.
    ///
    /// # Errors
    ///
    /// If the mechanism was not offered, or the message does not fit it.
    pub fn first(&mut self, mechanism: &str, message: &[u8]) -> Result<Vec<u8>, Denied> {
        let mut nonce = [0; NONCE_BYTES];
        SystemRandom::new()
            .fill(&mut nonce)
            .map_err(|_| Denied::NoRandomness)?;
        self.first_with(mechanism, message, &STANDARD.encode(nonce))
    }

    fn first_with(&mut self, mechanism: &str, message: &[u8], nonce: &str) -> Result<Vec<u8>, Denied> {
        let State::Begun = mem::replace(&mut self.state, State::Over) else {
            return Err(Denied::Malformed("it is not the first"));
        };
        let offered = self.mechanisms().contains(&mechanism);
        if !offered {
            return Err(Denied::Malformed("the mechanism was not offered"));
        }
        let text = checked(message)?;
        let FirstMessage {
            header,
            flag,
            bare,
            nonce: theirs,
        } = FirstMessage::parse(text)?;
        let mut bound = header.as_bytes().to_vec();
        match (flag, mechanism == SCRAM_SHA_256_PLUS) {
            (END_POINT, true) => bound.extend(self.binding.iter().flatten()),
            ("n", false) => {}
            ("y", false) if self.binding.is_some() => return Err(Denied::Downgrade),
            ("y", false) => {}
            ("n" | "y", true) => return Err(Denied::Malformed("PLUS without channel binding")),
            (_, true) => return Err(Denied::Malformed("a channel binding of another type")),
            (_, false) => return Err(Denied::Malformed("channel binding without PLUS")),
        }
        let nonce = format!("{theirs}{nonce}");
        let salt = STANDARD.encode(self.verifier.salt());
        let challenge = format!("r={nonce},s={salt},i={}", self.verifier.iterations());
        self.state = State::Challenged(Challenged {
            binding: STANDARD.encode(bound),
            nonce,
            exchanged: format!("{bare},{challenge},"),
        });
        Ok(challenge.into_bytes())
    }

    /// Takes the client's last message, and returns the server's own proof.
    ///
    /// # Errors
    ///
    /// If the client does not know the password, or breaks the protocol.
    pub fn last(&mut self, message: &[u8]) -> Result<Vec<u8>, Denied> {
        let State::Challenged(challenged) = mem::replace(&mut self.state, State::Over) else {
            return Err(Denied::Malformed("no challenge is open"));
        };
        let text = checked(message)?;
        let LastMessage {
            without_proof,
            binding,
            nonce,
            proof,
        } = LastMessage::parse(text)?;
        if nonce != challenged.nonce {
            return Err(Denied::Malformed("the nonce does not match"));
        }
        if binding != challenged.binding {
            return Err(Denied::WrongBinding);
        }
        let signed = challenged.exchanged + without_proof;
        let signature = hmac_sha256(self.verifier.stored_key(), signed.as_bytes());
        let mut client_key = proof;
        for (byte, mask) in client_key.iter_mut().zip(signature) {
            *byte ^= mask;
        }
        let fits = is_equal(&sha256(&client_key), self.verifier.stored_key())?;
        if !(fits & self.known) {
            return Err(Denied::WrongPassword);
        }
        let proof = hmac_sha256(self.verifier.server_key(), signed.as_bytes());
        Ok(format!("v={}", STANDARD.encode(proof)).into_bytes())
    }
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state {
            State::Begun => "begun",
            State::Challenged(_) => "challenged",
            State::Over => "over",
        };
        f.debug_struct("Exchange")
            .field("state", &state)
            .finish_non_exhaustive()
    }
}

/// `n,,n=<name>,r=<nonce>`.
struct FirstMessage<'a> {
    /// Up to `bare`, with its commas.
    header: &'a str,
    /// Channel binding: `n`, `y` or `p=<type>`.
    flag: &'a str,
    bare: &'a str,
    nonce: &'a str,
}

impl<'a> FirstMessage<'a> {
    fn parse(text: &'a str) -> Result<Self, Denied> {
        let malformed = Denied::Malformed;
        let (flag, rest) = text.split_once(',').ok_or(malformed("no header"))?;
        let (identity, bare) = rest.split_once(',').ok_or(malformed("no header"))?;
        if !identity.is_empty() {
            return Err(malformed("an authorization identity is not supported"));
        }
        let mut attributes = bare.split(',');
        let mut next = || attributes.next().unwrap_or_default();
        let first = next();
        if first.starts_with("m=") {
            return Err(malformed("a mandatory extension is not supported"));
        }
        if !first.starts_with("n=") {
            return Err(malformed("no name"));
        }
        let nonce = next().strip_prefix("r=").ok_or(malformed("no nonce"))?;
        if nonce.is_empty() || !nonce.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(malformed("the nonce is not printable"));
        }
        check_extensions(attributes)?;
        Ok(Self {
            header: &text[..text.len() - bare.len()],
            flag,
            bare,
            nonce,
        })
    }
}

/// `c=<binding>,r=<nonce>,p=<proof>`.
struct LastMessage<'a> {
    without_proof: &'a str,
    binding: &'a str,
    nonce: &'a str,
    proof: Key,
}

impl<'a> LastMessage<'a> {
    fn parse(text: &'a str) -> Result<Self, Denied> {
        let malformed = Denied::Malformed;
        let (without_proof, proof) = text.rsplit_once(",p=").ok_or(malformed("no proof at its end"))?;
        let mut attributes = without_proof.split(',');
        let mut next = |name| {
            attributes
                .next()
                .and_then(|attribute| attribute.strip_prefix(name))
        };
        let binding = next("c=").ok_or(malformed("no channel binding"))?;
        let nonce = next("r=").ok_or(malformed("no nonce"))?;
        check_extensions(attributes)?;
        let proof = STANDARD.decode(proof).ok();
        let proof = proof.and_then(|proof| Key::try_from(proof).ok());
        Ok(Self {
            without_proof,
            binding,
            nonce,
            proof: proof.ok_or(malformed("the proof is not 32 bytes in base64"))?,
        })
    }
}

/// Unknown extensions are skipped if they are well formed.
fn check_extensions<'a>(mut attributes: impl Iterator<Item = &'a str>) -> Result<(), Denied> {
    let well_formed = attributes.all(|attribute| match attribute.as_bytes() {
        [name, b'=', ..] => name.is_ascii_alphabetic() && *name != b'p',
        _ => false,
    });
    well_formed
        .then_some(())
        .ok_or(Denied::Malformed("an extension has no name"))
}

fn checked(message: &[u8]) -> Result<&str, Denied> {
    if message.len() > MESSAGE_BYTES_MAX {
        return Err(Denied::Malformed("it is too long"));
    }
    let text = str::from_utf8(message).map_err(|_| Denied::Malformed("it is not UTF-8"))?;
    if text.contains('\0') {
        return Err(Denied::Malformed("it has a zero byte in it"));
    }
    Ok(text)
}

/// Imitates a verifier: the same for the same name while the process lives, in the shape of most
/// users'. No known password fits.
pub(super) fn made_up(users: &Users, name: &str) -> Result<Verifier, Denied> {
    let secret = secret()?;
    let derive = |purpose: &[u8], counter: u8| {
        let mut context = hmac::Context::with_key(secret);
        context.update(purpose);
        context.update(&[counter]);
        context.update(name.as_bytes());
        context.sign()
    };
    let shape = users.usual_shape();
    let mut salt = vec![0; shape.salt_bytes];
    for (block, counter) in salt.chunks_mut(size_of::<Key>()).zip(0..) {
        block.copy_from_slice(&derive(b"salt", counter).as_ref()[..block.len()]);
    }
    let [stored_key, server_key] = [b"stored", b"server"].map(|purpose| {
        let mut key: Key = [0; _];
        // Does not panic: a tag has a key's length.
        key.copy_from_slice(derive(purpose, 0).as_ref());
        key
    });
    Ok(Verifier::of_parts(shape.iterations, salt, stored_key, server_key))
}

/// Compares tags under a secret key, so the time does not show where they differ. (ring's own
/// comparison of slices is deprecated.)
pub(super) fn is_equal(one: &Key, other: &Key) -> Result<bool, Denied> {
    let secret = secret()?;
    let tag = hmac::sign(secret, one);
    Ok(hmac::verify(secret, other, tag.as_ref()).is_ok())
}

fn secret() -> Result<&'static hmac::Key, Denied> {
    static SECRET: OnceLock<hmac::Key> = OnceLock::new();
    if let Some(secret) = SECRET.get() {
        return Ok(secret);
    }
    let new = hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new());
    let new = new.map_err(|_| Denied::NoRandomness)?;
    Ok(SECRET.get_or_init(|| new))
}

#[cfg(test)]
mod tests;
