//! The value of an expression.

use arrow::array::{Array, ArrayRef, Datum, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::DataType;
use arrow::error::ArrowError;

use crate::narrow::widened;

/// A kernel takes a constant as a scalar.
pub(super) enum Value {
    Rows(ArrayRef),
    /// An array of one value for every row.
    Constant(ArrayRef),
}

impl Datum for Value {
    fn get(&self) -> (&dyn Array, bool) {
        match self {
            Self::Rows(array) => (array, false),
            Self::Constant(array) => (array, true),
        }
    }
}

impl Value {
    pub(super) fn array(&self) -> &ArrayRef {
        match self {
            Self::Rows(array) | Self::Constant(array) => array,
        }
    }

    pub(super) fn is_constant(&self) -> bool {
        matches!(self, Self::Constant(_))
    }

    pub(super) fn map(
        &self,
        apply: impl FnOnce(&ArrayRef) -> Result<ArrayRef, ArrowError>,
    ) -> Result<Self, ArrowError> {
        Ok(match self {
            Self::Rows(array) => Self::Rows(apply(array)?),
            Self::Constant(array) => Self::Constant(apply(array)?),
        })
    }

    /// In the type of its expression.
    pub(super) fn widened(&self, data_type: &DataType) -> Self {
        let widened = |array: &ArrayRef| widened(array.clone(), data_type);
        match self {
            Self::Rows(array) => Self::Rows(widened(array)),
            Self::Constant(array) => Self::Constant(widened(array)),
        }
    }

    /// Constant if both are.
    pub(super) fn combined(&self, other: &Self, array: ArrayRef) -> Self {
        if self.is_constant() && other.is_constant() {
            Self::Constant(array)
        } else {
            Self::Rows(array)
        }
    }

    pub(super) fn into_rows(self, rows: usize) -> Result<ArrayRef, ArrowError> {
        match self {
            Self::Rows(array) => Ok(array),
            Self::Constant(array) => take(&array, &UInt32Array::from(vec![0; rows]), None),
        }
    }
}
