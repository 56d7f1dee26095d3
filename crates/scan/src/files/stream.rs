//! A file that is read once, in order: a pipe.
//!
//! What was read is kept for a while in memory, or for good in a file without a name if lines around
//! findings must be read again.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::nameless::nameless;

/// Bytes that can be read again at any time: more than the largest chunk.
const KEPT: usize = 2 << 20;

/// Nanoseconds after which a reader without bytes looks whether the scan was cancelled.
const PATIENCE_NS: i64 = 20_000_000;

#[derive(Debug)]
pub(super) struct Stream(Mutex<State>);

#[derive(Debug)]
struct State {
    /// Absent after the end.
    source: Option<OwnedFd>,
    /// Bytes that have come.
    end: u64,
    kept: Kept,
}

#[derive(Debug)]
enum Kept {
    /// The last bytes.
    Last(Vec<u8>),
    /// All of them.
    All(File),
}

impl Stream {
    /// `again`: a folder for a file with all that was read.
    pub(super) fn new(source: OwnedFd, again: Option<&Path>) -> io::Result<Self> {
        let kept = match again {
            Some(folder) => Kept::All(nameless(folder)?),
            None => Kept::Last(Vec::new()),
        };
        Ok(Self(Mutex::new(State {
            source: Some(source),
            end: 0,
            kept,
        })))
    }

    pub(super) fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if offset == state.end {
            state.receive(into)
        } else {
            state.again(offset, into)
        }
    }
}

impl State {
    fn receive(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let Some(source) = self.source.as_ref().filter(|_| !into.is_empty()) else {
            return Ok(0);
        };
        let patience = Timespec {
            tv_sec: 0,
            tv_nsec: PATIENCE_NS,
        };
        // A descriptor that another process made non-blocking has nothing for now, either.
        let got = match poll(&mut [PollFd::new(source, PollFlags::IN)], Some(&patience))? {
            0 => return Err(io::ErrorKind::Interrupted.into()),
            _ => match rustix::io::read(source, &mut *into) {
                Err(rustix::io::Errno::AGAIN) => return Err(io::ErrorKind::Interrupted.into()),
                got => got?,
            },
        };
        if got == 0 {
            self.source = None;
        }
        let bytes = &into[..got];
        match &mut self.kept {
            Kept::All(file) => file.write_all_at(bytes, self.end)?,
            Kept::Last(last) => {
                if last.len() + got > 2 * KEPT {
                    last.drain(..last.len().saturating_sub(KEPT));
                }
                last.extend_from_slice(bytes);
            }
        }
        self.end += got as u64;
        Ok(got)
    }

    /// Bytes that have come before.
    fn again(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        match &self.kept {
            Kept::All(file) => file.read_at(into, offset),
            Kept::Last(last) => {
                let begin = self.end - last.len() as u64;
                let rest = offset
                    .checked_sub(begin)
                    .and_then(|skipped| last.get(usize::try_from(skipped).ok()?..))
                    .ok_or(io::ErrorKind::NotSeekable)?;
                let len = rest.len().min(into.len());
                into[..len].copy_from_slice(&rest[..len]);
                Ok(len)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn read(stream: &Stream, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; len];
        loop {
            match stream.read_at(offset, &mut bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                got => {
                    bytes.truncate(got?);
                    return Ok(bytes);
                }
            }
        }
    }

    #[test]
    fn what_has_come_can_be_read_again_and_a_pipe_that_is_silent_interrupts() {
        let folder = std::env::temp_dir();
        for again in [None, Some(folder.as_path())] {
            let (reader, mut writer) = io::pipe().expect("the system has pipes");
            let stream = Stream::new(reader.into(), again).expect("there is a folder");
            let silent = stream.read_at(0, &mut [0; 4]).expect_err("nothing has come");
            assert_eq!(silent.kind(), io::ErrorKind::Interrupted);
            writer.write_all(b"abcdef").expect("the pipe has room");
            drop(writer);
            assert_eq!(read(&stream, 0, 4).expect("it has come"), b"abcd");
            assert_eq!(read(&stream, 1, 9).expect("it has come"), b"bcd");
            assert_eq!(read(&stream, 4, 9).expect("it has come"), b"ef");
            assert_eq!(read(&stream, 6, 9).expect("that is the end"), b"");
            assert_eq!(read(&stream, 2, 2).expect("it has come"), b"cd");
        }
    }

    #[test]
    fn what_is_long_gone_is_an_error_unless_all_is_kept() {
        let folder = std::env::temp_dir();
        for again in [None, Some(folder.as_path())] {
            let (reader, mut writer) = io::pipe().expect("the system has pipes");
            let stream = Stream::new(reader.into(), again).expect("there is a folder");
            let mut end = 0;
            while end <= 3 * KEPT as u64 {
                writer.write_all(&[b'x'; 4_096]).expect("the pipe has room");
                end += read(&stream, end, 4_096).expect("it has come").len() as u64;
            }
            let near = end - KEPT as u64;
            assert_eq!(read(&stream, near, 9).expect("it is near"), b"xxxxxxxxx");
            let first = read(&stream, 0, 9);
            match again {
                Some(_) => assert_eq!(first.expect("all is kept"), b"xxxxxxxxx"),
                None => assert_eq!(first.expect_err("it is gone").kind(), io::ErrorKind::NotSeekable),
            }
        }
    }
}
