//! Conditions on texts, answered page by page: a page is searched as soon as it is decompressed, when
//! it lies in the core's cache, and let go if none of its texts passes.
//!
//! ```text
//!   page 0   codes of the dictionary   each of its texts is searched once     rows 3, 8 pass
//!   page 1   plain texts               the bytes are searched                 no row: the page is freed
//!   page 2   plain texts               the bytes are searched                 row 41,012 passes
//! ```
//!
//! The texts of rows that pass are copied on demand. The `parquet` crate's reader would make a view of
//! each row. What is not as expected here is left to it, with what is damaged.

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
use super::pages::FlatColumn;
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
    condition: &TextCondition,
) -> Option<Passing> {
    let mut pages = column.pages(chunks, wanted)?;
    let rows = pages.rows.clone();
    let skipped = wanted.start - rows.start;
    let mut validity = Validity::new(column.has_nulls());
    let mut found = BooleanBufferBuilder::new(rows.len());
    let mut dictionary: Option<(Texts, BooleanBuffer)> = None;
    let mut kept = Vec::new();
    let mut bytes = 0;
    while found.len() < rows.len() {
        let page = pages.next()?;
        let page_rows = page.rows;
        if page_rows > rows.len() - found.len() {
            return None;
        }
        let count = validity.add(page.levels(), page_rows)?;
        let (texts, answers) = if page.is_coded() {
            let (texts, answers) = match &dictionary {
                Some(known) => known,
                None => {
                    let (bytes, count) = pages.dictionary()?;
                    let texts = Texts::read(bytes, count)?;
                    let answers = condition.answers(&texts.spaced());
                    dictionary.insert((texts, answers))
                }
            };
            let mut codes: Vec<u32> = Vec::with_capacity(count);
            hybrid::read_codes(page.values(), count, &mut codes)?;
            if codes.iter().any(|code| *code as usize >= texts.ends.len()) {
                return None;
            }
            let answers = BooleanBuffer::collect_bool(count, |at| answers.value(codes[at] as usize));
            (PageTexts::Codes(codes), answers)
        } else if page.encoding == Encoding::PLAIN {
            let texts = Texts::read(page.into_values(), count)?;
            let answers = condition.answers(&texts.spaced());
            (PageTexts::Plain(texts), answers)
        } else {
            return None;
        };
        let mut places = None;
        let answers = match count == page_rows {
            true => answers,
            false => {
                let answers: Vec<bool> = answers.iter().collect();
                let mut of_rows = Vec::with_capacity(page_rows);
                validity.spread(&answers, &mut of_rows);
                let of_texts: Vec<u32> = (0..count as u32).collect();
                validity.spread(&of_texts, places.insert(Vec::with_capacity(page_rows)));
                BooleanBuffer::from(of_rows)
            }
        };
        let page = Page {
            rows: found.len()..found.len() + page_rows,
            places,
            texts,
        };
        found.append_buffer(&answers);
        // Of the first and the last page, other rows may pass.
        let begin = skipped.saturating_sub(page.rows.start).min(page_rows);
        let end = (skipped + wanted.len())
            .saturating_sub(page.rows.start)
            .min(page_rows);
        let is_kept = begin < end && answers.slice(begin, end - begin).has_true();
        // A page that is not compressed lies among the others of the column.
        if is_kept || !column.is_compressed() {
            bytes += page.bytes();
        }
        if is_kept {
            kept.push(page);
        }
    }
    let dictionary = dictionary.map(|(texts, _)| texts);
    Some(Passing {
        rows: found.finish().slice(skipped, wanted.len()),
        skipped,
        bytes: bytes + dictionary.as_ref().map_or(0, Texts::size),
        dictionary,
        pages: kept,
    })
}

/// Texts as plain pages have them, each behind its length.
#[derive(Debug)]
struct Texts {
    bytes: Bytes,
    ends: Vec<u32>,
}

impl Texts {
    /// `None` if these are no `count` texts.
    fn read(bytes: Bytes, count: usize) -> Option<Self> {
        if count > bytes.len() / LENGTH || u32::try_from(bytes.len()).is_err() {
            return None;
        }
        let mut ends = vec![0; count];
        let mut end = 0;
        // What is behind was checked, and what is before is checked up to the next length that is no
        // text.
        let mut unchecked = 0;
        let mut touched = 0;
        for place in &mut ends {
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
        Some(Self { bytes, ends })
    }

    fn spaced(&self) -> SpacedTexts<'_> {
        SpacedTexts::new(&self.bytes, &self.ends, LENGTH)
    }

    fn size(&self) -> usize {
        self.bytes.len() + self.ends.capacity() * size_of::<u32>()
    }
}

#[derive(Debug)]
enum PageTexts {
    Plain(Texts),
    /// Of the dictionary.
    Codes(Vec<u32>),
}

/// A page with a row that passes.
#[derive(Debug)]
struct Page {
    rows: Range<usize>,
    /// The place of each row's text, if there are NULLs.
    places: Option<Vec<u32>>,
    texts: PageTexts,
}

impl Page {
    fn text<'a>(&'a self, row: usize, dictionary: Option<&'a Texts>) -> Option<&'a [u8]> {
        let row = row - self.rows.start;
        let place = self.places.as_ref().map_or(row, |places| places[row] as usize);
        Some(match &self.texts {
            PageTexts::Plain(texts) => texts.spaced().text(place),
            PageTexts::Codes(codes) => dictionary?.spaced().text(codes[place] as usize),
        })
    }

    fn bytes(&self) -> usize {
        let places = self.places.as_ref().map_or(0, Vec::capacity);
        let (texts, codes) = match &self.texts {
            PageTexts::Plain(texts) => (texts.size(), 0),
            PageTexts::Codes(codes) => (0, codes.capacity()),
        };
        texts + (places + codes) * size_of::<u32>()
    }
}

#[derive(Debug)]
pub(super) struct Passing {
    rows: BooleanBuffer,
    /// Rows of the first page in front of them.
    skipped: usize,
    dictionary: Option<Texts>,
    pages: Vec<Page>,
    bytes: usize,
}

impl PassingTexts for Passing {
    fn rows(&self) -> &BooleanBuffer {
        &self.rows
    }

    fn texts(&self, rows: &mut dyn Iterator<Item = usize>) -> Option<ArrayRef> {
        let mut texts = StringViewBuilder::new();
        let mut pages = self.pages.iter();
        let mut page: Option<&Page> = None;
        for row in rows {
            if !self.rows.value(row) {
                return None;
            }
            let row = row + self.skipped;
            let of_row = match page.filter(|page| page.rows.contains(&row)) {
                Some(page) => page,
                None => pages.find(|page| page.rows.contains(&row))?,
            };
            page = Some(of_row);
            let text = of_row.text(row, self.dictionary.as_ref())?;
            texts.append_value(std::str::from_utf8(text).ok()?);
        }
        Some(Arc::new(texts.finish()))
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use ::parquet::basic::Compression;
    use ::parquet::file::properties::{WriterProperties, WriterVersion};
    use arrow::array::{Array as _, AsArray as _, RecordBatch, StringViewArray};
    use arrow::datatypes::Field;
    use columnar::Expr;
    use proptest::prelude::*;

    use super::super::written::assert_reads;
    use super::*;

    fn texts(bytes: &[u8], count: usize) -> Option<Vec<&[u8]>> {
        let texts = Texts::read(Bytes::copy_from_slice(bytes), count)?;
        let ends = texts.ends.iter().scan(0, |begin, end| {
            let text = *begin + LENGTH..*end as usize;
            *begin = text.end;
            Some(text)
        });
        Some(ends.map(|text| &bytes[text]).collect())
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
        assert_eq!(texts(&page, 3), Some(vec![&b"ab"[..], long.as_bytes(), b""]));
        assert_eq!(texts(&page, 2).map(|texts| texts.len()), Some(2));
        assert_eq!(texts(&page, 4), None, "a length is missing");
        assert_eq!(texts(&page[..page.len() - 5], 2), None, "a text ends too early");
        let (first, second) = ([1, 0, 0, 0, 0xc3], [1, 0, 0, 0, 0xa9]);
        assert_eq!(texts(&[first, second].concat(), 2), None, "half a letter each");
        let mut split = page;
        split[5] = 0xc3;
        assert_eq!(texts(&split, 3), None, "half a letter before a length of 400");
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
        ) {
            let column = rows.iter().map(|(text, is_null)| (!(nulls && *is_null)).then_some(text));
            let column: ArrayRef = Arc::new(StringViewArray::from_iter(column));
            let batch = RecordBatch::try_from_iter_with_nullable([("t", column, nulls)]).unwrap();
            let properties = WriterProperties::builder()
                .set_writer_version(if second { WriterVersion::PARQUET_2_0 } else { WriterVersion::PARQUET_1_0 })
                .set_compression(if compressed { Compression::SNAPPY } else { Compression::UNCOMPRESSED })
                .set_column_encoding("t".into(), Encoding::PLAIN)
                .set_dictionary_enabled(dictionary_bytes > 0)
                .set_dictionary_page_size_limit(dictionary_bytes.max(1))
                .set_data_page_row_count_limit(page_rows)
                .set_write_batch_size(page_rows)
                .set_max_row_group_row_count(Some(group_rows))
                .build();
            let text = Expr::column(0, &Field::new("t", DataType::Utf8View, nulls));
            let meets = Expr::like(text, Expr::text(&format!("%{needle}%")), false).unwrap();
            let conditions = [meets.clone(), Expr::not(meets).unwrap()];
            let conditions = conditions.map(|condition| TextCondition::of(&condition).unwrap());
            assert_reads(&batch, properties, cut, |column, chunks, wanted| {
                assert!(may_be(column));
                let mut found: Vec<Option<String>> = vec![None; wanted.len()];
                for (condition, meets) in conditions.iter().zip([true, false]) {
                    let passing = passing(column, chunks, wanted, condition).expect("plain pages, or codes");
                    let all = passing.texts(&mut passing.rows().set_indices()).unwrap();
                    let texts = all.as_string_view();
                    assert_eq!(texts.len(), passing.rows().count_set_bits());
                    for (row, text) in passing.rows().set_indices().zip(texts) {
                        let text = text.expect("no NULL passes");
                        assert_eq!(text.contains(&needle), meets);
                        assert_eq!(found[row].replace(text.to_owned()), None);
                    }
                    if let Some(other) = (0..wanted.len()).find(|row| !passing.rows().value(*row)) {
                        assert!(passing.texts(&mut std::iter::once(other)).is_none());
                    }
                    // Pages without such a row are let go.
                    let holds_pages = !all.is_empty() || !compressed;
                    assert!(passing.bytes() > 0 || !holds_pages || all.is_empty());
                    assert!(passing.bytes() == 0 || holds_pages || passing.dictionary.is_some());
                }
                Arc::new(StringViewArray::from_iter(found))
            });
        }
    }
}
