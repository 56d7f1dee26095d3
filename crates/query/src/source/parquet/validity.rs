//! Which rows of a column have values, page by page.

use arrow::array::BooleanBufferBuilder;
use arrow::buffer::NullBuffer;

use super::hybrid;

pub(super) struct Validity {
    /// Once a row is NULL.
    valid: Option<BooleanBufferBuilder>,
    has_nulls: bool,
    /// Of the last page: 1 is a value.
    levels: Vec<u32>,
    before: usize,
}

impl Validity {
    pub(super) fn new(has_nulls: bool) -> Self {
        Self {
            valid: None,
            has_nulls,
            levels: Vec::new(),
            before: 0,
        }
    }

    /// The rows of a page. Returns how many have values; `None` if these are no levels.
    pub(super) fn add(&mut self, levels: &[u8], rows: usize) -> Option<usize> {
        let mut present = rows;
        if self.has_nulls {
            self.levels.clear();
            hybrid::read(levels, 1, rows, &mut self.levels)?;
            present = self.levels.iter().filter(|level| is_valid(level)).count();
        }
        if present < rows {
            let before = self.before;
            self.valid.get_or_insert_with(|| {
                let mut valid = BooleanBufferBuilder::new(before + rows);
                valid.append_n(before, true);
                valid
            });
        }
        if let Some(valid) = &mut self.valid {
            match present < rows {
                true => self.levels.iter().for_each(|level| valid.append(is_valid(level))),
                false => valid.append_n(rows, true),
            }
        }
        self.before += rows;
        Some(present)
    }

    /// Appends a number for each row of the last page; `present` has those of rows with values.
    pub(super) fn spread<N: Copy + Default>(&self, present: &[N], into: &mut Vec<N>) {
        let mut present = present.iter().copied();
        let number = |level| match is_valid(level) {
            true => present.next().unwrap_or_default(),
            false => N::default(),
        };
        into.extend(self.levels.iter().map(number));
    }

    pub(super) fn finish(self) -> Option<NullBuffer> {
        self.valid.map(|mut valid| NullBuffer::new(valid.finish()))
    }
}

fn is_valid(level: &u32) -> bool {
    *level == 1
}
