//! Reads of a table while it opens.
//!
//! A cancellation or a deadline ends each wait for a slow store, but no blocking read of a file.

use std::future::Future;
use std::ops::Range;

use bytes::Bytes;
use columnar::ReadError;

use super::byte_source::ByteSource;
use crate::error::QueryError;
use crate::stop::Stop;
use crate::work::Work;

pub(crate) trait OpeningReads {
    type Error: From<ReadError>;

    /// Each range is below the length of `source`.
    fn read(&self, source: &dyn ByteSource, ranges: &[Range<u64>]) -> Result<Vec<Bytes>, Self::Error>;

    fn read_one(&self, source: &dyn ByteSource, range: Range<u64>) -> Result<Bytes, Self::Error> {
        let mut read = self.read(source, std::slice::from_ref(&range))?;
        Ok(read.pop().unwrap_or_default())
    }
}

pub(crate) struct Unstopped;

impl OpeningReads for Unstopped {
    type Error = ReadError;

    fn read(&self, source: &dyn ByteSource, ranges: &[Range<u64>]) -> Result<Vec<Bytes>, ReadError> {
        source.read(ranges)
    }
}

pub(crate) struct Opening<'a> {
    pub(crate) work: &'a Work,
    stop: Stop,
}

impl<'a> Opening<'a> {
    pub(crate) fn of(work: &'a Work) -> Result<Self, QueryError> {
        let stop = work.arm_stop()?;
        Ok(Self { work, stop })
    }

    /// An error says why the work stops, or why this thread must not wait.
    pub(crate) fn wait<T>(&self, answer: impl Future<Output = T>) -> Result<T, QueryError> {
        self.work.block_on(self.stop.unless_stopped(answer))
    }
}

impl OpeningReads for Opening<'_> {
    type Error = QueryError;

    fn read(&self, source: &dyn ByteSource, ranges: &[Range<u64>]) -> Result<Vec<Bytes>, QueryError> {
        self.stop.check()?;
        let read = match source.as_awaited() {
            Some(source) => self.wait(source.read_async(ranges))?,
            None => source.read(ranges),
        };
        Ok(read?)
    }
}
