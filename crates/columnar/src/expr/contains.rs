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

use std::array;
use std::ops::Range;

use arrow::array::{Array as _, ArrayRef, AsArray as _, BooleanArray, BooleanBufferBuilder, StringViewArray};
use arrow::buffer::BooleanBuffer;
use memchr::memmem::Finder;

use crate::table::SpacedTexts;

/// Bytes between two rows up to which they are searched as well.
const GAP_MAX: u32 = 64;

/// Rows that are looked at together: whether the text of each follows the one before it. Without a
/// branch for each row, views come from memory faster.
const BLOCK: usize = 16;

/// Bytes of a text that lies in its view, in
/// [Arrow's format](https://arrow.apache.org/docs/format/Columnar.html#variable-size-binary-view-layout).
const INLINE_MAX: u32 = 12;

/// The text that a constant pattern asks for anywhere, if it asks for nothing else.
pub(super) fn searched_text(pattern: &ArrayRef) -> Option<&str> {
    let pattern = pattern
        .as_string_view_opt()
        .filter(|pattern| pattern.is_valid(0))?;
    needle(pattern.value(0))
}

/// The text that `pattern` asks for anywhere, if it asks for nothing else.
fn needle(pattern: &str) -> Option<&str> {
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
    let (mut first, mut last) = (0, None);
    for (rows, views) in (0..).step_by(BLOCK).zip(texts.views().chunks(BLOCK)) {
        if let Some(before) = last
            && let Some(text) = last_following(views, before)
        {
            last = Some(text);
            continue;
        }
        for (row, &view) in (rows..).zip(views) {
            let Some(text) = Text::of(view) else {
                if inline.as_ref().is_some_and(|needle| needle.is_in(view)) {
                    found.set_bit(row, true);
                }
                continue;
            };
            if let Some(before) = last
                && !text.follows(before)
            {
                search(texts, first..row, before, &finder, &mut found);
                first = row;
            }
            last = Some(text);
        }
    }
    if let Some(last) = last {
        search(texts, first..texts.len(), last, &finder, &mut found);
    }
    BooleanArray::new(found.finish(), texts.nulls().cloned())
}

/// Whether each of `texts` contains the needle. What is found across gaps is left out as above.
pub(super) fn contained_in(texts: &SpacedTexts<'_>, finder: &Finder<'_>) -> BooleanBuffer {
    let mut found = BooleanBufferBuilder::new(texts.len());
    found.append_n(texts.len(), false);
    let (bytes, ends) = (texts.bytes(), texts.ends());
    let (mut row, mut at) = (0, 0);
    while let Some(place) = finder.find(&bytes[at..]) {
        let begin = at + place;
        let end = begin + finder.needle().len();
        row = match first_that_ends_behind(end, ends, row) {
            row if row < ends.len() => row,
            _ => break,
        };
        let text = texts.begin(row);
        if text > begin {
            at = text;
            continue;
        }
        found.set_bit(row, true);
        at = ends[row] as usize;
        row += 1;
    }
    found.finish()
}

/// The first of the ascending `ends` from `row` on that is `end` or behind it. Most places found are a
/// few rows apart.
fn first_that_ends_behind(end: usize, ends: &[u32], mut row: usize) -> usize {
    let is_short = |text_end: &u32| (*text_end as usize) < end;
    let mut steps = 1;
    while ends.get(row + steps - 1).is_some_and(is_short) {
        row += steps;
        steps *= 2;
    }
    let reaching = ends.len().min(row + steps);
    row + ends[row..reaching].partition_point(is_short)
}

/// Where a text is that does not lie in its view. Places of 32 bits, as in views.
#[derive(Clone, Copy)]
struct Text {
    buffer: u32,
    begin: u32,
    end: u32,
}

impl Text {
    /// `None` if the text lies in its view.
    fn of(view: u128) -> Option<Self> {
        // From the lowest bits on: length, the first bytes, number of the buffer, place in it.
        let (len, buffer, begin) = (view as u32, (view >> 64) as u32, (view >> 96) as u32);
        (len > INLINE_MAX).then(|| Self {
            buffer,
            begin,
            end: begin + len,
        })
    }

    /// Whether one search goes over both.
    fn follows(self, before: Self) -> bool {
        self.buffer == before.buffer && !is_apart(self.begin, before.end)
    }
}

/// Whether a text that begins at `begin` lies before one that ends at `end`, or far behind it.
fn is_apart(begin: u32, end: u32) -> bool {
    begin.wrapping_sub(end) > GAP_MAX
}

/// The last text of a block in which none lies in its view and each follows the one before it; for the
/// first that is `before`. `None` of any other block.
fn last_following(views: &[u128], before: Text) -> Option<Text> {
    let views: &[u128; BLOCK] = views.try_into().ok()?;
    let lens: [u32; BLOCK] = array::from_fn(|at| views[at] as u32);
    let buffers: [u32; BLOCK] = array::from_fn(|at| (views[at] >> 64) as u32);
    let begins: [u32; BLOCK] = array::from_fn(|at| (views[at] >> 96) as u32);
    let ends: [u32; BLOCK] = array::from_fn(|at| begins[at].wrapping_add(lens[at]));
    let one_is_inline = lens.iter().fold(false, |one, len| one | (*len <= INLINE_MAX));
    let one_is_elsewhere = buffers
        .iter()
        .fold(false, |one, buffer| one | (*buffer != before.buffer));
    let one_is_apart = begins[1..]
        .iter()
        .zip(&ends)
        .fold(is_apart(begins[0], before.end), |one, (begin, end)| {
            one | is_apart(*begin, *end)
        });
    (!(one_is_inline | one_is_elsewhere | one_is_apart)).then_some(Text {
        buffer: before.buffer,
        begin: begins[BLOCK - 1],
        end: ends[BLOCK - 1],
    })
}

/// Searches the texts of `rows`, which follow each other in a buffer up to `last`.
fn search(
    texts: &StringViewArray,
    mut rows: Range<usize>,
    last: Text,
    finder: &Finder<'_>,
    found: &mut BooleanBufferBuilder,
) {
    let views = texts.views();
    let bytes = &texts.data_buffers()[last.buffer as usize][..last.end as usize];
    let Some(first) = views[rows.clone()].iter().find_map(|view| Text::of(*view)) else {
        return;
    };
    let mut at = first.begin as usize;
    while let Some(place) = finder.find(&bytes[at..]) {
        let begin = at + place;
        let end = begin + finder.needle().len();
        let Some((row, text)) = first_that_reaches(end, views, rows.clone()) else {
            break;
        };
        (rows.start, at) = match text.begin as usize <= begin {
            true => {
                found.set_bit(row, true);
                (row + 1, text.end as usize)
            }
            false => (row, text.begin as usize),
        };
    }
}

/// The first of `rows` whose text ends at `end` or behind it. Their texts follow each other, apart from
/// those that lie in their views.
fn first_that_reaches(end: usize, views: &[u128], rows: Range<usize>) -> Option<(usize, Text)> {
    // The last text in front of `row`, but none of those in front of `from`.
    let last_before = |row: usize, from: usize| {
        let texts = (from..row).rev();
        let mut texts = texts.filter_map(|row| Some((row, Text::of(views[row])?)));
        texts.next()
    };
    let reaches = |text: &(usize, Text)| text.1.end as usize >= end;
    // Rows in front of `short` do not reach `end`. Most places found are a few rows apart.
    let (mut short, mut steps) = (rows.start, 1);
    let mut reaching = loop {
        let ahead = rows.end.min(short + steps);
        match last_before(ahead, short) {
            Some(text) if reaches(&text) => break text,
            _ if ahead == rows.end => return None,
            _ => (short, steps) = (ahead, 2 * steps),
        }
    };
    while short < reaching.0 {
        let middle = short.midpoint(reaching.0);
        match last_before(middle + 1, short) {
            Some(text) if reaches(&text) => reaching = text,
            _ => short = middle + 1,
        }
    }
    Some(reaching)
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

    /// Whether the text in `view` holds the needle.
    fn is_in(&self, view: u128) -> bool {
        let mut text = view >> 32;
        (self.len..=view as u32).any(|_| {
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

    /// A text, the gap before it, whether the row is NULL, and whether it has an earlier row's text.
    type Row = (String, String, bool, bool);

    /// `others` is the part of rows that are NULL, and of those that have an earlier row's text.
    fn rows(text: &'static str, others: f64) -> impl Strategy<Value = Vec<Row>> {
        let is_other = || proptest::bool::weighted(others);
        proptest::collection::vec((text, "[ab]{0,4}", is_other(), is_other()), 0..80)
    }

    /// The bytes of each text in the next two tests.
    const LEN: usize = 13;

    fn rows_with(needle: &str, mut texts: StringViewBuilder) -> Vec<usize> {
        let found = contains(&texts.finish(), needle);
        (0..found.len()).filter(|row| found.value(*row)).collect()
    }

    #[test]
    fn a_short_text_with_the_bytes_of_a_place_is_searched_itself() {
        let mut builder = StringViewBuilder::new();
        let buffer = builder.append_block(Buffer::from(vec![b'x'; LEN * 2 * BLOCK]));
        for row in 0..2 * BLOCK {
            let begin = (row * LEN) as u32;
            if row == BLOCK + 4 {
                let text = [*b"abcd", buffer.to_le_bytes(), begin.to_le_bytes()].concat();
                builder.append_value(std::str::from_utf8(&text).unwrap());
            } else {
                builder.try_append_view(buffer, begin, LEN as u32).unwrap();
            }
        }
        assert_eq!(rows_with("bc", builder), [BLOCK + 4]);
    }

    #[test]
    fn a_block_that_lies_before_the_last_one_is_searched_apart() {
        let mut bytes = vec![b'x'; LEN * 2 * BLOCK];
        bytes[LEN * 3] = b'y';
        let mut builder = StringViewBuilder::new();
        let buffer = builder.append_block(Buffer::from(bytes));
        for place in (BLOCK..2 * BLOCK).chain(0..BLOCK) {
            let begin = (place * LEN) as u32;
            builder.try_append_view(buffer, begin, LEN as u32).unwrap();
        }
        assert_eq!(rows_with("y", builder), [BLOCK + 3]);
    }

    proptest! {
        /// The gaps hold the needle's letters, views may point back, and from one row on they are of
        /// another buffer.
        #[test]
        fn what_is_found_is_what_each_row_contains(
            rows in prop_oneof![
                rows("[ab]{0,20}|a{0,20}", 0.08),
                rows("[ab]{13,20}|a{13,20}|b{13,20}", 0.01),
            ],
            of_first in 0_usize..80,
            needle in "[ab]{1,4}|a{11,14}",
        ) {
            let mut bytes: Vec<u8> = Vec::new();
            let mut places = Vec::new();
            for (text, gap, _, _) in &rows {
                bytes.extend(gap.as_bytes());
                places.push((bytes.len() as u32, text.len() as u32));
                bytes.extend(text.as_bytes());
            }
            let swapped: Vec<u8> = bytes.iter().map(|byte| byte ^ b'a' ^ b'b').collect();
            let mut builder = StringViewBuilder::new();
            let buffers = [bytes, swapped].map(|bytes| builder.append_block(Buffer::from(bytes)));
            for (at, (_, _, is_null, points_back)) in rows.iter().enumerate() {
                let (begin, len) = places[if *points_back { at / 2 } else { at }];
                match is_null {
                    true => builder.append_null(),
                    false => builder
                        .try_append_view(buffers[usize::from(at >= of_first)], begin, len)
                        .unwrap(),
                }
            }
            let texts = builder.finish();
            let expected = texts.iter().map(|text| text.map(|text| text.contains(&needle)));
            prop_assert_eq!(contains(&texts, &needle), BooleanArray::from_iter(expected));
        }
    }
}
