//! The sum of values that are held as codes.
//!
//! ```text
//!   few values       rows of each code ─► value × rows       vectors count many rows at once
//!   a block of rows  all of one code?  ─► value × block
//!                    no                ─► a look-up for each row
//! ```
//!
//! Sorted columns have long runs of one code, and columns that are almost always zero have them too.

/// Values up to which the rows of each are counted. Each takes a pass over the codes.
const COUNTED_VALUES: usize = 16;
/// Rows of a counted block: no more than a byte counts.
const COUNTED_ROWS: usize = 128;
/// Rows that are compared with the first of them.
const BLOCK_ROWS: usize = 32;

/// The sum of what `codes` stand for. A code is a place in `table`, whose first `values` places are in
/// use. A sum that exceeds 64 bits wraps.
pub(super) fn sum_of_codes<C, const N: usize>(codes: &[C], values: usize, table: &[i64; N]) -> i64
where
    C: Copy + Into<u32> + PartialEq + TryFrom<usize>,
{
    match size_of::<C>() == 1 && values <= COUNTED_VALUES {
        true => sum_of_counts(codes, &table[..values]),
        false => sum_of_blocks(codes, table),
    }
}

fn sum_of_counts<C: Copy + PartialEq + TryFrom<usize>>(codes: &[C], values: &[i64]) -> i64 {
    // The last value has the rows that are left.
    let Some((last, others)) = values.split_last() else {
        return 0;
    };
    let mut rest = codes.len() as i64;
    let sums = others.iter().enumerate().map(|(code, value)| {
        let count = C::try_from(code).map_or(0, |code| count(codes, code));
        rest -= count;
        value.wrapping_mul(count)
    });
    let sum = sums.fold(0, i64::wrapping_add);
    sum.wrapping_add(last.wrapping_mul(rest))
}

fn count<C: Copy + PartialEq>(codes: &[C], code: C) -> i64 {
    let (blocks, rest) = codes.as_chunks::<COUNTED_ROWS>();
    let of_block = |block: &[C]| {
        let are_same = block.iter().map(|&other| u8::from(other == code));
        i64::from(are_same.fold(0, u8::wrapping_add))
    };
    blocks.iter().map(|block| of_block(block)).sum::<i64>() + of_block(rest)
}

fn sum_of_blocks<C: Copy + Into<u32> + PartialEq, const N: usize>(codes: &[C], table: &[i64; N]) -> i64 {
    // The length that the compiler knows spares a check for each row.
    let value = |code: C| table[code.into() as usize % N];
    let (blocks, rest) = codes.as_chunks::<BLOCK_ROWS>();
    let mut sum = rest.iter().fold(0i64, |sum, &code| sum.wrapping_add(value(code)));
    for block in blocks {
        let first = block[0];
        // No early end, so that the comparisons are one of vectors.
        let are_same = block
            .iter()
            .fold(true, |are_same, &code| are_same & (code == first));
        sum = sum.wrapping_add(match are_same {
            true => value(first).wrapping_mul(BLOCK_ROWS as i64),
            // Four sums, because each addition waits for the one before.
            false => {
                let (fours, _) = block.as_chunks::<4>();
                let mut sums = [0i64; 4];
                for four in fours {
                    sums.iter_mut()
                        .zip(four)
                        .for_each(|(sum, &code)| *sum = sum.wrapping_add(value(code)));
                }
                sums.into_iter().fold(0, i64::wrapping_add)
            }
        });
    }
    sum
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Runs of codes, as sorted columns have them, and rows that lie in any order.
        #[test]
        fn each_row_adds_the_value_of_its_code(
            runs in proptest::collection::vec((0usize..40, prop_oneof![Just(1usize), 0usize..400]), 0..60),
            values in proptest::collection::vec(prop_oneof![-9i64..9, any::<i64>()], 1..40),
        ) {
            let codes = runs.iter().flat_map(|&(code, rows)| vec![code % values.len(); rows]);
            let codes: Vec<usize> = codes.collect();
            let expected = codes.iter().fold(0i64, |sum, &code| sum.wrapping_add(values[code]));
            let mut table = [0; 64];
            table[..values.len()].copy_from_slice(&values);
            let narrow: Vec<u8> = codes.iter().map(|&code| code as u8).collect();
            prop_assert_eq!(sum_of_codes(&narrow, values.len(), &table), expected);
            let wide: Vec<u32> = codes.iter().map(|&code| code as u32).collect();
            prop_assert_eq!(sum_of_codes(&wide, values.len(), &table), expected);
        }
    }
}
