//! Servers that refuse, redirect, fall silent, or are not there.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::NoTls;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use windlass_server::{Access, Source, UrlOptions};

use super::host::{self, Host, named, patient, with};
use super::reading::{csv, people, rows};
use crate::served::{CITIES, Served, block_on, error_of};

/// Longer than any test.
const LONG: Duration = Duration::from_secs(600);

fn served(table: Source, options: UrlOptions) -> Served {
    served_with(vec![table], options)
}

fn served_with(tables: Vec<Source>, options: UrlOptions) -> Served {
    Served::over(Access::open_loopback(), &[], with(options, tables))
}

async fn error(server: &Served, sql: &str) -> (String, String) {
    let client = server.connect().await;
    error_of(&client.simple_query(sql).await.unwrap_err())
}

#[test]
fn what_a_server_refuses_is_an_error_with_the_url_and_the_status() {
    let host = Host::start();
    let good = host::Served::new(csv(10));
    let of_status = |status| host::Served {
        status: Some(status),
        ..good.clone()
    };
    let whole = host::Served {
        has_ranges: false,
        ..good.clone()
    };
    let unversioned = host::Served {
        e_tag: None,
        ..good.clone()
    };
    let elsewhere = host::Served {
        status: Some(302),
        location: Some("https://elsewhere.example/t.csv?key=secret".to_owned()),
        ..good.clone()
    };
    let empty = host::Served::new("");
    let server = served(host.table("t", "/t.csv"), patient(LONG, 0));
    block_on(async {
        for (file, words) in [
            (None, &["404 Not Found", "is the URL right"][..]),
            (Some(of_status(403)), &["403 Forbidden", "sends no password"]),
            (Some(of_status(401)), &["401 Unauthorized", "sends no password"]),
            (Some(of_status(500)), &["500 Internal Server Error"]),
            (Some(whole), &["no parts of files (ranges)", "download the file"]),
            (Some(unversioned), &["neither its ETag nor Last-Modified"]),
            (Some(empty), &["416", "empty"]),
            (
                Some(elsewhere),
                &[
                    "302 Found",
                    "https://elsewhere.example/t.csv;",
                    "redirects are not followed",
                ],
            ),
        ] {
            host.remove("/t.csv");
            if let Some(file) = file {
                host.put("/t.csv", file);
            }
            let (_, text) = error(&server, "select * from t").await;
            for word in words {
                assert!(text.contains(word), "{text}");
            }
            assert!(
                text.contains(&host.url("/t.csv")) && !text.contains("secret"),
                "{text}"
            );
        }
        // A good file is a table again, without a restart.
        host.put("/t.csv", good.clone());
        let client = server.connect().await;
        assert_eq!(rows(&client, "select count(*) from t").await, ["10"]);
    });
}

#[test]
fn a_content_that_is_no_table_is_an_error_that_names_the_url() {
    let host = Host::start();
    for (path, bytes) in [
        ("/t.parquet", b"no parquet at all".to_vec()),
        ("/t.parquet", b"PAR1\xff\xff\xff\x7fPAR1".to_vec()),
        ("/t.csv", b"a,a\n1,2\n".to_vec()),
    ] {
        host.put(path, host::Served::new(bytes));
        let server = served(host.table("t", path), patient(LONG, 0));
        let (_, text) = block_on(error(&server, "select * from t"));
        assert!(text.contains(&host.url(path)), "{text}");
        assert!(text.contains("cannot be read as a table"), "{text}");
    }
}

#[test]
fn a_fault_that_passes_at_any_request_is_not_seen() {
    let host = Host::start();
    host.put("/t.parquet", host::Served::new(people(2_000, 500)));
    let mut at = 0;
    loop {
        host.take_asked();
        host.fail_at(at, 503);
        let server = served(host.table("t", "/t.parquet"), patient(LONG, 2));
        block_on(async {
            let client = server.connect().await;
            assert_eq!(rows(&client, "select sum(n) from t").await, ["1999000"]);
        });
        if host.take_asked().len() <= at {
            break;
        }
        at += 1;
    }
    assert!(at > 2, "{at} requests");
}

#[test]
fn a_cancel_ends_a_statement_whose_server_falls_silent_at_any_request() {
    let host = Host::start();
    for (path, bytes) in [("/t.parquet", people(2_000, 500)), ("/t.csv", csv(2_000))] {
        host.put(path, host::Served::new(bytes));
        host.take_asked();
        let sql = "select sum(n) from t";
        let server = served(host.table("t", path), patient(LONG, 0));
        block_on(async { rows(&server.connect().await, sql).await });
        let requests = host.take_asked().len();
        assert!(requests > 2, "{requests}");
        for at in 0..requests {
            host.silent_from(at);
            let server = served(host.table("t", path), patient(LONG, 0));
            block_on(async {
                let client = server.connect().await;
                let cancel = async {
                    host.until_asked(at + 1).await;
                    client.cancel_token().cancel_query(NoTls).await.unwrap();
                };
                let (asked, ()) = tokio::join!(client.simple_query(sql), cancel);
                assert_eq!(error_of(&asked.unwrap_err()).0, "57014", "{path} at {at}");
                // Others are not held up.
                assert_eq!(rows(&client, "select 3").await, ["3"]);
            });
            host.take_asked();
        }
        host.silent_from(usize::MAX);
    }
}

#[test]
fn a_server_that_is_silent_for_too_long_is_an_error() {
    let host = Host::start();
    host.put("/t.csv", host::Served::new(csv(10)));
    host.silent_from(0);
    let server = served(host.table("t", "/t.csv"), patient(Duration::from_millis(200), 1));
    let (code, text) = block_on(error(&server, "select * from t"));
    assert_eq!(code, "58030");
    assert!(text.contains("the server said nothing for 200ms"), "{text}");
    assert!(
        text.contains("after 1 retries") && text.contains(&host.url("/t.csv")),
        "{text}"
    );
    assert_eq!(host.take_asked().len(), 2);
}

#[test]
fn a_server_that_is_not_there_spoils_its_own_table_alone() {
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let url = format!("http://127.0.0.1:{port}/t.parquet");
    let (options, folder) = (patient(LONG, 0), tempfile::tempdir().unwrap());
    std::fs::write(folder.path().join("cities.csv"), CITIES).unwrap();
    let server = served_with(
        vec![named("t", &url), Source::Folder(folder.path().to_owned())],
        options,
    );
    block_on(async {
        let (code, text) = error(&server, "select * from t").await;
        assert_eq!(code, "58030");
        assert!(text.contains(&url) && text.contains("refused"), "{text}");
        let client = server.connect().await;
        assert_eq!(rows(&client, "select count(*) from cities").await, ["3"]);
        let names = "select table_name from information_schema.tables where table_schema = 'public'";
        assert_eq!(rows(&client, names).await, ["cities"]);
    });
}

#[test]
fn https_is_checked_by_certificates() {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("ca.pem");
    std::fs::write(&ca, certified.cert.pem()).unwrap();
    let other = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let wrong = folder.path().join("wrong.pem");
    std::fs::write(&wrong, other.cert.pem()).unwrap();
    let key = rustls_pki_types::PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key)
        .unwrap();
    let host = Host::over(Some(Arc::new(config)));
    host.put("/t.parquet", host::Served::new(people(2_000, 500)));
    let options = |ca| UrlOptions {
        ca: Some(ca),
        ..patient(LONG, 0)
    };
    let server = served(host.table("t", "/t.parquet"), options(ca));
    block_on(async {
        let client = server.connect().await;
        assert_eq!(rows(&client, "select sum(n) from t").await, ["1999000"]);
    });
    let server = served(host.table("t", "/t.parquet"), options(wrong));
    let (code, text) = block_on(error(&server, "select sum(n) from t"));
    assert!(code == "58030" && text.contains("certificate"), "{code} {text}");
}
