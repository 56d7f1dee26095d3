//! Cuts bytes into records and fields.
//!
//! Unlike the `csv` crate and `arrow-csv` it tells whether a field was quoted: an empty field is
//! NULL and `""` an empty text, `NA` is missing and `"NA"` a country code.
//!
//! ```text
//!   7,"Smith, ""J""",,NA⏎
//!   ─ ───────────── ─ ──
//!   │       │       │  └ bare `NA`
//!   │       │       └ bare, empty
//!   │       └ quoted, doubled: content `Smith, "J"`
//!   └ bare
//! ```
//!
//! This is RFC 4180, but a record ends at LF, CR LF or CR outside quotes, and a quote opens a
//! quoted field only at the field's start (`5" pipe` is a bare field). An unclosed quote and
//! characters after a closing quote are faults.

use std::borrow::Cow;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordFault {
    UnclosedQuote,
    /// No separator follows the closing quote.
    AfterQuote,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Field<'a> {
    /// The bytes between the separators or the quotes.
    pub(crate) raw: &'a [u8],
    pub(crate) quoted: bool,
    doubled: bool,
}

impl<'a> Field<'a> {
    /// Makes each doubled quote one.
    pub(crate) fn content(&self) -> Cow<'a, [u8]> {
        if !self.doubled {
            return Cow::Borrowed(self.raw);
        }
        let mut content = Vec::with_capacity(self.raw.len());
        let mut rest = self.raw;
        while let Some(at) = memchr::memchr(b'"', rest) {
            content.extend_from_slice(&rest[..=at]);
            rest = &rest[at + 2..];
        }
        content.extend_from_slice(rest);
        Cow::Owned(content)
    }
}

/// The bytes start with a record.
#[derive(Debug)]
pub(crate) struct RecordReader<'a> {
    bytes: &'a [u8],
    delimiter: u8,
    at: usize,
    lines: u64,
    fields_max: usize,
}

impl<'a> RecordReader<'a> {
    /// Of a record's fields after `fields_max`, only the number is returned.
    pub(crate) fn new(bytes: &'a [u8], delimiter: u8, fields_max: usize) -> Self {
        Self {
            bytes,
            delimiter,
            at: 0,
            lines: 0,
            fields_max,
        }
    }

    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// Line breaks consumed so far, quoted ones included.
    pub(crate) fn lines(&self) -> u64 {
        self.lines
    }

    /// Returns the record's field count. After a fault the reader stays at the faulty record's
    /// start.
    pub(crate) fn next_record(&mut self, fields: &mut Vec<Field<'a>>) -> Result<Option<usize>, RecordFault> {
        fields.clear();
        if self.at == self.bytes.len() {
            return Ok(None);
        }
        let mut found = 0;
        let bytes = self.bytes;
        let mut at = self.at;
        let mut lines = self.lines;
        loop {
            let start = at;
            let field = if bytes.get(start) == Some(&b'"') {
                let (end, doubled) = close_quote(bytes, start + 1)?;
                let raw = &bytes[start + 1..end];
                lines += line_breaks(raw);
                at = end + 1;
                Field {
                    raw,
                    quoted: true,
                    doubled,
                }
            } else {
                while at < bytes.len() && !matches!(bytes[at], b'\n' | b'\r') && bytes[at] != self.delimiter {
                    at += 1;
                }
                Field {
                    raw: &bytes[start..at],
                    quoted: false,
                    doubled: false,
                }
            };
            found += 1;
            if found <= self.fields_max {
                fields.push(field);
            }
            match bytes.get(at) {
                Some(&byte) if byte == self.delimiter => at += 1,
                Some(b'\n') => {
                    at += 1;
                    lines += 1;
                    break;
                }
                Some(b'\r') => {
                    at += if bytes.get(at + 1) == Some(&b'\n') { 2 } else { 1 };
                    lines += 1;
                    break;
                }
                None => break,
                Some(_) => return Err(RecordFault::AfterQuote),
            }
        }
        self.at = at;
        self.lines = lines;
        Ok(Some(found))
    }
}

/// LF, CR LF and CR are one each.
pub(crate) fn line_breaks(bytes: &[u8]) -> u64 {
    memchr::memchr2_iter(b'\n', b'\r', bytes)
        .filter(|&at| bytes[at] == b'\n' || bytes.get(at + 1) != Some(&b'\n'))
        .count() as u64
}

/// Returns where the closing quote is, and whether the field has doubled quotes.
fn close_quote(bytes: &[u8], from: usize) -> Result<(usize, bool), RecordFault> {
    let mut at = from;
    let mut doubled = false;
    loop {
        let found = memchr::memchr(b'"', &bytes[at..]).ok_or(RecordFault::UnclosedQuote)?;
        at += found;
        if bytes.get(at + 1) != Some(&b'"') {
            return Ok((at, doubled));
        }
        doubled = true;
        at += 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(text: &str) -> Vec<Vec<(String, bool)>> {
        let mut reader = RecordReader::new(text.as_bytes(), b',', usize::MAX);
        let mut fields = Vec::new();
        let mut all = Vec::new();
        while let Some(found) = reader.next_record(&mut fields).expect("well formed") {
            assert_eq!(found, fields.len());
            all.push(
                fields
                    .iter()
                    .map(|field| {
                        (
                            String::from_utf8(field.content().into_owned()).unwrap(),
                            field.quoted,
                        )
                    })
                    .collect(),
            );
        }
        assert_eq!(reader.position(), text.len());
        assert_eq!(reader.lines(), line_breaks(text.as_bytes()));
        all
    }

    fn bare(text: &str) -> (String, bool) {
        (text.to_owned(), false)
    }

    fn quoted(text: &str) -> (String, bool) {
        (text.to_owned(), true)
    }

    #[test]
    fn quotes_hide_separators_line_breaks_and_quotes() {
        assert_eq!(
            records("a,\"b,\r\n\"\"c\"\"\"\n,\"\"\n"),
            [vec![bare("a"), quoted("b,\r\n\"c\"")], vec![bare(""), quoted("")]]
        );
    }

    #[test]
    fn every_kind_of_line_end_ends_a_record_and_the_last_may_have_none() {
        assert_eq!(
            records("a\nb\r\nc\rd"),
            [[bare("a")], [bare("b")], [bare("c")], [bare("d")]]
        );
        assert_eq!(records("a,"), [[bare("a"), bare("")]]);
        assert_eq!(records(""), Vec::<Vec<_>>::new());
        assert_eq!(records("\n"), [[bare("")]]);
    }

    #[test]
    fn a_quote_inside_a_bare_field_is_a_character() {
        assert_eq!(records("5\" pipe,x\n"), [[bare("5\" pipe"), bare("x")]]);
    }

    #[test]
    fn broken_quotes_are_faults() {
        let fault =
            |text: &'static str| RecordReader::new(text.as_bytes(), b',', 9).next_record(&mut Vec::new());
        assert_eq!(fault("a,\"b\nc"), Err(RecordFault::UnclosedQuote));
        assert_eq!(fault("\"a\"b,c\n"), Err(RecordFault::AfterQuote));
    }

    #[test]
    fn fields_past_the_most_that_are_handed_out_are_counted() {
        let mut reader = RecordReader::new(b"a,\"b\",c,,\nd\n", b',', 2);
        let mut fields = Vec::new();
        assert_eq!((reader.next_record(&mut fields), fields.len()), (Ok(Some(5)), 2));
        assert_eq!((reader.next_record(&mut fields), fields.len()), (Ok(Some(1)), 1));
        assert_eq!(reader.next_record(&mut fields), Ok(None));
    }
}
