//! Decimals that are computed in 64 bits.
//!
//! An expression of type `Decimal128` may have its values as `Decimal64` of the same scale: a column
//! that a file holds so, and sums, differences and products whose bounds show that they fit. The
//! type of the expression stays; whatever needs 128 bits asks for [`widened`] values.

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray as _, Decimal64Array, Decimal128Array};
use arrow::datatypes::{DECIMAL64_MAX_PRECISION, DataType, Decimal64Type};

/// Whether values of type `found` may stand for those of type `data_type`.
pub(crate) fn is_narrow(found: &DataType, data_type: &DataType) -> bool {
    match (found, data_type) {
        (DataType::Decimal64(_, narrow), DataType::Decimal128(_, wide)) => narrow == wide,
        _ => false,
    }
}

/// The narrow type. Its precision says nothing: values may have all 64 bits.
pub(crate) fn narrow_type(scale: i8) -> DataType {
    DataType::Decimal64(DECIMAL64_MAX_PRECISION, scale)
}

/// The values in the type `data_type` of their expression.
pub(crate) fn widened(values: ArrayRef, data_type: &DataType) -> ArrayRef {
    if !is_narrow(values.data_type(), data_type) {
        return values;
    }
    let narrow = values.as_primitive::<Decimal64Type>();
    let wide: Decimal128Array = narrow.unary(i128::from);
    Arc::new(wide.with_data_type(data_type.clone()))
}

/// The values in 64 bits, if all fit.
pub(crate) fn narrowed(values: &Decimal128Array) -> Option<Decimal64Array> {
    // Values beneath NULLs count too; arrow makes them zero.
    let high = values
        .values()
        .iter()
        .fold(0, |high, &value| high | (value ^ i128::from(value as i64)));
    let narrow: Decimal64Array = (high == 0).then(|| values.unary(|value| value as i64))?;
    Some(narrow.with_data_type(narrow_type(values.scale())))
}

/// No number is further from zero than this power of two.
pub(crate) fn bits(numbers: &[i64]) -> u32 {
    let folded = numbers
        .iter()
        .fold(0, |all, &number| all | (number ^ number >> 63));
    i64::BITS - folded.leading_zeros()
}
