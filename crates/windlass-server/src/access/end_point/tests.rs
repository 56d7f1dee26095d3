//! Certificates made by OpenSSL, with the fingerprints that it prints for them.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;

use super::*;

/// Signature, certificate in base64, hash in hexadecimal.
const CERTIFICATES: &[(&str, &str, Option<&str>)] = &[
    (
        "ECDSA with SHA-256",
        "MIIBazCCARKgAwIBAgIBATAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwIBcNMjYxMTI0MDkyODIyWhgP\
         MjEyNjEwMzEwOTI4MjJaMBQxEjAQBgNVBAMMCWxvY2FsaG9zdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABI3F+YmR\
         hfU1iSyR17NUhYPtKIQZ9+glM3fHdzrwkqo2nGUesHoY6Lcnxd8ZiuysUNSCBFncLORahAFxyG6GIb2jUzBRMB0GA1Ud\
         DgQWBBQ1o9hZxZ7g35kySfbDWQ3zPZa8aTAfBgNVHSMEGDAWgBQ1o9hZxZ7g35kySfbDWQ3zPZa8aTAPBgNVHRMBAf8E\
         BTADAQH/MAoGCCqGSM49BAMCA0cAMEQCICsHJDyGK91GqqaLfzjhW3hV0y/CUESkFzwHTym+cRX3AiA6HsRqo+ONhgqE\
         6zYOVgVOw2fYysDGRfrHsI80vIl+pA==",
        Some("054bad09256c87bc005c31fd03306f6dce528e83578c6c1eb7b66ed8a6669e70"),
    ),
    (
        "ECDSA with SHA-384",
        "MIIBazCCARKgAwIBAgIBATAKBggqhkjOPQQDAzAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwIBcNMjYxMTI0MDkyODIyWhgP\
         MjEyNjEwMzEwOTI4MjJaMBQxEjAQBgNVBAMMCWxvY2FsaG9zdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABJ0TTQAd\
         XhPjsXXcjQ0eGwLZx2HQ+Cx3h/defrTTJDUnqHlecH7VwUR3OEDapGhKl9CRKcfrTdEkud0O9GfbvvijUzBRMB0GA1Ud\
         DgQWBBSnytHf7lxAmAPvEO9AH0Ezv4q5hjAfBgNVHSMEGDAWgBSnytHf7lxAmAPvEO9AH0Ezv4q5hjAPBgNVHRMBAf8E\
         BTADAQH/MAoGCCqGSM49BAMDA0cAMEQCIF3o9bbavDeOR2corugfiLBKuKb5MrQ507oI1CDQZiv4AiBvkwI99HiQRj7m\
         iVeEzkQ4LdrAySRqlBIovIJTxbw/Nw==",
        Some(
            "cffb6414db40657224df4e91f87461847c4931d9ee8458ff03f22b536edc4dab41eb461be4040cb7fb0972087406\
         c722",
        ),
    ),
    (
        "RSA with SHA-512",
        "MIIB8zCCAVygAwIBAgIBATANBgkqhkiG9w0BAQ0FADAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwIBcNMjYxMTI0MDkyODIy\
         WhgPMjEyNjEwMzEwOTI4MjJaMBQxEjAQBgNVBAMMCWxvY2FsaG9zdDCBnzANBgkqhkiG9w0BAQEFAAOBjQAwgYkCgYEA\
         ubbm3+G3OVkHmTaCPIGNYRNjQOseOhNpb5Wm4XuCK+gbDGnhahkqSCXWCzI4phfrUk9T+JSVBd8XagdLLXk3LumIMdMP\
         uhltlHE/abNhGO+nlPv/dZCAOWvex2LDimblr5ZyURNSmNcb/qUIVBIdAWmz5mcIR5saXHRUy+pFInkCAwEAAaNTMFEw\
         HQYDVR0OBBYEFCkFeFoE03cLk7DFCZbwnyUuVCEbMB8GA1UdIwQYMBaAFCkFeFoE03cLk7DFCZbwnyUuVCEbMA8GA1Ud\
         EwEB/wQFMAMBAf8wDQYJKoZIhvcNAQENBQADgYEAGMxqj5QPo1cWwyJYuSM2ki8HdHmEM9h6rNwrqBoNhHYDdSsfsF/Z\
         MHacfTkcdMr0zatxJ5eTt8QuhyLzzLMSjDA7sjp7/WKlG54dvqnECQgHpMkb+R4SgNKoODog2z79/LhczyyPrDCuIcJ8\
         ZCe8K0/e2TTD4tt3LToEWpYkRkk=",
        Some(
            "c64dff2e0201ac37bf2e132607d44403de01d0072ae0fb6a747ad8d2ed58564b64f54321a6c767212990c43857da\
         557acd02c3a1a856eae981d23f19dfdb74b3",
        ),
    ),
    (
        "RSA-PSS with SHA-512",
        "MIIDYDCCAhSgAwIBAgIBATBBBgkqhkiG9w0BAQowNKAPMA0GCWCGSAFlAwQCAwUAoRwwGgYJKoZIhvcNAQEIMA0GCWCG\
         SAFlAwQCAwUAogMCAUAwFDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyNDA5MjgyMloYDzIxMjYxMDMxMDkyODIy\
         WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwggEiMA0GCSqGSIb3DQEBAQUAA4IBDwAwggEKAoIBAQCwsrsrVAcs6NI1JaRK\
         ohl2+C5v2IkWBQNJ1A6AhMyehnSBnMKzgEv+D4uX4Wjvf91HylxASd8z0K2TRc8WD3mX9rCtcV4sBir3/brPIfL8sPp9\
         wOAdzUgvh/gFl9Kxiboo3O5KPxNKrWukpvif1UtPJrJw3qYgCBD6g1iijKWGff2c2E+bXt+Vir3FIcF5f3GBfkg/BPyF\
         X6WD2AWsKRihgrMi6EsHkckmWA/Gqiw/B5RutiSWpa6dZNPZcl8x0F9qxwp5q8BYrMPR8IhC8pMRTyho8T0oUtj90Ga4\
         xmylVW32OnH68hd42jq6N4L6UcJ5y6Q4/qYw8WQFkMLfiEntAgMBAAGjUzBRMB0GA1UdDgQWBBT6PksqyltV7MdVGTbz\
         swIVeho8xDAfBgNVHSMEGDAWgBT6PksqyltV7MdVGTbzswIVeho8xDAPBgNVHRMBAf8EBTADAQH/MEEGCSqGSIb3DQEB\
         CjA0oA8wDQYJYIZIAWUDBAIDBQChHDAaBgkqhkiG9w0BAQgwDQYJYIZIAWUDBAIDBQCiAwIBQAOCAQEAZTG8o/ucK/Kx\
         knb7XFlpFksGDsMOUDVFiTPDXmnQglX7BM4dNl+Rc57RnQIx5OW/ohPDZA8X8eutBjer1FUzkwGxalcQYZNdgVLNjdRn\
         S+lux1bZqy3PKGv6fDFXDfxPxBhoW8nBS3ZJCTvf7L/VX5EiEp+0hNBZ5k2MS5+NvyujaHfm+N1uRGn3bsoX0+htQM/R\
         51dmHGjVYxWFoFJJGPLfJQKq0Cfkf4/e0PifpFLvLNqbal1lWbnBE3nrz9Rr/UJ6fV6VrZqslat/pcAouk9zz86I/opP\
         9DpuUfCXdpwExYh7pryPrkc3t6D3v5wtsPh635HYJj+sW2I/HCeRXw==",
        Some(
            "cdef724bb29ac3217630b2f452c06a321a35f636aec1430f3d33108ef939e2bf1f2150e658ae98d0dde42df7b3ba\
         a11bc1bfb472d9d841959d7590f0768d872c",
        ),
    ),
    (
        "RSA with SHA-1",
        "MIIB8zCCAVygAwIBAgIBATANBgkqhkiG9w0BAQUFADAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwIBcNMjYxMTI0MDkyODIy\
         WhgPMjEyNjEwMzEwOTI4MjJaMBQxEjAQBgNVBAMMCWxvY2FsaG9zdDCBnzANBgkqhkiG9w0BAQEFAAOBjQAwgYkCgYEA\
         pqQgvZQKs86CXe04F3N9B8b29KsmVO6k+cl6s5MAaQdJNUzgEzdyvhPOOaNiNenxx47A5Gvk21S9CoNuXzCIhywmGUr1\
         KPaXGa6TWvxPIVPW5xEthNCtw6Nw3KtASLt7kdRjGqwGSXJwr1YEMfQAB49HRM57Z96WG1YEb4GepFsCAwEAAaNTMFEw\
         HQYDVR0OBBYEFNQFtkV6Q7aOtU7rsTf7Ev/xcq81MB8GA1UdIwQYMBaAFNQFtkV6Q7aOtU7rsTf7Ev/xcq81MA8GA1Ud\
         EwEB/wQFMAMBAf8wDQYJKoZIhvcNAQEFBQADgYEAQtN/H3vSPXhwEdLmFqDJLCt90BKXXo9SA6wVaP8PR6ZdOS+6pCbg\
         iacHIVqmk9qh9DvWiZLlNSzbIwkoZ2+2yr3WGHCSS9mPj23wRKc2QPACTblyLWBsdLHfNi9Kkl4QgndemmeQjBE563YE\
         0gdtLM1S84mSpii0GgiBdI9m9zc=",
        Some("dd8970bf7cd3c6491e5cadcc52c50017a10a5317da4840cb387d1a825f127219"),
    ),
    (
        "ECDSA with SHA-1",
        "MIIBazCCARGgAwIBAgIBATAJBgcqhkjOPQQBMBQxEjAQBgNVBAMMCWxvY2FsaG9zdDAgFw0yNjExMjQwOTI4MjJaGA8y\
         MTI2MTAzMTA5MjgyMlowFDESMBAGA1UEAwwJbG9jYWxob3N0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEdsMNywSX\
         hc8hTYGmvtSZ+vdNwdYMVJGQICulueueCN9A5qeZVNaB9Us04D7VrSdP/uA5g8fXjQQlk9FrogND9qNTMFEwHQYDVR0O\
         BBYEFBblsDlg6FANV/VTIFKTTqSS9rX2MB8GA1UdIwQYMBaAFBblsDlg6FANV/VTIFKTTqSS9rX2MA8GA1UdEwEB/wQF\
         MAMBAf8wCQYHKoZIzj0EAQNJADBGAiEA09nLityXZiRkKMisKZKli2NuCyK6kUOZiJwZvevEYX0CIQDSpMvBjulg+7iB\
         gRDy6D/iInzK13fB9Nf7fYsj5V/YLQ==",
        Some("1e79923fa79bfbc474df486f1e28fb138034f08f4d0a297371c4d86051661acd"),
    ),
    (
        "Ed25519",
        "MIIBKzCB3qADAgECAgEBMAUGAytlcDAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwIBcNMjYxMTI0MDkyODIyWhgPMjEyNjEw\
         MzEwOTI4MjJaMBQxEjAQBgNVBAMMCWxvY2FsaG9zdDAqMAUGAytlcAMhAONn8cApYs/BFxrmWvNG+lGe9D3IUwQ8IYm/\
         eCz30tMGo1MwUTAdBgNVHQ4EFgQU9Vud4PvTWWUyyHHR84npiq0ymTowHwYDVR0jBBgwFoAU9Vud4PvTWWUyyHHR84np\
         iq0ymTowDwYDVR0TAQH/BAUwAwEB/zAFBgMrZXADQQC/xjBozt2oRpyLYkvKqMwSFJO0PfS5RnypEPkZrjfUljK5ESq6\
         +Y7fYtWkJ4VyjSHkGeJUsxfKVn9H3CYAEdoB",
        None,
    ),
    (
        "RSA with SHA-224",
        "MIIB8zCCAVygAwIBAgIBATANBgkqhkiG9w0BAQ4FADAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwIBcNMjYxMTI0MDkyODIy\
         WhgPMjEyNjEwMzEwOTI4MjJaMBQxEjAQBgNVBAMMCWxvY2FsaG9zdDCBnzANBgkqhkiG9w0BAQEFAAOBjQAwgYkCgYEA\
         wgUKcZhn8XA4K7lD2X0YBmWaRY/NmwQsyKe8VQzJ0kInbBDA2kgs2kb2xDBsIU0Ay1jR/3cJCTTO6GzzW8R9EzewgAaK\
         Wbmsu6aAVmJJjp0mR30HX3/VmzzoFKTJXo87AI0l0GZy6b28EJ+781+1MTc/0zrViCSvOTjCCRR5uI8CAwEAAaNTMFEw\
         HQYDVR0OBBYEFI7ZM4I5XNyGCaJauepkHYl+wfZTMB8GA1UdIwQYMBaAFI7ZM4I5XNyGCaJauepkHYl+wfZTMA8GA1Ud\
         EwEB/wQFMAMBAf8wDQYJKoZIhvcNAQEOBQADgYEAW018oNDS7mm3fSy78z5vc+mtsanZBh1d2O5G3Byc6XQcz820x+qd\
         KgaLOTUxKWdj6+59fCWq9eUOWjNY7abvkckCQrPMy8H4vQs0G5eE/1ZDvX2eG8/uuSDREvK7wezN5RzZfJJ1FPfJ/XCN\
         APlgr8i8A4zgZxOsOcKWlDgh1nQ=",
        None,
    ),
];

fn certificate(base64: &str) -> Vec<u8> {
    STANDARD.decode(base64).unwrap()
}

#[test]
fn the_hash_is_the_fingerprint_by_the_hash_of_the_signature() {
    for (signature, base64, expected) in CERTIFICATES {
        let found = hash(&certificate(base64)).map(|bytes| {
            bytes.iter().fold(String::new(), |mut text, byte| {
                write!(text, "{byte:02x}").unwrap();
                text
            })
        });
        assert_eq!(found.as_deref(), *expected, "{signature}");
    }
}

#[test]
fn a_truncated_certificate_has_no_hash() {
    for (_, base64, _) in CERTIFICATES {
        let certificate = certificate(base64);
        for length in 0..certificate.len() {
            assert_eq!(hash(&certificate[..length]), None);
        }
    }
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes: Vec<u8>, at: prop::sample::Index, byte: u8) {
        let _ = hash(&bytes);
        let mut changed = certificate(CERTIFICATES[0].1);
        let at = at.index(changed.len().min(64));
        changed[at] = byte;
        let _ = hash(&changed);
    }
}
