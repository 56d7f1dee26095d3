//! The error of a stream.

use std::error::Error;
use std::fmt;
use std::io;

use crate::error::{CpuError, MixedError, WrongPool};

/// Why a stream did not reach its end.
#[derive(Debug)]
#[non_exhaustive]
pub enum StreamError<E> {
    /// The source failed.
    Source(E),
    /// The source or an [`on_close`](super::BatchStream::on_close) call panicked.
    Panicked {
        /// The panic's message.
        message: String,
    },
    /// A slice failed.
    Slice(E),
    /// A slice panicked, or the CPU pool did not run it.
    Cpu(CpuError),
    /// A [`StreamHandle`](super::StreamHandle) closed it before everything was read.
    Closed,
    /// The mixed pool ended first.
    PoolsEnded,
    /// The mixed pool could not start.
    Unavailable(io::Error),
    /// A CPU task started the stream or asked for a batch.
    WrongPool(WrongPool),
    /// Async code made this blocking call instead of awaiting.
    InAsync {
        /// Its name.
        call: &'static str,
    },
}

impl<E> StreamError<E> {
    /// Returns the source's or slice's error.
    pub fn into_inner(self) -> Option<E> {
        match self {
            Self::Source(error) | Self::Slice(error) => Some(error),
            _ => None,
        }
    }
}

impl<E> From<MixedError> for StreamError<E> {
    fn from(error: MixedError) -> Self {
        match error {
            MixedError::WrongPool(wrong) => Self::WrongPool(wrong),
            MixedError::InAsync { call } => Self::InAsync { call },
            MixedError::Panicked { message } => Self::Panicked { message },
            MixedError::Cancelled | MixedError::Closed => Self::PoolsEnded,
            MixedError::Unavailable(error) => Self::Unavailable(error),
        }
    }
}

impl<E> From<WrongPool> for StreamError<E> {
    fn from(error: WrongPool) -> Self {
        Self::WrongPool(error)
    }
}

impl<E: fmt::Display> fmt::Display for StreamError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(error) => write!(f, "reading failed: {error}"),
            Self::Panicked { message } => write!(f, "the source of the stream panicked: {message}"),
            Self::Slice(error) => write!(f, "a slice failed: {error}"),
            Self::Cpu(error) => write!(f, "a slice was not computed: {error}"),
            Self::Closed => f.write_str("the stream was closed before everything was read"),
            Self::PoolsEnded => f.write_str("the mixed pool ended before the stream did"),
            Self::Unavailable(error) => write!(f, "the mixed pool cannot be started: {error}"),
            Self::WrongPool(error) => error.fmt(f),
            Self::InAsync { call } => write!(
                f,
                "`{call}` blocks and was called in async code; await the next batch there, or read on a thread that may block"
            ),
        }
    }
}

impl<E: Error + 'static> Error for StreamError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Source(error) | Self::Slice(error) => Some(error),
            Self::Cpu(error) => Some(error),
            Self::Unavailable(error) => Some(error),
            // `Display` shows it in full.
            Self::WrongPool(error) => error.source(),
            Self::Panicked { .. } | Self::Closed | Self::PoolsEnded | Self::InAsync { .. } => None,
        }
    }
}
