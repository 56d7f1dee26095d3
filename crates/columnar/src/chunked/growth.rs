//! The sizes of a list's chunks, and the chunk of an index.

/// Values in the first chunk of a list that doubles: a power of two.
pub const HEAD: usize = 128;

/// How the chunks of a list grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Growth {
    /// The first chunk has room for [`HEAD`] values, each other for twice as many as the one
    /// before.
    #[default]
    Doubling,
    /// The values of each chunk, rounded up to a power of two so that a shift finds an index. At
    /// most one chunk is unused.
    Fixed(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    Doubling,
    /// Chunks of `1 << bits` values.
    Fixed {
        bits: u32,
    },
}

impl Layout {
    pub(super) fn new(growth: Growth) -> Self {
        match growth {
            Growth::Doubling => Self::Doubling,
            Growth::Fixed(size) => Self::Fixed {
                // A size without a power of two above it cannot be allocated anyway.
                bits: size
                    .checked_next_power_of_two()
                    .map_or(usize::BITS - 1, usize::trailing_zeros),
            },
        }
    }

    pub(super) fn size(self, number: usize) -> usize {
        match self {
            Self::Doubling => HEAD << number,
            Self::Fixed { bits } => 1 << bits,
        }
    }

    /// The chunk of `index`, and its place there.
    #[inline]
    pub(super) fn locate(self, index: usize) -> (usize, usize) {
        match self {
            Self::Doubling => {
                // With the head added, each chunk begins at a power of two. `| HEAD` changes no
                // highest bit; it tells the compiler that there is one. An index whose sum wraps
                // gets a place past the head.
                let shifted = index.wrapping_add(HEAD);
                let highest = usize::BITS - 1 - (shifted | HEAD).leading_zeros();
                (
                    (highest - HEAD.trailing_zeros()) as usize,
                    shifted ^ (1 << highest),
                )
            }
            Self::Fixed { bits } => (index >> bits, index & ((1 << bits) - 1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(growth: Growth, sizes: &[usize]) {
        let layout = Layout::new(growth);
        let mut index = 0;
        for (chunk, &size) in sizes.iter().enumerate() {
            assert_eq!(layout.size(chunk), size, "{growth:?}");
            for place in 0..size {
                assert_eq!(layout.locate(index), (chunk, place), "{growth:?}, {index}");
                index += 1;
            }
        }
    }

    #[test]
    fn indices_fill_one_chunk_after_another() {
        check(Growth::Doubling, &[128, 256, 512, 1_024, 2_048, 4_096]);
        check(Growth::Fixed(8), &[8; 10]);
        check(Growth::Fixed(100), &[128; 10]);
        check(Growth::Fixed(1), &[1; 10]);
        check(Growth::Fixed(0), &[1; 10]);
    }

    #[test]
    fn an_index_whose_sum_wraps_is_behind_the_end_of_the_head() {
        for index in usize::MAX - (HEAD - 1)..=usize::MAX {
            let (chunk, place) = Layout::Doubling.locate(index);
            assert!(chunk == 0 && place >= HEAD, "{index}");
        }
    }

    #[test]
    fn the_largest_index_has_a_place() {
        let last = isize::MAX as usize;
        assert_eq!(Layout::Doubling.locate(last), (56, 127));
        let fixed = Layout::new(Growth::Fixed(usize::MAX));
        assert_eq!(fixed.locate(last), (0, last));
    }
}
