//! The plain HTTP client of [`HttpStore`](super::http_store::HttpStore).
//!
//! For near servers, on hyper: no TLS, redirects or proxies. Each wait has a limit, so a silent
//! server is an error, not a hang.

use std::error::Error;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Empty;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::rt::{Sleep, Timer};
use hyper::{Request, Response};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector as Sockets;
use hyper_util::rt::{TokioExecutor, TokioTimer};

#[derive(Clone, Debug)]
pub(super) struct PatientClient {
    client: Client<Sockets, Empty<Bytes>>,
    silence: Duration,
}

impl PatientClient {
    pub(super) fn new(silence: Duration) -> Self {
        let mut sockets = Sockets::new();
        sockets.set_connect_timeout(Some(silence));
        sockets.set_nodelay(true);
        Self {
            client: Client::builder(TokioExecutor::new()).build(sockets),
            silence,
        }
    }

    /// # Errors
    ///
    /// When there is no connection, it breaks, or the server is silent too long.
    pub(super) async fn send(
        &self,
        request: Request<Empty<Bytes>>,
    ) -> Result<Response<PatientBody>, Failure> {
        let mut answer = pin!(self.client.request(request));
        let mut sleep = sleep(self.silence);
        let answered = poll_fn(|cx| match answer.as_mut().poll(cx) {
            Poll::Ready(answered) => Poll::Ready(answered.map_err(Failure::of_client)),
            Poll::Pending => sleep
                .as_mut()
                .poll(cx)
                .map(|()| Err(Failure::silent(self.silence))),
        });
        let silence = self.silence;
        let body = |body| PatientBody {
            body,
            sleep: None,
            silence,
        };
        Ok(answered.await?.map(body))
    }
}

pub(super) fn sleep(duration: Duration) -> Pin<Box<dyn Sleep>> {
    TokioTimer::new().sleep(duration)
}

/// Waits at most `silence` for its next part.
pub(super) struct PatientBody {
    body: Incoming,
    sleep: Option<Pin<Box<dyn Sleep>>>,
    silence: Duration,
}

impl Body for PatientBody {
    type Data = Bytes;
    type Error = Failure;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            self.sleep = None;
            return Poll::Ready(frame.map(|frame| frame.map_err(Failure::of_body)));
        }
        let silence = self.silence;
        let sleep = self.sleep.get_or_insert_with(|| sleep(silence));
        sleep
            .as_mut()
            .poll(cx)
            .map(|()| Some(Err(Failure::silent(silence))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[derive(Debug)]
pub(super) struct Failure {
    may_pass: bool,
    source: Box<dyn Error + Send + Sync>,
}

impl Failure {
    /// Whether the same request may succeed later: not if the server does not speak HTTP.
    pub(super) fn may_pass(&self) -> bool {
        self.may_pass
    }

    fn silent(silence: Duration) -> Self {
        Self {
            may_pass: true,
            source: Box::new(Silence(silence)),
        }
    }

    fn of_client(error: hyper_util::client::legacy::Error) -> Self {
        let source = error
            .source()
            .and_then(|source| source.downcast_ref::<hyper::Error>());
        Self {
            may_pass: error.is_connect() || source.is_none_or(|source| !source.is_parse()),
            source: Box::new(error),
        }
    }

    fn of_body(error: hyper::Error) -> Self {
        Self {
            may_pass: !error.is_parse(),
            source: Box::new(error),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source.fmt(f)
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.source()
    }
}

#[derive(Debug)]
struct Silence(Duration);

impl fmt::Display for Silence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the server said nothing for {:?}", self.0)
    }
}

impl Error for Silence {}
