//! Numbers for people: grouped digits and aligned columns.

use std::fmt::{self, Write};

/// `1234567` as `1,234,567`.
///
/// ```
/// assert_eq!(executor_core::thousands(1_234_567), "1,234,567");
/// ```
#[must_use]
pub fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Writes rows of cells, with each column right-aligned, without a final line end.
///
/// ```
/// let mut text = String::new();
/// let rows = [["worker", "run"], ["0", "1,024"]].map(|row| row.map(str::to_owned));
/// executor_core::write_columns(&mut text, &rows)?;
/// assert_eq!(text, "worker    run\n     0  1,024");
/// # Ok::<(), std::fmt::Error>(())
/// ```
///
/// # Errors
///
/// Those of writing to `out`.
pub fn write_columns<const N: usize>(out: &mut impl Write, rows: &[[String; N]]) -> fmt::Result {
    let width = |cell: &String| cell.chars().count();
    let widths: [usize; N] =
        std::array::from_fn(|column| rows.iter().map(|row| width(&row[column])).max().unwrap_or(0));
    for (i, row) in rows.iter().enumerate() {
        if i > 0 {
            out.write_char('\n')?;
        }
        for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
            write!(out, "{}{cell:>width$}", if column == 0 { "" } else { "  " })?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        let shown = [0, 7, 999, 1_000, 1_234_567].map(thousands);
        assert_eq!(shown, ["0", "7", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell_whatever_its_characters() {
        let mut text = String::new();
        let rows = [["wait", "b"], ["1.5µs", "ten"]].map(|row| row.map(str::to_owned));
        write_columns(&mut text, &rows).expect("a string takes it");
        assert_eq!(text, " wait    b\n1.5µs  ten");
        let mut none = String::new();
        write_columns::<2>(&mut none, &[]).expect("a string takes it");
        assert_eq!(none, "");
    }
}
