//! One connection of a browser, and what each of its requests is answered.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::bail;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, COOKIE, HeaderMap};
use hyper::http::request::Parts;
use hyper::service::service_fn;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use crate::http;
use crate::shared::Shared;

use super::answer::{self, Answer, Refusal};
use super::files;
use super::live::{live, may_cancel};
use super::login::{Login, Passwords, cookie, cookie_name, no_cookie};
use super::origin::{Came, Foreign, Hosts};
use super::patient::Patient;
use super::query::{self, Ask};
use super::sessions::{Sessions, Who};

/// Bytes of a request's body.
const BODY_BYTES_MAX: usize = 256 * 1024;

/// Longest time for the body of a request.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// Longest time in which a browser takes no byte.
const WRITE_TIMEOUT: Duration = Duration::from_secs(20);

/// First byte of a TLS connection.
const TLS_HANDSHAKE: u8 = 0x16;

/// For a browser that speaks plain HTTP where TLS is needed.
const NEEDS_TLS: &[u8] = b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n\
    this server is reached over TLS only: https://\n";

/// Answers the requests of all connections.
pub(super) struct Requests {
    shared: Arc<Shared>,
    hosts: Hosts,
    needs_tls: bool,
    sessions: Sessions,
    passwords: Passwords,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cancel {
    number: u64,
}

#[derive(Serialize)]
struct NeededForLogin {
    has_passwords: bool,
}

impl Requests {
    pub(super) fn new(shared: Arc<Shared>, hosts: Hosts, needs_tls: bool) -> Self {
        Self {
            shared,
            hosts,
            needs_tls,
            sessions: Sessions::new(),
            passwords: Passwords::new(),
        }
    }

    /// Serves a connection. After the server's shutdown was asked for, its current request is the
    /// last.
    pub(super) async fn serve(self: Arc<Self>, stream: TcpStream, peer: SocketAddr) -> anyhow::Result<()> {
        let shared = Arc::clone(&self.shared);
        let opening = tokio::time::timeout(shared.login_timeout, open(stream, peer, &shared, self.needs_tls));
        let opened = tokio::select! {
            biased;
            () = shared.draining.cancelled() => return Ok(()),
            opened = opening => opened??,
        };
        let (stream, came) = opened;
        let service = service_fn(|request| {
            let requests = Arc::clone(&self);
            async move { Ok::<_, Infallible>(requests.answer(request, came).await) }
        });
        let stream = TokioIo::new(Patient::new(stream, WRITE_TIMEOUT));
        let mut connection = pin!(http::protocol().serve_connection(stream, service));
        tokio::select! {
            biased;
            ended = connection.as_mut() => return Ok(ended?),
            () = shared.draining.cancelled() => connection.as_mut().graceful_shutdown(),
        }
        Ok(connection.await?)
    }

    async fn answer(&self, request: Request<Incoming>, came: Came) -> Answer {
        let (head, body) = request.into_parts();
        match self.hosts.check(&head, came) {
            Ok(()) => {}
            Err(Foreign::Host) => {
                return answer::text(StatusCode::MISDIRECTED_REQUEST, "this server has another name\n");
            }
            Err(Foreign::Origin) => {
                return answer::text(
                    StatusCode::FORBIDDEN,
                    "requests come from this server's page only\n",
                );
            }
        }
        let answered = match (&head.method, head.uri.path()) {
            (&Method::GET, "/api/live") => self.live(&head, came),
            (&Method::GET, "/api/access") => Ok(self.access()),
            (&Method::GET, path) => Ok(files::find(path).unwrap_or_else(no_such_page)),
            (&Method::POST, "/api/login") => self.log_in(&head, body, came).await,
            (&Method::POST, "/api/logout") => self.log_out(&head, came),
            (&Method::POST, "/api/sql") => self.query(&head, body, came).await,
            (&Method::POST, "/api/cancel") => self.cancel(&head, body, came).await,
            (&Method::POST, _) => Ok(no_such_page()),
            _ => Ok(answer::text(
                StatusCode::METHOD_NOT_ALLOWED,
                "there are GET and POST\n",
            )),
        };
        answered.unwrap_or_else(|refused| refused.answer())
    }

    /// Tells a stranger what a login needs.
    fn access(&self) -> Answer {
        let has_passwords = self.shared.access.users().is_some();
        answer::json(StatusCode::OK, &NeededForLogin { has_passwords })
    }

    async fn log_in(&self, head: &Parts, body: Incoming, came: Came) -> Result<Answer, Refusal> {
        let login: Login = read(head, body).await?;
        let checked = self.passwords.check(&self.shared, came, login).await;
        let who = checked.map_err(|error| {
            tracing::info!(peer = %came.peer, %error, "a login at the page was refused");
            Refusal::Error(StatusCode::UNAUTHORIZED, error)
        })?;
        let user = Arc::clone(&who.user);
        let token = self.sessions.enter(who, Instant::now());
        let token = token.map_err(|error| Refusal::Error(StatusCode::SERVICE_UNAVAILABLE, error))?;
        tracing::debug!(peer = %came.peer, user = &*user, "logged in at the page");
        Ok(answer::with_cookie(ended(), &cookie(came, &token)))
    }

    fn log_out(&self, head: &Parts, came: Came) -> Result<Answer, Refusal> {
        if let Some(token) = token(&head.headers, came) {
            self.sessions.leave(token);
        }
        Ok(answer::with_cookie(ended(), &no_cookie(came)))
    }

    fn live(&self, head: &Parts, came: Came) -> Result<Answer, Refusal> {
        let who = self.who(head, came)?;
        let since = head.uri.query().and_then(|query| query.strip_prefix("since="));
        let since_us = since.and_then(|since| since.parse().ok()).unwrap_or(0);
        Ok(answer::json(
            StatusCode::OK,
            &live(&self.shared, &who.user, since_us),
        ))
    }

    async fn query(&self, head: &Parts, body: Incoming, came: Came) -> Result<Answer, Refusal> {
        let who = self.who(head, came)?;
        let ask: Ask = read(head, body).await?;
        let outcome = query::run(&self.shared, &who.user, &ask).await;
        let outcome = outcome.map_err(|error| Refusal::Error(StatusCode::UNPROCESSABLE_ENTITY, error))?;
        Ok(answer::json(StatusCode::OK, &outcome))
    }

    async fn cancel(&self, head: &Parts, body: Incoming, came: Came) -> Result<Answer, Refusal> {
        let who = self.who(head, came)?;
        let Cancel { number } = read(head, body).await?;
        match self.shared.queries.find(number) {
            Some(query) if !may_cancel(&self.shared, &who.user, &query) => Err(Refusal::Text(
                StatusCode::FORBIDDEN,
                "the statement is another user's\n",
            )),
            Some(query) => {
                query.cancel();
                Ok(ended())
            }
            None => Err(Refusal::Text(StatusCode::NOT_FOUND, "the statement has ended\n")),
        }
    }

    /// Who asks, by its cookie.
    fn who(&self, head: &Parts, came: Came) -> Result<Who, Refusal> {
        let stranger = || Refusal::Text(StatusCode::UNAUTHORIZED, "log in first\n");
        let token = token(&head.headers, came).ok_or_else(stranger)?;
        let who = self.sessions.find(token, Instant::now()).ok_or_else(stranger)?;
        if let (Some(users), Some(kept)) = (self.shared.access.users(), &who.kept)
            && !kept.still_holds(&users.current().logged("users"), &who.user)
        {
            self.sessions.leave(token);
            return Err(stranger());
        }
        Ok(who)
    }
}

/// What a connection reads from and writes to.
trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// Reads up to the first request: TLS, if the browser begins it.
async fn open(
    mut stream: TcpStream,
    peer: SocketAddr,
    shared: &Shared,
    needs_tls: bool,
) -> anyhow::Result<(Box<dyn Stream>, Came)> {
    stream.set_nodelay(true)?;
    let local = stream.local_addr()?;
    let came = |is_tls| Came { peer, local, is_tls };
    let mut first = [0];
    if stream.peek(&mut first).await? == 0 {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    }
    let identity = shared.access.identity();
    if first[0] == TLS_HANDSHAKE {
        let Some(identity) = identity else {
            bail!("this server has no TLS");
        };
        let identity = identity.current().logged("certificate and key");
        let acceptor = TlsAcceptor::from(Arc::clone(identity.http_config()));
        return Ok((Box::new(acceptor.accept(stream).await?), came(true)));
    }
    if needs_tls {
        // What is not read makes the system reset the connection, answer and all.
        let _read = stream.read(&mut [0; 4_096]).await?;
        stream.write_all(NEEDS_TLS).await?;
        stream.shutdown().await?;
        bail!("plain HTTP where TLS is needed");
    }
    Ok((Box::new(stream), came(false)))
}

/// Reads a body of JSON, within bounds.
async fn read<T: DeserializeOwned>(head: &Parts, body: Incoming) -> Result<T, Refusal> {
    let kind = head.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    if kind != Some("application/json") {
        return Err(Refusal::Text(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "the body is application/json\n",
        ));
    }
    let collected = tokio::time::timeout(BODY_TIMEOUT, Limited::new(body, BODY_BYTES_MAX).collect()).await;
    let bytes = match collected {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(_too_long)) => {
            return Err(Refusal::Text(
                StatusCode::PAYLOAD_TOO_LARGE,
                "the body has at most 256 KiB\n",
            ));
        }
        Err(_elapsed) => {
            return Err(Refusal::Text(
                StatusCode::REQUEST_TIMEOUT,
                "the body took too long\n",
            ));
        }
    };
    serde_json::from_slice(&bytes)
        .map_err(|_| Refusal::Text(StatusCode::BAD_REQUEST, "the body is not what is asked for\n"))
}

/// The session's token in a request.
fn token(headers: &HeaderMap, came: Came) -> Option<&str> {
    let name = cookie_name(came);
    let cookies = headers
        .get_all(COOKIE)
        .into_iter()
        .filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|cookies| cookies.split(';'));
    pairs.find_map(|pair| pair.trim().strip_prefix(&*name)?.strip_prefix('='))
}

fn no_such_page() -> Answer {
    answer::text(StatusCode::NOT_FOUND, "there is no such page\n")
}

/// Nothing to say: it is done.
fn ended() -> Answer {
    let mut ended = answer::text(StatusCode::NO_CONTENT, "");
    *ended.body_mut() = Full::new(Bytes::new());
    ended
}
