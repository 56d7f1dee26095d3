//! A statement from the page: as one of a connection of its own, with a bounded result.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Buf, Bytes};
use pgwire::api::portal::Format as Formats;
use postgres_types::Type;
use serde::{Deserialize, Serialize};

use crate::ends::Ends;
use crate::rows::Rows;
use crate::session::{Reply, Session};
use crate::shared::Shared;
use crate::statement;
use crate::wire::{Column, SqlError};

/// Number of rows of a result.
const ROWS_MAX: u64 = 1_000;

/// Bytes of a result's values.
const BYTES_MAX: usize = 1 << 20;

/// Bytes of a value; a longer one is cut.
const VALUE_BYTES_MAX: usize = 64 * 1024;

/// Number of statements in a text.
const STATEMENTS_MAX: usize = 100;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Ask {
    sql: String,
    /// The class in which the statements begin.
    #[serde(default)]
    class: Option<String>,
}

/// What the last statement gave.
#[derive(Debug, Default, Serialize)]
pub(super) struct Outcome {
    tag: &'static str,
    columns: Vec<ColumnOf>,
    rows: Vec<Vec<Option<String>>>,
    /// Whether there are rows that are not given.
    is_cut: bool,
    /// Whether a value is not given whole.
    is_value_cut: bool,
    took_ms: f64,
    notice: Option<String>,
}

#[derive(Debug, Serialize)]
struct ColumnOf {
    name: String,
    is_number: bool,
}

/// Runs the statements of a text one after another, and gives what the last one gave. Dropping the
/// future ends what runs.
///
/// # Errors
///
/// That of the first statement which fails.
pub(super) async fn run(shared: &Arc<Shared>, user: &Arc<str>, ask: &Ask) -> Result<Outcome, SqlError> {
    if shared.draining.is_cancelled() {
        return Err(SqlError::shutting_down());
    }
    let statements = statement::parse(&ask.sql, &shared.parser)?;
    if statements.len() > STATEMENTS_MAX {
        let what = format!("a text has at most {STATEMENTS_MAX} statements here");
        return Err(SqlError::new("54000", what));
    }
    let connected = shared.connections.enter()?;
    let mut session = Session::new(Arc::clone(shared), connected, Arc::clone(user));
    if let Some(class) = &ask.class {
        session.set("windlass.class", class)?;
    }
    let mut last = Outcome::default();
    for parsed in statements {
        let (began, tag) = (Instant::now(), statement::tag_of(&parsed));
        let action = statement::action(parsed)?;
        let ends = Ends::of(&session);
        let begun = async {
            let reply = session
                .begin(action, &ask.sql, None, Formats::UnifiedText)
                .await?;
            outcome_of(reply, tag).await
        };
        let outcome = tokio::select! {
            biased;
            why = ends.why() => Err(why),
            outcome = begun => outcome,
        };
        session.statement_over();
        last = outcome?;
        last.took_ms = millis(began.elapsed());
        session.end_statement();
    }
    Ok(last)
}

async fn outcome_of(reply: Reply, tag: &'static str) -> Result<Outcome, SqlError> {
    match reply {
        Reply::Rows(rows) => read(*rows, tag).await,
        Reply::Row { name, value } => Ok(Outcome {
            tag: "SHOW",
            columns: vec![ColumnOf {
                name,
                is_number: false,
            }],
            rows: vec![vec![Some(value)]],
            ..Outcome::default()
        }),
        Reply::Done { tag, notice } => Ok(Outcome {
            tag,
            notice,
            ..Outcome::default()
        }),
        Reply::Fetch { .. } => Err(SqlError::not_supported("the page has no cursors")),
    }
}

/// Takes rows up to a bound, and ends the statement there.
async fn read(mut rows: Rows, tag: &'static str) -> Result<Outcome, SqlError> {
    let columns = rows.columns().await?.iter().map(ColumnOf::of).collect();
    let mut outcome = Outcome {
        tag,
        columns,
        ..Outcome::default()
    };
    let (mut left, mut bytes_left) = (ROWS_MAX, BYTES_MAX);
    while left > 0 {
        let Some((messages, number)) = rows.next(left).await? else {
            return Ok(outcome);
        };
        left -= number;
        if !outcome.take(messages, &mut bytes_left)? {
            outcome.is_cut = true;
            rows.enough();
            return Ok(outcome);
        }
    }
    outcome.is_cut = !rows.is_at_end().await?;
    if outcome.is_cut {
        rows.enough();
    }
    Ok(outcome)
}

impl Outcome {
    /// Takes rows that are messages. Returns `false` at the first for which there are no bytes.
    fn take(&mut self, mut messages: Bytes, bytes_left: &mut usize) -> Result<bool, SqlError> {
        while messages.has_remaining() {
            let row = next_row(&mut messages).ok_or_else(broken)?;
            let mut values = Vec::with_capacity(row.len());
            for value in row {
                let Some(value) = value else {
                    values.push(None);
                    continue;
                };
                let text = shortened(&value);
                self.is_value_cut |= text.len() < value.len();
                let Some(left) = bytes_left.checked_sub(text.len()) else {
                    return Ok(false);
                };
                *bytes_left = left;
                values.push(Some(text));
            }
            self.rows.push(values);
        }
        Ok(true)
    }
}

/// The values of the next `DataRow`.
fn next_row(messages: &mut Bytes) -> Option<Vec<Option<Bytes>>> {
    let kind = messages.try_get_u8().ok()?;
    let length = messages.try_get_u32().ok()? as usize;
    let rest = length.checked_sub(4).filter(|_| kind == b'D')?;
    if messages.len() < rest {
        return None;
    }
    let mut row = messages.split_to(rest);
    let number = row.try_get_i16().ok()?;
    let value = |_| {
        let length = row.try_get_i32().ok()?;
        match usize::try_from(length) {
            Err(_negative) => Some(None),
            Ok(length) if row.len() < length => None,
            Ok(length) => Some(Some(row.split_to(length))),
        }
    };
    (0..number).map(value).collect()
}

/// The beginning of a value, whole letters.
fn shortened(value: &[u8]) -> String {
    let text = String::from_utf8_lossy(value);
    let end = text.floor_char_boundary(VALUE_BYTES_MAX);
    text[..end].to_owned()
}

fn broken() -> SqlError {
    SqlError::new("XX000", "internal error: a row is no message")
}

impl ColumnOf {
    fn of(column: &Column) -> Self {
        let numbers = [
            Type::INT2,
            Type::INT4,
            Type::INT8,
            Type::FLOAT4,
            Type::FLOAT8,
            Type::NUMERIC,
        ];
        Self {
            name: column.name.clone(),
            is_number: numbers.iter().any(|number| number.oid() == column.type_oid),
        }
    }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(values: &[Option<&str>]) -> Vec<u8> {
        let mut body = (values.len() as i16).to_be_bytes().to_vec();
        for value in values {
            let length = value.map_or(-1, |value| value.len() as i32);
            body.extend(length.to_be_bytes());
            body.extend(value.unwrap_or_default().as_bytes());
        }
        let length = (body.len() as u32 + 4).to_be_bytes();
        [b"D".as_slice(), &length, &body].concat()
    }

    #[test]
    fn rows_are_taken_up_to_the_bound_on_bytes() {
        let messages = [
            message(&[Some("Bern"), None]),
            message(&[Some(""), Some("CH")]),
            message(&[Some("Oslo"), None]),
        ];
        let mut outcome = Outcome::default();
        let mut left = 9;
        assert!(!outcome.take(messages.concat().into(), &mut left).unwrap());
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(
            outcome.rows,
            [vec![text("Bern"), None], vec![text(""), text("CH")]]
        );
        assert!(!outcome.is_value_cut);
    }

    #[test]
    fn a_long_value_is_cut_between_letters() {
        let long = "é".repeat(VALUE_BYTES_MAX);
        let mut outcome = Outcome::default();
        let messages = message(&[Some(&format!("x{long}"))]);
        assert!(outcome.take(messages.into(), &mut BYTES_MAX.clone()).unwrap());
        assert!(outcome.is_value_cut);
        let value = outcome.rows[0][0].as_deref().unwrap();
        assert_eq!(value.len(), VALUE_BYTES_MAX - 1);
    }

    #[test]
    fn what_is_no_row_is_an_error() {
        let good = message(&[Some("Bern")]);
        for broken in [&good[..good.len() - 1], b"C\0\0\0\x04", b"D\0\0\0\x01", b"D"] {
            let bytes = Bytes::copy_from_slice(broken);
            let error = Outcome::default().take(bytes, &mut BYTES_MAX.clone());
            assert_eq!(error.unwrap_err().code, "XX000", "{broken:?}");
        }
    }
}
