//! Decimals that are computed in 64 bits.
//!
//! An expression of type `Decimal128` may have its values as `Decimal64` of the same scale: a column
//! that a file holds so, and sums, differences and products whose bounds show that they fit. The
//! type of the expression stays; whatever needs 128 bits asks for [`widened`] values.

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray as _, Decimal128Array};
use arrow::datatypes::{DECIMAL64_MAX_PRECISION, DataType, Decimal64Type};

/// Whether values of type `found` may stand for those of type `data_type`.
pub(crate) fn is_narrow(found: &DataType, data_type: &DataType) -> bool {
    match (found, data_type) {
        (DataType::Decimal64(_, narrow), DataType::Decimal128(_, wide)) => narrow == wide,
        _ => false,
    }
}

/// The narrow type. Its precision says nothing: values may have all 64 bits.
pub(super) fn narrow_type(scale: i8) -> DataType {
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
