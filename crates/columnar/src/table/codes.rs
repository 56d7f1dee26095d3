//! A column as codes into distinct values.

mod code;

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray as _, DictionaryArray, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::{ArrowDictionaryKeyType, DataType, UInt8Type, UInt16Type, UInt32Type};
use arrow::error::ArrowError;

pub(crate) use self::code::{Code, by_width};

/// A column whose rows are codes into few values, as a file or a table holds it. Filters then look
/// at each value once, and groups are found by codes.
///
/// Codes are unsigned numbers of 8, 16 or 32 bits: the fewer, the less memory is read.
///
/// ```
/// use std::sync::Arc;
/// use arrow::array::{Array, StringArray, UInt8Array};
/// use columnar::Codes;
///
/// let ways = Arc::new(StringArray::from(vec!["air", "rail"]));
/// let rows = Arc::new(UInt8Array::from(vec![Some(1), None, Some(0)]));
/// let codes = Codes::try_new(rows, ways)?;
/// assert_eq!(codes.decoded()?.as_ref(), &StringArray::from(vec![Some("rail"), None, Some("air")]) as &dyn Array);
/// # Ok::<(), arrow::error::ArrowError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Codes {
    /// Of a type that [`by_width`] knows.
    rows: ArrayRef,
    values: ArrayRef,
}

impl Codes {
    /// A column of `rows.len()` rows: each is NULL, or the value at its code. The type of `rows` is
    /// `UInt8`, `UInt16` or `UInt32`.
    ///
    /// # Errors
    ///
    /// When `rows` has another type, a code has no value, or a value is NULL.
    pub fn try_new(rows: ArrayRef, values: ArrayRef) -> Result<Self, ArrowError> {
        let refuse = |message: String| Err(ArrowError::InvalidArgumentError(message));
        if !matches!(
            rows.data_type(),
            DataType::UInt8 | DataType::UInt16 | DataType::UInt32
        ) {
            return refuse(format!(
                "codes are UInt8, UInt16 or UInt32, not {}",
                rows.data_type()
            ));
        }
        if values.null_count() > 0 {
            return refuse("a value that codes stand for is NULL".to_owned());
        }
        // Codes of NULL rows are checked as well: loops read them.
        let is_known = by_width!(&rows, |codes| are_below(codes, values.len()));
        if is_known || rows.null_count() == rows.len() {
            return Ok(Self { rows, values });
        }
        let code = by_width!(&rows, |codes| greatest(codes));
        refuse(format!("code {code} has no value among {}", values.len()))
    }

    /// The same with codes of the fewest bits that hold all.
    pub(super) fn try_narrow(rows: UInt32Array, values: ArrayRef) -> Result<Self, ArrowError> {
        // Without NULLs there are no bits for them, which each chunk of the rows would count again.
        let rows: ArrayRef = match values.len() {
            0..=0x100 => Arc::new(rows.unary::<_, UInt8Type>(|code| code as u8)),
            0x101..=0x1_0000 => Arc::new(rows.unary::<_, UInt16Type>(|code| code as u16)),
            _ => Arc::new(rows),
        };
        Self::try_new(rows, values)
    }

    /// The code of each row: a `UInt8`, `UInt16` or `UInt32` array.
    #[must_use]
    pub fn rows(&self) -> &ArrayRef {
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

    /// The column as arrow's dictionary array.
    pub(crate) fn dictionary(&self) -> ArrayRef {
        fn of<K: ArrowDictionaryKeyType>(codes: &Codes) -> ArrayRef {
            let keys = codes.rows.as_primitive::<K>().clone();
            Arc::new(DictionaryArray::new(keys, codes.values.clone()))
        }
        match self.rows.data_type() {
            DataType::UInt8 => of::<UInt8Type>(self),
            DataType::UInt16 => of::<UInt16Type>(self),
            _ => of::<UInt32Type>(self),
        }
    }

    pub(crate) fn slice(&self, rows: Range<usize>) -> Self {
        self.with_rows(self.rows.slice(rows.start, rows.len()))
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
    pub(crate) fn with_rows(&self, rows: ArrayRef) -> Self {
        Self {
            rows,
            values: self.values.clone(),
        }
    }
}

/// A loop without a branch, of instructions that every processor has for several numbers at once.
fn are_below<C: Code>(codes: &[C], end: usize) -> bool {
    let Some(last) = end.checked_sub(1) else {
        return codes.is_empty();
    };
    let last = C::cut(u32::try_from(last).unwrap_or(u32::MAX).min(C::LAST));
    let beyond = codes
        .iter()
        .fold(C::default(), |bits, code| bits | code.beyond(last));
    beyond == C::default()
}

fn greatest<C: Code>(codes: &[C]) -> u32 {
    let codes = codes.iter().map(|code| (*code).into());
    codes.max().expect("a code that is too great")
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int64Array, UInt8Array, UInt16Array};

    use super::*;

    fn codes(rows: Vec<u32>, values: Vec<Option<i64>>) -> Result<Codes, ArrowError> {
        Codes::try_new(
            Arc::new(UInt32Array::from(rows)),
            Arc::new(Int64Array::from(values)),
        )
    }

    #[test]
    fn a_code_without_a_value_is_refused() {
        let values = || vec![Some(7), Some(8)];
        let error = codes(vec![0, 2], values()).unwrap_err();
        assert!(
            error.to_string().contains("code 2 has no value among 2"),
            "{error}"
        );
        let rows: [ArrayRef; 2] = [
            Arc::new(UInt8Array::from(vec![u8::MAX])),
            Arc::new(UInt16Array::from(vec![u16::MAX])),
        ];
        for (rows, code) in rows.into_iter().zip(["code 255 ", "code 65535 "]) {
            let error = Codes::try_new(rows, Arc::new(Int64Array::from(values()))).unwrap_err();
            assert!(error.to_string().contains(code), "{error}");
        }
        let error = codes(vec![0], vec![Some(7), None]).unwrap_err();
        assert!(error.to_string().contains("NULL"), "{error}");
    }

    #[test]
    fn codes_of_another_type_are_refused() {
        let rows: ArrayRef = Arc::new(Int64Array::from(vec![0]));
        let error = Codes::try_new(rows.clone(), rows).unwrap_err();
        assert!(error.to_string().contains("not Int64"), "{error}");
    }

    #[test]
    fn codes_are_as_narrow_as_the_number_of_values_lets_them_be() {
        for (values, data_type) in [
            (1, DataType::UInt8),
            (256, DataType::UInt8),
            (257, DataType::UInt16),
            (65_536, DataType::UInt16),
            (65_537, DataType::UInt32),
        ] {
            let rows = UInt32Array::from(vec![Some(values - 1), None, Some(0)]);
            let values = Arc::new(Int64Array::from_iter_values(0..i64::from(values)));
            let codes = Codes::try_narrow(rows, values.clone()).unwrap();
            assert_eq!(codes.rows().data_type(), &data_type);
            let last = values.values().last().copied();
            let expected = Int64Array::from(vec![last, None, Some(0)]);
            assert_eq!(
                codes.decoded().unwrap().as_ref(),
                &expected as &dyn arrow::array::Array
            );
        }
    }

    #[test]
    fn nulls_need_no_value() {
        let codes = Codes::try_new(
            Arc::new(UInt32Array::new_null(2)),
            Arc::new(Int64Array::from(Vec::<i64>::new())),
        );
        let column = codes.unwrap().decoded().unwrap();
        assert_eq!(
            column.as_ref(),
            &Int64Array::new_null(2) as &dyn arrow::array::Array
        );
    }
}
