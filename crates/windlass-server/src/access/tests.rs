//! The policy, in all combinations of addresses and options.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::*;

const LOOPBACK: [&str; 7] = [
    "127.0.0.1:5432",
    "127.0.0.2:5432",
    "127.255.255.255:5432",
    "[::1]:5432",
    "[::ffff:127.0.0.1]:5432",
    "[::ffff:127.9.9.9]:5432",
    "127.0.0.1:0",
];

const OPEN: [&str; 11] = [
    "0.0.0.0:5432",
    "[::]:5432",
    "[::ffff:0.0.0.0]:5432",
    "[::ffff:192.0.2.1]:5432",
    // Compatible with IPv4, not mapped.
    "[::127.0.0.1]:5432",
    "192.0.2.1:5432",
    "10.0.0.1:5432",
    "128.0.0.1:5432",
    "126.255.255.255:5432",
    "[fe80::1]:5432",
    "[2001:db8::1]:5432",
];

fn addresses(listen: &[&str]) -> Vec<SocketAddr> {
    listen.iter().map(|address| address.parse().unwrap()).collect()
}

fn options(cert: bool, key: bool, users: bool) -> AccessOptions {
    let given = |given: bool, path: &str| given.then(|| PathBuf::from(path));
    AccessOptions {
        users: given(users, "users"),
        tls_cert: given(cert, "server.crt"),
        tls_key: given(key, "server.key"),
    }
}

/// Alone and, if open, beside loopback.
fn lists(open: bool) -> Vec<Vec<&'static str>> {
    let alone = |addresses: &[&'static str]| addresses.iter().map(|address| vec![*address]).collect();
    if open {
        let mut lists: Vec<Vec<_>> = alone(&OPEN);
        lists.extend(OPEN.map(|address| vec![LOOPBACK[0], address]));
        lists.extend(OPEN.map(|address| vec![address, LOOPBACK[3]]));
        lists
    } else {
        let mut lists: Vec<Vec<_>> = alone(&LOOPBACK);
        lists.push(LOOPBACK.to_vec());
        lists
    }
}

#[test]
fn the_policy_in_all_combinations() {
    // Open, certificate, key, users; whether TLS is needed, or the missing options.
    let table = [
        (false, false, false, false, Ok(false)),
        (false, false, false, true, Ok(false)),
        (false, true, true, false, Ok(false)),
        (false, true, true, true, Ok(false)),
        (false, true, false, false, Err("--tls-key FILE is missing")),
        (false, true, false, true, Err("--tls-key FILE is missing")),
        (false, false, true, false, Err("--tls-cert FILE is missing")),
        (false, false, true, true, Err("--tls-cert FILE is missing")),
        (
            true,
            false,
            false,
            false,
            Err(": --tls-cert FILE, --tls-key FILE and --users FILE are missing"),
        ),
        (
            true,
            false,
            false,
            true,
            Err(": --tls-cert FILE and --tls-key FILE are missing"),
        ),
        (true, true, true, false, Err(": --users FILE is missing")),
        (true, true, true, true, Ok(true)),
        (
            true,
            true,
            false,
            false,
            Err(": --tls-key FILE and --users FILE are missing"),
        ),
        (true, true, false, true, Err(": --tls-key FILE is missing")),
        (
            true,
            false,
            true,
            false,
            Err(": --tls-cert FILE and --users FILE are missing"),
        ),
        (true, false, true, true, Err(": --tls-cert FILE is missing")),
    ];
    for (open, cert, key, users, expected) in table {
        for listen in lists(open) {
            let found = check(&addresses(&listen), &options(cert, key, users));
            let found = found.map_err(|error| error.to_string());
            let fits = match (&found, expected) {
                (Ok(found), Ok(expected)) => *found == expected,
                (Err(found), Err(expected)) => found.contains(expected),
                _ => false,
            };
            assert!(
                fits,
                "{listen:?}, {cert} {key} {users}: {found:?} is not {expected:?}"
            );
        }
    }
}

#[test]
fn the_error_names_the_address_that_is_open() {
    let listen = addresses(&["127.0.0.1:5432", "192.0.2.1:5432"]);
    let error = check(&listen, &AccessOptions::default()).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("192.0.2.1:5432 is not a loopback address"),
        "{error}"
    );
}

#[test]
fn a_server_without_an_address_does_not_start() {
    assert!(check(&[], &options(true, true, true)).is_err());
}

#[test]
fn addresses_are_resolved_and_anything_else_is_an_error() {
    assert_eq!(
        resolve("--listen", "127.0.0.1:5432").unwrap(),
        addresses(&["127.0.0.1:5432"])
    );
    assert_eq!(
        resolve("--listen", "[::1]:5432").unwrap(),
        addresses(&["[::1]:5432"])
    );
    for listen in ["", "127.0.0.1", ":::", "127.0.0.1:x", "127.0.0.1:70000"] {
        let error = format!("{:#}", resolve("--listen", listen).unwrap_err());
        assert!(error.starts_with(&format!("--listen {listen}: ")), "{error}");
    }
}

#[test]
fn open_loopback_asks_for_nothing() {
    let access = Access::open_loopback();
    assert!(access.users().is_none() && access.identity().is_none() && !access.needs_tls());
    let decided = Access::decide(&addresses(&LOOPBACK), &AccessOptions::default()).unwrap();
    assert!(decided.users().is_none() && decided.identity().is_none() && !decided.needs_tls());
}

#[test]
fn a_decision_reads_the_files() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &str| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        path
    };
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let users = folder.path().join("users");
    passwd(&users, "alice", Source::FirstLine(&mut &b"secret"[..])).unwrap();
    let options = AccessOptions {
        users: Some(users.clone()),
        tls_cert: Some(write("server.crt", &made.cert.pem())),
        tls_key: Some(write("server.key", &made.signing_key.serialize_pem())),
    };
    let listen = addresses(&["0.0.0.0:5432"]);
    let access = Access::decide(&listen, &options).unwrap();
    assert!(access.needs_tls());
    assert_eq!(access.users().unwrap().current().value.len(), 1);
    assert!(access.identity().unwrap().current().value.end_point().is_some());

    let complaint = |options: &AccessOptions| format!("{:#}", Access::decide(&listen, options).unwrap_err());
    remove_user(&users, "alice").unwrap();
    let error = complaint(&options);
    assert!(error.contains("users: no user in it"), "{error}");
    let missing = |name: &str| Some(Path::new("no such folder").join(name));
    let error = complaint(&AccessOptions {
        users: missing("users"),
        ..options.clone()
    });
    assert!(error.starts_with("no such folder/users: "), "{error}");
    passwd(&users, "alice", Source::FirstLine(&mut &b"secret"[..])).unwrap();
    let error = complaint(&AccessOptions {
        tls_key: missing("key"),
        ..options.clone()
    });
    assert!(error.starts_with("no such folder/key: "), "{error}");
}
