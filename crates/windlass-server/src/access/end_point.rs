//! `tls-server-end-point` (RFC 5929): the hash of the server's certificate, for SCRAM's binding.
//!
//! The hash is that of the certificate's signature, or SHA-256 in place of MD5 and SHA-1. A
//! signature without a hash of its own, such as Ed25519's, has no end point: clients then log in
//! without channel binding. Only a certificate's outline is read:
//!
//! ```text
//! Certificate  ::=  SEQUENCE { tbsCertificate SEQUENCE, signatureAlgorithm SEQUENCE, signature }
//! ```

use ring::digest::{self, SHA256, SHA384, SHA512};
use rustls_pki_types::alg_id;

const SEQUENCE: u8 = 0x30;

/// RSA with MD5, RSA with SHA-1, ECDSA with SHA-1: the RFC replaces their hashes.
const WEAK: [&[u8]; 3] = [
    &[0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x04],
    &[0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x05],
    &[0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x01],
];

/// Takes DER. `None` if the signature defines no hash.
pub(super) fn hash(certificate: &[u8]) -> Option<Vec<u8>> {
    let (outline, _) = sequence(certificate)?;
    let (_, rest) = sequence(outline)?;
    let (algorithm, _) = sequence(rest)?;
    let algorithm = algorithm_hash(algorithm)?;
    Some(digest::digest(algorithm, certificate).as_ref().to_vec())
}

fn algorithm_hash(identifier: &[u8]) -> Option<&'static digest::Algorithm> {
    let hashes = [
        (
            &SHA256,
            [
                alg_id::ECDSA_SHA256,
                alg_id::RSA_PKCS1_SHA256,
                alg_id::RSA_PSS_SHA256,
            ],
        ),
        (
            &SHA384,
            [
                alg_id::ECDSA_SHA384,
                alg_id::RSA_PKCS1_SHA384,
                alg_id::RSA_PSS_SHA384,
            ],
        ),
        (
            &SHA512,
            [
                alg_id::ECDSA_SHA512,
                alg_id::RSA_PKCS1_SHA512,
                alg_id::RSA_PSS_SHA512,
            ],
        ),
    ];
    let named = hashes.into_iter().find(|(_, signatures)| {
        signatures
            .iter()
            .any(|signature| signature.as_ref() == identifier)
    });
    let weak = || {
        WEAK.iter()
            .any(|weak| identifier.starts_with(weak))
            .then_some(&SHA256)
    };
    named.map(|(hash, _)| hash).or_else(weak)
}

/// The first sequence's content, and the bytes after it.
fn sequence(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (header, rest) = der.split_at_checked(2)?;
    if header[0] != SEQUENCE {
        return None;
    }
    let (length, rest) = match usize::from(header[1]) {
        short @ 0..0x80 => (short, rest),
        // The low bits count the bytes of the length.
        long => {
            let (bytes, rest) = rest.split_at_checked(long - 0x80)?;
            let length = bytes.iter().try_fold(0_usize, |length, byte| {
                Some(length.checked_mul(0x100)? | usize::from(*byte))
            })?;
            (length, rest)
        }
    };
    rest.split_at_checked(length)
}

#[cfg(test)]
mod tests;
