//! Keys of several columns whose texts are numbers ([`super::text_numbers`]).
//!
//! A key with a text that does not fit its bits has no fixed width: its bytes are encoded and looked up
//! row by row. If the texts come as codes, each is looked up once for many rows, and its number fits.

use std::slice;
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray as _};
use arrow::datatypes::{DataType, UInt32Type};
use arrow::error::ArrowError;

use super::keys::KeyEncoding;
use super::known_codes::KnownCodes;
use super::text_numbers::TextNumbers;
use crate::encoding::is_text;
use crate::error::ExecError;
use crate::expr::{ColumnSource, Expr};
use crate::memory::MemoryPool;
use crate::table::Codes;

/// Rows of a chunk for each text, at least, of texts that repeat.
const ROWS_PER_TEXT: usize = 2;

pub(super) struct NumberedKeys {
    encoding: Arc<KeyEncoding>,
    /// By key, those of texts that are numbered.
    texts: Vec<Option<TextNumbers>>,
}

impl NumberedKeys {
    /// Looks at the first rows. `None` if keys fit as they are, or their texts do not repeat.
    pub(super) fn of(
        keys: &[Expr],
        encoding: &KeyEncoding,
        rows: &dyn ColumnSource,
        pool: Option<&Arc<MemoryPool>>,
    ) -> Result<Option<Self>, ExecError> {
        if keys.len() == 1 || !keys.iter().any(|key| is_text(key.data_type())) {
            return Ok(None);
        }
        // Groups of few combinations are found by their codes.
        if let Some(codes) = KnownCodes::of(keys, rows)?
            && KnownCodes::bytes(&codes).is_some()
        {
            return Ok(None);
        }
        let texts = keys.iter().map(|key| repeating_texts(key, rows));
        let texts: Vec<Option<Codes>> = texts.collect::<Result<_, _>>()?;
        let fits = |(place, codes): (usize, &Option<Codes>)| match (&encoding.layout, codes) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(layout), Some(codes)) => {
                let values = codes.values();
                let are_long = layout.are_long(&[place], slice::from_ref(values), values.len());
                !are_long.contains(&true)
            }
        };
        let do_fit = texts.iter().enumerate().all(fits);
        if do_fit {
            return Ok(None);
        }
        let fail = |error| ExecError::of("group by", error);
        let types = keys.iter().zip(&texts).map(|(key, codes)| match codes {
            Some(_) => DataType::UInt32,
            None => key.data_type().clone(),
        });
        let encoding = encoding.for_types(&types.collect::<Vec<_>>()).map_err(fail)?;
        if !encoding.has_fixed_keys() {
            return Ok(None);
        }
        let texts = keys.iter().zip(texts).map(|(key, codes)| {
            let numbers = codes.map(|_| TextNumbers::new(key.data_type(), pool));
            numbers.transpose().map_err(fail)
        });
        Ok(Some(Self {
            encoding: Arc::new(encoding),
            texts: texts.collect::<Result<_, _>>()?,
        }))
    }

    pub(super) fn encoding(&self) -> &Arc<KeyEncoding> {
        &self.encoding
    }

    /// Those of the texts of a key, if they are numbered.
    pub(super) fn texts(&self, key: usize) -> Option<&TextNumbers> {
        self.texts[key].as_ref()
    }

    /// About the bytes to make [`values`](Self::values) of key columns, result included.
    pub(super) fn value_bytes(&self, columns: &[ArrayRef]) -> usize {
        let of_texts = self.texts.iter().zip(columns).filter_map(|(texts, numbers)| {
            Some(texts.as_ref()?.text_bytes(numbers.as_primitive::<UInt32Type>()))
        });
        of_texts.sum()
    }

    /// The key columns with the texts that numbers stand for.
    pub(super) fn values(&self, columns: Vec<ArrayRef>) -> Result<Vec<ArrayRef>, ArrowError> {
        let of_key = |(texts, column): (&Option<TextNumbers>, ArrayRef)| match texts {
            Some(texts) => texts.texts(column.as_primitive::<UInt32Type>()),
            None => Ok(column),
        };
        self.texts.iter().zip(columns).map(of_key).collect()
    }
}

/// The texts of a key that is a column, as codes, if they are few for these rows.
pub(super) fn repeating_texts(key: &Expr, rows: &dyn ColumnSource) -> Result<Option<Codes>, ExecError> {
    let column = key.as_column().filter(|_| is_text(key.data_type()));
    let codes = column.map(|column| rows.codes(column)).transpose()?;
    let do_repeat = |codes: &Codes| codes.values().len() * ROWS_PER_TEXT <= rows.rows();
    Ok(codes.flatten().filter(do_repeat))
}
