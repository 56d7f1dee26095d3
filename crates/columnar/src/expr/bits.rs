//! A test of each row of a slice, as bits.
//!
//! Answers to comparisons are bytes first, which processors find for several rows at a time, and then
//! bits.

use arrow::buffer::{BooleanBuffer, Buffer};

/// The bit of each of `rows` by a test that is made for several rows at a time.
pub(super) fn bits_where<N: Copy + Default>(rows: &[N], test: impl Fn(N) -> bool) -> BooleanBuffer {
    // A loop of a known length becomes instructions for several rows at once.
    bits_by_word(rows, |rows| {
        let mut answers = [0; 64];
        for (answer, &row) in answers.iter_mut().zip(rows) {
            *answer = u8::from(test(row));
        }
        packed(&answers)
    })
}

/// The bit of each of `rows` by a look-up in memory, which is made row by row.
pub(super) fn bits_looked_up<N: Copy + Default>(rows: &[N], look_up: impl Fn(N) -> bool) -> BooleanBuffer {
    // In a register, since bytes that are gathered in memory cost a write each.
    bits_by_word(rows, |rows| {
        let last_first = rows.iter().rev();
        last_first.fold(0, |word, &row| word << 1 | u64::from(look_up(row)))
    })
}

/// `word` has the bits of 64 rows, from the lowest bit on.
fn bits_by_word<N: Copy + Default>(rows: &[N], word: impl Fn(&[N; 64]) -> u64) -> BooleanBuffer {
    let word = |rows| word(rows).to_le();
    let (whole, rest) = rows.as_chunks::<64>();
    let mut words = Vec::with_capacity(rows.len().div_ceil(64));
    words.extend(whole.iter().map(word));
    if !rest.is_empty() {
        let mut last = [N::default(); 64];
        last[..rest.len()].copy_from_slice(rest);
        words.push(word(&last));
    }
    BooleanBuffer::new(Buffer::from_vec(words), 0, rows.len())
}

/// A bit for each byte, which is 0 or 1, in their order from the lowest bit on.
fn packed(answers: &[u8; 64]) -> u64 {
    let (eights, _) = answers.as_chunks::<8>();
    let eights = eights.iter().map(|eight| {
        // The product's last byte adds each byte's bit at a place of its own, without a carry.
        u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56
    });
    eights.rev().fold(0, |word, eight| word << 8 | eight)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn each_row_has_its_bit(rows in proptest::collection::vec(any::<u16>(), 0..300)) {
            let expected = BooleanBuffer::collect_bool(rows.len(), |row| rows[row] % 3 == 0);
            prop_assert_eq!(&bits_where(&rows, |row| row % 3 == 0), &expected);
            prop_assert_eq!(&bits_looked_up(&rows, |row| row % 3 == 0), &expected);
        }
    }
}
