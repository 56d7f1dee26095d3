//! A table in memory whose morsels are as small as the test likes.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, AsArray as _, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int32Array, Int64Array,
    RecordBatch, StringArray, make_array,
};
use arrow::datatypes::{DataType, SchemaRef};
use columnar::{Codes, ColumnStatistics, MorselReader, ReadError, TableSource};

use crate::run::{Cell, Row};

#[derive(Debug)]
pub(crate) struct TinyTable {
    batch: RecordBatch,
    morsel_rows: usize,
    zone_maps: bool,
    /// A bit for each column that is held as codes, and one for decimals in 64 bits.
    coded: usize,
}

impl TinyTable {
    pub(crate) fn of(batch: RecordBatch, morsel_rows: usize) -> Self {
        Self {
            batch,
            morsel_rows,
            zone_maps: false,
            coded: 0,
        }
    }

    #[must_use]
    pub(crate) fn with_zone_maps(self, zone_maps: bool) -> Self {
        Self { zone_maps, ..self }
    }

    #[must_use]
    pub(crate) fn with_codes(self, coded: usize) -> Self {
        Self { coded, ..self }
    }

    fn start(&self, morsel: usize) -> usize {
        morsel * self.morsel_rows
    }
}

impl TableSource for TinyTable {
    fn name(&self) -> &str {
        "t"
    }

    fn schema(&self) -> SchemaRef {
        self.batch.schema()
    }

    fn morsels(&self) -> usize {
        self.batch.num_rows().div_ceil(self.morsel_rows)
    }

    fn rows(&self, morsel: usize) -> usize {
        self.morsel_rows.min(self.batch.num_rows() - self.start(morsel))
    }

    fn statistics(&self, morsel: usize, column: usize) -> ColumnStatistics {
        if !self.zone_maps {
            return ColumnStatistics::unknown();
        }
        let values = self
            .batch
            .column(column)
            .slice(self.start(morsel), self.rows(morsel));
        let order = arrow::compute::sort_to_indices(&values, None, None).expect("sortable");
        let sorted = arrow::compute::take(&values, &order, None).expect("indices of the array");
        let nulls = values.null_count();
        // NULLs sort first; NaN sorts last, and as in files there is no upper bound of floats.
        let valid = sorted.slice(nulls, sorted.len() - nulls);
        let bounds = (!valid.is_empty()).then(|| (valid.slice(0, 1), valid.slice(valid.len() - 1, 1)));
        let (min, max) = bounds.unzip();
        let max = max.filter(|max: &ArrayRef| !max.data_type().is_floating());
        ColumnStatistics::unknown()
            .with_extremes(min, max)
            .with_nulls(nulls)
    }

    fn open(&self, morsel: usize, _projection: &[usize]) -> Result<Box<dyn MorselReader + '_>, ReadError> {
        Ok(Box::new(Reader {
            batch: self.batch.slice(self.start(morsel), self.rows(morsel)),
            coded: self.coded,
        }))
    }
}

struct Reader {
    batch: RecordBatch,
    coded: usize,
}

impl MorselReader for Reader {
    fn column(&mut self, column: usize) -> Result<ArrayRef, ReadError> {
        let values = self.batch.column(column);
        let is_narrow = self.coded >> self.batch.num_columns() & 1 == 1;
        Ok(match values.data_type() {
            DataType::Decimal128(precision, scale) if is_narrow => {
                let narrow = DataType::Decimal64(*precision, *scale);
                arrow::compute::cast(values, &narrow).expect("decimals of ten digits")
            }
            _ => values.clone(),
        })
    }

    fn codes(&mut self, column: usize) -> Result<Option<Codes>, ReadError> {
        let values = self.column(column)?;
        let width = [DataType::UInt8, DataType::UInt16, DataType::UInt32][column % 3].clone();
        let data_type = DataType::Dictionary(Box::new(width), Box::new(values.data_type().clone()));
        // Booleans have no codes.
        let coded = arrow::compute::cast(&values, &data_type).ok();
        Ok(coded.filter(|_| self.coded >> column & 1 == 1).map(|coded| {
            let coded = coded.as_any_dictionary();
            let rows = make_array(coded.keys().to_data());
            Codes::try_new(rows, coded.values().clone()).expect("a value for each code")
        }))
    }
}

/// The columns of a table of rows.
pub(crate) fn batch(columns: &[&'static str], rows: &[Row]) -> RecordBatch {
    let arrays = columns
        .iter()
        .enumerate()
        .map(|(index, name)| (*name, array(name, index, rows), true));
    RecordBatch::try_from_iter_with_nullable(arrays).expect("columns of one length")
}

fn array(name: &str, index: usize, rows: &[Row]) -> ArrayRef {
    fn values<'a, T: 'a>(
        index: usize,
        rows: &'a [Row],
        of: impl Fn(&'a Cell) -> T + 'a,
    ) -> impl Iterator<Item = Option<T>> + 'a {
        rows.iter().map(move |row| match &row[index] {
            Cell::Null => None,
            cell => Some(of(cell)),
        })
    }
    let integer = |cell: &Cell| match cell {
        Cell::Int(value) => *value,
        other => panic!("{other:?}"),
    };
    match name {
        "i" => Arc::new(Int64Array::from_iter(values(index, rows, integer))),
        "j" => Arc::new(Int32Array::from_iter(values(index, rows, |cell| {
            integer(cell) as i32
        }))),
        "d" => {
            let decimal = |cell: &Cell| match cell {
                Cell::Decimal(value, 2) => *value,
                other => panic!("{other:?}"),
            };
            let array = Decimal128Array::from_iter(values(index, rows, decimal));
            Arc::new(array.with_precision_and_scale(10, 2).expect("small decimals"))
        }
        "f" => Arc::new(Float64Array::from_iter(values(index, rows, |cell| match cell {
            Cell::Float(value) => *value,
            other => panic!("{other:?}"),
        }))),
        "s" | "u" => Arc::new(StringArray::from_iter(values(index, rows, |cell| match cell {
            Cell::Text(value) => value.as_str(),
            other => panic!("{other:?}"),
        }))),
        "day" => Arc::new(Date32Array::from_iter(values(index, rows, |cell| match cell {
            Cell::Date(value) => *value,
            other => panic!("{other:?}"),
        }))),
        "b" => Arc::new(BooleanArray::from_iter(values(index, rows, |cell| match cell {
            Cell::Bool(value) => *value,
            other => panic!("{other:?}"),
        }))),
        other => panic!("no column {other}"),
    }
}
