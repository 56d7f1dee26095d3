//! The values of a result's columns as text, for every format.

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, FormatOptions};

use crate::result::QueryResult;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Exact,
    Float,
    Boolean,
    /// Dates, timestamps, bytes as hexadecimal digits, nested values.
    Symbol,
    Text,
}

pub(super) struct Values<'a> {
    array: &'a ArrayRef,
    formatter: ArrayFormatter<'a>,
    class: Class,
}

impl<'a> Values<'a> {
    fn of(array: &'a ArrayRef) -> Result<Self, ArrowError> {
        let options = FormatOptions::new().with_display_error(false);
        Ok(Self {
            array,
            formatter: ArrayFormatter::try_new(array.as_ref(), &options)?,
            class: class(array.data_type()),
        })
    }

    pub(super) fn class(&self) -> Class {
        self.class
    }

    /// Returns false, and appends nothing, for NULL.
    pub(super) fn write(&self, row: usize, text: &mut String) -> Result<bool, ArrowError> {
        // The logical nulls of a dictionary may lie in its values.
        if self.array.is_null(row) || self.array.data_type() == &DataType::Null {
            return Ok(false);
        }
        if let DataType::Dictionary(_, _) = self.array.data_type()
            && self.array.logical_nulls().is_some_and(|nulls| nulls.is_null(row))
        {
            return Ok(false);
        }
        self.formatter.value(row).write(text)?;
        Ok(true)
    }
}

fn class(data_type: &DataType) -> Class {
    match data_type {
        DataType::Float16 | DataType::Float32 | DataType::Float64 => Class::Float,
        DataType::Boolean => Class::Boolean,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Class::Text,
        DataType::Dictionary(_, values) => class(values),
        other if other.is_integer() || other.is_decimal() => Class::Exact,
        _ => Class::Symbol,
    }
}

pub(super) fn batches(
    result: &QueryResult,
) -> impl Iterator<Item = Result<(usize, Vec<Values<'_>>), ArrowError>> {
    result.batches.iter().map(|batch| {
        let columns = batch
            .columns()
            .iter()
            .map(Values::of)
            .collect::<Result<Vec<_>, _>>()?;
        Ok((batch.num_rows(), columns))
    })
}
