//! What a worker gets to know of a query besides its plan: the headers of each request.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hyper::header::{HeaderMap, HeaderValue};
use windlass_datafusion::{Class, WindlassOptions};

const QUERY: &str = "windlass-query";
const USER: &str = "windlass-user";
const CLASS: &str = "windlass-class";
const DEADLINE: &str = "windlass-deadline-ms";
const MAX_WORKERS: &str = "windlass-max-workers";
const MEMORY: &str = "windlass-memory";
const BATCH_SIZE: &str = "windlass-batch-size";

/// Letters of a query's name.
const NAME_MAX: usize = 64;

/// Bytes of a user's name in a header.
const USER_MAX: usize = 512;

/// A query as its coordinator describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QueryHeaders {
    /// Its name, the same on all workers and never used again.
    pub(crate) name: String,
    pub(crate) user: String,
    /// Its deadline counts from the first request.
    pub(crate) options: WindlassOptions,
    /// Number of rows of a batch, if the session has set it.
    pub(crate) batch_size: Option<usize>,
}

impl QueryHeaders {
    pub(crate) fn write(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let mut put = |name: &'static str, value: Option<String>| {
            if let Some(value) = value.and_then(|value| HeaderValue::try_from(value).ok()) {
                headers.insert(name, value);
            }
        };
        let options = &self.options;
        let millis = |time: Duration| time.as_millis().max(1).to_string();
        put(QUERY, Some(self.name.clone()));
        put(USER, Some(URL_SAFE_NO_PAD.encode(&self.user)));
        put(CLASS, Some(options.class.name().to_owned()));
        put(DEADLINE, options.deadline.map(millis));
        put(
            MAX_WORKERS,
            options.max_workers.map(|workers| workers.to_string()),
        );
        put(MEMORY, options.memory.map(|bytes| bytes.to_string()));
        put(BATCH_SIZE, self.batch_size.map(|rows| rows.to_string()));
        headers
    }

    /// Reads what [`write`](Self::write) wrote.
    ///
    /// # Errors
    ///
    /// The name of a header that is missing or wrong.
    pub(crate) fn read(headers: &HeaderMap) -> Result<Self, &'static str> {
        let text = |name: &'static str| match headers.get(name) {
            None => Ok(None),
            Some(value) => value.to_str().map(Some).map_err(|_| name),
        };
        let number = |name: &'static str| match text(name)? {
            None => Ok(None),
            Some(text) => text.parse::<u64>().map(Some).map_err(|_| name),
        };
        let size = |name: &'static str| {
            let number = number(name)?.map(usize::try_from);
            number.transpose().map_err(|_| name)
        };
        let query = text(QUERY)?.filter(|name| is_name(name)).ok_or(QUERY)?;
        let user = text(USER)?.filter(|user| user.len() <= USER_MAX).ok_or(USER)?;
        let user = URL_SAFE_NO_PAD.decode(user).ok();
        let class = text(CLASS)?.ok_or(CLASS)?;
        let class = Class::ALL.into_iter().find(|known| known.name() == class);
        Ok(Self {
            name: query.to_owned(),
            user: user.and_then(|user| String::from_utf8(user).ok()).ok_or(USER)?,
            options: WindlassOptions {
                class: class.ok_or(CLASS)?,
                deadline: number(DEADLINE)?.map(Duration::from_millis),
                max_workers: size(MAX_WORKERS)?,
                memory: size(MEMORY)?,
                // A part of a plan comes as its operators are.
                operators: false,
            },
            batch_size: size(BATCH_SIZE)?.filter(|&rows| rows > 0),
        })
    }
}

fn is_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    !name.is_empty() && name.len() <= NAME_MAX && name.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query() -> QueryHeaders {
        QueryHeaders {
            name: "7f-12-0".to_owned(),
            user: "Zoë".to_owned(),
            options: WindlassOptions {
                class: Class::Interactive,
                deadline: Some(Duration::from_millis(250)),
                max_workers: Some(2),
                memory: Some(1 << 20),
                operators: false,
            },
            batch_size: Some(1_024),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let full = query();
        assert_eq!(QueryHeaders::read(&full.write()), Ok(full));
        let bare = QueryHeaders {
            options: WindlassOptions::default(),
            batch_size: None,
            ..query()
        };
        assert_eq!(QueryHeaders::read(&bare.write()), Ok(bare));
    }

    #[test]
    fn a_header_that_is_missing_or_wrong_is_named() {
        assert_eq!(QueryHeaders::read(&HeaderMap::new()), Err(QUERY));
        let long = "a".repeat(65);
        for (name, value) in [
            (QUERY, ""),
            (QUERY, "../x"),
            (QUERY, long.as_str()),
            (USER, "%"),
            (CLASS, "urgent"),
            (DEADLINE, "-1"),
            (MAX_WORKERS, "two"),
            (MEMORY, "99999999999999999999"),
        ] {
            let mut headers = query().write();
            headers.insert(name, HeaderValue::from_str(value).unwrap());
            assert_eq!(QueryHeaders::read(&headers), Err(name), "{value}");
        }
    }
}
