//! Lines around findings: they are read again when they are printed, a window of the file at a time.

use std::io;
use std::ops::Range;

use memchr::{memchr, memrchr};

use crate::output::ReadAt;

/// Bytes that are read at a time.
const WINDOW: u64 = 32 << 10;

/// A line longer than this is cut.
const LONGEST: u64 = 8 << 20;

#[derive(Debug, Default)]
pub(crate) struct Around {
    /// Where the window begins.
    offset: u64,
    bytes: Vec<u8>,
    /// The file has no more bytes than those in the window.
    ended: bool,
    converts: bool,
}

impl Around {
    /// `converts`: a NUL is the end of a line.
    pub(crate) fn new(converts: bool) -> Self {
        Self {
            converts,
            ..Self::default()
        }
    }

    /// The bytes of `range`; fewer if the file is shorter than it was.
    pub(crate) fn bytes(&mut self, source: &mut dyn ReadAt, range: Range<u64>) -> io::Result<&[u8]> {
        self.cover(source, range.clone())?;
        Ok(self.within(&range))
    }

    /// The line that begins at `from`, up to `until` at the most.
    pub(crate) fn line(
        &mut self,
        source: &mut dyn ReadAt,
        from: u64,
        until: u64,
    ) -> io::Result<Option<Range<u64>>> {
        let longest = until.min(from.saturating_add(LONGEST));
        let (mut len, mut searched) = (256, 0);
        loop {
            let end = longest.min(from + len);
            let bytes = self.bytes(source, from..end)?;
            if let Some(newline) = memchr(b'\n', &bytes[searched..]) {
                return Ok(Some(from..from + (searched + newline) as u64 + 1));
            }
            searched = bytes.len();
            let read = from + searched as u64;
            if read < end || read == longest {
                return Ok((read > from).then_some(from..read));
            }
            len *= 2;
        }
    }

    /// Where the line begins that ends at `end`, not before `from`.
    pub(crate) fn begin(&mut self, source: &mut dyn ReadAt, from: u64, end: u64) -> io::Result<u64> {
        let from = from.max(end.saturating_sub(LONGEST));
        let mut len = 256;
        loop {
            let start = from.max(end.saturating_sub(len));
            let bytes = self.bytes(source, start..end)?;
            let content = bytes.len().saturating_sub(1);
            match memrchr(b'\n', &bytes[..content]) {
                Some(newline) => return Ok(start + newline as u64 + 1),
                None if start == from => return Ok(from),
                None => len *= 2,
            }
        }
    }

    fn cover(&mut self, source: &mut dyn ReadAt, range: Range<u64>) -> io::Result<()> {
        let end = self.offset + self.bytes.len() as u64;
        if range.start >= self.offset && (range.end <= end || (self.ended && range.start <= end)) {
            return Ok(());
        }
        // A line before the window is followed by one before it.
        let back = if range.start < self.offset { WINDOW / 2 } else { 0 };
        self.offset = range.start.saturating_sub(back);
        let len = (range.end - self.offset).max(WINDOW);
        self.bytes.resize(usize::try_from(len).unwrap_or(usize::MAX), 0);
        let read = source.read_at(self.offset, &mut self.bytes);
        let (read, outcome) = match read {
            Ok(read) => (read, Ok(())),
            Err(error) => (0, Err(error)),
        };
        self.ended = outcome.is_ok() && read < self.bytes.len();
        self.bytes.truncate(read);
        if self.converts {
            for byte in &mut self.bytes {
                if *byte == 0 {
                    *byte = b'\n';
                }
            }
        }
        outcome
    }

    fn within(&self, range: &Range<u64>) -> &[u8] {
        let place = |offset: u64| {
            let place = usize::try_from(offset.saturating_sub(self.offset)).unwrap_or(usize::MAX);
            place.min(self.bytes.len())
        };
        &self.bytes[place(range.start)..place(range.end)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_forwards_and_backwards_across_windows() {
        let mut text = Vec::new();
        for line in 0..4_000_usize {
            text.extend(std::iter::repeat_n(b'x', line * 31 % 500));
            text.push(b'\n');
        }
        text.extend(b"unended");
        let (mut source, mut around) = (&text[..], Around::default());
        let mut starts = vec![0];
        while let Some(line) = around
            .line(&mut source, starts[starts.len() - 1], u64::MAX)
            .expect("it is memory")
        {
            starts.push(line.end);
        }
        assert_eq!(starts.len(), 4_002);
        assert_eq!(starts.last(), Some(&(text.len() as u64)));
        for pair in starts.windows(2).rev() {
            let begin = around.begin(&mut source, 0, pair[1]).expect("it is memory");
            assert_eq!(begin, pair[0]);
        }
    }

    #[test]
    fn a_file_that_became_shorter_has_fewer_bytes() {
        let (mut source, mut around) = (&b"ab"[..], Around::default());
        assert_eq!(around.bytes(&mut source, 1..9).expect("it is memory"), b"b");
        assert_eq!(around.bytes(&mut source, 5..9).expect("it is memory"), b"");
        assert_eq!(around.line(&mut source, 7, 9).expect("it is memory"), None);
    }
}
