//! The group of each row.

use std::convert::Infallible;

use arrow::buffer::NullBuffer;

#[derive(Clone, Copy, Debug)]
pub(crate) enum GroupIds<'a> {
    Single {
        /// All rows are of group 0.
        rows: usize,
    },
    PerRow {
        groups: &'a [u32],
        /// Rows per group, if groups are few.
        counts: Option<&'a [u32]>,
    },
}

impl GroupIds<'_> {
    /// In row order, without NULLs.
    #[inline]
    pub(super) fn for_each(self, nulls: Option<&NullBuffer>, mut visit: impl FnMut(usize, usize)) {
        let visited: Result<(), Infallible> = self.try_for_each(nulls, |group, row| {
            visit(group, row);
            Ok(())
        });
        match visited {
            Ok(()) => (),
        }
    }

    /// In row order, without NULLs, until a visit fails.
    #[inline]
    pub(super) fn try_for_each<E>(
        self,
        nulls: Option<&NullBuffer>,
        mut visit: impl FnMut(usize, usize) -> Result<(), E>,
    ) -> Result<(), E> {
        match (self, nulls.filter(|nulls| nulls.null_count() > 0)) {
            (Self::Single { rows }, None) => (0..rows).try_for_each(|row| visit(0, row)),
            (Self::Single { .. }, Some(nulls)) => nulls.valid_indices().try_for_each(|row| visit(0, row)),
            (Self::PerRow { groups, .. }, None) => {
                let mut rows = groups.iter().enumerate();
                rows.try_for_each(|(row, &group)| visit(group as usize, row))
            }
            (Self::PerRow { groups, .. }, Some(nulls)) => nulls
                .valid_indices()
                .try_for_each(|row| visit(groups[row] as usize, row)),
        }
    }
}
