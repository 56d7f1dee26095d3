//! A code of a row: a number of 8, 16 or 32 bits.

use std::ops::BitOr;

/// `u8`, `u16` or `u32`.
pub(crate) trait Code: Copy + Default + Ord + Into<u32> + BitOr<Output = Self> {
    /// The greatest code.
    const LAST: u32;

    /// The lowest bits.
    fn cut(code: u32) -> Self;

    /// The difference, counted around the end of the numbers.
    fn minus(self, other: Self) -> Self;

    /// Not zero if the code is greater than `last`. For loops over many.
    fn beyond(self, last: Self) -> Self;
}

macro_rules! codes {
    ($($code:ty: $last:expr, $beyond:expr;)*) => {
        $(impl Code for $code {
            const LAST: u32 = $last;

            fn cut(code: u32) -> Self {
                code as Self
            }

            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            fn beyond(self, last: Self) -> Self {
                $beyond(self, last)
            }
        })*
    };
}
codes! {
    u8: 0xff, u8::saturating_sub;
    u16: 0xffff, u16::saturating_sub;
    u32: u32::MAX >> 1, beyond;
}

/// Few processors have a subtraction of 32 bits that stops at zero. The highest bit is set by a code
/// that has it, and by one that is greater than `last`, which has it not.
fn beyond(code: u32, last: u32) -> u32 {
    (code | last.wrapping_sub(code)) & !u32::LAST
}

/// Evaluates an expression with the codes of an array as a slice of `u8`, `u16` or `u32`.
macro_rules! by_width {
    ($rows:expr, |$codes:ident| $result:expr) => {{
        use arrow::array::{Array as _, AsArray as _};
        use arrow::datatypes::{DataType, UInt8Type, UInt16Type, UInt32Type};
        let rows: &arrow::array::ArrayRef = $rows;
        match rows.data_type() {
            DataType::UInt8 => {
                let $codes = &rows.as_primitive::<UInt8Type>().values()[..];
                $result
            }
            DataType::UInt16 => {
                let $codes = &rows.as_primitive::<UInt16Type>().values()[..];
                $result
            }
            _ => {
                let $codes = &rows.as_primitive::<UInt32Type>().values()[..];
                $result
            }
        }
    }};
}
pub(crate) use by_width;
