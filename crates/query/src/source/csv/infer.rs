//! Infers a column's type from all its values.
//!
//! The survey covers the whole file before the first row is read, so an odd value widens the type
//! and never becomes NULL. [`ColumnFacts`] of pieces merge in any order.
//! [`csv`](crate::source::csv) has the table of types.

use arrow::datatypes::{DataType, TimeUnit};

use super::record::Field;
use super::value::{Shape, integer};

/// Digits after the point of an exact column; with more, the column is a double.
const EXACT_SCALE_MAX: u32 = 9;
const DECIMAL_DIGITS_MAX: u32 = 38;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ColumnFacts {
    booleans: bool,
    integers: bool,
    decimals: bool,
    floats: bool,
    not_finite: bool,
    dates: bool,
    local_timestamps: bool,
    zoned_timestamps: bool,
    texts: bool,
    long_integers: bool,
    digits_max: u32,
    scale_max: u32,
    /// A quoted value was not empty.
    quoted: bool,
    /// An unquoted value was not NULL.
    bare: bool,
}

impl ColumnFacts {
    pub(crate) fn add(&mut self, field: &Field<'_>) {
        let shape = Shape::of(field);
        match shape {
            Shape::Empty | Shape::QuotedEmpty | Shape::Missing => return,
            Shape::Boolean => self.booleans = true,
            Shape::Integer { digits } => {
                self.integers = true;
                self.digits_max = self.digits_max.max(digits);
                // 18 digits always fit.
                if digits > 18 && integer(field.raw.trim_ascii()).is_none() {
                    self.long_integers = true;
                }
            }
            Shape::Decimal { digits, scale } => {
                self.decimals = true;
                self.digits_max = self.digits_max.max(digits);
                self.scale_max = self.scale_max.max(scale);
            }
            Shape::Float => self.floats = true,
            Shape::NotFinite => self.not_finite = true,
            Shape::Date => self.dates = true,
            Shape::Timestamp { zoned: false } => self.local_timestamps = true,
            Shape::Timestamp { zoned: true } => self.zoned_timestamps = true,
            Shape::Text => self.texts = true,
        }
        if field.quoted {
            self.quoted = true;
        } else {
            self.bare = true;
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.booleans |= other.booleans;
        self.integers |= other.integers;
        self.decimals |= other.decimals;
        self.floats |= other.floats;
        self.not_finite |= other.not_finite;
        self.dates |= other.dates;
        self.local_timestamps |= other.local_timestamps;
        self.zoned_timestamps |= other.zoned_timestamps;
        self.texts |= other.texts;
        self.long_integers |= other.long_integers;
        self.digits_max = self.digits_max.max(other.digits_max);
        self.scale_max = self.scale_max.max(other.scale_max);
        self.quoted |= other.quoted;
        self.bare |= other.bare;
    }

    /// `quotes_mean_text` is false if the whole file is quoted.
    fn data_type(&self, quotes_mean_text: bool) -> DataType {
        if self.texts || (self.quoted && !self.bare && quotes_mean_text) {
            return DataType::Utf8;
        }
        let exact = self.integers || self.decimals;
        let numbers = exact || self.floats;
        let timestamps = self.local_timestamps || self.zoned_timestamps;
        match (self.booleans, numbers, self.dates || timestamps) {
            (true, false, false) if !self.not_finite => DataType::Boolean,
            (false, true, false) => self.number_type(),
            (false, false, true) if !self.not_finite => {
                let mixed = self.zoned_timestamps && (self.local_timestamps || self.dates);
                match (timestamps, mixed) {
                    (false, _) => DataType::Date32,
                    (true, false) => DataType::Timestamp(TimeUnit::Microsecond, None),
                    (true, true) => DataType::Utf8,
                }
            }
            _ => DataType::Utf8,
        }
    }

    fn number_type(&self) -> DataType {
        if self.floats || self.not_finite {
            return DataType::Float64;
        }
        if !self.decimals {
            return match self.long_integers {
                false => DataType::Int64,
                true if self.digits_max <= DECIMAL_DIGITS_MAX => {
                    DataType::Decimal128(self.digits_max as u8, 0)
                }
                // Rounding would damage so long an identifier.
                true => DataType::Utf8,
            };
        }
        let precision = (self.digits_max + self.scale_max).max(1);
        if self.scale_max <= EXACT_SCALE_MAX && precision <= DECIMAL_DIGITS_MAX {
            DataType::Decimal128(precision as u8, self.scale_max as i8)
        } else {
            DataType::Float64
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ColumnRule {
    pub(crate) data_type: DataType,
    pub(crate) words_are_null: bool,
}

pub(crate) fn column_rules(facts: &[ColumnFacts]) -> Vec<ColumnRule> {
    let quotes_mean_text = facts.iter().any(|column| column.bare);
    let rule = |column: &ColumnFacts| {
        let data_type = column.data_type(quotes_mean_text);
        // In a column that quotes every text, a bare word is not a text.
        let words_are_null = data_type != DataType::Utf8 || (column.quoted && !column.bare);
        ColumnRule {
            data_type,
            words_are_null,
        }
    };
    facts.iter().map(rule).collect()
}

#[cfg(test)]
mod tests {
    use super::super::record::RecordReader;
    use super::*;

    fn types(text: &str) -> Vec<DataType> {
        let mut reader = RecordReader::new(text.as_bytes(), b',', usize::MAX);
        let mut fields = Vec::new();
        let mut facts: Vec<ColumnFacts> = Vec::new();
        while reader.next_record(&mut fields).expect("well formed").is_some() {
            facts.resize(fields.len(), ColumnFacts::default());
            for (column, field) in facts.iter_mut().zip(&fields) {
                column.add(field);
            }
        }
        column_rules(&facts)
            .into_iter()
            .map(|rule| rule.data_type)
            .collect()
    }

    const TIMESTAMP: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);

    #[test]
    fn numbers_take_the_narrowest_type_that_loses_nothing() {
        assert_eq!(
            types("1,1,1,1.5,99999999999999999999\n2,2.50,1e3,1.0123456789,1\n"),
            [
                DataType::Int64,
                DataType::Decimal128(3, 2),
                DataType::Float64,
                DataType::Float64,
                DataType::Decimal128(20, 0),
            ]
        );
        assert_eq!(types("1\nNaN\n"), [DataType::Float64]);
        assert_eq!(types("inf\nNaN\n"), [DataType::Utf8]);
        assert_eq!(types(&format!("{}\n", "1".repeat(39))), [DataType::Utf8]);
    }

    #[test]
    fn missing_values_do_not_change_the_type() {
        assert_eq!(
            types("1,2024-01-01,,NA\nNA,NULL,true,x\nN/A,\"\",null,y\n"),
            [
                DataType::Int64,
                DataType::Date32,
                DataType::Boolean,
                DataType::Utf8,
            ]
        );
        assert_eq!(types(",NA\n,NA\n"), [DataType::Utf8, DataType::Utf8]);
    }

    #[test]
    fn dates_widen_to_timestamps_and_mixed_offsets_to_text() {
        assert_eq!(
            types(
                "2024-01-01,2024-01-01 10:00,2024-01-01T10:00Z\n2024-01-01 10:00,2024-01-01T10:00Z,2024-01-01T10:00+02\n"
            ),
            [TIMESTAMP, DataType::Utf8, TIMESTAMP]
        );
        assert_eq!(types("2024-01-01\n7\n"), [DataType::Utf8]);
    }

    #[test]
    fn quotes_mean_text_unless_everything_is_quoted() {
        assert_eq!(types("\"1\",2\n\"3\",4\n"), [DataType::Utf8, DataType::Int64]);
        assert_eq!(types("\"1\",2\n3,4\n"), [DataType::Int64, DataType::Int64]);
        assert_eq!(
            types("\"1\",\"x\"\n\"3\",NULL\n"),
            [DataType::Int64, DataType::Utf8]
        );
    }

    #[test]
    fn merging_is_the_same_in_any_order() {
        let facts = |text: &str| {
            let mut facts = ColumnFacts::default();
            let mut fields = Vec::new();
            let mut reader = RecordReader::new(text.as_bytes(), b',', usize::MAX);
            while reader.next_record(&mut fields).expect("well formed").is_some() {
                facts.add(&fields[0]);
            }
            facts
        };
        let (a, b) = ("1\n22.5\n\"x\"\n", "true\n1e5\n123456.123\n");
        let whole = facts(&format!("{a}{b}"));
        for (first, second) in [(a, b), (b, a)] {
            let mut merged = facts(first);
            merged.merge(&facts(second));
            assert_eq!(merged, whole);
        }
    }
}
