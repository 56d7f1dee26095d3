//! One file of an HTTP server: requests for its bytes, each answer compared with a version.

use std::error::Error as StdError;
use std::fmt;
use std::ops::Range;

use bytes::Bytes;
use futures_util::StreamExt as _;
use http_store::{HttpClient, HttpStore};
use object_store::path::Path as Location;
use object_store::{
    Error, GetOptions, GetRange, GetResult, GetResultPayload, ObjectMeta, ObjectStore, Result,
};

use super::address::TableUrl;
use super::version::RemoteVersion;

const STORE: &str = "URL";

#[derive(Clone, Debug)]
pub(crate) struct RemoteFile {
    pub(crate) url: TableUrl,
    store: HttpStore,
}

impl RemoteFile {
    pub(crate) fn new(url: TableUrl, client: HttpClient) -> Self {
        Self {
            store: HttpStore::new(url.url().clone(), client),
            url,
        }
    }

    /// Asks for one byte: the answer has all that a look needs, and shows whether the server gives
    /// ranges. Links with a signature are often for GET alone.
    pub(crate) async fn look(&self) -> Result<ObjectMeta> {
        let options = GetOptions {
            range: Some(GetRange::Bounded(0..1)),
            ..GetOptions::default()
        };
        let answer = self.ask(options).await?;
        let meta = answer.meta.clone();
        // So that its connection is used again.
        answer.bytes().await.map_err(|error| self.told(error))?;
        Ok(meta)
    }

    /// Fails if the file has another version.
    pub(crate) async fn get(&self, options: GetOptions, name: &str) -> Result<GetResult> {
        let answer = self.ask(options).await?;
        let version = RemoteVersion::of(&answer.meta);
        if version.is_none_or(|version| version.name() != name) {
            return Err(self.changed());
        }
        let GetResult {
            payload,
            meta,
            range,
            attributes,
        } = answer;
        let file = self.clone();
        let payload = match payload {
            GetResultPayload::Stream(body) => {
                let body = body.map(move |bytes| bytes.map_err(|error| file.told(error)));
                GetResultPayload::Stream(body.boxed())
            }
            other => other,
        };
        Ok(GetResult {
            payload,
            meta,
            range,
            attributes,
        })
    }

    pub(crate) async fn bytes(&self, range: Range<u64>, name: &str) -> Result<Bytes> {
        let options = GetOptions {
            range: Some(GetRange::Bounded(range)),
            ..GetOptions::default()
        };
        self.get(options, name).await?.bytes().await
    }

    async fn ask(&self, options: GetOptions) -> Result<GetResult> {
        let answered = self.store.get_opts(&Location::default(), options).await;
        answered.map_err(|error| self.told(error))
    }

    fn changed(&self) -> Error {
        Error::Precondition {
            path: self.url.to_string(),
            source: "the file has changed since the statement began: run it again".into(),
        }
    }

    /// With the URL, what the server said, and what helps.
    fn told(&self, error: Error) -> Error {
        let advice = match &error {
            Error::NotFound { .. } => "is the URL right, and the file still there?",
            Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => {
                "the server lets only some read it, and windlass sends no password"
            }
            Error::NotSupported { .. } => {
                return self.generic(format_args!(
                    "the server gives no parts of files (ranges), which tables need: download the file, or serve \
                     it by another server"
                ));
            }
            Error::Precondition { .. } => return self.changed(),
            _ => "",
        };
        let said = causes(&error);
        let advice = match advice {
            "" if said.contains("the server answered 416") => "the file is empty, or shorter than it was",
            advice => advice,
        };
        match advice {
            "" => self.generic(format_args!("{said}")),
            advice => self.generic(format_args!("{said}; {advice}")),
        }
    }

    fn generic(&self, what: fmt::Arguments<'_>) -> Error {
        let (what, url) = (what.to_string(), self.url.to_string());
        let source = if what.contains(&url) {
            what
        } else {
            format!("{url}: {what}")
        };
        Error::Generic {
            store: STORE,
            source: source.into(),
        }
    }
}

/// What an error and its causes say, each once. The request's URL is told by the caller.
pub(crate) fn causes(error: &Error) -> String {
    let mut next: Option<&(dyn StdError + 'static)> = match error {
        // Their own text names the location, which is empty.
        Error::NotFound { source, .. }
        | Error::PermissionDenied { source, .. }
        | Error::Unauthenticated { source, .. }
        | Error::Precondition { source, .. }
        | Error::NotModified { source, .. }
        | Error::Generic { source, .. } => Some(source.as_ref()),
        other => Some(other),
    };
    let mut text = String::new();
    while let Some(error) = next {
        let more = error.to_string();
        if !text.contains(&more) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&more);
        }
        next = error.source();
    }
    text
}
