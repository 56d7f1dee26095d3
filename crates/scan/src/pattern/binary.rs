//! What a NUL means: the file is binary from its block on.
//!
//! ripgrep reads blocks of 64 KiB and looks for a NUL in each before it searches it. Lines are text
//! if they end before the block with the first NUL begins, and nothing of that block is printed:
//!
//! ```text
//!   block 0          block 1          block 2 · NUL at `nul`
//!   ├── text ────────┼── text ────────┼── binary ──►
//!                                     └ text_ends(nul)
//! ```
//!
//! Whether a line is text depends on what follows it, up to [`known_at`] of its end.

const BLOCK: u64 = 64 << 10;

/// Offset up to which lines are text if the first NUL stands at `nul`.
pub(crate) fn text_ends(nul: u64) -> u64 {
    nul - nul % BLOCK
}

/// Offset up to which there must be no NUL, so that a line that ends at `end` is text.
pub(crate) fn known_at(end: u64) -> u64 {
    end.div_ceil(BLOCK).saturating_mul(BLOCK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_text_exactly_if_no_nul_stands_before_what_must_be_known() {
        for end in [1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 2 * BLOCK + 7] {
            for nul in [
                0,
                1,
                BLOCK - 1,
                BLOCK,
                BLOCK + 1,
                2 * BLOCK,
                3 * BLOCK - 1,
                3 * BLOCK,
            ] {
                assert_eq!(
                    end <= text_ends(nul),
                    nul >= known_at(end),
                    "line to {end}, NUL at {nul}"
                );
            }
        }
    }
}
