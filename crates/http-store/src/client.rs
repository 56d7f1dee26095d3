//! The HTTP client of [`HttpStore`](super::store::HttpStore).
//!
//! It follows no redirects and uses no proxies. Each wait has a limit, so a silent server is an
//! error, not a hang.

use std::error::Error;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Empty;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::rt::{Sleep, Timer};
use hyper::{Request, Response};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use crate::dial::{Connector, Dial, Sockets};
use crate::patience::Patience;

/// Connections to servers, with bounds on waits. Clones share them. It is used inside of a tokio
/// runtime.
#[derive(Clone, Debug)]
pub struct HttpClient {
    client: Client<Connector, Empty<Bytes>>,
    patience: Patience,
}

impl HttpClient {
    /// For servers of `http` URLs.
    #[must_use]
    pub fn new(patience: Patience) -> Self {
        Self::over(Arc::new(Sockets::new(patience.silence)), patience)
    }

    /// Over connections that `dial` opens.
    #[must_use]
    pub fn over(dial: Arc<dyn Dial>, patience: Patience) -> Self {
        Self {
            client: Client::builder(TokioExecutor::new()).build(Connector(dial)),
            patience,
        }
    }

    pub(crate) fn patience(&self) -> Patience {
        self.patience
    }

    /// # Errors
    ///
    /// When there is no connection, it breaks, or the server is silent too long.
    pub(crate) async fn send(
        &self,
        request: Request<Empty<Bytes>>,
    ) -> Result<Response<PatientBody>, Failure> {
        let mut answer = pin!(self.client.request(request));
        let silence = self.patience.silence;
        let mut sleep = sleep(silence);
        let answered = poll_fn(|cx| match answer.as_mut().poll(cx) {
            Poll::Ready(answered) => Poll::Ready(answered.map_err(Failure::of_client)),
            Poll::Pending => sleep.as_mut().poll(cx).map(|()| Err(Failure::silent(silence))),
        });
        let body = |body| PatientBody {
            body,
            sleep: None,
            silence,
        };
        Ok(answered.await?.map(body))
    }
}

pub(crate) fn sleep(duration: Duration) -> Pin<Box<dyn Sleep>> {
    TokioTimer::new().sleep(duration)
}

/// Waits at most `silence` for its next part.
pub(crate) struct PatientBody {
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
pub(crate) struct Failure {
    may_pass: bool,
    source: Box<dyn Error + Send + Sync>,
}

impl Failure {
    /// Whether the same request may succeed later: not if the server does not speak HTTP.
    pub(crate) fn may_pass(&self) -> bool {
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
