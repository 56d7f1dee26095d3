//! The pages of a flat column with some rows of a row group, and the dictionary on demand.
//!
//! A chunk begins with its dictionary. Once that is full, writers go over to pages of plain values.
//! The `parquet` crate decompresses the dictionary in any case, which for a range of rows far behind
//! takes as long as the range itself. Pages are taken apart by that crate, and decompressed, apart from
//! Snappy: it would fill new memory with zeros for each page. Here one buffer serves one page after the
//! other and stays in the core's cache, and [`snappy`](super::snappy) fills it.

use std::mem;
use std::ops::{Deref, Range};
use std::sync::Arc;

use ::parquet::arrow::arrow_reader::ArrowReaderMetadata;
use ::parquet::basic::{Compression, Encoding, Type};
use ::parquet::column::page::{Page, PageReader as _};
use ::parquet::file::metadata::ColumnChunkMetaData;
use ::parquet::file::serialized_reader::SerializedPageReader;
use arrow::datatypes::DataType;
use bytes::Bytes;

use super::chunks::{self, Chunks};
use super::snappy::Stream;
use super::validity::Validity;

/// A column in a row group, without repetition and of no deeper structure.
#[derive(Clone, Copy)]
pub(super) struct FlatColumn<'a> {
    pub(super) metadata: &'a ArrowReaderMetadata,
    pub(super) row_group: usize,
    pub(super) leaf: usize,
    pub(super) chunk: &'a ColumnChunkMetaData,
    pub(super) data_type: &'a DataType,
}

impl<'a> FlatColumn<'a> {
    /// `None` if it is not flat.
    pub(super) fn of(metadata: &'a ArrowReaderMetadata, row_group: usize, column: usize) -> Option<Self> {
        let schema = metadata.parquet_schema();
        let mut leaves = (0..schema.num_columns()).filter(|leaf| schema.get_column_root_idx(*leaf) == column);
        let leaf = leaves.next().filter(|_| leaves.next().is_none())?;
        let descriptor = schema.column(leaf);
        let is_flat = descriptor.max_rep_level() == 0 && descriptor.max_def_level() <= 1;
        is_flat.then(|| Self {
            metadata,
            row_group,
            leaf,
            chunk: metadata.metadata().row_group(row_group).column(leaf),
            data_type: metadata.schema().field(column).data_type(),
        })
    }

    pub(super) fn stored(&self) -> Type {
        self.chunk.column_type()
    }

    pub(super) fn is_snappy(&self) -> bool {
        self.chunk.compression() == Compression::SNAPPY
    }

    fn is_compressed(&self) -> bool {
        self.chunk.compression() != Compression::UNCOMPRESSED
    }

    pub(super) fn has_nulls(&self) -> bool {
        self.chunk.column_descr().max_def_level() > 0
    }

    /// Whether the footer says that no row is NULL.
    pub(super) fn is_without_nulls(&self) -> bool {
        let nulls = self.chunk.statistics().and_then(|known| known.null_count_opt());
        !self.has_nulls() || nulls == Some(0)
    }

    /// The pages with some of `wanted`. For a part of the rows there must be a page index.
    pub(super) fn pages(&self, chunks: &Chunks, wanted: &Range<usize>) -> Option<Pages> {
        let metadata = self.metadata.metadata();
        let group_rows = usize::try_from(metadata.row_group(self.row_group).num_rows()).ok()?;
        let index = metadata
            .offset_index()
            .and_then(|index| index.get(self.row_group)?.get(self.leaf))
            .map(|index| index.page_locations());
        let (locations, skipped, rows) = match *wanted == (0..group_rows) {
            true => (None, 0, wanted.clone()),
            false => {
                let locations = index?;
                let (skipped, rows) = chunks::whole_pages(locations, wanted, group_rows)?;
                (Some(locations), skipped, rows)
            }
        };
        // The crate leaves the bytes of such a chunk as they are.
        let plain = match self.is_snappy() {
            true => {
                let builder = self.chunk.clone().into_builder();
                Some(builder.set_compression(Compression::UNCOMPRESSED).build().ok()?)
            }
            false => None,
        };
        let open = || {
            let chunks = Arc::new(chunks.clone());
            let chunk = plain.as_ref().unwrap_or(self.chunk);
            SerializedPageReader::new(chunks, chunk, group_rows, locations.cloned()).ok()
        };
        let mut pages = open()?;
        let mut dictionary = None;
        if pages.peek_next_page().ok()??.is_dict {
            pages.skip_next_page().ok()?;
            dictionary = Some(open()?);
        }
        for _page in 0..skipped {
            pages.skip_next_page().ok()?;
        }
        Some(Pages {
            pages,
            dictionary,
            is_compressed: self.is_compressed(),
            snappy: match self.is_snappy() {
                true => Some(Snappy::new(usize::try_from(self.chunk.uncompressed_size()).ok()?)),
                false => None,
            },
            has_nulls: self.has_nulls(),
            rows,
            group_rows,
        })
    }
}

pub(super) struct Pages {
    /// Behind the dictionary.
    pages: SerializedPageReader<Chunks>,
    /// The dictionary is its next page.
    dictionary: Option<SerializedPageReader<Chunks>>,
    is_compressed: bool,
    snappy: Option<Snappy>,
    has_nulls: bool,
    /// Those in the pages.
    pub(super) rows: Range<usize>,
    group_rows: usize,
}

/// Levels and values of some rows.
pub(super) struct DataPage {
    buf: PageBytes,
    levels: Range<usize>,
    values: usize,
    pub(super) rows: usize,
    pub(super) encoding: Encoding,
}

impl DataPage {
    /// Whether the rows have values, as Parquet writes levels. Empty if all have.
    pub(super) fn levels(&self) -> &[u8] {
        &self.buf[self.levels.clone()]
    }

    pub(super) fn values(&self) -> &[u8] {
        &self.buf[self.values..]
    }

    /// Whether values are codes of the dictionary.
    pub(super) fn is_coded(&self) -> bool {
        is_coded(self.encoding)
    }
}

/// Whether values are codes of the dictionary.
pub(super) fn is_coded(encoding: Encoding) -> bool {
    matches!(encoding, Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY)
}

impl Pages {
    /// Bytes of the dictionary, which keep nothing else, and the number of its values.
    pub(super) fn dictionary(&mut self) -> Option<(Bytes, usize)> {
        let Page::DictionaryPage { buf, num_values, .. } =
            self.dictionary.as_mut()?.get_next_page().ok()??
        else {
            return None;
        };
        let count = usize::try_from(num_values).ok()?;
        let buf = match &mut self.snappy {
            Some(snappy) => snappy.decompress(&buf, 0)?.into_bytes(),
            None => buf,
        };
        // An array may keep the page, which must not keep the bytes of the column around it.
        let buf = match self.is_compressed {
            true => buf,
            false => Bytes::copy_from_slice(&buf),
        };
        (count <= self.group_rows).then_some((buf, count))
    }

    /// `None` where there is no page, or one that is not as expected.
    pub(super) fn next(&mut self) -> Option<DataPage> {
        let page = self.stored()?;
        self.opened(page)
    }

    fn opened(&mut self, page: Page) -> Option<DataPage> {
        let rows = rows_of(&page)?;
        let buf = self.decompressed(&page)?;
        let (values, levels, encoding) = match page {
            Page::DataPage {
                encoding,
                def_level_encoding,
                ..
            } => {
                let levels = match self.has_nulls {
                    true if def_level_encoding == Encoding::RLE => {
                        let len = u32::from_le_bytes(*buf.first_chunk::<4>()?);
                        4..usize::try_from(len).ok()?.checked_add(4)?
                    }
                    true => return None,
                    false => 0..0,
                };
                (levels.end, levels, encoding)
            }
            Page::DataPageV2 {
                encoding,
                def_levels_byte_len,
                ..
            } => {
                let levels = usize::try_from(def_levels_byte_len).ok()?;
                (levels, 0..levels, encoding)
            }
            Page::DictionaryPage { .. } => return None,
        };
        (values <= buf.len()).then_some(DataPage {
            buf,
            levels,
            values,
            rows,
            encoding,
        })
    }

    /// The next page, with decompressed bytes that the caller keeps. `None` as of
    /// [`next`](Self::next).
    pub(super) fn page(&mut self) -> Option<Page> {
        let mut page = self.stored()?;
        let bytes = self.decompressed(&page)?;
        let (Page::DataPage { buf, .. } | Page::DataPageV2 { buf, .. } | Page::DictionaryPage { buf, .. }) =
            &mut page;
        *buf = bytes.into_bytes();
        Some(page)
    }

    /// Hands `take` each page with some of `rows`, which ascend, and their places in it. Others are not
    /// decompressed. `None` if `take` says so, or if a row is in no page, or in one with NULLs.
    pub(super) fn at_rows(
        &mut self,
        rows: &[usize],
        mut take: impl FnMut(&mut Self, &DataPage, &mut dyn ExactSizeIterator<Item = usize>) -> Option<()>,
    ) -> Option<()> {
        let mut validity = Validity::new(self.has_nulls);
        let (mut begin, mut left) = (self.rows.start, rows);
        while !left.is_empty() {
            let page = self.stored()?;
            let end = begin + rows_of(&page)?;
            if end > self.rows.end {
                return None;
            }
            let (here, behind) = left.split_at(left.partition_point(|row| *row < end));
            if !here.is_empty() {
                let page = self.opened(page)?;
                if validity.add(page.levels(), page.rows)? < page.rows {
                    return None;
                }
                take(self, &page, &mut here.iter().map(|row| row - begin))?;
                self.give_back(page);
            }
            (begin, left) = (end, behind);
        }
        Some(())
    }

    /// Lets the next page have the memory of one that is no longer needed.
    pub(super) fn give_back(&mut self, page: DataPage) {
        if let (Some(snappy), PageBytes::Decompressed { buffer, .. }) = (&mut self.snappy, page.buf) {
            snappy.buffer = buffer;
        }
    }

    /// A page as it is stored.
    fn stored(&mut self) -> Option<Page> {
        self.pages.get_next_page().ok()?
    }

    fn decompressed(&mut self, page: &Page) -> Option<PageBytes> {
        let (plain, is_compressed) = match *page {
            Page::DataPage { .. } => (0, true),
            Page::DataPageV2 {
                def_levels_byte_len,
                rep_levels_byte_len: 0,
                is_compressed,
                ..
            } => (usize::try_from(def_levels_byte_len).ok()?, is_compressed),
            Page::DataPageV2 { .. } | Page::DictionaryPage { .. } => return None,
        };
        let stored = page.buffer();
        match &mut self.snappy {
            Some(snappy) if is_compressed => snappy.decompress(stored, plain),
            _ => Some(PageBytes::Shared(stored.clone())),
        }
    }
}

fn rows_of(page: &Page) -> Option<usize> {
    match page {
        Page::DataPage { num_values, .. } | Page::DataPageV2 { num_values, .. } => {
            usize::try_from(*num_values).ok()
        }
        Page::DictionaryPage { .. } => None,
    }
}

/// The bytes of a page.
enum PageBytes {
    Shared(Bytes),
    /// The first `len` bytes.
    Decompressed {
        buffer: Vec<u8>,
        len: usize,
    },
}

impl PageBytes {
    fn into_bytes(self) -> Bytes {
        match self {
            Self::Shared(bytes) => bytes,
            Self::Decompressed { mut buffer, len } => {
                buffer.truncate(len);
                buffer.shrink_to_fit();
                Bytes::from(buffer)
            }
        }
    }
}

impl Deref for PageBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Shared(bytes) => bytes,
            Self::Decompressed { buffer, len } => &buffer[..*len],
        }
    }
}

struct Snappy {
    /// For the next page.
    buffer: Vec<u8>,
    /// Bytes of a page at most.
    bytes_max: usize,
}

impl Snappy {
    fn new(bytes_max: usize) -> Self {
        Self {
            buffer: Vec::new(),
            bytes_max,
        }
    }

    /// The first `plain` bytes as they are, and the others decompressed.
    fn decompress(&mut self, stored: &[u8], plain: usize) -> Option<PageBytes> {
        let (levels, values) = stored.split_at_checked(plain)?;
        // A page of NULLs may have no values.
        let stream = match values.is_empty() {
            true => None,
            false => Some(Stream::new(values)?),
        };
        let (len, room) = stream
            .as_ref()
            .map_or((0, 0), |stream| (stream.len(), stream.room()));
        // The length is believed no further than the footer, since memory is taken for it.
        let len = plain.checked_add(len).filter(|len| *len <= self.bytes_max)?;
        let mut buffer = mem::take(&mut self.buffer);
        if buffer.len() < plain + room {
            buffer.clear();
            buffer.resize(plain + room, 0);
        }
        buffer[..plain].copy_from_slice(levels);
        if let Some(stream) = stream {
            stream.decompress(&mut buffer[plain..])?;
        }
        Some(PageBytes::Decompressed { buffer, len })
    }
}
