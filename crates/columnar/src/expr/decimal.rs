//! Types of exact decimal results in SQL: 38 digits in 128 bits, or 76 in 256.
//!
//! | operation | scale | digits before the point |
//! |---|---|---|
//! | `a + b`, `a - b` | the larger | the larger, and one for the carry |
//! | `a * b` | the sum | the sum |
//!
//! Results within 38 digits cannot overflow. A longer result stays at 38 digits, with every row
//! checked, if the scale leaves room for any 64-bit integer. Otherwise it has 256 bits.

use arrow::datatypes::{DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType};

/// Digits of a 64-bit integer, signed or not.
const INTEGER_DIGITS: i16 = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DecimalShape {
    pub(crate) precision: u8,
    pub(crate) scale: i8,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DecimalResult {
    pub(crate) data_type: DataType,
    /// A row can overflow the type.
    pub(crate) checked: bool,
}

impl DecimalShape {
    pub(crate) fn of(data_type: &DataType) -> Option<Self> {
        let shape = |precision, scale| Some(Self { precision, scale });
        match data_type {
            DataType::Int8 | DataType::UInt8 => shape(3, 0),
            DataType::Int16 | DataType::UInt16 => shape(5, 0),
            DataType::Int32 | DataType::UInt32 => shape(10, 0),
            DataType::Int64 => shape(19, 0),
            DataType::UInt64 => shape(20, 0),
            DataType::Decimal32(p, s)
            | DataType::Decimal64(p, s)
            | DataType::Decimal128(p, s)
            | DataType::Decimal256(p, s) => {
                // Zeros before the point become digits.
                if *s < 0 {
                    shape(p.saturating_add(s.unsigned_abs()), 0)
                } else {
                    shape(*p, *s)
                }
            }
            _ => None,
        }
    }

    pub(crate) fn data_type(self) -> DataType {
        if self.precision <= DECIMAL128_MAX_PRECISION {
            DataType::Decimal128(self.precision, self.scale)
        } else {
            DataType::Decimal256(self.precision.min(DECIMAL256_MAX_PRECISION), self.scale)
        }
    }

    pub(crate) fn common(self, other: Self) -> Self {
        let scale = self.scale.max(other.scale);
        let whole = self.whole().max(other.whole());
        Self {
            precision: clamp_precision(whole + i16::from(scale)),
            scale,
        }
    }

    pub(crate) fn sum(self, other: Self) -> DecimalResult {
        let scale = i16::from(self.scale.max(other.scale));
        result(self.whole().max(other.whole()) + scale + 1, scale)
    }

    /// `None` if its scale exceeds 76 digits.
    pub(crate) fn product(self, other: Self) -> Option<DecimalResult> {
        let scale = i16::from(self.scale) + i16::from(other.scale);
        let fits = scale <= i16::from(DECIMAL256_MAX_PRECISION);
        fits.then(|| result(i16::from(self.precision) + i16::from(other.precision), scale))
    }

    fn whole(self) -> i16 {
        i16::from(self.precision) - i16::from(self.scale)
    }
}

fn result(precision: i16, scale: i16) -> DecimalResult {
    let narrow = i16::from(DECIMAL128_MAX_PRECISION);
    let shape = |precision| DecimalShape {
        precision: clamp_precision(precision),
        scale: scale as i8,
    };
    if precision <= narrow {
        DecimalResult {
            data_type: shape(precision).data_type(),
            checked: false,
        }
    } else if narrow - scale >= INTEGER_DIGITS {
        DecimalResult {
            data_type: shape(narrow).data_type(),
            checked: true,
        }
    } else {
        let checked = precision > i16::from(DECIMAL256_MAX_PRECISION);
        DecimalResult {
            data_type: shape(precision).data_type(),
            checked,
        }
    }
}

fn clamp_precision(precision: i16) -> u8 {
    precision.clamp(1, i16::from(DECIMAL256_MAX_PRECISION)) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICE: DecimalShape = DecimalShape {
        precision: 15,
        scale: 2,
    };
    const ONE: DecimalShape = DecimalShape {
        precision: 1,
        scale: 0,
    };

    #[test]
    fn price_times_one_less_discount_times_one_more_tax_stays_in_128_bits_with_scale_six() {
        let factor = ONE.sum(PRICE);
        assert_eq!(
            factor,
            DecimalResult {
                data_type: DataType::Decimal128(16, 2),
                checked: false
            }
        );
        let factor = DecimalShape::of(&factor.data_type).unwrap();
        let net = PRICE.product(factor).unwrap();
        assert_eq!(
            net,
            DecimalResult {
                data_type: DataType::Decimal128(31, 4),
                checked: false
            }
        );
        let gross = DecimalShape::of(&net.data_type).unwrap().product(factor).unwrap();
        assert_eq!(
            gross,
            DecimalResult {
                data_type: DataType::Decimal128(38, 6),
                checked: true
            }
        );
    }

    #[test]
    fn a_scale_that_leaves_no_room_widens_to_256_bits() {
        let fine = DecimalShape {
            precision: 38,
            scale: 20,
        };
        let product = fine.product(fine).unwrap();
        assert_eq!(
            product,
            DecimalResult {
                data_type: DataType::Decimal256(76, 40),
                checked: false
            }
        );
        let scale_77 = DecimalShape {
            precision: 76,
            scale: 57,
        }
        .product(fine);
        assert_eq!(scale_77, None);
    }

    #[test]
    fn a_common_shape_holds_both() {
        let cents = DecimalShape {
            precision: 4,
            scale: 2,
        };
        let big = DecimalShape {
            precision: 10,
            scale: 0,
        };
        assert_eq!(
            cents.common(big),
            DecimalShape {
                precision: 12,
                scale: 2
            }
        );
    }
}
