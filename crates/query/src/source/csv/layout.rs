//! Finds a file's header and cuts the file into pieces of whole records.
//!
//! ```text
//!   BOM? header ⏎ │ record ⏎ record ⏎ … │ record ⏎ "two⏎lines",7 ⏎ │ …
//!                 └──── piece 0 ────────┴──────── piece 1 ──────────┴──
//! ```
//!
//! One pass runs front to back, since every earlier quote decides whether a line break ends a
//! record. Pieces depend only on the bytes.

use std::collections::HashSet;
use std::ops::Range;

use bytes::Bytes;
use columnar::ReadError;

use super::record::{Field, RecordFault, RecordReader, line_breaks};
use crate::source::byte_source::SharedSource;
use crate::source::opening::{OpeningReads, Unstopped};

/// About 2 ms of parsing.
pub(super) const PIECE_BYTES: usize = 1 << 20;
/// An open quote must not swallow the file.
const RECORD_BYTES_MAX: usize = 64 << 20;
/// A line of separators would have one column per byte.
const COLUMNS_MAX: usize = 100_000;

/// A range of whole records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) offset: u64,
    pub(crate) len: usize,
}

impl Piece {
    pub(crate) fn range(self) -> Range<u64> {
        self.offset..self.offset + self.len as u64
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Header {
    pub(crate) source: SharedSource,
    pub(crate) delimiter: u8,
    /// Empty for an empty file.
    pub(crate) names: Vec<String>,
    /// The file's line, from 1, where the first piece starts.
    pub(crate) first_line: u64,
}

impl Header {
    pub(crate) fn fault(&self, line: u64, column: Option<usize>, message: impl Into<String>) -> ReadError {
        let error = ReadError::new(self.source.origin(), message.into()).in_part(format!("line {line}"));
        match column {
            Some(index) => error.in_column(&self.names[index]),
            None => error,
        }
    }

    pub(crate) fn changed(&self) -> ReadError {
        ReadError::new(
            self.source.origin(),
            "the file was written to while it was being queried",
        )
    }
}

#[derive(Debug)]
pub(crate) struct Pieces {
    blocks: Blocks,
    delimiter: u8,
    piece_bytes: usize,
}

impl Pieces {
    /// # Errors
    ///
    /// An unreadable file, an unusable header, or unmatched quotes.
    pub(crate) fn of<R: OpeningReads>(source: SharedSource, reads: &R) -> Result<(Header, Self), R::Error> {
        Self::cut(source, PIECE_BYTES, reads)
    }

    fn cut<R: OpeningReads>(
        source: SharedSource,
        piece_bytes: usize,
        reads: &R,
    ) -> Result<(Header, Self), R::Error> {
        let mut blocks = Blocks {
            source,
            buffer: Vec::new(),
            ended: false,
            offset: 0,
            line: 1,
        };
        blocks.fill(piece_bytes, reads)?;
        if blocks.buffer.starts_with(b"\xFF\xFE") || blocks.buffer.starts_with(b"\xFE\xFF") {
            let message = "the file is UTF-16; convert it to UTF-8";
            return Err(ReadError::new(blocks.source.origin(), message).into());
        }
        if blocks.buffer.starts_with(b"\xEF\xBB\xBF") {
            blocks.take(3);
        }
        let delimiter = delimiter(&blocks.buffer);
        let header = Header {
            names: blocks.header(delimiter, piece_bytes, reads)?,
            delimiter,
            first_line: blocks.line,
            source: SharedSource::clone(&blocks.source),
        };
        let pieces = Self {
            blocks,
            delimiter,
            piece_bytes,
        };
        Ok((header, pieces))
    }

    pub(crate) fn next(&mut self) -> Result<Option<(Piece, Bytes)>, ReadError> {
        self.blocks.piece(self.delimiter, self.piece_bytes)
    }
}

pub(crate) fn describe(fault: RecordFault) -> &'static str {
    match fault {
        RecordFault::UnclosedQuote => "a quoted field that starts in this record is never closed",
        RecordFault::AfterQuote => {
            "after the closing quote of a field stands something other than a separator \
             (a quote within a quoted field is written twice)"
        }
    }
}

#[derive(Debug)]
struct Blocks {
    source: SharedSource,
    buffer: Vec<u8>,
    ended: bool,
    offset: u64,
    line: u64,
}

impl Blocks {
    fn fill<R: OpeningReads>(&mut self, bytes: usize, reads: &R) -> Result<(), R::Error> {
        if self.buffer.len() < bytes && !self.ended {
            let start = self.offset + self.buffer.len() as u64;
            let wanted = start.saturating_add((bytes - self.buffer.len()) as u64);
            let end = wanted.min(self.source.bytes());
            if start < end {
                let read = reads.read_one(self.source.as_ref(), start..end)?;
                self.buffer.extend_from_slice(&read);
            }
            self.ended = end < wanted;
        }
        Ok(())
    }

    fn take(&mut self, bytes: usize) -> Vec<u8> {
        let rest = self.buffer.split_off(bytes);
        self.offset += bytes as u64;
        std::mem::replace(&mut self.buffer, rest)
    }

    fn grow<R: OpeningReads>(&mut self, reads: &R) -> Result<(), R::Error> {
        if self.buffer.len() > RECORD_BYTES_MAX {
            let message = format!(
                "the record is longer than {} MiB; is a quote never closed?",
                RECORD_BYTES_MAX >> 20
            );
            return Err(self.fault(self.line, message).into());
        }
        self.fill(self.buffer.len() * 2, reads)
    }

    fn fault(&self, line: u64, message: impl Into<String>) -> ReadError {
        ReadError::new(self.source.origin(), message.into()).in_part(format!("line {line}"))
    }

    fn header<R: OpeningReads>(
        &mut self,
        delimiter: u8,
        piece_bytes: usize,
        reads: &R,
    ) -> Result<Vec<String>, R::Error> {
        if self.buffer.is_empty() {
            return Ok(Vec::new());
        }
        let (len, names) = loop {
            let mut fields = Vec::new();
            let mut reader = RecordReader::new(&self.buffer, delimiter, COLUMNS_MAX);
            let outcome = reader.next_record(&mut fields);
            if !self.ended
                && (outcome == Err(RecordFault::UnclosedQuote) || reader.position() == self.buffer.len())
            {
                self.grow(reads)?;
                continue;
            }
            match outcome.map_err(|fault| self.fault(1, describe(fault)))? {
                Some(columns) if columns > COLUMNS_MAX => {
                    let message =
                        format!("the header has {columns} columns, and a table at most {COLUMNS_MAX}");
                    return Err(self.fault(1, message).into());
                }
                _ => {}
            }
            break (reader.position(), self.names(&fields)?);
        };
        self.line += line_breaks(&self.buffer[..len]);
        self.take(len);
        self.fill(piece_bytes, reads)?;
        Ok(names)
    }

    fn names(&self, fields: &[Field<'_>]) -> Result<Vec<String>, ReadError> {
        let mut names: Vec<String> = Vec::with_capacity(fields.len());
        let mut taken = HashSet::with_capacity(fields.len());
        for (index, field) in fields.iter().enumerate() {
            let content = field.content();
            let name = std::str::from_utf8(&content)
                .map_err(|_| self.fault(1, format!("the name of column {} is not UTF-8", index + 1)))?
                .trim();
            if name.contains('\0') {
                return Err(self.fault(1, "the header holds a zero byte; this is no text file"));
            }
            // Row numbers are often exported without a name.
            let name = if name.is_empty() {
                format!("column{}", index + 1)
            } else {
                name.to_owned()
            };
            if !taken.insert(name.clone()) {
                return Err(self.fault(1, format!("two columns are called `{name}`")));
            }
            names.push(name);
        }
        Ok(names)
    }

    fn piece(&mut self, delimiter: u8, piece_bytes: usize) -> Result<Option<(Piece, Bytes)>, ReadError> {
        self.fill(piece_bytes, &Unstopped)?;
        if self.buffer.is_empty() {
            return Ok(None);
        }
        let len = loop {
            match self.whole_records(delimiter)? {
                0 => self.grow(&Unstopped)?,
                len => break len,
            }
        };
        let piece = Piece {
            offset: self.offset,
            len,
        };
        let bytes = self.take(len);
        self.line += line_breaks(&bytes);
        Ok(Some((piece, Bytes::from(bytes))))
    }

    /// Bytes that are whole records, whatever follows.
    fn whole_records(&self, delimiter: u8) -> Result<usize, ReadError> {
        let bytes = &self.buffer[..];
        if memchr::memchr(b'"', bytes).is_none() {
            if self.ended {
                return Ok(bytes.len());
            }
            // A final CR may be half of a CR LF.
            return Ok(
                memchr::memrchr2(b'\n', b'\r', &bytes[..bytes.len() - 1]).map_or(0, |at| {
                    let half = bytes[at] == b'\r' && bytes[at + 1] == b'\n';
                    if half { at + 2 } else { at + 1 }
                }),
            );
        }
        let mut reader = RecordReader::new(bytes, delimiter, 0);
        let mut no_fields = Vec::new();
        let mut whole = 0;
        loop {
            match reader.next_record(&mut no_fields) {
                Ok(None) => break,
                // A record at the buffer's end may continue after it.
                Ok(Some(_)) if !self.ended && reader.position() == bytes.len() => break,
                Ok(Some(_)) => whole = reader.position(),
                Err(RecordFault::UnclosedQuote) if !self.ended => break,
                Err(fault) => return Err(self.fault(self.line + reader.lines(), describe(fault))),
            }
        }
        Ok(whole)
    }
}

/// The first of comma, tab, semicolon and bar in the header outside quotes, else a comma.
fn delimiter(bytes: &[u8]) -> u8 {
    let mut in_quotes = false;
    let mut seen = [false; 4];
    const CANDIDATES: [u8; 4] = *b",\t;|";
    for &byte in bytes {
        match byte {
            b'"' => in_quotes = !in_quotes,
            b'\n' | b'\r' if !in_quotes => break,
            _ if in_quotes => {}
            _ => {
                if let Some(at) = CANDIDATES.iter().position(|&candidate| candidate == byte) {
                    seen[at] = true;
                }
            }
        }
    }
    seen.iter()
        .position(|&seen| seen)
        .map_or(b',', |at| CANDIDATES[at])
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::source::byte_source::MemoryBytes;

    struct Layout {
        names: Vec<String>,
        first_line: u64,
        pieces: Vec<Piece>,
    }

    fn layout(text: &str, piece_bytes: usize) -> Result<Layout, String> {
        let source = Arc::new(MemoryBytes::new("t.csv", text.to_owned()));
        let (header, mut cut) =
            Pieces::cut(source, piece_bytes, &Unstopped).map_err(|error| error.to_string())?;
        let mut pieces = Vec::new();
        while let Some((piece, bytes)) = cut.next().map_err(|error| error.to_string())? {
            let start = usize::try_from(piece.offset).unwrap();
            assert_eq!(bytes, text.as_bytes()[start..start + piece.len]);
            pieces.push(piece);
        }
        Ok(Layout {
            names: header.names,
            first_line: header.first_line,
            pieces,
        })
    }

    fn pieces(text: &str, piece_bytes: usize) -> Vec<&str> {
        let layout = layout(text, piece_bytes).expect("well formed");
        let start = |piece: &Piece| usize::try_from(piece.offset).unwrap();
        layout
            .pieces
            .iter()
            .map(|piece| &text[start(piece)..start(piece) + piece.len])
            .collect()
    }

    #[test]
    fn pieces_are_whole_records_wherever_the_block_ends() {
        let text = "a,b\r\n1,2\r\n\"x\r\ny\",\"\"\"\"\r\n3,4\r\n5,\"6\"";
        for piece_bytes in 1..=text.len() + 1 {
            let pieces = pieces(text, piece_bytes);
            assert_eq!(pieces.concat(), &text[5..], "piece_bytes {piece_bytes}");
            for piece in &pieces {
                assert!(
                    piece.ends_with("\r\n") || piece.ends_with("\"6\""),
                    "{piece_bytes}: {piece:?}"
                );
                assert!(!piece.starts_with("y\""), "{piece_bytes}: {piece:?}");
            }
        }
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_name() {
        let layout = layout("\u{FEFF}id,\"a b\",\n1,2,3\n", 100).expect("well formed");
        assert_eq!(layout.names, ["id", "a b", "column3"]);
        assert_eq!(
            (layout.first_line, layout.pieces),
            (2, vec![Piece { offset: 13, len: 6 }])
        );
    }

    #[test]
    fn the_header_shows_the_separator() {
        for (header, expected) in [
            ("a,b;c", b','),
            ("a\tb;c", b'\t'),
            ("a;b|c", b';'),
            ("a|b", b'|'),
            ("\"a,b\";c", b';'),
            ("a", b','),
        ] {
            assert_eq!(delimiter(header.as_bytes()), expected, "{header}");
        }
    }

    #[test]
    fn an_empty_file_has_no_columns_and_no_rows() {
        let layout = layout("", 10).expect("well formed");
        assert!(layout.names.is_empty() && layout.pieces.is_empty());
    }

    #[test]
    fn faults_name_the_line_where_the_record_starts() {
        let fault = |text: &str| layout(text, 4).err().expect("broken");
        assert_eq!(
            fault("a,a\n1,2\n"),
            "cannot read t.csv, line 1: two columns are called `a`"
        );
        assert!(
            fault("a,b\n1,2\n\n3,\"4\n5,6\n").starts_with("cannot read t.csv, line 4: a quoted field"),
            "unclosed"
        );
        assert!(
            fault("a,b\n\"1\n\",2\n\"3\"x,4\n")
                .starts_with("cannot read t.csv, line 4: after the closing quote"),
            "after"
        );
    }
}
