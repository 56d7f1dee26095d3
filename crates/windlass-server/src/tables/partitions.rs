//! Columns whose values are in the names of folders: `year=2024/month=01/part-0.parquet`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::array::types::Date32Type;
use datafusion::arrow::compute::kernels::cast_utils::Parser as _;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::scalar::ScalarValue;

use super::error::TablesError;

/// Hive's folder of rows without a value.
const NO_VALUE: &str = "__HIVE_DEFAULT_PARTITION__";

/// Columns, and their values for each file.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Partitions {
    pub(crate) columns: Vec<FieldRef>,
    pub(crate) values: Vec<Vec<ScalarValue>>,
}

impl Partitions {
    /// Takes the files' paths below `folder`. All name the same columns in the same order. A column
    /// is of integers or dates if all its values are, else text. Folders without `=` are skipped.
    pub(crate) fn of<'a>(folder: &Path, files: impl Iterator<Item = &'a str>) -> Result<Self, TablesError> {
        let mut names: Option<(PathBuf, Vec<&str>)> = None;
        let mut texts: Vec<Vec<Option<String>>> = Vec::new();
        for file in files {
            let (file_names, values) = pairs(file);
            match &names {
                None => names = Some((folder.join(file), file_names)),
                Some((_, names)) if *names == file_names => {}
                Some((first, names)) => {
                    return Err(TablesError::PartsDiffer {
                        first: first.clone(),
                        second: folder.join(file),
                        reason: format!(
                            "the folders of one name the columns [{}], those of the other [{}]",
                            names.join(", "),
                            file_names.join(", ")
                        ),
                    });
                }
            }
            texts.push(values);
        }
        let names = names.map(|(_, names)| names).unwrap_or_default();
        let mut columns: Vec<FieldRef> = Vec::with_capacity(names.len());
        for (index, name) in names.iter().enumerate() {
            if columns.iter().any(|column| column.name() == name) {
                return Err(TablesError::unreadable(
                    folder,
                    format!("the column \"{name}\" is twice in the names of its folders"),
                ));
            }
            let values = texts.iter().filter_map(|values| values[index].as_deref());
            columns.push(Arc::new(Field::new(*name, data_type(values), true)));
        }
        let values = texts.into_iter().map(|values| {
            let values = values.into_iter().zip(&columns);
            values
                .map(|(value, column)| scalar(value, column.data_type()))
                .collect()
        });
        Ok(Self {
            values: values.collect(),
            columns,
        })
    }
}

fn pairs(file: &str) -> (Vec<&str>, Vec<Option<String>>) {
    let folders = file.rsplit_once('/').map_or("", |(folders, _)| folders);
    folders
        .split('/')
        .filter_map(|folder| folder.split_once('='))
        .map(|(name, value)| (name, (value != NO_VALUE).then(|| decoded(value))))
        .unzip()
}

/// Decodes `%20`, unless the result is no UTF-8.
fn decoded(value: &str) -> String {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let digit = |index: usize| after.get(index).and_then(|&byte| char::from(byte).to_digit(16));
        match (byte, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                // At most 255.
                bytes.push((high * 16 + low) as u8);
                rest = &after[2..];
            }
            _ => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| value.to_owned())
}

fn data_type<'a>(values: impl Iterator<Item = &'a str>) -> DataType {
    let (mut any, mut integers, mut dates) = (false, true, true);
    for value in values {
        any = true;
        integers &= integer(value).is_some();
        dates &= date(value).is_some();
    }
    match (any, integers, dates) {
        (true, true, _) => DataType::Int64,
        (true, _, true) => DataType::Date32,
        _ => DataType::Utf8,
    }
}

fn scalar(value: Option<String>, data_type: &DataType) -> ScalarValue {
    let value = value.as_deref();
    match data_type {
        DataType::Int64 => ScalarValue::Int64(value.and_then(integer)),
        DataType::Date32 => ScalarValue::Date32(value.and_then(date)),
        _ => ScalarValue::Utf8(value.map(str::to_owned)),
    }
}

fn integer(value: &str) -> Option<i64> {
    // `+1` is text.
    let is_number = value.starts_with(|c: char| c == '-' || c.is_ascii_digit());
    is_number.then(|| value.parse().ok()).flatten()
}

fn date(value: &str) -> Option<i32> {
    let is_date = value.len() == 10
        && value.bytes().enumerate().all(|(index, byte)| match index {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    is_date.then(|| Date32Type::parse(value)).flatten()
}

#[cfg(test)]
mod tests;
