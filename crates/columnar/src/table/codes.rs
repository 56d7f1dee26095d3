//! A column as codes into distinct values.

use std::ops::Range;

use arrow::array::{Array as _, ArrayRef, UInt32Array};
use arrow::compute::take;
use arrow::error::ArrowError;

/// A column whose rows are codes into few values, as a file or a table holds it. Filters then look
/// at each value once, and groups are found by codes.
///
/// ```
/// use std::sync::Arc;
/// use arrow::array::{Array, StringArray, UInt32Array};
/// use columnar::Codes;
///
/// let ways = Arc::new(StringArray::from(vec!["air", "rail"]));
/// let codes = Codes::try_new(UInt32Array::from(vec![Some(1), None, Some(0)]), ways)?;
/// assert_eq!(codes.decoded()?.as_ref(), &StringArray::from(vec![Some("rail"), None, Some("air")]) as &dyn Array);
/// # Ok::<(), arrow::error::ArrowError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Codes {
    rows: UInt32Array,
    values: ArrayRef,
}

impl Codes {
    /// A column of `rows.len()` rows: each is NULL, or the value at its code.
    ///
    /// # Errors
    ///
    /// When a code has no value, or a value is NULL.
    pub fn try_new(rows: UInt32Array, values: ArrayRef) -> Result<Self, ArrowError> {
        let refuse = |message: String| Err(ArrowError::InvalidArgumentError(message));
        if values.null_count() > 0 {
            return refuse("a value that codes stand for is NULL".to_owned());
        }
        // Codes of NULL rows are checked as well: loops read them.
        if are_below(rows.values(), values.len()) || rows.null_count() == rows.len() {
            return Ok(Self { rows, values });
        }
        let code = rows.values().iter().max().expect("a code that is too great");
        refuse(format!("code {code} has no value among {}", values.len()))
    }

    /// The code of each row.
    #[must_use]
    pub fn rows(&self) -> &UInt32Array {
        &self.rows
    }

    /// The values, without NULL. A value may stand twice.
    #[must_use]
    pub fn values(&self) -> &ArrayRef {
        &self.values
    }

    /// The column as values.
    ///
    /// # Errors
    ///
    /// When they are more than an array holds.
    pub fn decoded(&self) -> Result<ArrayRef, ArrowError> {
        take(&self.values, &self.rows, None)
    }

    pub(crate) fn slice(&self, rows: Range<usize>) -> Self {
        Self {
            rows: self.rows.slice(rows.start, rows.len()),
            values: self.values.clone(),
        }
    }

    /// Other values, as many and without NULL, for the same rows.
    pub(crate) fn with_values(self, values: ArrayRef) -> Self {
        assert_eq!(
            (values.len(), values.null_count()),
            (self.values.len(), 0),
            "a value for each code"
        );
        Self { values, ..self }
    }

    /// The same values for other rows of the column.
    pub(crate) fn with_rows(&self, rows: UInt32Array) -> Self {
        Self {
            rows,
            values: self.values.clone(),
        }
    }
}

/// A loop without a branch, of instructions that every processor has for several numbers at once.
fn are_below(codes: &[u32], end: usize) -> bool {
    let Some(last) = end.checked_sub(1) else {
        return codes.is_empty();
    };
    let last = u32::try_from(last).unwrap_or(u32::MAX).min(u32::MAX >> 1);
    // The highest bit is set by a code that has it, and by one that is greater than `last`.
    let bits = codes
        .iter()
        .fold(0, |bits, &code| bits | code | last.wrapping_sub(code));
    bits >> 31 == 0
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::Int64Array;

    use super::*;

    #[test]
    fn a_code_without_a_value_is_refused() {
        let values: ArrayRef = Arc::new(Int64Array::from(vec![7, 8]));
        let error = Codes::try_new(UInt32Array::from(vec![0, 2]), values).unwrap_err();
        assert!(
            error.to_string().contains("code 2 has no value among 2"),
            "{error}"
        );
        let values: ArrayRef = Arc::new(Int64Array::from(vec![Some(7), None]));
        let error = Codes::try_new(UInt32Array::from(vec![0]), values).unwrap_err();
        assert!(error.to_string().contains("NULL"), "{error}");
    }

    #[test]
    fn nulls_need_no_value() {
        let codes = Codes::try_new(
            UInt32Array::new_null(2),
            Arc::new(Int64Array::from(Vec::<i64>::new())),
        );
        let column = codes.unwrap().decoded().unwrap();
        assert_eq!(
            column.as_ref(),
            &Int64Array::new_null(2) as &dyn arrow::array::Array
        );
    }
}
