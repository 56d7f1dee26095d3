//! The HTTP client below an object store: plain HTTP, one wait that never lasts longer than it was told.
//!
//! `object_store` brings a client of its own, with TLS and its cryptography in C. This one is hyper's, for servers that are near: no TLS, no redirects,
//! no proxies. What it adds is the patience: a server that accepts and then says nothing is an error after a while, not a hang, at each step of
//! a request: connecting, the answer's head, each further part of its body.
//!
//! Its sockets and timers are those of the runtime that polls it, which is the mixed pool's.

use std::error::Error;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::rt::{Sleep, Timer};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector as Sockets;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody, HttpResponse,
    HttpResponseBody, HttpService,
};

/// Makes clients that wait so long for a sign of the server.
#[derive(Clone, Copy, Debug)]
pub(super) struct PatientConnector {
    pub(super) patience: Duration,
}

impl HttpConnector for PatientConnector {
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        let mut sockets = Sockets::new();
        sockets.set_connect_timeout(Some(self.patience));
        sockets.set_nodelay(true);
        Ok(HttpClient::new(PatientClient {
            client: Client::builder(TokioExecutor::new()).build(sockets),
            patience: self.patience,
        }))
    }
}

#[derive(Debug)]
struct PatientClient {
    client: Client<Sockets, HttpRequestBody>,
    patience: Duration,
}

impl HttpService for PatientClient {
    fn call<'client, 'call>(
        &'client self,
        request: HttpRequest,
    ) -> Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'call>>
    where
        'client: 'call,
        Self: 'call,
    {
        Box::pin(async {
            let mut answer = pin!(self.client.request(request));
            let mut sleep = TokioTimer::new().sleep(self.patience);
            let answered = poll_fn(|cx| match answer.as_mut().poll(cx) {
                Poll::Ready(answered) => Poll::Ready(answered.map_err(of_client)),
                Poll::Pending => sleep.as_mut().poll(cx).map(|()| Err(silent(self.patience))),
            });
            let (head, body) = answered.await?.into_parts();
            let body = PatientBody {
                body,
                sleep: None,
                patience: self.patience,
            };
            Ok(HttpResponse::from_parts(head, HttpResponseBody::new(body)))
        })
    }
}

/// A body whose next part does not take longer than the patience.
struct PatientBody {
    body: Incoming,
    /// While a part is waited for.
    sleep: Option<Pin<Box<dyn Sleep>>>,
    patience: Duration,
}

impl Body for PatientBody {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            self.sleep = None;
            return Poll::Ready(
                frame.map(|frame| frame.map_err(|error| HttpError::new(kind_of(&error), error))),
            );
        }
        let patience = self.patience;
        let sleep = self
            .sleep
            .get_or_insert_with(|| TokioTimer::new().sleep(patience));
        sleep.as_mut().poll(cx).map(|()| Some(Err(silent(patience))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The server said nothing for too long.
#[derive(Debug)]
struct Silence(Duration);

impl fmt::Display for Silence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the server said nothing for {:?}", self.0)
    }
}

impl Error for Silence {}

fn silent(patience: Duration) -> HttpError {
    HttpError::new(HttpErrorKind::Timeout, Silence(patience))
}

fn of_client(error: hyper_util::client::legacy::Error) -> HttpError {
    let kind = match error
        .source()
        .and_then(|source| source.downcast_ref::<hyper::Error>())
    {
        _ if error.is_connect() => HttpErrorKind::Connect,
        Some(source) => kind_of(source),
        None => HttpErrorKind::Interrupted,
    };
    HttpError::new(kind, error)
}

/// What the store makes its mind up by, whether to ask once more.
fn kind_of(error: &hyper::Error) -> HttpErrorKind {
    match error {
        error if error.is_timeout() => HttpErrorKind::Timeout,
        error if error.is_parse() => HttpErrorKind::Decode,
        // Cut, closed, reset.
        _ => HttpErrorKind::Interrupted,
    }
}
