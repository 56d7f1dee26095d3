//! A browser's tab, down to the bytes of its requests.

use std::net::SocketAddr;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use windlass_server::{Access, UiConfig};

use crate::served::Served;

/// A server with a page, without passwords.
pub(super) fn with_page() -> Served {
    served(Access::open_loopback())
}

pub(crate) fn served(access: Access) -> Served {
    Served::over(access, &[], |config| config.ui = Some(page_anywhere()))
}

pub(super) fn page_anywhere() -> UiConfig {
    UiConfig::new("127.0.0.1:0".parse().unwrap())
}

/// A browser's tab.
pub(super) struct Tab {
    pub(super) address: SocketAddr,
    pub(super) cookie: Option<String>,
}

pub(super) struct Response {
    pub(super) status: u16,
    head: String,
    pub(super) body: String,
}

impl Tab {
    pub(super) fn of(server: &Served) -> Self {
        Self {
            address: server.page.expect("the server has a page"),
            cookie: None,
        }
    }

    pub(super) async fn logged_in(server: &Served, user: &str) -> Self {
        let mut tab = Self::of(server);
        assert_eq!(tab.log_in(user, "").await.status, 204);
        tab
    }

    pub(super) async fn log_in(&mut self, user: &str, password: &str) -> Response {
        let login = json!({ "user": user, "password": password });
        let response = self.post("/api/login", &login).await;
        if let Some(cookie) = response.header("set-cookie") {
            self.cookie = cookie.split(';').next().map(str::to_owned);
        }
        response
    }

    /// The headers of a browser that shows this server's page.
    pub(super) fn headers(&self) -> String {
        let address = self.address;
        let cookie = self.cookie.iter().map(|cookie| format!("Cookie: {cookie}\r\n"));
        let cookie: String = cookie.collect();
        format!("Host: {address}\r\nOrigin: http://{address}\r\n{cookie}")
    }

    pub(super) async fn get(&self, path: &str) -> Response {
        self.send(&format!("GET {path} HTTP/1.1\r\n{}", self.headers()), "")
            .await
    }

    pub(super) fn post_head(&self, path: &str, length: usize) -> String {
        let headers = self.headers();
        let json = "Content-Type: application/json";
        format!("POST {path} HTTP/1.1\r\n{headers}{json}\r\nContent-Length: {length}\r\n")
    }

    pub(super) async fn post(&self, path: &str, body: &Value) -> Response {
        let body = body.to_string();
        self.send(&self.post_head(path, body.len()), &body).await
    }

    pub(super) async fn query(&self, sql: &str) -> Response {
        self.post("/api/sql", &json!({ "sql": sql })).await
    }

    pub(super) async fn live(&self) -> Value {
        self.get("/api/live?since=0").await.json()
    }

    pub(super) async fn send(&self, head: &str, body: &str) -> Response {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let request = format!("{head}Connection: close\r\n\r\n{body}");
        // A request that is refused early is not read to its end.
        let _ = stream.write_all(request.as_bytes()).await;
        Response::read(stream).await
    }
}

impl Response {
    pub(super) async fn read(mut stream: TcpStream) -> Self {
        let mut bytes = Vec::new();
        // What was refused early may end with a reset.
        let _ = stream.read_to_end(&mut bytes).await;
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        Self {
            status: status.unwrap_or_else(|| panic!("no status: {text:?}")),
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.head.lines().filter_map(|line| line.split_once(": "));
        headers.find_map(|(found, value)| found.eq_ignore_ascii_case(name).then_some(value))
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    pub(super) fn error_code(&self) -> String {
        self.json()["error"]["code"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }
}
