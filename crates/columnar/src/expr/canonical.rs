//! Floats with one zero and one NaN, so arrow's order is SQL's.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{ArrowPrimitiveType, DataType, Float16Type, Float32Type, Float64Type};

/// Arrow's total order puts -0 below 0 and a negative NaN below everything.
pub(crate) fn canonical_floats(values: &ArrayRef) -> ArrayRef {
    fn canonical<T: ArrowPrimitiveType>(
        values: &ArrayRef,
        canonical: impl Fn(T::Native) -> T::Native,
    ) -> ArrayRef {
        Arc::new(values.as_primitive::<T>().unary::<_, T>(canonical))
    }
    match values.data_type() {
        DataType::Float64 => {
            canonical::<Float64Type>(values, |x| if x.is_nan() { f64::NAN } else { x + 0.0 })
        }
        DataType::Float32 => {
            canonical::<Float32Type>(values, |x| if x.is_nan() { f32::NAN } else { x + 0.0 })
        }
        DataType::Float16 => {
            type Half = <Float16Type as ArrowPrimitiveType>::Native;
            canonical::<Float16Type>(values, |x| if x.is_nan() { Half::NAN } else { x + Half::ZERO })
        }
        _ => values.clone(),
    }
}
