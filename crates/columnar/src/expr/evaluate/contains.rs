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
//! or across a row's end, is left out, and the search goes on at the next row's beginning.

use arrow::array::{Array as _, BooleanArray, BooleanBufferBuilder, StringViewArray};
use memchr::memmem::Finder;

/// Bytes between two rows up to which they are searched as well.
const GAP_MAX: usize = 64;

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
    let mut found = BooleanBufferBuilder::new(texts.len());
    found.append_n(texts.len(), false);
    let mut run = Run::default();
    for (row, &view) in texts.views().iter().enumerate() {
        // From the lowest bits on: length, the first bytes, number of the buffer, place in it.
        let (len, buffer, begin) = (view as u32, (view >> 64) as u32, (view >> 96) as usize);
        if len <= INLINE_MAX {
            let is_found = finder.find(texts.value(row).as_bytes()).is_some();
            found.set_bit(row, is_found);
            continue;
        }
        if !run.is_followed_by(buffer, begin) {
            run.search(texts, &finder, &mut found);
            run.buffer = buffer;
        }
        let end = begin + len as usize;
        run.rows.push(Text { row, begin, end });
    }
    run.search(texts, &finder, &mut found);
    BooleanArray::new(found.finish(), texts.nulls().cloned())
}

struct Text {
    row: usize,
    begin: usize,
    end: usize,
}

/// Rows whose texts follow each other in one buffer.
#[derive(Default)]
struct Run {
    buffer: u32,
    rows: Vec<Text>,
}

impl Run {
    fn is_followed_by(&self, buffer: u32, begin: usize) -> bool {
        let last = self.rows.last();
        last.is_some_and(|last| buffer == self.buffer && (last.end..=last.end + GAP_MAX).contains(&begin))
    }

    fn search(&mut self, texts: &StringViewArray, finder: &Finder<'_>, found: &mut BooleanBufferBuilder) {
        let [first, .., last] = self.rows.as_slice() else {
            for text in self.rows.drain(..) {
                let is_found = finder.find(texts.value(text.row).as_bytes()).is_some();
                found.set_bit(text.row, is_found);
            }
            return;
        };
        let bytes = &texts.data_buffers()[self.buffer as usize][..last.end];
        let mut at = first.begin;
        let mut rows = self.rows.iter().peekable();
        while let Some(place) = finder.find(&bytes[at..]) {
            let begin = at + place;
            let end = begin + finder.needle().len();
            while rows.next_if(|text| text.end < end).is_some() {}
            let Some(text) = rows.peek() else { break };
            at = match text.begin <= begin {
                true => {
                    found.set_bit(text.row, true);
                    text.end
                }
                false => text.begin,
            };
        }
        self.rows.clear();
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
                ("[ab]{0,20}", "[ab]{0,4}", proptest::bool::weighted(0.1), proptest::bool::weighted(0.05)),
                0..60,
            ),
            needle in "[ab]{1,4}",
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
