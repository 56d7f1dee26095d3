//! Texts on which a reader answers a condition while it decodes them.

use std::fmt::Debug;

use arrow::array::ArrayRef;
use arrow::buffer::BooleanBuffer;

/// Texts one behind the other in a buffer, each behind a gap of the same length.
///
/// ```
/// use columnar::SpacedTexts;
///
/// let texts = SpacedTexts::new(b"..one..two", &[5, 10], 2);
/// assert_eq!((texts.len(), texts.text(1)), (2, &b"two"[..]));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SpacedTexts<'a> {
    bytes: &'a [u8],
    ends: &'a [u32],
    gap: usize,
}

impl<'a> SpacedTexts<'a> {
    /// The texts end at `ends` in `bytes`, each a `gap` and more behind the one before.
    ///
    /// # Panics
    ///
    /// When the last one ends behind `bytes`. Reading a text panics if its end is less than a gap
    /// behind that of the one before.
    pub fn new(bytes: &'a [u8], ends: &'a [u32], gap: usize) -> Self {
        let bytes = &bytes[..ends.last().map_or(0, |end| *end as usize)];
        Self { bytes, ends, gap }
    }

    /// The number of texts.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The text at `place`.
    ///
    /// # Panics
    ///
    /// When there is no such text.
    pub fn text(&self, place: usize) -> &'a [u8] {
        &self.bytes[self.begin(place)..self.ends[place] as usize]
    }

    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    pub(crate) fn ends(&self) -> &'a [u32] {
        self.ends
    }

    pub(crate) fn begin(&self, place: usize) -> usize {
        let before = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        before as usize + self.gap
    }
}

/// A condition on texts. NULL never meets it.
pub trait TextCondition {
    /// A bit for each text: whether it meets the condition.
    fn answers(&self, texts: &SpacedTexts<'_>) -> BooleanBuffer;
}

/// The rows of a morsel's column that meet a [condition](TextCondition), and their texts.
pub trait PassingTexts: Debug {
    /// A bit for each row.
    fn rows(&self) -> &BooleanBuffer;

    /// An array of the schema's type with the texts of `rows`, which pass, in order. `None` if one of
    /// them does not pass.
    fn texts(&self, rows: &mut dyn Iterator<Item = usize>) -> Option<ArrayRef>;

    /// The bytes that it holds.
    fn bytes(&self) -> usize;
}
