//! Files whose first bytes say how their text is written: UTF-8 or UTF-16.
//!
//! A byte order mark is no part of the text. Of UTF-8 the text is what follows the mark. UTF-16 is
//! read as UTF-8, with U+FFFD for what is none, as browsers and ripgrep do.
//!
//! ```text
//!   file    ff fe │ 61 00 │ e4 00 │ 0a 00        offsets in the file
//!   text            61    │ c3 a4 │ 0a           offsets in the text: findings, chunks, lines around
//! ```
//!
//! UTF-16 is converted in order. A table of places, one per `STEP` bytes of text, lets a reader of
//! lines around go back without beginning anew.

use std::io;

use encoding_rs::{CoderResult, Decoder, UTF_16BE, UTF_16LE};

use crate::output::ReadAt;

/// Bytes of text between two places of the table.
const STEP: u64 = 256 << 10;

/// Bytes of the file that are read at a time.
const READ: usize = 16 << 10;

/// How a file's text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// In bytes, as they are. `skip` of them are a mark.
    Bytes {
        /// 0 or 3.
        skip: u64,
    },
    /// UTF-16, the low byte first.
    Utf16Le,
    /// UTF-16, the high byte first.
    Utf16Be,
}

impl Encoding {
    /// Bytes that [`Self::of`] looks at.
    pub const MARK: usize = 3;

    /// What the file's first bytes say. Fewer than [`Self::MARK`] are all of a short file.
    #[must_use]
    pub fn of(first: &[u8]) -> Self {
        match first {
            [0xef, 0xbb, 0xbf, ..] => Self::Bytes { skip: 3 },
            [0xff, 0xfe, ..] => Self::Utf16Le,
            [0xfe, 0xff, ..] => Self::Utf16Be,
            _ => Self::Bytes { skip: 0 },
        }
    }
}

/// Converts a file's UTF-16 into text.
///
/// # Examples
///
/// ```
/// use scan::encoding::{Converter, Encoding};
/// use scan::output::ReadAt;
///
/// let file: &[u8] = &[0xff, 0xfe, b'h', 0, b'i', 0];
/// let mut converter = Converter::new(Encoding::of(file));
/// let mut text = [0; 8];
/// assert_eq!(converter.of(&mut &file[..]).read_at(0, &mut text)?, 2);
/// assert_eq!(&text[..2], b"hi");
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Converter {
    encoding: Encoding,
    /// Where the decoder knows nothing of what was before.
    places: Vec<Place>,
    decoder: Option<Decoder>,
    at: Place,
    /// Text before `at`, not yet read: from `read` on.
    text: Vec<u8>,
    read: usize,
    /// Bytes of the file after `at`.
    bytes: Vec<u8>,
    ended: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Place {
    text: u64,
    file: u64,
}

/// A file's text.
pub struct Text<'a> {
    converter: &'a mut Converter,
    file: &'a mut dyn ReadAt,
}

impl Converter {
    /// A converter that stands at the text's beginning.
    #[must_use]
    pub fn new(encoding: Encoding) -> Self {
        let skip = match encoding {
            Encoding::Bytes { skip } => skip,
            Encoding::Utf16Le | Encoding::Utf16Be => 2,
        };
        let start = Place { text: 0, file: skip };
        let mut converter = Self {
            encoding,
            places: vec![start],
            decoder: None,
            at: start,
            text: Vec::new(),
            read: 0,
            bytes: Vec::new(),
            ended: false,
        };
        converter.go_to(start);
        converter
    }

    /// The text of `file`, which must be the same at each call.
    pub fn of<'a>(&'a mut self, file: &'a mut dyn ReadAt) -> Text<'a> {
        Text {
            converter: self,
            file,
        }
    }

    fn go_to(&mut self, place: Place) {
        self.decoder = match self.encoding {
            Encoding::Bytes { .. } => None,
            Encoding::Utf16Le => Some(UTF_16LE.new_decoder_without_bom_handling()),
            Encoding::Utf16Be => Some(UTF_16BE.new_decoder_without_bom_handling()),
        };
        self.at = place;
        self.text.clear();
        self.bytes.clear();
        self.read = 0;
        self.ended = false;
    }

    /// Offset of the next byte that is read.
    fn position(&self) -> u64 {
        self.at.text - (self.text.len() - self.read) as u64
    }

    fn read_at(&mut self, file: &mut dyn ReadAt, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        if let Encoding::Bytes { skip } = self.encoding {
            return file.read_at(offset + skip, into);
        }
        let last = self.places.partition_point(|place| place.text <= offset);
        let place = self.places[last.saturating_sub(1)];
        if offset < self.position() || place.text > self.at.text {
            self.go_to(place);
        }
        let mut filled = 0;
        while filled < into.len() {
            if self.read == self.text.len() {
                if self.ended {
                    break;
                }
                self.convert(file)?;
                continue;
            }
            let skip = offset.saturating_sub(self.position());
            let rest = &self.text[self.read..];
            let skipped = rest.len().min(usize::try_from(skip).unwrap_or(usize::MAX));
            let copied = (rest.len() - skipped).min(into.len() - filled);
            into[filled..filled + copied].copy_from_slice(&rest[skipped..skipped + copied]);
            filled += copied;
            self.read += skipped + copied;
        }
        Ok(filled)
    }

    /// Reads a part of the file and makes text of it.
    fn convert(&mut self, file: &mut dyn ReadAt) -> io::Result<()> {
        self.bytes.resize(READ, 0);
        let read = file.read_at(self.at.file, &mut self.bytes)?;
        let mut bytes = &self.bytes[..read];
        self.ended = read < READ;
        self.text.clear();
        self.read = 0;
        if !self.ended {
            // The next part begins with a whole character: then the decoder knows nothing of this one.
            bytes = &bytes[..whole(bytes, self.encoding)];
        }
        let Some(decoder) = &mut self.decoder else {
            return Ok(());
        };
        self.text.resize(
            decoder
                .max_utf8_buffer_length(bytes.len())
                .unwrap_or(3 * READ + 16),
            0,
        );
        let (result, _, written, _) = decoder.decode_to_utf8(bytes, &mut self.text, self.ended);
        debug_assert_eq!(
            result,
            CoderResult::InputEmpty,
            "the buffer has the length it asked for"
        );
        self.text.truncate(written);
        self.at.file += bytes.len() as u64;
        self.at.text += written as u64;
        let last = self.places.last().map_or(0, |place| place.text);
        if !self.ended && self.at.text >= last + STEP {
            self.places.push(self.at);
        }
        Ok(())
    }
}

impl ReadAt for Text<'_> {
    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        self.converter.read_at(self.file, offset, into)
    }
}

impl std::fmt::Debug for Converter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Converter")
            .field("encoding", &self.encoding)
            .field("at", &self.at)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Text")
            .field("converter", &self.converter)
            .finish_non_exhaustive()
    }
}

/// How many of the bytes, an even number, are whole characters.
fn whole(bytes: &[u8], encoding: Encoding) -> usize {
    let end = bytes.len() - bytes.len() % 2;
    let high = match (encoding, &bytes[..end]) {
        (Encoding::Utf16Be, [.., high, _]) | (_, [.., _, high]) => *high,
        _ => return end,
    };
    // The first half of a pair.
    if (0xd8..0xdc).contains(&high) {
        end - 2
    } else {
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf16(text: &str, encoding: Encoding) -> Vec<u8> {
        let bytes = |unit: u16| match encoding {
            Encoding::Utf16Be => unit.to_be_bytes(),
            _ => unit.to_le_bytes(),
        };
        std::iter::once(0xfeff)
            .chain(text.encode_utf16())
            .flat_map(bytes)
            .collect()
    }

    fn text_of(file: &[u8], read: usize) -> Vec<u8> {
        let mut converter = Converter::new(Encoding::of(file));
        let (mut text, mut buffer, mut source) = (Vec::new(), vec![0; read], file);
        loop {
            let offset = text.len() as u64;
            let got = converter
                .of(&mut source)
                .read_at(offset, &mut buffer)
                .expect("it is memory");
            if got == 0 {
                return text;
            }
            text.extend_from_slice(&buffer[..got]);
        }
    }

    #[test]
    fn utf16_of_either_order_is_read_as_utf8() {
        let text = "größer 𝄞 ".repeat(9_000);
        for encoding in [Encoding::Utf16Le, Encoding::Utf16Be] {
            let file = utf16(&text, encoding);
            assert_eq!(Encoding::of(&file), encoding);
            for read in [1_000, 4_099, 1 << 20] {
                assert!(text_of(&file, read) == text.as_bytes(), "{encoding:?} by {read}");
            }
        }
    }

    #[test]
    fn a_reader_may_go_back_and_forth() {
        let text: String = (0..100_000).map(|number| format!("{number} 𝄞\n")).collect();
        let file = utf16(&text, Encoding::Utf16Le);
        let mut converter = Converter::new(Encoding::Utf16Le);
        let mut source = &file[..];
        let mut seed = 1_u64;
        for _ in 0..200 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let offset = (seed >> 33) as usize % text.len();
            let mut buffer = [0; 300];
            let got = converter.of(&mut source).read_at(offset as u64, &mut buffer);
            let end = text.len().min(offset + 300);
            assert_eq!(got.expect("it is memory"), end - offset);
            assert!(
                buffer[..end - offset] == text.as_bytes()[offset..end],
                "at {offset}"
            );
        }
    }

    #[test]
    fn what_is_no_character_is_u_fffd() {
        let file = [0xff, 0xfe, 0x00, 0xd8, b'a', 0, b'b'];
        assert_eq!(text_of(&file, 64), "\u{fffd}a\u{fffd}".as_bytes());
    }

    #[test]
    fn a_mark_of_utf8_is_left_out() {
        assert_eq!(text_of(b"\xef\xbb\xbfab", 64), b"ab");
        assert_eq!(text_of(b"ab", 64), b"ab");
        assert_eq!(text_of(b"\xef\xbb", 64), b"\xef\xbb");
    }
}
