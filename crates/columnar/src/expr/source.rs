//! Rows that expressions read, column by column.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;

use arrow::array::{Array as _, ArrayRef, BooleanArray, new_null_array};
use arrow::buffer::BooleanBuffer;
use arrow::compute::{FilterBuilder, FilterPredicate, concat};

use crate::error::ExecError;
use crate::expr::answers::Answered;
use crate::expr::node::Expr;
use crate::expr::text_search::TextSearch;
use crate::table::Codes;

pub(crate) trait ColumnSource {
    fn rows(&self) -> usize;

    /// A repeated call is cheap. Decimals may come in [64 bits](crate::narrow).
    fn column(&self, index: usize) -> Result<ArrayRef, ExecError>;

    /// The least and the greatest value of the column in these rows and in others that are in the same
    /// scan, if they are known without reading it.
    fn extremes(&self, index: usize) -> Option<[ArrayRef; 2]> {
        let _ = index;
        None
    }

    /// The column as codes into few values, if it is held so.
    fn codes(&self, index: usize) -> Result<Option<Codes>, ExecError> {
        let _ = index;
        Ok(None)
    }

    /// The rows that meet a condition on texts, if they are known sooner than the column.
    fn rows_where(&self, condition: &TextSearch) -> Result<Option<BooleanBuffer>, ExecError> {
        let _ = condition;
        Ok(None)
    }

    /// Whether [`kept`](Self::kept) may know values of the column.
    fn may_know_kept(&self, index: usize) -> bool {
        let _ = index;
        false
    }

    /// The column's values in the rows to `keep`, if they are known sooner than the column.
    fn kept(&self, index: usize, keep: &BooleanArray) -> Result<Option<ArrayRef>, ExecError> {
        let _ = (index, keep);
        Ok(None)
    }

    /// Where answers to the values of codes are kept, if further rows may have the same values.
    fn answered(&self) -> Option<&Answered> {
        None
    }
}

/// The values of a column's rows.
pub(crate) fn values_of(column: usize, codes: &Codes) -> Result<ArrayRef, ExecError> {
    let values = codes.decoded();
    values.map_err(|error| ExecError::of(format!("column {column}"), error))
}

/// The values that a column's codes stand for, and NULL behind them if a row is NULL.
pub(crate) struct Values {
    column: usize,
    values: ArrayRef,
}

impl Values {
    pub(crate) fn of(column: usize, codes: &Codes) -> Result<Self, ExecError> {
        let mut values = codes.values().clone();
        if codes.rows().null_count() > 0 {
            let null = new_null_array(values.data_type(), 1);
            let both = concat(&[values.as_ref(), null.as_ref()]);
            values = both.map_err(|error| ExecError::of(format!("column {column}"), error))?;
        }
        Ok(Self { column, values })
    }
}

impl ColumnSource for Values {
    fn rows(&self) -> usize {
        self.values.len()
    }

    fn column(&self, index: usize) -> Result<ArrayRef, ExecError> {
        assert_eq!(index, self.column, "a condition over one column");
        Ok(self.values.clone())
    }
}

pub(crate) struct Filtered<'a> {
    source: &'a dyn ColumnSource,
    keep: BooleanArray,
    rows: usize,
    reads_several: bool,
    /// Once a column is read: a count of rows reads none.
    predicate: OnceCell<FilterPredicate>,
    /// What the source said of the kept rows of a column.
    sooner: RefCell<BTreeMap<usize, Option<ArrayRef>>>,
    columns: RefCell<BTreeMap<usize, ArrayRef>>,
}

impl<'a> Filtered<'a> {
    /// `exprs` are those that read the rows.
    pub(crate) fn new<'e>(
        source: &'a dyn ColumnSource,
        keep: &BooleanArray,
        exprs: impl IntoIterator<Item = &'e Expr>,
    ) -> Self {
        Self {
            source,
            keep: keep.clone(),
            rows: keep.true_count(),
            reads_several: Expr::read_several(exprs),
            predicate: OnceCell::new(),
            sooner: RefCell::default(),
            columns: RefCell::default(),
        }
    }

    fn predicate(&self) -> &FilterPredicate {
        self.predicate.get_or_init(|| {
            let builder = FilterBuilder::new(&self.keep);
            match self.reads_several {
                true => builder.optimize().build(),
                // A list of the kept rows takes longer to make than one column spares by it.
                false => builder.build(),
            }
        })
    }

    /// The values that the source has of the kept rows alone.
    fn kept_sooner(&self, index: usize) -> Result<Option<ArrayRef>, ExecError> {
        if !self.source.may_know_kept(index) {
            return Ok(None);
        }
        if let Some(known) = self.sooner.borrow().get(&index) {
            return Ok(known.clone());
        }
        let kept = self.source.kept(index, &self.keep)?;
        self.sooner.borrow_mut().insert(index, kept.clone());
        Ok(kept)
    }
}

impl ColumnSource for Filtered<'_> {
    fn rows(&self) -> usize {
        self.rows
    }

    fn column(&self, index: usize) -> Result<ArrayRef, ExecError> {
        if let Some(column) = self.columns.borrow().get(&index) {
            return Ok(column.clone());
        }
        if let Some(kept) = self.kept_sooner(index)? {
            return Ok(kept);
        }
        let kept = match self.codes(index)? {
            Some(codes) => values_of(index, &codes)?,
            None => {
                let kept = self.predicate().filter(&self.source.column(index)?);
                kept.map_err(|error| ExecError::of(format!("column {index}"), error))?
            }
        };
        self.columns.borrow_mut().insert(index, kept.clone());
        Ok(kept)
    }

    fn codes(&self, index: usize) -> Result<Option<Codes>, ExecError> {
        if self.kept_sooner(index)?.is_some() {
            return Ok(None);
        }
        let Some(whole) = self.source.codes(index)? else {
            return Ok(None);
        };
        let kept = self.predicate().filter(whole.rows());
        let kept = kept.map_err(|error| ExecError::of(format!("column {index}"), error))?;
        Ok(Some(whole.with_rows(kept)))
    }

    fn answered(&self) -> Option<&Answered> {
        self.source.answered()
    }
}
