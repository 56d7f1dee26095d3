//! JSON Lines as `rg --json` prints them: a message a line.
//!
//! Bytes that are not UTF-8 are `{"bytes":"…"}` in base64 instead of `{"text":"…"}`.

use std::path::Path;
use std::time::Duration;

use super::held::Line;
use super::text::number;
use crate::report::{Skipped, Summary};

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Sums over files, or those of one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Time of the searches, added up.
    pub elapsed: Duration,
    /// Files searched.
    pub searches: u64,
    /// Files with findings.
    pub searches_with_match: u64,
    /// Bytes searched.
    pub bytes_searched: u64,
    /// Bytes printed.
    pub bytes_printed: u64,
    /// Lines found.
    pub matched_lines: u64,
    /// Matches found.
    pub matches: u64,
}

pub(crate) fn begin(out: &mut Vec<u8>, path: &Path) {
    out.extend_from_slice(br#"{"type":"begin","data":{"path":"#);
    data(out, path.as_os_str().as_encoded_bytes());
    out.extend_from_slice(b"}}\n");
}

/// `kind` is `match` or `context`.
pub(crate) fn line(out: &mut Vec<u8>, kind: &str, path: &Path, line: &Line<'_>, has_number: bool) {
    out.extend_from_slice(br#"{"type":""#);
    out.extend_from_slice(kind.as_bytes());
    out.extend_from_slice(br#"","data":{"path":"#);
    data(out, path.as_os_str().as_encoded_bytes());
    out.extend_from_slice(br#","lines":"#);
    data(out, line.bytes);
    if has_number {
        field(out, "line_number", line.number);
    } else {
        out.extend_from_slice(br#","line_number":null"#);
    }
    field(out, "absolute_offset", line.offset);
    out.extend_from_slice(br#","submatches":["#);
    for (nth, span) in line.spans.iter().enumerate() {
        out.extend_from_slice(if nth == 0 {
            br#"{"match":"#.as_slice()
        } else {
            br#",{"match":"#
        });
        // A match of a search for lines without one may go on in the next line.
        let end = span.end.min(line.bytes.len());
        data(out, line.bytes.get(span.start..end).unwrap_or(&[]));
        field(out, "start", span.start as u64);
        field(out, "end", end as u64);
        out.push(b'}');
    }
    out.extend_from_slice(b"]}}\n");
}

pub(crate) fn end(out: &mut Vec<u8>, path: &Path, nul: Option<u64>, stats: &Stats) {
    out.extend_from_slice(br#"{"type":"end","data":{"path":"#);
    data(out, path.as_os_str().as_encoded_bytes());
    out.extend_from_slice(br#","binary_offset":"#);
    match nul {
        Some(offset) => number(out, offset),
        None => out.extend_from_slice(b"null"),
    }
    out.extend_from_slice(br#","stats":{"elapsed":{"secs":"#);
    number(out, stats.elapsed.as_secs());
    field(out, "nanos", u64::from(stats.elapsed.subsec_nanos()));
    out.extend_from_slice(br#","human":""#);
    seconds(out, stats.elapsed);
    out.extend_from_slice(br#""}"#);
    field(out, "searches", stats.searches);
    field(out, "searches_with_match", stats.searches_with_match);
    field(out, "bytes_searched", stats.bytes_searched);
    field(out, "bytes_printed", stats.bytes_printed);
    field(out, "matched_lines", stats.matched_lines);
    field(out, "matches", stats.matches);
    out.extend_from_slice(b"}}}\n");
}

impl Stats {
    /// The last message of a scan. `total` is the time that all of it took. With `objects` it says
    /// what became of them, in a member that `rg` does not have.
    #[must_use]
    pub fn summary(&self, total: Duration, objects: Option<&Summary>) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend_from_slice(br#"{"data":{"elapsed_total":"#);
        time(&mut out, total);
        if let Some(objects) = objects {
            sums(&mut out, objects);
        }
        out.extend_from_slice(br#","stats":{"bytes_printed":"#);
        number(&mut out, self.bytes_printed);
        field(&mut out, "bytes_searched", self.bytes_searched);
        out.extend_from_slice(br#","elapsed":"#);
        time(&mut out, self.elapsed);
        field(&mut out, "matched_lines", self.matched_lines);
        field(&mut out, "matches", self.matches);
        field(&mut out, "searches", self.searches);
        field(&mut out, "searches_with_match", self.searches_with_match);
        out.extend_from_slice(b"}},\"type\":\"summary\"}\n");
        out
    }

    /// The same for people, as `rg --stats` prints it.
    #[must_use]
    pub fn text(&self, total: Duration) -> String {
        format!(
            "\n{} matches\n{} matched lines\n{} files contained matches\n{} files searched\n\
             {} bytes printed\n{} bytes searched\n{:0.6} seconds spent searching\n\
             {:0.6} seconds total\n",
            self.matches,
            self.matched_lines,
            self.searches_with_match,
            self.searches,
            self.bytes_printed,
            self.bytes_searched,
            self.elapsed.as_secs_f64(),
            total.as_secs_f64(),
        )
    }
}

fn sums(out: &mut Vec<u8>, objects: &Summary) {
    out.extend_from_slice(br#","objects":{"clean":"#);
    number(out, objects.clean);
    field(out, "cut_lines", objects.cut_lines);
    field(out, "failed", objects.errors);
    field(out, "found", objects.objects);
    out.extend_from_slice(br#","skipped":{"cancelled":"#);
    number(out, objects.skipped_by.get(Skipped::Cancelled));
    field(out, "link", objects.skipped_by.get(Skipped::Link));
    field(out, "special", objects.skipped_by.get(Skipped::Special));
    field(out, "too_large", objects.skipped_by.get(Skipped::TooLarge));
    out.push(b'}');
    field(out, "with_findings", objects.with_findings);
    out.push(b'}');
}

fn time(out: &mut Vec<u8>, time: Duration) {
    out.extend_from_slice(br#"{"human":""#);
    seconds(out, time);
    out.push(b'"');
    field(out, "nanos", u64::from(time.subsec_nanos()));
    field(out, "secs", time.as_secs());
    out.push(b'}');
}

fn seconds(out: &mut Vec<u8>, time: Duration) {
    out.extend_from_slice(format!("{:0.6}s", time.as_secs_f64()).as_bytes());
}

fn field(out: &mut Vec<u8>, name: &str, value: u64) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
    number(out, value);
}

fn data(out: &mut Vec<u8>, bytes: &[u8]) {
    match std::str::from_utf8(bytes) {
        Ok(text) => {
            out.extend_from_slice(br#"{"text":""#);
            escape(out, text);
        }
        Err(_) => {
            out.extend_from_slice(br#"{"bytes":""#);
            base64(out, bytes);
        }
    }
    out.extend_from_slice(b"\"}");
}

fn escape(out: &mut Vec<u8>, text: &str) {
    let bytes = text.as_bytes();
    let mut copied = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        let short = match byte {
            b'"' | b'\\' => byte,
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0x08 => b'b',
            0x0c => b'f',
            0..0x20 => 0,
            _ => continue,
        };
        out.extend_from_slice(&bytes[copied..at]);
        copied = at + 1;
        if short == 0 {
            out.extend_from_slice(format!("\\u{byte:04x}").as_bytes());
        } else {
            out.extend_from_slice(&[b'\\', short]);
        }
    }
    out.extend_from_slice(&bytes[copied..]);
}

fn base64(out: &mut Vec<u8>, bytes: &[u8]) {
    for chunk in bytes.chunks(3) {
        let byte = |nth: usize| u32::from(chunk.get(nth).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for nth in 0..4 {
            let digit = BASE64[(bits >> (18 - 6 * nth) & 63) as usize];
            out.push(if nth <= chunk.len() as u32 { digit } else { b'=' });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(bytes: &[u8]) -> String {
        let mut out = Vec::new();
        data(&mut out, bytes);
        String::from_utf8(out).expect("JSON is text")
    }

    #[test]
    fn text_is_escaped_and_other_bytes_are_base64() {
        assert_eq!(
            shown(b"a\"\\\n\t\x01\x7f\xc3\xa4"),
            "{\"text\":\"a\\\"\\\\\\n\\t\\u0001\x7fä\"}"
        );
        for (bytes, base64) in [
            (b"\xff".as_slice(), "/w=="),
            (b"\xfffo", "/2Zv"),
            (b"\xfff", "/2Y="),
            (b"\xfffoo", "/2Zvbw=="),
        ] {
            assert_eq!(shown(bytes), format!("{{\"bytes\":\"{base64}\"}}"));
        }
    }

    #[test]
    fn the_summary_has_the_sums() {
        let stats = Stats {
            matches: 7,
            searches: 2,
            ..Stats::default()
        };
        let json =
            String::from_utf8(stats.summary(Duration::from_millis(1_500), None)).expect("JSON is text");
        assert!(
            json.contains(r#""elapsed_total":{"human":"1.500000s","nanos":500000000,"secs":1}"#),
            "{json}"
        );
        assert!(json.contains(r#""matches":7,"searches":2,"#), "{json}");
        assert!(!json.contains("objects"), "{json}");
        assert!(
            stats
                .text(Duration::ZERO)
                .starts_with("\n7 matches\n0 matched lines\n")
        );
    }

    #[test]
    fn the_summary_says_what_became_of_objects_if_that_is_asked_for() {
        let objects = Summary {
            objects: 5,
            clean: 3,
            with_findings: 1,
            errors: 1,
            ..Summary::default()
        };
        let json = Stats::default().summary(Duration::ZERO, Some(&objects));
        let json = String::from_utf8(json).expect("JSON is text");
        let expected = r#","objects":{"clean":3,"cut_lines":0,"failed":1,"found":5,"skipped":{"cancelled":0,"link":0,"special":0,"too_large":0},"with_findings":1},"stats":{"#;
        assert!(json.contains(expected), "{json}");
    }
}
