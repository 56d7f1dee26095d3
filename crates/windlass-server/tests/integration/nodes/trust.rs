//! Which nodes speak to each other.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use windlass_server::nodes::{NodeAccess, NodeAccessOptions, WorkerList};

use super::answers::count;
use super::cluster::{Worker, patient, server_over, tpch};
use crate::access::private;
use crate::served::{block_on, error_of};

/// A certificate for `localhost`, its key, and secrets.
pub(super) struct Trust(TempDir);

impl Trust {
    pub(super) fn new() -> Self {
        let trust = Self(tempfile::tempdir().unwrap());
        let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        fs::write(trust.path("cert"), certified.cert.pem()).unwrap();
        private(&trust.path("key"), &certified.signing_key.serialize_pem());
        private(&trust.path("secret"), "0123456789abcdef0123456789abcdef\n");
        private(&trust.path("other"), "fedcba9876543210fedcba9876543210\n");
        trust
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn options(&self, secret: Option<&str>, has_tls: bool) -> NodeAccessOptions {
        NodeAccessOptions {
            secret: secret.map(|name| self.path(name)),
            ca: has_tls.then(|| self.path("cert")),
            tls_cert: has_tls.then(|| self.path("cert")),
            tls_key: has_tls.then(|| self.path("key")),
        }
    }

    fn worker(&self, secret: Option<&str>, has_tls: bool) -> Worker {
        // The access that an open address would have, on loopback.
        let listen = if has_tls { "0.0.0.0:5433" } else { "127.0.0.1:5433" };
        let access = NodeAccess::of_worker(&[listen.parse().unwrap()], &self.options(secret, has_tls));
        let scheme = if has_tls { "https" } else { "http" };
        Worker::with(&tpch(), access.unwrap(), scheme, |_| {})
    }

    /// Asks a worker, as a server with these options does.
    fn ask(&self, worker: &Worker, secret: Option<&str>, has_tls: bool) -> Result<i64, (String, String)> {
        let access = NodeAccess::of_coordinator(&self.options(secret, has_tls)).unwrap();
        let list = WorkerList::Fixed(vec![worker.url.clone()]);
        let server = server_over(list, access, patient(), |_| {});
        block_on(async {
            let client = server.connect().await;
            let answered = count(&client, "orders").await;
            answered.map_err(|error| error_of(&error))
        })
    }
}

#[test]
fn a_worker_with_a_secret_is_asked_with_that_secret_alone() {
    let trust = Trust::new();
    let worker = trust.worker(Some("secret"), false);
    for secret in [None, Some("other")] {
        let (code, text) = trust.ask(&worker, secret, false).unwrap_err();
        let says_why = text.contains(worker.url.as_str().trim_end_matches('/')) && text.contains("secret");
        assert!(code == "58000" && says_why, "{code} {text}");
    }
    assert_eq!(worker.watch.begun(), 0, "no plan was looked at");
    assert_eq!(trust.ask(&worker, Some("secret"), false), Ok(15_000));
}

#[test]
fn workers_speak_tls_and_ask_each_other_so() {
    let trust = Trust::new();
    let workers = [
        trust.worker(Some("secret"), true),
        trust.worker(Some("secret"), true),
    ];
    let access = NodeAccess::of_coordinator(&trust.options(Some("secret"), true)).unwrap();
    let list = WorkerList::Fixed(workers.iter().map(|worker| worker.url.clone()).collect());
    let server = server_over(list, access, patient(), |_| {});
    block_on(async {
        let client = server.connect().await;
        // Grouping passes rows from each worker to each.
        let sql = "select l_orderkey, count(*) from lineitem group by l_orderkey";
        assert_eq!(client.query(sql, &[]).await.unwrap().len(), 15_000);
    });
    for worker in &workers {
        assert_eq!(worker.watch.begun(), 1);
    }
}

#[test]
fn a_certificate_of_another_authority_is_refused() {
    let (trust, other) = (Trust::new(), Trust::new());
    let worker = trust.worker(Some("secret"), true);
    let (code, text) = other.ask(&worker, Some("secret"), true).unwrap_err();
    assert!(code == "58000" && text.contains("certificate"), "{code} {text}");
}

#[test]
fn a_secret_that_others_can_read_or_guess_is_refused() {
    let trust = Trust::new();
    let refused = |path: &Path| {
        let options = NodeAccessOptions {
            secret: Some(path.to_owned()),
            ..NodeAccessOptions::default()
        };
        NodeAccess::of_coordinator(&options).unwrap_err().to_string()
    };
    let short = trust.path("short");
    private(&short, "hunter2\n");
    let text = refused(&short);
    assert!(
        text.contains("at least 16 bytes") && !text.contains("hunter2"),
        "{text}"
    );
    let open = trust.path("open");
    fs::write(&open, "0123456789abcdef").unwrap();
    assert!(refused(&open).contains(&open.display().to_string()));
}
