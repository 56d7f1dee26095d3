//! Prepared statements, and portals with their values, from Bind or DECLARE to the last row.

use std::sync::Arc;

use datafusion::arrow::datatypes::Schema;
use pgwire::api::portal::Format as Formats;
use postgres_types::Type;

use crate::parameters::Parameters;
use crate::rows::{self, Rows};
use crate::statement::Action;
use crate::wire::{Column, SqlError};

/// A prepared statement.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) text: String,
    /// `None` for a statement without words.
    pub(super) action: Option<Action>,
    pub(crate) parameter_types: Vec<Type>,
    /// Columns, if it gives rows. A FETCH that was prepared before its cursor has none.
    pub(super) schema: Option<Arc<Schema>>,
}

/// A statement with its values, on its way through its rows.
pub(crate) struct Portal {
    pub(super) prepared: Arc<Prepared>,
    pub(super) parameters: Option<Arc<Parameters>>,
    pub(super) formats: Formats,
    /// Number of savepoints before it.
    pub(super) depth: usize,
    pub(crate) state: PortalState,
}

pub(crate) enum PortalState {
    Fresh,
    /// Rows that are left.
    Running(Box<Rows>),
    Finished,
}

impl Prepared {
    /// The columns as text; `None` if it gives no rows.
    pub(super) fn columns(&self, formats: &Formats) -> Result<Option<Vec<Column>>, SqlError> {
        let Some(schema) = &self.schema else {
            return Ok(None);
        };
        rows::columns(&rows::fields(schema, formats, None)?).map(Some)
    }
}

impl Portal {
    /// The columns of a cursor in the formats of the FETCH that asks for its rows.
    pub(crate) fn columns_in(&self, formats: &Formats) -> Result<Option<Vec<Column>>, SqlError> {
        self.prepared.columns(formats)
    }

    pub(crate) fn formats(&self) -> &Formats {
        &self.formats
    }

    /// The columns that its client may know from its prepared statement.
    pub(crate) fn known(&self) -> Option<&Arc<Schema>> {
        self.prepared.schema.as_ref()
    }

    /// What is to be begun: the action with its text, values and formats; `None` for no words.
    pub(crate) fn to_begin(&self) -> Option<(Action, String, Option<Arc<Parameters>>, Formats)> {
        let action = self.prepared.action.clone()?;
        Some((
            action,
            self.prepared.text.clone(),
            self.parameters.clone(),
            self.formats.clone(),
        ))
    }
}
