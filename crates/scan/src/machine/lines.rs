//! Cuts a range of a file into pieces of whole lines.
//!
//! A range owns the lines that begin in it: all after its first end of a line, and the first range
//! also the file's first line. It reads on to the end of its last line. So every line has one owner,
//! whatever the ranges are.
//!
//! ```text
//!              ┌ begin            ┌ end
//!   ──line──\n─┼──line──\n──line──┼──line──\n──line──\n──
//!                        ╰───── owned ─────╯               and if a line begins at `end`, that one
//!
//!   block:  [ head │ page-aligned ]    the beginning of a line moves into the head
//! ```

use memchr::{memchr, memrchr};

use super::block::{Block, TAIL};
use super::long_line::LongLine;
use crate::encoding::Encoding;

/// Where bytes come from: fills the slice from the offset on, and returns how many there were, and
/// whether they are known to be the last.
pub(crate) type Read<'r, E> = dyn FnMut(u64, &mut [u8]) -> Result<(usize, bool), E> + 'r;

/// The cutter of one range.
#[derive(Debug)]
pub(crate) struct Lines<'b> {
    block: &'b mut Block,
    /// The beginning of a line that is longer than the block's head, while there is one.
    long: &'b mut LongLine,
    is_long: bool,
    max_line: usize,
    /// Bytes of the file, as far as is known.
    size: u64,
    end: Option<u64>,
    /// Where to read on.
    read_at: u64,
    /// What was read and not handed out, in `block` or `long`; `at` is its offset.
    lo: usize,
    hi: usize,
    at: u64,
    state: State,
    at_end_of_file: bool,
    /// Before this offset no line ends, from `at` on.
    lineless: u64,
    /// Whether `at` is within a line that was cut.
    within_line: bool,
    cut_lines: u64,
    /// Bytes before the text.
    mark: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The first end of a line in the range is not found yet.
    Seek,
    Lines,
    Done,
}

/// A range of a file and how it is cut.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    pub(crate) begin: u64,
    /// The last offset at which a line may begin.
    pub(crate) end: Option<u64>,
    /// Bytes of the file when it was opened, or 0.
    pub(crate) size: u64,
    pub(crate) max_line: usize,
    /// Whether a line begins at `begin`, whatever is before it.
    pub(crate) is_first: bool,
}

/// Whole lines.
#[derive(Debug)]
pub(crate) struct Cut<'l> {
    pub(crate) bytes: &'l [u8],
    pub(crate) offset: u64,
    /// Whether the file ends here.
    pub(crate) last: bool,
}

impl<'b> Lines<'b> {
    pub(crate) fn new(block: &'b mut Block, long: &'b mut LongLine, range: Range) -> Self {
        let start = block.start();
        Self {
            block,
            long,
            is_long: false,
            max_line: range.max_line.max(1),
            size: range.size,
            end: range.end,
            read_at: range.begin,
            lo: start,
            hi: start,
            at: range.begin,
            state: if range.is_first { State::Lines } else { State::Seek },
            at_end_of_file: false,
            lineless: 0,
            within_line: false,
            cut_lines: 0,
            mark: 0,
        }
    }

    /// Forgets what was read, and begins with `range`.
    pub(crate) fn restart(&mut self, range: Range) {
        let start = self.block.start();
        self.is_long = false;
        (self.size, self.end) = (range.size, range.end);
        (self.read_at, self.at) = (range.begin, range.begin);
        (self.lo, self.hi) = (start, start);
        self.at_end_of_file = false;
        self.lineless = 0;
    }

    /// Lines that were longer than the longest.
    pub(crate) fn cut_lines(&self) -> u64 {
        self.cut_lines
    }

    /// Where the first line begins that is not this range's, once its lines are handed out.
    pub(crate) fn owned_to(&self) -> u64 {
        if self.at_end_of_file && self.lo == self.hi {
            u64::MAX
        } else {
            self.at
        }
    }

    /// The first bytes of the range, which is the file's first: as many as a mark has, if there are
    /// so many.
    pub(crate) fn first<E>(&mut self, read: &mut Read<'_, E>) -> Result<&[u8], E> {
        while self.hi - self.lo < Encoding::MARK && !self.at_end_of_file {
            self.more(read)?;
        }
        Ok(self.bytes())
    }

    /// Whether all bytes of the file are at hand, and there are some.
    pub(crate) fn has_whole_file(&self) -> bool {
        self.at_end_of_file && self.lo < self.hi
    }

    /// The file's size is known now, before anything was handed out.
    pub(crate) fn set_size(&mut self, size: u64) {
        self.size = size;
        self.end = (size > 0).then_some(size);
    }

    /// The text begins after `mark` bytes of the file, and its offsets count from there.
    pub(crate) fn skip(&mut self, mark: u64) {
        self.mark = mark;
        if self.state == State::Lines && self.at == 0 {
            let skipped = (mark as usize).min(self.hi - self.lo);
            self.lo += skipped;
            self.at += skipped as u64;
        }
    }

    /// The next whole lines.
    pub(crate) fn next<E>(&mut self, read: &mut Read<'_, E>) -> Result<Option<Cut<'_>>, E> {
        loop {
            match self.state {
                State::Done => return Ok(None),
                State::Seek => self.seek(read)?,
                State::Lines => {
                    if let Some(len) = self.ready() {
                        return Ok(Some(self.hand_out(len)));
                    }
                    if self.state == State::Lines {
                        self.more(read)?;
                    }
                }
            }
        }
    }

    fn seek<E>(&mut self, read: &mut Read<'_, E>) -> Result<(), E> {
        self.lo = self.hi;
        self.more(read)?;
        let rest = self.end.map_or(u64::MAX, |end| end.saturating_sub(self.at));
        let in_range = usize::try_from(rest).map_or(self.hi, |rest| self.hi.min(self.lo + rest));
        match memchr(b'\n', &self.block.bytes()[self.lo..in_range]) {
            Some(newline) => {
                self.lo += newline + 1;
                self.at += newline as u64 + 1;
                self.state = State::Lines;
            }
            None if self.at_end_of_file
                || in_range < self.hi
                || self.end.is_some_and(|end| self.read_at >= end) =>
            {
                self.state = State::Done;
            }
            None => self.at = self.read_at,
        }
        Ok(())
    }

    /// How many of the bytes at hand can be handed out. Without an answer more must be read, or the
    /// range is done.
    fn ready(&mut self) -> Option<usize> {
        let (at, end, lineless) = (self.at, self.end, self.lineless);
        if !self.within_line && end.is_some_and(|end| at > end) {
            self.state = State::Done;
            return None;
        }
        let at_end_of_file = self.at_end_of_file;
        let max_line = self.max_line;
        let bytes = self.bytes();
        let len = bytes.len();
        if len == 0 {
            if at_end_of_file {
                self.state = State::Done;
            }
            return None;
        }
        let own = end.map_or(len as u64, |end| end.saturating_sub(at).min(len as u64));
        let own = usize::try_from(own).unwrap_or(len);
        // What was looked through before more was read.
        let seen = usize::try_from(lineless.saturating_sub(at)).map_or(len, |seen| seen.min(len));
        let behind = own.max(seen);
        let whole = match memchr(b'\n', &bytes[behind..]) {
            Some(newline) => Some(behind + newline + 1),
            _ if at_end_of_file => Some(len),
            _ => memrchr(b'\n', &bytes[seen..]).map(|newline| seen + newline + 1),
        };
        if whole.is_none() {
            self.lineless = at + len as u64;
        }
        match whole {
            Some(whole) if whole <= max_line => Some(whole),
            Some(whole) => Some(self.up_to_long_line(whole)),
            None if len > max_line => {
                self.cut_lines += u64::from(!self.within_line);
                Some(max_line)
            }
            None => None,
        }
    }

    /// The lines before the first that is too long, or the first part of that.
    fn up_to_long_line(&mut self, whole: usize) -> usize {
        let max_line = self.max_line;
        let bytes = &self.bytes()[..whole];
        let mut at = 0;
        while at < whole {
            let line = memchr(b'\n', &bytes[at..]).map_or(whole - at, |newline| newline + 1);
            if line > max_line {
                if at > 0 {
                    return at;
                }
                self.cut_lines += u64::from(!self.within_line);
                return max_line;
            }
            at += line;
        }
        whole
    }

    fn hand_out(&mut self, len: usize) -> Cut<'_> {
        let (offset, begin) = (self.at, self.lo);
        self.lo += len;
        self.at += len as u64;
        let last = self.at_end_of_file && self.lo == self.hi;
        let is_long = self.is_long;
        let Self { block, long, .. } = self;
        let bytes = if is_long {
            &long.bytes()[begin..begin + len]
        } else {
            &block.bytes()[begin..begin + len]
        };
        self.within_line = bytes.last() != Some(&b'\n');
        Cut {
            bytes,
            offset: offset - self.mark,
            last,
        }
    }

    /// Reads a block behind the bytes at hand.
    fn more<E>(&mut self, read: &mut Read<'_, E>) -> Result<(), E> {
        let start = self.block.start();
        let left = self.hi - self.lo;
        let (lo, hi) = (self.lo, self.hi);
        let wanted = self.wanted();
        let Self { block, long, .. } = self;
        if left <= start {
            let head = start - left;
            if self.is_long {
                block.bytes()[head..start].copy_from_slice(&long.bytes()[lo..hi]);
            } else {
                block.bytes().copy_within(lo..hi, head);
            }
            self.is_long = false;
            (self.lo, self.hi) = (head, start);
        } else {
            let begin = if self.is_long {
                long.make_room(lo..hi, wanted)
            } else {
                long.take_over(&block.bytes()[lo..hi], wanted)
            };
            self.is_long = true;
            (self.lo, self.hi) = (begin, begin + left);
        }
        self.hi += self.fill(wanted, read)?;
        Ok(())
    }

    /// Bytes to read at once: up to the range's end and a little on, as its last line ends soon.
    fn wanted(&self) -> usize {
        let size = self.block.size();
        match self.end {
            Some(end) if self.read_at < end => {
                usize::try_from(end - self.read_at).map_or(size, |rest| size.min(rest + TAIL))
            }
            _ => size,
        }
    }

    fn fill<E>(&mut self, wanted: usize, read: &mut Read<'_, E>) -> Result<usize, E> {
        let begin = self.hi;
        let mut filled = 0;
        while filled < wanted {
            let bytes = if self.is_long {
                self.long.bytes()
            } else {
                self.block.bytes()
            };
            let into = &mut bytes[begin + filled..begin + wanted];
            let asked = into.len();
            let (got, is_last) = read(self.read_at, into)?;
            filled += got;
            self.read_at += got as u64;
            if got == 0 || is_last || got < asked && self.read_at >= self.size && self.size > 0 {
                self.at_end_of_file = true;
                break;
            }
            // Of a pipe, what comes next may be long in coming.
            if self.size == 0 {
                break;
            }
        }
        Ok(filled)
    }

    fn bytes(&mut self) -> &[u8] {
        if self.is_long {
            &self.long.bytes()[self.lo..self.hi]
        } else {
            &self.block.bytes()[self.lo..self.hi]
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;

    use super::super::counters::Counters;
    use super::*;

    /// The pieces of a text in ranges of `chunk` bytes, each with its offset.
    fn pieces(text: &[u8], chunk: usize, block: usize, max_line: usize, most: usize) -> Vec<(u64, Vec<u8>)> {
        let counters = Arc::new(Counters::new(1, 1, 1));
        let mut block = Block::reserved(&counters, block);
        let mut long = LongLine::default();
        let mut all = Vec::new();
        let count = text.len().div_ceil(chunk).max(1);
        for index in 0..count {
            let begin = (index * chunk) as u64;
            let range = Range {
                begin,
                end: Some(begin + chunk as u64),
                size: text.len() as u64,
                max_line,
                is_first: index == 0,
            };
            let mut lines = Lines::new(&mut block, &mut long, range);
            let mut read = |offset: u64, into: &mut [u8]| -> Result<(usize, bool), Infallible> {
                let rest = text.get(offset as usize..).unwrap_or(&[]);
                let len = rest.len().min(into.len()).min(most);
                into[..len].copy_from_slice(&rest[..len]);
                Ok((len, false))
            };
            loop {
                let Ok(cut) = lines.next(&mut read);
                let Some(cut) = cut else { break };
                assert!(!cut.bytes.is_empty());
                all.push((cut.offset, cut.bytes.to_vec()));
            }
        }
        all
    }

    /// Lines, cut after `max_line` bytes each: what no range may change.
    fn units(pieces: &[(u64, Vec<u8>)]) -> Vec<(u64, Vec<u8>)> {
        let mut units = Vec::new();
        for (offset, bytes) in pieces {
            let mut at = *offset;
            for line in bytes.split_inclusive(|&byte| byte == b'\n') {
                units.push((at, line.to_vec()));
                at += line.len() as u64;
            }
        }
        units
    }

    fn expected(text: &[u8], max_line: usize) -> Vec<(u64, Vec<u8>)> {
        let mut units = Vec::new();
        let mut at = 0;
        for line in text.split_inclusive(|&byte| byte == b'\n') {
            for part in line.chunks(max_line) {
                units.push((at, part.to_vec()));
                at += part.len() as u64;
            }
        }
        units
    }

    #[test]
    fn lines_longer_than_a_blocks_head_are_in_one_range_too() {
        let mut random = 1_u64;
        let mut number = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) % below
        };
        for round in 0..40 {
            let mut text = Vec::new();
            while text.len() < 700_000 {
                let len = number([300, 100_000, 400_000][round % 3]) as usize;
                let letter = b'a' + number(26) as u8;
                text.resize(text.len() + len, letter);
                text.push(b'\n');
            }
            text.truncate(text.len() - number(2) as usize);
            for chunk in [100_000, 256 << 10, 1 << 20] {
                for (block, most) in [(64 << 10, usize::MAX), (256 << 10, usize::MAX), (4_096, 3_000)] {
                    for max_line in [150_000, 8 << 20] {
                        let found = units(&pieces(&text, chunk, block, max_line, most));
                        let is_same = found == expected(&text, max_line);
                        assert!(is_same, "{round} {chunk} {block} {max_line} {most}");
                    }
                }
            }
        }
    }

    #[test]
    fn every_line_is_in_one_range_whatever_the_ranges_are() {
        let mut random = 1_u64;
        for round in 0..400 {
            let mut text = Vec::new();
            for _ in 0..round % 90 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let newline = (random >> 40).is_multiple_of([3, 9, 40][round % 3]);
                text.push(if newline {
                    b'\n'
                } else {
                    b'a' + (random >> 33) as u8 % 3
                });
            }
            for chunk in [1, 2, 7, 16, 64, 200] {
                for block in [1, 5, 16, 300] {
                    for max_line in [1, 4, 10, 1_000] {
                        for most in [1, 3, usize::MAX] {
                            let found = units(&pieces(&text, chunk, block, max_line, most));
                            assert_eq!(
                                found,
                                expected(&text, max_line),
                                "{:?} {chunk} {block} {max_line} {most}",
                                String::from_utf8_lossy(&text)
                            );
                        }
                    }
                }
            }
        }
    }
}
