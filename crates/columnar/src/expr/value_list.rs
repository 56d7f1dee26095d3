//! The constants of an `IN` list.
//!
//! Arrow's kernels compare a short list item by item, faster than a lookup. A long list is a hash
//! set of the items' row encoding, built at its first use.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use arrow::array::{Array, ArrayRef, BooleanArray, Scalar};
use arrow::buffer::BooleanBuffer;
use arrow::compute::concat;
use arrow::compute::kernels::{boolean, cmp};
use arrow::error::ArrowError;
use arrow::row::{RowConverter, SortField};

use super::canonical::canonical_floats;
use super::types::{cast_checked, value_type};

/// Items at most to compare one by one.
const COMPARED: usize = 16;

pub(crate) struct ValueList {
    /// Arrays of one non-NULL value, of one type.
    items: Vec<ArrayRef>,
    has_null: bool,
    lookup: OnceLock<Lookup>,
}

struct Lookup {
    converter: RowConverter,
    rows: HashSet<Box<[u8]>>,
}

impl ValueList {
    pub(super) fn new(items: Vec<ArrayRef>, has_null: bool) -> Self {
        Self {
            items,
            has_null,
            lookup: OnceLock::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    pub(crate) fn items(&self) -> &[ArrayRef] {
        &self.items
    }

    pub(super) fn has_null(&self) -> bool {
        self.has_null
    }

    pub(super) fn contains(&self, values: &ArrayRef) -> Result<BooleanArray, ArrowError> {
        let found = if self.items.len() <= COMPARED {
            self.compare(values)?
        } else {
            self.look_up(values)?
        };
        if !self.has_null {
            return Ok(found);
        }
        // The value may equal the NULL: unknown.
        Ok(BooleanArray::new(
            found.values().clone(),
            Some(arrow::buffer::NullBuffer::new(true_bits(&found))),
        ))
    }

    fn compare(&self, values: &ArrayRef) -> Result<BooleanArray, ArrowError> {
        let mut found = BooleanArray::new(BooleanBuffer::new_unset(values.len()), values.logical_nulls());
        for item in &self.items {
            let equal = cmp::eq(values, &Scalar::new(canonical_floats(item)))?;
            found = boolean::or_kleene(&found, &equal)?;
        }
        Ok(found)
    }

    fn look_up(&self, values: &ArrayRef) -> Result<BooleanArray, ArrowError> {
        let lookup = match self.lookup.get() {
            Some(lookup) => lookup,
            None => {
                let built = Lookup::new(&self.items)?;
                self.lookup.get_or_init(|| built)
            }
        };
        let plain = cast_checked(values, value_type(values.data_type()))?;
        let rows = lookup.converter.convert_columns(&[plain])?;
        let bits =
            BooleanBuffer::collect_bool(values.len(), |row| lookup.rows.contains(rows.row(row).data()));
        Ok(BooleanArray::new(bits, values.logical_nulls()))
    }
}

impl Lookup {
    fn new(items: &[ArrayRef]) -> Result<Self, ArrowError> {
        let arrays: Vec<&dyn Array> = items.iter().map(AsRef::as_ref).collect();
        let items: ArrayRef = canonical_floats(&concat(&arrays)?);
        let converter = RowConverter::new(vec![SortField::new(items.data_type().clone())])?;
        let rows = converter.convert_columns(&[Arc::clone(&items)])?;
        let rows = rows.iter().map(|row| Box::from(row.data())).collect();
        Ok(Self { converter, rows })
    }
}

fn true_bits(values: &BooleanArray) -> BooleanBuffer {
    match values.nulls() {
        Some(nulls) => values.values() & nulls.inner(),
        None => values.values().clone(),
    }
}
