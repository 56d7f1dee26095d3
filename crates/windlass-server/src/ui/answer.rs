//! Answers, each with the headers that keep other pages out.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, SET_COOKIE};
use hyper::{Response, StatusCode};
use serde::Serialize;

use crate::wire::SqlError;

pub(super) type Answer = Response<Full<Bytes>>;

/// Scripts and styles are files of this server; what they put into the page is text.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
     img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; \
     frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

const HEADERS: &[(&str, &str)] = &[
    ("content-security-policy", CONTENT_SECURITY_POLICY),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
];

/// Why a request is not answered as it asks.
#[derive(Debug)]
pub(super) enum Refusal {
    Text(StatusCode, &'static str),
    Error(StatusCode, SqlError),
}

#[derive(Serialize)]
struct Failure<'a> {
    error: Error<'a>,
}

#[derive(Serialize)]
struct Error<'a> {
    code: &'a str,
    message: &'a str,
}

pub(super) fn of(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(body.into()));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    for (name, value) in HEADERS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    answer
}

pub(super) fn text(status: StatusCode, text: &'static str) -> Answer {
    of(status, "text/plain; charset=utf-8", text)
}

pub(super) fn json(status: StatusCode, value: &impl Serialize) -> Answer {
    match serde_json::to_vec(value) {
        Ok(bytes) => of(status, "application/json", bytes),
        Err(error) => {
            tracing::error!(%error, "an answer cannot be written");
            text(
                StatusCode::INTERNAL_SERVER_ERROR,
                "the answer cannot be written\n",
            )
        }
    }
}

pub(super) fn with_cookie(mut answer: Answer, cookie: &str) -> Answer {
    let headers: &mut HeaderMap = answer.headers_mut();
    // A cookie of ours has only letters of headers.
    if let Ok(value) = HeaderValue::from_str(cookie) {
        headers.insert(SET_COOKIE, value);
    }
    answer
}

impl Refusal {
    pub(super) fn answer(&self) -> Answer {
        match self {
            Self::Text(status, what) => text(*status, what),
            Self::Error(status, error) => {
                let (code, message) = (error.code, error.message.as_str());
                json(
                    *status,
                    &Failure {
                        error: Error { code, message },
                    },
                )
            }
        }
    }
}
