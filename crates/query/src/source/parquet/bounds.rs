//! What the footer says of a column's values, row group by row group.

use ::parquet::arrow::arrow_reader::ArrowReaderMetadata;
use ::parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use arrow::array::{Array as _, ArrayRef, BooleanArray, UInt64Array};
use arrow::datatypes::Schema;
use columnar::ColumnStatistics;

/// One value per row group.
#[derive(Debug)]
pub(super) struct Bounds {
    min: ArrayRef,
    /// Absent for floats: writers leave out NaN, the greatest value.
    max: Option<ArrayRef>,
    /// Whether both are values of the row group.
    are_values: BooleanArray,
    nulls: UInt64Array,
}

impl Bounds {
    /// `None` for a column without statistics, or with such as old writers got wrong.
    pub(super) fn of(metadata: &ArrowReaderMetadata, column: usize, schema: &Schema) -> Option<Self> {
        let groups = metadata.metadata().row_groups();
        let name = schema.field(column).name();
        let fields = schema.fields().iter();
        if fields.filter(|field| field.name() == name).count() > 1 {
            return None;
        }
        let converter = StatisticsConverter::try_new(name, schema, metadata.parquet_schema())
            .ok()?
            // A missing count is unknown, not zero.
            .with_missing_null_counts_as_zero(false);
        let leaf = converter.parquet_column_index()?;
        let outdated = groups
            .iter()
            .filter_map(|group| group.column(leaf).statistics())
            .any(|statistics| {
                statistics.is_min_max_deprecated() && !statistics.is_min_max_backwards_compatible()
            });
        if outdated {
            return None;
        }
        let min = converter.row_group_mins(groups).ok()?;
        let max = converter.row_group_maxes(groups).ok()?;
        let nulls = converter.row_group_null_counts(groups).ok()?;
        let are_values = [
            converter.row_group_is_min_value_exact(groups).ok()?,
            converter.row_group_is_max_value_exact(groups).ok()?,
        ];
        let is_value = |are: &BooleanArray, group: usize| are.is_valid(group) && are.value(group);
        let both = |group: usize| Some(are_values.iter().all(|are| is_value(are, group)));
        let are_values: BooleanArray = (0..groups.len()).map(both).collect();
        let lengths_agree = [min.len(), max.len(), nulls.len()] == [groups.len(); 3];
        let types_agree = [min.data_type(), max.data_type()] == [schema.field(column).data_type(); 2];
        let max = (!schema.field(column).data_type().is_floating()).then_some(max);
        (lengths_agree && types_agree).then_some(Self {
            min,
            max,
            are_values,
            nulls,
        })
    }

    /// Of `rows` rows of a row group, which are all of it or not.
    pub(super) fn of_rows(&self, row_group: usize, rows: usize, are_all: bool) -> ColumnStatistics {
        let value = |array: &ArrayRef| array.slice(row_group, 1);
        let (min, max) = (Some(value(&self.min)), self.max.as_ref().map(value));
        let statistics = match are_all && self.are_values.value(row_group) {
            true => ColumnStatistics::unknown().with_extremes(min, max),
            false => ColumnStatistics::unknown().with_bounds(min, max),
        };
        let nulls = self
            .nulls
            .is_valid(row_group)
            .then(|| self.nulls.value(row_group))
            .and_then(|nulls| usize::try_from(nulls).ok())
            // Of a part, only a count of zero is certain. More NULLs than rows are damage.
            .filter(|&nulls| nulls == 0 || (are_all && nulls <= rows));
        match nulls {
            Some(nulls) => statistics.with_nulls(nulls),
            None => statistics,
        }
    }
}
