//! The head of an answer: the object and the bytes in the body.

use std::ops::Range;

use chrono::{DateTime, Utc};
use hyper::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderName, LAST_MODIFIED};
use hyper::http::response::Parts;
use hyper::{HeaderMap, StatusCode};
use object_store::path::Path as Location;
use object_store::{Error as StoreError, GetRange, ObjectMeta};

use super::failure::{Result, generic};

#[derive(Debug)]
pub(super) struct Answer {
    pub(super) meta: ObjectMeta,
    /// The object's bytes in the body.
    pub(super) range: Range<u64>,
}

impl Answer {
    /// Checks that the body has what was `asked` for, or the whole object.
    pub(super) fn read(location: &Location, asked: Option<&GetRange>, head: &Parts) -> Result<Self> {
        if let Some(encoding) = text(&head.headers, CONTENT_ENCODING)?
            && encoding != "identity"
        {
            return Err(generic(format!("the answer is packed, as {encoding}")));
        }
        let (size, range) = match asked {
            Some(asked) => part(location, asked, head)?,
            None => {
                let size = text(&head.headers, CONTENT_LENGTH)?
                    .ok_or_else(|| generic("the answer does not say how long the object is"))?;
                let size = size
                    .parse()
                    .map_err(|_| generic(format!("the answer's length is no number: {size}")))?;
                (size, 0..size)
            }
        };
        let last_modified = match text(&head.headers, LAST_MODIFIED)? {
            Some(date) => DateTime::parse_from_rfc2822(date)
                .map_err(|error| generic(format!("the answer's date `{date}`: {error}")))?
                .with_timezone(&Utc),
            // The type needs a time, and no condition uses it.
            None => DateTime::UNIX_EPOCH,
        };
        Ok(Self {
            meta: ObjectMeta {
                location: location.clone(),
                last_modified,
                size,
                e_tag: text(&head.headers, ETAG)?.map(str::to_owned),
                version: None,
            },
            range,
        })
    }
}

/// The object's size and the answered part, which must be the requested one.
fn part(location: &Location, asked: &GetRange, head: &Parts) -> Result<(u64, Range<u64>)> {
    if head.status != StatusCode::PARTIAL_CONTENT {
        return Err(StoreError::NotSupported {
            source: format!("the server gives no part of {location}, only the whole of it").into(),
        });
    }
    let said = text(&head.headers, CONTENT_RANGE)?
        .ok_or_else(|| generic("the answer does not say which part of the object it has"))?;
    let (range, size) =
        content_range(said).ok_or_else(|| generic(format!("the answer's part cannot be read: {said}")))?;
    let asked = asked.as_range(size).map_err(generic)?;
    if range != asked {
        return Err(generic(format!(
            "the answer has bytes {range:?} where {asked:?} were asked for"
        )));
    }
    Ok((size, range))
}

/// Parses `bytes first-last/size` into range and size.
fn content_range(said: &str) -> Option<(Range<u64>, u64)> {
    let (range, size) = said.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
    Some((first..last.checked_add(1)?, size.parse().ok()?))
}

fn text(headers: &HeaderMap, name: HeaderName) -> Result<Option<&str>> {
    let value = headers.get(&name).map(|value| value.to_str());
    value
        .transpose()
        .map_err(|_| generic(format!("the answer's `{name}` is no text")))
}

#[cfg(test)]
mod tests {
    use hyper::Response;

    use super::*;

    fn head(status: u16, headers: &[(&str, &str)]) -> Parts {
        let response = Response::builder().status(status);
        let response = headers
            .iter()
            .fold(response, |response, (name, value)| response.header(*name, *value));
        response.body(()).unwrap().into_parts().0
    }

    fn read(asked: Option<Range<u64>>, head: &Parts) -> Result<Answer> {
        Answer::read(&"a".into(), asked.map(GetRange::Bounded).as_ref(), head)
    }

    #[test]
    fn a_whole_object_is_as_long_as_its_body() {
        let head = head(
            200,
            &[
                ("content-length", "7"),
                ("etag", "\"x\""),
                ("last-modified", "Sat, 01 Nov 2025 00:00:00 GMT"),
            ],
        );
        let answer = read(None, &head).unwrap();
        assert_eq!((answer.range, answer.meta.size), (0..7, 7));
        assert_eq!(answer.meta.e_tag.as_deref(), Some("\"x\""));
        assert_eq!(answer.meta.last_modified.timestamp(), 1_761_955_200);
    }

    #[test]
    fn a_part_has_the_size_of_the_object_with_it() {
        let head = head(206, &[("content-range", "bytes 2-4/10")]);
        let answer = read(Some(2..5), &head).unwrap();
        assert_eq!((answer.range, answer.meta.size), (2..5, 10));
        let end = self::head(206, &[("content-range", "bytes 8-9/10")]);
        assert_eq!(read(Some(8..12), &end).unwrap().range, 8..10);
    }

    #[test]
    fn an_answer_with_other_bytes_or_an_unreadable_head_is_an_error() {
        for (status, headers, why) in [
            (200, &[("content-length", "10")][..], "only the whole of it"),
            (206, &[], "does not say which part"),
            (206, &[("content-encoding", "gzip")], "packed, as gzip"),
            (
                206,
                &[("content-range", "bytes 2-4")],
                "cannot be read: bytes 2-4",
            ),
            (206, &[("content-range", "bytes 3-4/10")], "bytes 3..5 where 2..5"),
            (
                206,
                &[("content-range", "bytes 2-18446744073709551615/10")],
                "cannot be read",
            ),
        ] {
            let error = read(Some(2..5), &head(status, headers)).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
        for (headers, why) in [
            (&[][..], "how long the object is"),
            (&[("content-length", "many")], "no number: many"),
            (
                &[("content-length", "1"), ("last-modified", "yesterday")],
                "date `yesterday`",
            ),
        ] {
            let error = read(None, &head(200, headers)).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
