//! Whole messages out of a stream of bytes, each within a bound.

use std::io;

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

use super::sql_error::SqlError;

const READ: usize = 8 * 1024;

/// Bytes that were read of a connection and not taken yet.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    buffer: BytesMut,
}

/// Why there is no next message.
#[derive(Debug)]
pub(crate) enum FrameError {
    /// The connection broke, or ended inside a message.
    Io(io::Error),
    /// Longer than `bytes_max`, or shorter than its own length field.
    Wrong(SqlError),
}

impl Frames {
    /// Waits for the next message; `None` at the connection's end. A body beyond `bytes_max` is an
    /// error before it is read. May be dropped at any time: read bytes stay.
    pub(crate) async fn next(
        &mut self,
        stream: &mut (impl AsyncRead + Unpin),
        bytes_max: usize,
    ) -> Result<Option<(u8, Bytes)>, FrameError> {
        loop {
            if let Some(frame) = self.take(bytes_max)? {
                return Ok(Some(frame));
            }
            if !self.fill(stream).await? {
                return Ok(None);
            }
        }
    }

    /// Reads ahead until the connection ends, and returns why. Pending for ever once `bytes_max`
    /// bytes wait. May be dropped at any time.
    pub(crate) async fn watch(
        &mut self,
        stream: &mut (impl AsyncRead + Unpin),
        bytes_max: usize,
    ) -> io::Error {
        loop {
            if self.buffer.len() >= bytes_max {
                std::future::pending::<()>().await;
            }
            match self.fill(stream).await {
                Ok(true) => {}
                Ok(false) => return io::ErrorKind::ConnectionAborted.into(),
                Err(FrameError::Io(error)) => return error,
                Err(FrameError::Wrong(_)) => return io::ErrorKind::InvalidData.into(),
            }
        }
    }

    /// A connection's first message has no type.
    pub(crate) async fn untyped(
        &mut self,
        stream: &mut (impl AsyncRead + Unpin),
        bytes_max: usize,
    ) -> Result<Option<Bytes>, FrameError> {
        loop {
            if self.buffer.len() >= 4 {
                let length = body_length(&self.buffer[..4], bytes_max)?;
                if self.buffer.len() >= 4 + length {
                    self.buffer.advance(4);
                    return Ok(Some(self.buffer.split_to(length).freeze()));
                }
            }
            if !self.fill(stream).await? {
                return Ok(None);
            }
        }
    }

    pub(crate) fn has_more(&self) -> bool {
        !self.buffer.is_empty()
    }

    fn take(&mut self, bytes_max: usize) -> Result<Option<(u8, Bytes)>, FrameError> {
        if self.buffer.len() < 5 {
            return Ok(None);
        }
        let length = body_length(&self.buffer[1..5], bytes_max)?;
        if self.buffer.len() < 5 + length {
            return Ok(None);
        }
        let kind = self.buffer.get_u8();
        self.buffer.advance(4);
        Ok(Some((kind, self.buffer.split_to(length).freeze())))
    }

    /// Whether bytes came. An end inside a message is an error.
    async fn fill(&mut self, stream: &mut (impl AsyncRead + Unpin)) -> Result<bool, FrameError> {
        self.buffer.reserve(READ);
        let read = stream.read_buf(&mut self.buffer).await.map_err(FrameError::Io)?;
        if read == 0 && !self.buffer.is_empty() {
            return Err(FrameError::Io(io::ErrorKind::UnexpectedEof.into()));
        }
        Ok(read > 0)
    }
}

/// `field` counts itself.
fn body_length(field: &[u8], bytes_max: usize) -> Result<usize, FrameError> {
    let length = field.iter().fold(0_u64, |sum, &byte| sum << 8 | u64::from(byte));
    match length.checked_sub(4) {
        None => Err(FrameError::Wrong(SqlError::protocol("a message has no length"))),
        Some(length) if length > bytes_max as u64 => {
            let what = format!("a message has {length} bytes, this server takes {bytes_max}");
            Err(FrameError::Wrong(SqlError::fatal("54000", what)))
        }
        Some(length) => Ok(length as usize),
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;

    use super::*;

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.unwrap().block_on(future)
    }

    #[test]
    fn messages_come_whole_whatever_the_reads_are() {
        let bytes = b"Q\0\0\0\x05aX\0\0\0\x04";
        for cut in 0..=bytes.len() {
            let (first, second) = bytes.split_at(cut);
            let mut stream = AsyncReadExt::chain(first, second);
            let mut frames = Frames::default();
            let mut next = || block_on(frames.next(&mut stream, 100)).unwrap();
            assert_eq!(next(), Some((b'Q', Bytes::from_static(b"a"))));
            assert_eq!(next(), Some((b'X', Bytes::new())));
            assert_eq!(next(), None);
        }
    }

    #[test]
    fn a_long_message_is_refused_before_its_body_comes() {
        let mut frames = Frames::default();
        let mut stream = &b"Q\x7f\xff\xff\xff"[..];
        match block_on(frames.next(&mut stream, 1_000)) {
            Err(FrameError::Wrong(error)) => assert_eq!(error.code, "54000"),
            other => panic!("{other:?}"),
        }
        let mut stream = &b"Q\0\0\0\x03"[..];
        let wrong = block_on(Frames::default().next(&mut stream, 1_000));
        assert!(matches!(wrong, Err(FrameError::Wrong(_))), "{wrong:?}");
    }

    #[test]
    fn an_end_inside_a_message_is_an_error() {
        let mut stream = &b"Q\0\0\0\x09ab"[..];
        let ended = block_on(Frames::default().next(&mut stream, 1_000));
        assert!(matches!(ended, Err(FrameError::Io(_))), "{ended:?}");
    }
}
