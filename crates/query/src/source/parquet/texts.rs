//! Conditions on texts, answered page by page: a page is searched as soon as it is decompressed, when
//! it lies in the core's cache, and only texts that pass are kept.
//!
//! ```text
//!   page 0   codes of the dictionary   each of its texts is searched once     rows 3, 8 pass
//!   page 1   plain texts               the bytes are searched                 no row passes
//!   page 2   plain texts               the bytes are searched                 row 41,012 passes: a copy
//! ```
//!
//! The `parquet` crate's reader would make a view of each row, also where few rows are wanted. Here
//! these are copied alone. What is not as expected is left to that reader, with what is damaged.

use std::ops::Range;
use std::sync::Arc;

use ::parquet::basic::{Encoding, Type};
use arrow::array::{ArrayRef, BooleanBufferBuilder, StringViewBuilder};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::DataType;
use bytes::Bytes;
use columnar::{PassingTexts, SpacedTexts, TextCondition};

use super::chunks::Chunks;
use super::hybrid;
use super::pages::{FlatColumn, Pages};
use super::validity::Validity;

/// Bytes of a text's length, in front of it.
const LENGTH: usize = 4;

/// Bytes from a length to one that is read beforehand: the place of a length is known only from the
/// one before, which would wait for a farther cache each time.
const AHEAD: usize = 512;

/// Bits of a length with a byte that is not ASCII. Around other lengths, bytes are checked together.
const NOT_ASCII: u32 = 0x8080_8080;

/// Whether texts of the column may be found here.
pub(super) fn may_be(column: &FlatColumn<'_>) -> bool {
    let chunk = column.chunk;
    let encodings = chunk.page_encoding_stats_mask().unwrap_or(chunk.encodings_mask());
    let is_other = |encoding| encodings.is_set(encoding);
    let others = [Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY];
    column.stored() == Type::BYTE_ARRAY
        && *column.data_type == DataType::Utf8View
        && !others.into_iter().any(is_other)
}

/// Those of the `wanted` rows whose text meets `condition`; `None` if there are other pages.
pub(super) fn passing(
    column: &FlatColumn<'_>,
    chunks: &Chunks,
    wanted: &Range<usize>,
    condition: &dyn TextCondition,
) -> Option<Passing> {
    let mut pages = column.pages(chunks, wanted)?;
    let rows = pages.rows.clone();
    let mut validity = Validity::new(column.has_nulls());
    let mut found = BooleanBufferBuilder::new(rows.len());
    let mut passing = Texts::default();
    let mut dictionary: Option<(Dictionary, BooleanBuffer)> = None;
    let (mut codes, mut ends) = (Vec::<u32>::new(), Vec::new());
    while found.len() < rows.len() {
        let page = pages.next()?;
        if page.rows > rows.len() - found.len() {
            return None;
        }
        let count = validity.add(page.levels(), page.rows)?;
        let answers = if page.is_coded() {
            let (dictionary, met) = match &mut dictionary {
                Some(dictionary) => dictionary,
                None => {
                    let read = Dictionary::read(&mut pages)?;
                    let met = condition.answers(&read.texts());
                    dictionary.insert((read, met))
                }
            };
            codes.clear();
            hybrid::read_codes(page.values(), count, &mut codes)?;
            if codes.iter().any(|code| *code as usize >= met.len()) {
                return None;
            }
            let answers = BooleanBuffer::collect_bool(count, |at| met.value(codes[at] as usize));
            for at in answers.set_indices() {
                dictionary.add(codes[at], &mut passing)?;
            }
            answers
        } else if page.encoding == Encoding::PLAIN {
            find_ends(page.values(), count, &mut ends)?;
            let texts = SpacedTexts::new(page.values(), &ends, LENGTH);
            let answers = condition.answers(&texts);
            for place in answers.set_indices() {
                passing.add(texts.text(place))?;
            }
            answers
        } else {
            return None;
        };
        if count == page.rows {
            found.append_buffer(&answers);
        } else {
            let answers: Vec<bool> = answers.iter().collect();
            let mut of_rows = Vec::with_capacity(page.rows);
            validity.spread(&answers, &mut of_rows);
            found.append_slice(&of_rows);
        }
        pages.give_back(page);
    }
    let found = found.finish();
    let skipped = wanted.start - rows.start;
    Some(Passing {
        rows: found.slice(skipped, wanted.len()),
        before: found.slice(0, skipped).count_set_bits(),
        texts: passing,
    })
}

/// The texts in `rows`, which ascend and are among the `wanted` ones; `None` if there are other pages,
/// or NULLs.
pub(super) fn read_at(
    column: &FlatColumn<'_>,
    chunks: &Chunks,
    wanted: &Range<usize>,
    rows: &[usize],
) -> Option<ArrayRef> {
    let mut pages = column.pages(chunks, wanted)?;
    let mut texts = Texts::default();
    let mut dictionary: Option<Dictionary> = None;
    let (mut codes, mut ends) = (Vec::new(), Vec::new());
    pages.at_rows(rows, |pages, page, places| {
        if page.is_coded() {
            let dictionary = match &mut dictionary {
                Some(dictionary) => dictionary,
                None => dictionary.insert(Dictionary::read(pages)?),
            };
            codes.clear();
            hybrid::read_codes_at(page.values(), page.rows, places, &mut codes)?;
            for &code in &codes {
                dictionary.add(code, &mut texts)?;
            }
        } else if page.encoding == Encoding::PLAIN {
            find_ends(page.values(), page.rows, &mut ends)?;
            let all = SpacedTexts::new(page.values(), &ends, LENGTH);
            for place in places {
                texts.add(all.text(place))?;
            }
        } else {
            return None;
        }
        Some(())
    })?;
    let mut found = StringViewBuilder::with_capacity(rows.len());
    for place in 0..texts.of_rows.len() {
        found.append_value(texts.of_row(place)?);
    }
    Some(Arc::new(found.finish()))
}

/// Finds the ends of `count` plain texts, each behind its length. `None` if these are no such texts.
fn find_ends(bytes: &[u8], count: usize, ends: &mut Vec<u32>) -> Option<()> {
    if count > bytes.len() / LENGTH || u32::try_from(bytes.len()).is_err() {
        return None;
    }
    ends.clear();
    ends.resize(count, 0);
    let mut end = 0;
    // What is behind was checked, and what is before is checked up to the next length that is no text.
    let mut unchecked = 0;
    let mut touched = 0;
    for place in ends {
        touched |= bytes.get(end + AHEAD).copied().unwrap_or(0);
        let text = end + LENGTH;
        let length = u32::from_le_bytes(bytes.get(end..text)?.try_into().ok()?);
        if length & NOT_ASCII != 0 {
            simdutf8::basic::from_utf8(&bytes[unchecked..end]).ok()?;
            unchecked = text;
        }
        end = text + length as usize;
        *place = end as u32;
    }
    // Reading ahead is not left out.
    std::hint::black_box(touched);
    simdutf8::basic::from_utf8(bytes.get(unchecked..end)?).ok()?;
    Some(())
}

/// A place that no text has: the last one, before which a pool of texts is full.
const NOWHERE: u32 = u32::MAX;

struct Dictionary {
    bytes: Bytes,
    ends: Vec<u32>,
    /// The place of each of its texts among those that pass, or [`NOWHERE`] until a row has it.
    places: Vec<u32>,
}

impl Dictionary {
    fn read(pages: &mut Pages) -> Option<Self> {
        let (bytes, count) = pages.dictionary()?;
        let mut ends = Vec::new();
        find_ends(&bytes, count, &mut ends)?;
        Some(Self {
            bytes,
            places: vec![NOWHERE; count],
            ends,
        })
    }

    fn texts(&self) -> SpacedTexts<'_> {
        SpacedTexts::new(&self.bytes, &self.ends, LENGTH)
    }

    /// Adds a row that passes by its code. `None` if it stands for no text.
    fn add(&mut self, code: u32, passing: &mut Texts) -> Option<()> {
        let place = self.places.get_mut(code as usize)?;
        if *place == NOWHERE {
            let texts = SpacedTexts::new(&self.bytes, &self.ends, LENGTH);
            *place = passing.push(texts.text(code as usize))?;
        }
        passing.of_rows.push(*place);
        Some(())
    }
}

/// Texts without gaps.
#[derive(Debug, Default)]
struct Texts {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    /// The place of the text of each row that passes.
    of_rows: Vec<u32>,
}

impl Texts {
    /// Its place; `None` if there are too many.
    fn push(&mut self, text: &[u8]) -> Option<u32> {
        let place = u32::try_from(self.ends.len())
            .ok()
            .filter(|place| *place < NOWHERE)?;
        self.bytes.extend_from_slice(text);
        self.ends.push(u32::try_from(self.bytes.len()).ok()?);
        Some(place)
    }

    /// Adds a row that passes by its text.
    fn add(&mut self, text: &[u8]) -> Option<()> {
        let place = self.push(text)?;
        self.of_rows.push(place);
        Some(())
    }

    /// The text of one of the rows that pass.
    fn of_row(&self, passing: usize) -> Option<&str> {
        let texts = SpacedTexts::new(&self.bytes, &self.ends, 0);
        std::str::from_utf8(texts.text(self.of_rows[passing] as usize)).ok()
    }

    fn size(&self) -> usize {
        self.bytes.capacity() + (self.ends.capacity() + self.of_rows.capacity()) * size_of::<u32>()
    }
}

#[derive(Debug)]
pub(super) struct Passing {
    rows: BooleanBuffer,
    /// Rows that pass in front of them.
    before: usize,
    texts: Texts,
}

impl PassingTexts for Passing {
    fn rows(&self) -> &BooleanBuffer {
        &self.rows
    }

    fn texts(&self, rows: &mut dyn Iterator<Item = usize>) -> Option<ArrayRef> {
        let mut found = StringViewBuilder::new();
        let (mut at, mut passed) = (0, self.before);
        for row in rows {
            if !self.rows.value(row) {
                return None;
            }
            passed += self.rows.slice(at, row - at).count_set_bits();
            at = row;
            found.append_value(self.texts.of_row(passed)?);
        }
        Some(Arc::new(found.finish()))
    }

    fn bytes(&self) -> usize {
        self.texts.size()
    }
}

#[cfg(test)]
mod tests {
    use ::parquet::basic::Compression;
    use arrow::array::{Array as _, AsArray as _, RecordBatch, StringViewArray};
    use proptest::prelude::*;

    use super::super::written::{assert_reads, properties};
    use super::*;

    fn texts(bytes: &[u8], count: usize) -> Option<Vec<Vec<u8>>> {
        let mut ends = Vec::new();
        find_ends(bytes, count, &mut ends)?;
        let texts = SpacedTexts::new(bytes, &ends, LENGTH);
        Some((0..count).map(|place| texts.text(place).to_vec()).collect())
    }

    #[test]
    fn what_is_no_text_is_left_to_the_reader_of_the_format() {
        let long = "é".repeat(200);
        let page = [
            &[2, 0, 0, 0][..],
            b"ab",
            &[0x90, 1, 0, 0],
            long.as_bytes(),
            &[0; 4],
        ]
        .concat();
        let expected = [&b"ab"[..], long.as_bytes(), b""].map(<[u8]>::to_vec);
        assert_eq!(texts(&page, 3), Some(expected.to_vec()));
        assert_eq!(texts(&page, 2).map(|texts| texts.len()), Some(2));
        assert_eq!(texts(&page, 4), None, "a length is missing");
        assert_eq!(texts(&page[..page.len() - 5], 2), None, "a text ends too early");
        let (first, second) = ([1, 0, 0, 0, 0xc3], [1, 0, 0, 0, 0xa9]);
        assert_eq!(texts(&[first, second].concat(), 2), None, "half a letter each");
        let mut split = page;
        split[5] = 0xc3;
        assert_eq!(texts(&split, 3), None, "half a letter before a length of 400");
    }

    /// Whether a text contains another, or whether not.
    struct Contains(String, bool);

    impl Contains {
        fn is_met(&self, text: &str) -> bool {
            text.contains(&self.0) == self.1
        }
    }

    impl TextCondition for Contains {
        fn answers(&self, texts: &SpacedTexts<'_>) -> BooleanBuffer {
            let text = |place| std::str::from_utf8(texts.text(place)).unwrap();
            BooleanBuffer::collect_bool(texts.len(), |place| self.is_met(text(place)))
        }
    }

    proptest! {
        #[test]
        fn rows_that_meet_a_condition_and_rows_that_do_not_are_all_but_those_of_null(
            rows in proptest::collection::vec(("[ab]{0,5}|[ab]{20}", proptest::bool::weighted(0.2)), 1..400),
            needle in "[ab]{1,3}",
            nulls in any::<bool>(),
            second in any::<bool>(),
            compressed in any::<bool>(),
            dictionary_bytes in prop_oneof![Just(0), 1_usize..60, Just(1 << 20)],
            page_rows in 1_usize..100,
            group_rows in 1_usize..500,
            cut in 0_usize..500,
            every in 1_usize..70,
        ) {
            let column = rows.iter().map(|(text, is_null)| (!(nulls && *is_null)).then_some(text));
            let column: ArrayRef = Arc::new(StringViewArray::from_iter(column));
            let batch = RecordBatch::try_from_iter_with_nullable([("t", column, nulls)]).unwrap();
            let properties = properties(second, page_rows, group_rows)
                .set_compression(if compressed { Compression::SNAPPY } else { Compression::UNCOMPRESSED })
                .set_column_encoding("t".into(), Encoding::PLAIN)
                .set_dictionary_enabled(dictionary_bytes > 0)
                .set_dictionary_page_size_limit(dictionary_bytes.max(1))
                .build();
            let conditions = [true, false].map(|meets| Contains(needle.clone(), meets));
            assert_reads(&batch, properties, cut, |column, chunks, wanted| {
                assert!(may_be(column));
                let mut found: Vec<Option<String>> = vec![None; wanted.len()];
                let some: Vec<usize> = wanted.clone().filter(|row| row % every == 0).collect();
                let at = read_at(column, chunks, wanted, &some);
                assert!(at.is_some() || nulls, "a column without NULL");
                for condition in &conditions {
                    let passing = passing(column, chunks, wanted, condition).expect("plain pages, or codes");
                    let all = passing.texts(&mut passing.rows().set_indices()).unwrap();
                    let texts = all.as_string_view();
                    assert_eq!(texts.len(), passing.rows().count_set_bits());
                    for (row, text) in passing.rows().set_indices().zip(texts) {
                        let text = text.expect("no NULL passes");
                        assert!(condition.is_met(text));
                        assert_eq!(found[row].replace(text.to_owned()), None);
                    }
                    if let Some(other) = (0..wanted.len()).find(|row| !passing.rows().value(*row)) {
                        assert!(passing.texts(&mut std::iter::once(other)).is_none());
                    }
                    assert!(passing.bytes() > 0 || all.is_empty());
                }
                if let Some(at) = at {
                    let texts = some.iter().map(|row| found[row - wanted.start].as_deref());
                    assert_eq!(at.as_string_view(), &StringViewArray::from_iter(texts));
                }
                Arc::new(StringViewArray::from_iter(found))
            });
        }
    }
}
