//! Objects of an HTTP server, as a read-only store.
//!
//! ```text
//!   head, get ──► request ──► HttpClient           a server's failure that may pass: the request once more,
//!                    ▲  ▲                          after a pause that grows
//!                    │  └── Retries
//!   body ────────────┘                             a body that breaks off: the rest of it by a range, if the
//!                                                  server's tag says that it is still the same object
//! ```
//!
//! It is not `object_store`'s own: docs/decisions/0055. It cannot write or list.

mod answer;
mod failure;
mod retries;

use std::fmt;
use std::ops::Range;

use async_trait::async_trait;
use bytes::Bytes;
use chrono::{DateTime, Utc};
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use http_body_util::{BodyExt as _, Empty};
use hyper::header::{
    ACCEPT_ENCODING, HeaderName, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_UNMODIFIED_SINCE, LOCATION,
    RANGE, USER_AGENT,
};
use hyper::{Method, Request, Response, StatusCode, Uri};
use object_store::path::Path as Location;
use object_store::{
    Attributes, CopyOptions, Error as StoreError, GetOptions, GetRange, GetResult, GetResultPayload,
    ListResult, MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload,
    PutResult,
};
use url::Url;

use self::answer::Answer;
use self::failure::{Result, generic};
use self::retries::Retries;
use crate::client::{Failure, HttpClient, PatientBody, sleep};

/// Some servers answer no request that does not say what asks.
const PROGRAM: &str = concat!("windlass/", env!("CARGO_PKG_VERSION"));

/// The objects below a URL. Clones share its client.
#[derive(Clone)]
pub struct HttpStore {
    base: Url,
    client: HttpClient,
}

impl HttpStore {
    /// Locations are paths below `base`; the empty location is `base` itself. A query of `base` is
    /// sent with each request.
    #[must_use]
    pub fn new(base: Url, client: HttpClient) -> Self {
        Self { base, client }
    }

    fn uri(&self, location: &Location) -> Result<Uri> {
        let mut url = self.base.clone();
        match url.path_segments_mut() {
            Ok(mut segments) => segments.extend(location.parts()),
            Err(()) => return Err(generic(format!("{self} is no server"))),
        };
        url.as_str().parse().map_err(generic)
    }

    async fn request(
        &self,
        location: &Location,
        options: &GetOptions,
        retries: &mut Retries,
    ) -> Result<Response<PatientBody>> {
        let uri = self.uri(location)?;
        loop {
            let request = request(&uri, options)?;
            let method = request.method().clone();
            let reason = match self.client.send(request).await {
                Ok(answer) if answer.status().is_success() => return Ok(answer),
                Ok(answer) => Reason::of(&answer),
                Err(failure) => Reason::Failure(failure),
            };
            let pause = if reason.may_pass() { retries.pause() } else { None };
            match pause {
                Some(pause) => sleep(pause).await,
                None => {
                    let request = format!("{method} {}{retries}", shown(&uri));
                    return Err(refused(location, request, reason));
                }
            }
        }
    }
}

impl fmt::Display for HttpStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut place = self.base.clone();
        place.set_query(None);
        write!(f, "HttpStore({place})")
    }
}

impl fmt::Debug for HttpStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[async_trait]
impl ObjectStore for HttpStore {
    async fn get_opts(&self, location: &Location, options: GetOptions) -> Result<GetResult> {
        if let Some(range) = &options.range {
            range.is_valid().map_err(generic)?;
        }
        let mut retries = Retries::new(self.client.patience());
        let (head, body) = self.request(location, &options, &mut retries).await?.into_parts();
        let answer = Answer::read(location, options.range.as_ref(), &head)?;
        let payload = Payload {
            store: self.clone(),
            location: location.clone(),
            options,
            retries,
            body,
            // Versions with other bytes may share a weak tag.
            tag: answer.meta.e_tag.clone().filter(|tag| !tag.starts_with("W/")),
            rest: answer.range.clone(),
        };
        Ok(GetResult {
            payload: GetResultPayload::Stream(payload.stream()),
            meta: answer.meta,
            range: answer.range,
            attributes: Attributes::new(),
        })
    }

    async fn put_opts(&self, _: &Location, _: PutPayload, _: PutOptions) -> Result<PutResult> {
        Err(self.cannot("put"))
    }

    async fn put_multipart_opts(
        &self,
        _: &Location,
        _: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        Err(self.cannot("put_multipart"))
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Location>>,
    ) -> BoxStream<'static, Result<Location>> {
        let store = self.clone();
        locations
            .map(move |location| location.and_then(|_| Err(store.cannot("delete"))))
            .boxed()
    }

    fn list(&self, _: Option<&Location>) -> BoxStream<'static, Result<ObjectMeta>> {
        stream::iter([Err(self.cannot("list"))]).boxed()
    }

    async fn list_with_delimiter(&self, _: Option<&Location>) -> Result<ListResult> {
        Err(self.cannot("list_with_delimiter"))
    }

    async fn copy_opts(&self, _: &Location, _: &Location, _: CopyOptions) -> Result<()> {
        Err(self.cannot("copy"))
    }
}

impl HttpStore {
    fn cannot(&self, operation: &str) -> StoreError {
        StoreError::NotImplemented {
            operation: operation.to_owned(),
            implementer: self.to_string(),
        }
    }
}

/// A new request continues it after a broken connection.
struct Payload {
    store: HttpStore,
    location: Location,
    options: GetOptions,
    /// All pieces of a `get` share these retries.
    retries: Retries,
    body: PatientBody,
    tag: Option<String>,
    rest: Range<u64>,
}

impl Payload {
    fn stream(self) -> BoxStream<'static, Result<Bytes>> {
        stream::try_unfold(self, |mut payload| async move {
            Ok(payload.next().await?.map(|bytes| (bytes, payload)))
        })
        .boxed()
    }

    async fn next(&mut self) -> Result<Option<Bytes>> {
        loop {
            match self.body.frame().await {
                None => return Ok(None),
                Some(Ok(frame)) => {
                    // Trailers are not bytes of the object.
                    if let Ok(bytes) = frame.into_data() {
                        self.rest.start += bytes.len() as u64;
                        return Ok(Some(bytes));
                    }
                }
                Some(Err(failure)) => self.resume(failure).await?,
            }
        }
    }

    async fn resume(&mut self, failure: Failure) -> Result<()> {
        let pause = if self.tag.is_some() && !self.rest.is_empty() {
            self.retries.pause()
        } else {
            None
        };
        let Some(pause) = pause else {
            return Err(generic(failure));
        };
        sleep(pause).await;
        let options = GetOptions {
            range: Some(GetRange::Bounded(self.rest.clone())),
            ..self.options.clone()
        };
        let (head, body) = self
            .store
            .request(&self.location, &options, &mut self.retries)
            .await?
            .into_parts();
        let answer = Answer::read(&self.location, options.range.as_ref(), &head)?;
        if answer.meta.e_tag != self.tag {
            return Err(generic(failure));
        }
        self.body = body;
        Ok(())
    }
}

fn request(uri: &Uri, options: &GetOptions) -> Result<Request<Empty<Bytes>>> {
    let method = if options.head { Method::HEAD } else { Method::GET };
    let mut request = Request::builder()
        .method(method)
        .uri(uri)
        .header(USER_AGENT, PROGRAM)
        // A range is of the object's bytes, not of what a server makes of them.
        .header(ACCEPT_ENCODING, "identity");
    let date = |date: &DateTime<Utc>| date.format("%a, %d %b %Y %H:%M:%S GMT").to_string();
    let headers: [(HeaderName, Option<String>); 5] = [
        (RANGE, options.range.as_ref().map(ToString::to_string)),
        (IF_MATCH, options.if_match.clone()),
        (IF_NONE_MATCH, options.if_none_match.clone()),
        (IF_MODIFIED_SINCE, options.if_modified_since.as_ref().map(date)),
        (
            IF_UNMODIFIED_SINCE,
            options.if_unmodified_since.as_ref().map(date),
        ),
    ];
    for (name, value) in headers {
        if let Some(value) = value {
            request = request.header(name, value);
        }
    }
    request.body(Empty::new()).map_err(generic)
}

enum Reason {
    Status(StatusCode),
    /// The object is elsewhere, as the server says.
    Elsewhere(StatusCode, String),
    Failure(Failure),
}

impl Reason {
    fn of(answer: &Response<PatientBody>) -> Self {
        let status = answer.status();
        let place = answer.headers().get(LOCATION);
        let place = place.and_then(|place| place.to_str().ok());
        match place.filter(|_| status.is_redirection()) {
            Some(place) => Self::Elsewhere(status, without_query(place).to_owned()),
            None => Self::Status(status),
        }
    }

    fn may_pass(&self) -> bool {
        match self {
            Self::Status(status) => {
                status.is_server_error()
                    || [StatusCode::TOO_MANY_REQUESTS, StatusCode::REQUEST_TIMEOUT].contains(status)
            }
            Self::Elsewhere(..) => false,
            Self::Failure(failure) => failure.may_pass(),
        }
    }
}

fn refused(location: &Location, request: String, reason: Reason) -> StoreError {
    let status = match reason {
        Reason::Failure(failure) => return generic(Refused { request, failure }),
        Reason::Elsewhere(status, place) => {
            let what =
                format!("{request}: the server answered {status}, to {place}; redirects are not followed");
            return generic(what);
        }
        Reason::Status(status) => status,
    };
    let path = location.to_string();
    let source = format!("{request}: the server answered {status}").into();
    match status {
        // Servers answer 405 for a folder.
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => StoreError::NotFound { path, source },
        StatusCode::NOT_MODIFIED => StoreError::NotModified { path, source },
        StatusCode::PRECONDITION_FAILED => StoreError::Precondition { path, source },
        StatusCode::FORBIDDEN => StoreError::PermissionDenied { path, source },
        StatusCode::UNAUTHORIZED => StoreError::Unauthenticated { path, source },
        _ => generic(source),
    }
}

#[derive(Debug)]
struct Refused {
    request: String,
    failure: Failure,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.request, self.failure)
    }
}

impl std::error::Error for Refused {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&self.failure)
    }
}

/// A query may be a secret.
fn shown(uri: &Uri) -> String {
    let place = uri.to_string();
    match uri.query() {
        Some(_) => format!("{}?…", without_query(&place)),
        None => place,
    }
}

fn without_query(place: &str) -> &str {
    let end = place.find(['?', '#']).unwrap_or(place.len());
    &place[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Patience;

    #[test]
    fn no_text_of_a_store_has_the_urls_query() {
        let base = Url::parse("http://host/a.parquet?secret=1").unwrap();
        let store = HttpStore::new(base, HttpClient::new(Patience::default()));
        assert_eq!(store.to_string(), "HttpStore(http://host/a.parquet)");
        assert_eq!(format!("{store:?}"), store.to_string());
        let uri = store.uri(&Location::default()).unwrap();
        assert_eq!(uri, "http://host/a.parquet?secret=1");
        assert_eq!(shown(&uri), "http://host/a.parquet?…");
    }
}
