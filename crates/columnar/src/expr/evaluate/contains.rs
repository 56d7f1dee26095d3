//! `like '%text%'`: the bytes that neighbouring rows share are searched once.
//!
//! ```text
//!   bytes  │ furiously special pac │····│ kages nag │····│ special requests │
//!   rows     17                           18               19
//!                      ▲                                     ▲
//!            one search finds a place; the row that ends behind it is the first that can hold it
//! ```
//!
//! Between rows there may be bytes of none, as the lengths in a page of a file. What is found there,
//! or across a row's end, is left out, and the search goes on at the next row's beginning. Short texts
//! lie in their views and not among the bytes.

use arrow::array::{Array as _, BooleanArray, BooleanBufferBuilder, StringViewArray};
use memchr::memmem::Finder;

/// Bytes between two rows up to which they are searched as well.
const GAP_MAX: u32 = 64;

/// Bytes of a text that lies in its view, in
/// [Arrow's format](https://arrow.apache.org/docs/format/Columnar.html#variable-size-binary-view-layout).
const INLINE_MAX: u32 = 12;

/// The text that `pattern` asks for anywhere, if it asks for nothing else.
pub(super) fn needle(pattern: &str) -> Option<&str> {
    let needle = pattern.strip_prefix('%')?.strip_suffix('%')?;
    let is_plain = !needle.is_empty() && !needle.contains(['%', '_', '\\']);
    is_plain.then_some(needle)
}

/// Whether each row contains `needle`; NULL where the row is.
pub(super) fn contains(texts: &StringViewArray, needle: &str) -> BooleanArray {
    let finder = Finder::new(needle.as_bytes());
    let inline = InlineNeedle::new(needle.as_bytes());
    let mut found = BooleanBufferBuilder::new(texts.len());
    found.append_n(texts.len(), false);
    let mut run: Vec<Text> = Vec::new();
    let (mut run_buffer, mut run_end) = (0, 0);
    for (row, &view) in texts.views().iter().enumerate() {
        // From the lowest bits on: length, the first bytes, number of the buffer, place in it.
        let (len, buffer, begin) = (view as u32, (view >> 64) as u32, (view >> 96) as u32);
        if len <= INLINE_MAX {
            let is_found = inline.as_ref().is_some_and(|needle| needle.is_in(view, len));
            found.set_bit(row, is_found);
            continue;
        }
        if buffer != run_buffer || begin.wrapping_sub(run_end) > GAP_MAX {
            search(texts, run_buffer, &run, &finder, &mut found);
            run.clear();
            run_buffer = buffer;
        }
        run_end = begin + len;
        run.push(Text {
            row,
            begin,
            end: run_end,
        });
    }
    search(texts, run_buffer, &run, &finder, &mut found);
    BooleanArray::new(found.finish(), texts.nulls().cloned())
}

/// A row's text, which is not in its view. Places of 32 bits, as in views: with 64 the whole takes a
/// twentieth more time.
struct Text {
    row: usize,
    begin: u32,
    end: u32,
}

/// Searches texts that follow each other in a buffer.
fn search(
    texts: &StringViewArray,
    buffer: u32,
    run: &[Text],
    finder: &Finder<'_>,
    found: &mut BooleanBufferBuilder,
) {
    let (Some(first), Some(last)) = (run.first(), run.last()) else {
        return;
    };
    let bytes = &texts.data_buffers()[buffer as usize][..last.end as usize];
    let mut at = first.begin as usize;
    let mut rows = run.iter().peekable();
    while let Some(place) = finder.find(&bytes[at..]) {
        let begin = at + place;
        let end = begin + finder.needle().len();
        while rows.next_if(|text| (text.end as usize) < end).is_some() {}
        let Some(text) = rows.peek() else { break };
        at = match text.begin as usize <= begin {
            true => {
                found.set_bit(text.row, true);
                text.end as usize
            }
            false => text.begin as usize,
        };
    }
}

/// The needle for texts that lie in their views: to compare it at their few places takes less time than
/// a search.
struct InlineNeedle {
    bytes: u128,
    /// The bits that a text of as many bytes has.
    mask: u128,
    len: u32,
}

impl InlineNeedle {
    /// `None` if no view has room for `needle`.
    fn new(needle: &[u8]) -> Option<Self> {
        let mut bytes = [0; 16];
        let len = u32::try_from(needle.len())
            .ok()
            .filter(|len| *len <= INLINE_MAX)?;
        bytes[..needle.len()].copy_from_slice(needle);
        Some(Self {
            bytes: u128::from_le_bytes(bytes),
            mask: (1 << (8 * len)) - 1,
            len,
        })
    }

    /// Whether the text of `len` bytes in `view` holds the needle.
    fn is_in(&self, view: u128, len: u32) -> bool {
        let mut text = view >> 32;
        (self.len..=len).any(|_| {
            let is_here = text & self.mask == self.bytes;
            text >>= 8;
            is_here
        })
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::StringViewBuilder;
    use arrow::buffer::Buffer;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_a_plain_text_between_two_signs_is_a_needle() {
        assert_eq!(needle("%special%"), Some("special"));
        for pattern in ["%%", "%", "a%", "%a", "%a_b%", "%a%b%", "%a\\%b%"] {
            assert_eq!(needle(pattern), None, "{pattern}");
        }
    }

    proptest! {
        /// The gaps hold the needle's letters, and views may point back.
        #[test]
        fn what_is_found_is_what_each_row_contains(
            rows in proptest::collection::vec(
                ("[ab]{0,20}|a{0,20}", "[ab]{0,4}", proptest::bool::weighted(0.1), proptest::bool::weighted(0.05)),
                0..60,
            ),
            needle in "[ab]{1,4}|a{11,14}",
        ) {
            let mut bytes: Vec<u8> = Vec::new();
            let mut places = Vec::new();
            for (text, gap, _, _) in &rows {
                bytes.extend(gap.as_bytes());
                places.push((bytes.len() as u32, text.len() as u32));
                bytes.extend(text.as_bytes());
            }
            let mut builder = StringViewBuilder::new();
            let block = builder.append_block(Buffer::from(bytes));
            for (at, (_, _, is_null, points_back)) in rows.iter().enumerate() {
                let (begin, len) = places[if *points_back { at / 2 } else { at }];
                match is_null {
                    true => builder.append_null(),
                    false => builder.try_append_view(block, begin, len).unwrap(),
                }
            }
            let texts = builder.finish();
            let expected = texts.iter().map(|text| text.map(|text| text.contains(&needle)));
            prop_assert_eq!(contains(&texts, &needle), BooleanArray::from_iter(expected));
        }
    }
}
