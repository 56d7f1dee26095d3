//! Who is let in at the page, and what is kept out.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use windlass_server::{Access, UiConfig};

use super::tab::{Tab, page_anywhere, served, with_page};
use crate::access::Secrets;
use crate::served::{Served, block_on, within};

#[test]
fn the_page_and_its_parts_are_served_with_headers_that_keep_others_out() {
    let server = with_page();
    block_on(async {
        let tab = Tab::of(&server);
        for (path, kind) in [
            ("/", "text/html; charset=utf-8"),
            ("/page.css", "text/css; charset=utf-8"),
            ("/page.js", "text/javascript; charset=utf-8"),
            ("/lanes.js", "text/javascript; charset=utf-8"),
            ("/sql.js", "text/javascript; charset=utf-8"),
            ("/parts.js", "text/javascript; charset=utf-8"),
            ("/icon.svg", "image/svg+xml"),
        ] {
            let response = tab.get(path).await;
            assert_eq!(
                (response.status, response.header("content-type")),
                (200, Some(kind))
            );
            let policy = response.header("content-security-policy").unwrap();
            assert!(
                policy.starts_with("default-src 'none'; script-src 'self';"),
                "{policy}"
            );
            assert!(!policy.contains("unsafe"), "{policy}");
            assert_eq!(response.header("x-content-type-options"), Some("nosniff"));
            assert_eq!(response.header("x-frame-options"), Some("DENY"));
            assert_eq!(response.header("access-control-allow-origin"), None);
        }
        let page = tab.get("/").await.body;
        assert!(!page.contains(" on") || !page.contains("=\"javascript"), "{page}");
        assert_eq!(tab.get("/api/nothing").await.status, 404);
        let other = tab
            .send(&format!("PUT / HTTP/1.1\r\n{}", tab.headers()), "")
            .await;
        assert_eq!(other.status, 405);
    });
}

#[test]
fn another_host_or_origin_is_refused_with_a_cookie_too() {
    let server = with_page();
    block_on(async {
        let tab = Tab::logged_in(&server, "alice").await;
        let address = tab.address;
        let cookie = tab.cookie.as_deref().unwrap();
        let get = async |host: &str, origin: &str| {
            let head = format!("GET /api/live HTTP/1.1\r\nHost: {host}\r\n{origin}Cookie: {cookie}\r\n");
            tab.send(&head, "").await.status
        };
        let port = address.port();
        assert_eq!(get(&address.to_string(), "").await, 200);
        assert_eq!(get(&format!("localhost:{port}"), "").await, 200);
        assert_eq!(get(&format!("evil.example.org:{port}"), "").await, 421);
        assert_eq!(get("127.0.0.1", "").await, 421);
        let evil = "Origin: http://evil.example.org\r\n";
        assert_eq!(get(&address.to_string(), evil).await, 403);
        let body = json!({ "sql": "select 1" }).to_string();
        let length = body.len();
        let post = async |origin: &str| {
            let head = format!(
                "POST /api/sql HTTP/1.1\r\nHost: {address}\r\n{origin}Cookie: {cookie}\r\n\
                 Content-Type: application/json\r\nContent-Length: {length}\r\n"
            );
            tab.send(&head, &body).await.status
        };
        assert_eq!(post(&format!("Origin: http://{address}\r\n")).await, 200);
        assert_eq!(
            post("").await,
            403,
            "a request that changes something says where it is from"
        );
        assert_eq!(post("Origin: null\r\n").await, 403);
        assert_eq!(post(&format!("Origin: http://localhost:{port}\r\n")).await, 403);
        // What a form of another page could send.
        let head = format!(
            "POST /api/sql HTTP/1.1\r\n{}Content-Length: {length}\r\n",
            tab.headers()
        );
        let form = tab
            .send(&format!("{head}Content-Type: text/plain\r\n"), &body)
            .await;
        assert_eq!(form.status, 415);
    });
}

#[test]
fn nothing_is_told_without_a_login() {
    let server = with_page();
    block_on(async {
        let mut tab = Tab::of(&server);
        assert_eq!(
            tab.get("/api/access").await.json(),
            json!({ "has_passwords": false })
        );
        for forged in [None, Some(format!("windlass-{}=AAAA", tab.address.port()))] {
            tab.cookie = forged;
            assert_eq!(tab.get("/api/live").await.status, 401);
            assert_eq!(tab.query("select 1").await.status, 401);
            assert_eq!(tab.post("/api/cancel", &json!({ "number": 1 })).await.status, 401);
        }
        assert_eq!(tab.log_in("", "").await.status, 401);
        let response = tab.log_in("alice", "").await;
        let cookie = response.header("set-cookie").unwrap();
        for part in ["; HttpOnly", "; SameSite=Strict", "; Max-Age=43200", "; Path=/"] {
            assert!(cookie.contains(part), "{cookie}");
        }
        assert_eq!(tab.live().await["user"], "alice");
        let kept = tab.cookie.clone();
        assert_eq!(tab.post("/api/logout", &json!({})).await.status, 204);
        tab.cookie = kept;
        assert_eq!(
            tab.get("/api/live").await.status,
            401,
            "the token is dead, not only forgotten"
        );
    });
}

#[test]
fn a_password_is_asked_for_where_there_are_users() {
    let secrets = Secrets::new();
    let server = served(secrets.access("127.0.0.1:5432", false));
    block_on(async {
        let mut tab = Tab::of(&server);
        assert_eq!(
            tab.get("/api/access").await.json(),
            json!({ "has_passwords": true })
        );
        for (user, password) in [("alice", "looking-glass"), ("bob", "wonderland"), ("alice", "")] {
            let refused = tab.log_in(user, password).await;
            assert_eq!((refused.status, refused.error_code().as_str()), (401, "28P01"));
            let text = format!("password authentication failed for user \"{user}\"");
            assert_eq!(refused.json()["error"]["message"], text);
        }
        assert_eq!(tab.log_in("alice", "wonderland").await.status, 204);
        assert_eq!(tab.query("select 1").await.status, 200);
        secrets.set("alice", "looking-glass");
        assert_eq!(
            tab.get("/api/live").await.status,
            401,
            "a new password ends the sessions"
        );
    });
}

#[test]
fn many_wrong_passwords_at_the_page_slow_their_address_down() {
    let secrets = Secrets::new();
    let server = served(secrets.access("127.0.0.1:5432", false));
    block_on(async {
        let mut tab = Tab::of(&server);
        let mut refused = 0;
        for _ in 0..20 {
            let response = tab.log_in("alice", "wrong").await;
            assert_eq!(response.status, 401);
            refused += usize::from(response.body.contains("too many failed logins"));
        }
        assert!(refused > 0, "twenty guesses were checked");
        assert_eq!(tab.log_in("alice", "wonderland").await.status, 401);
    });
}

#[test]
fn requests_beyond_their_bounds_are_refused() {
    let server = with_page();
    block_on(async {
        let tab = Tab::logged_in(&server, "alice").await;
        let long = tab.query(&"x".repeat(300_000)).await;
        assert_eq!(long.status, 413);
        let head = format!(
            "GET / HTTP/1.1\r\n{}X: {}\r\n",
            tab.headers(),
            "x".repeat(100_000)
        );
        assert_eq!(tab.send(&head, "").await.status, 431);
        let many: String = (0..200).map(|number| format!("X-{number}: x\r\n")).collect();
        let head = format!("GET / HTTP/1.1\r\n{}{many}", tab.headers());
        assert_eq!(tab.send(&head, "").await.status, 431);
        for body in [
            "",
            "{",
            "[]",
            "{\"sql\": 1}",
            "{\"sql\": \"select 1\", \"more\": 1}",
        ] {
            let head = tab.post_head("/api/sql", body.len());
            assert_eq!(tab.send(&head, body).await.status, 400, "{body}");
        }
        let many = "select 1;".repeat(101);
        assert_eq!(tab.query(&many).await.error_code(), "54000");
        assert_eq!(tab.query("select 1").await.status, 200);
    });
}

#[test]
fn a_request_that_does_not_come_is_not_waited_for() {
    let server = with_page();
    block_on(async {
        let tab = Tab::logged_in(&server, "alice").await;
        let answer_to = async |request: String| {
            let mut stream = TcpStream::connect(tab.address).await.unwrap();
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.unwrap();
            answer
        };
        let nothing = answer_to(String::new());
        let half_a_head = answer_to(format!("GET / HTTP/1.1\r\n{}", tab.headers()));
        let no_body = answer_to(tab.post_head("/api/sql", 100) + "\r\n{");
        let nothing_more = answer_to(format!("GET /icon.svg HTTP/1.1\r\n{}\r\n", tab.headers()));
        let all = async { tokio::join!(nothing, half_a_head, no_body, nothing_more) };
        let closed = tokio::time::timeout(Duration::from_secs(60), all).await;
        let (nothing, half, no_body, nothing_more) = closed.expect("all are closed");
        assert_eq!(nothing, "");
        assert!(!half.contains("200 OK"), "{half}");
        assert!(no_body.starts_with("HTTP/1.1 408"), "{no_body}");
        assert!(nothing_more.starts_with("HTTP/1.1 200"), "{nothing_more}");
    });
}

#[test]
fn connections_of_browsers_are_bounded() {
    let server = Served::with(|config| {
        config.ui = Some(page_anywhere());
        // Those that are held are not closed meanwhile.
        config.login_timeout = Duration::from_secs(3_600);
    });
    block_on(async {
        let tab = Tab::of(&server);
        assert!(answers(&tab).await);
        let mut held = Vec::new();
        for _ in 0..256 {
            held.push(TcpStream::connect(tab.address).await.unwrap());
        }
        assert!(!answers(&tab).await, "one more is closed without an answer");
        drop(held);
        within("a place for one more connection", async {
            while !answers(&tab).await {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await;
    });
}

async fn answers(tab: &Tab) -> bool {
    let Ok(mut stream) = TcpStream::connect(tab.address).await else {
        return false;
    };
    let request = format!("GET / HTTP/1.1\r\n{}Connection: close\r\n\r\n", tab.headers());
    let mut answer = Vec::new();
    stream.write_all(request.as_bytes()).await.is_ok()
        && stream.read_to_end(&mut answer).await.is_ok()
        && answer.starts_with(b"HTTP/1.1 200")
}

#[test]
fn a_page_for_other_machines_needs_users_and_tls() {
    let secrets = Secrets::new();
    let address = ["0.0.0.0:8080".parse().unwrap()];
    let error = Access::open_loopback()
        .check_page(&address)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("--users") && error.contains("--tls-cert"),
        "{error}"
    );
    let without_tls = secrets.access("127.0.0.1:5432", false);
    let error = without_tls.check_page(&address).unwrap_err().to_string();
    assert!(
        !error.contains("--users") && error.contains("--tls-key"),
        "{error}"
    );
    secrets
        .access("127.0.0.1:5432", true)
        .check_page(&address)
        .unwrap();
}

#[test]
fn a_page_for_other_machines_is_served_over_tls_with_the_servers_identity() {
    let secrets = Secrets::new();
    let access = secrets.access("127.0.0.1:5432", true);
    let server = Served::over(access, &[], |config| {
        config.ui = Some(UiConfig::new("0.0.0.0:0".parse().unwrap()));
    });
    block_on(async {
        let port = server.page.unwrap().port();
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let body = json!({ "user": "alice", "password": "wonderland" }).to_string();
        let length = body.len();
        let request = format!(
            "POST /api/login HTTP/1.1\r\nHost: localhost:{port}\r\nOrigin: https://localhost:{port}\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        );
        let mut plain = TcpStream::connect(address).await.unwrap();
        plain.write_all(b"GET / HTTP/1.1\r\n").await.unwrap();
        let mut answer = String::new();
        plain.read_to_string(&mut answer).await.unwrap();
        assert!(answer.contains("over TLS only"), "{answer}");
        let mut stream = secrets.https(address).await;
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 204"), "{answer}");
        let cookie = format!("__Host-windlass-{port}=");
        assert!(
            answer.contains(&cookie) && answer.contains("; Secure"),
            "{answer}"
        );
    });
}
