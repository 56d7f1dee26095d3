//! Aligned columns for people.
//!
//! ```text
//!  l_returnflag |     sum_qty
//! --------------+-------------
//!  A            | 37734107.00
//!  NULL         |        NULL
//! (2 rows)
//! ```

use arrow::error::ArrowError;
use unicode_width::UnicodeWidthStr;

use super::values::{Class, Values, batches};
use crate::result::QueryResult;

pub(super) fn render(result: &QueryResult) -> Result<String, ArrowError> {
    let names: Vec<String> = result
        .schema
        .fields()
        .iter()
        .map(|field| on_one_line(field.name()))
        .collect();
    let mut widths: Vec<usize> = names.iter().map(|name| name.width()).collect();
    let mut right = vec![false; names.len()];
    let mut cells: Vec<String> = Vec::new();
    let mut count = 0;
    for batch in batches(result) {
        let (rows, columns) = batch?;
        count += rows;
        for (right, column) in right.iter_mut().zip(&columns) {
            *right = matches!(column.class(), Class::Exact | Class::Float);
        }
        for row in 0..rows {
            for (column, width) in columns.iter().zip(&mut widths) {
                let cell = cell(column, row)?;
                *width = (*width).max(cell.width());
                cells.push(cell);
            }
        }
    }
    let mut text = String::new();
    if !names.is_empty() {
        push_row(&mut text, &names, &widths, &right);
        let rules: Vec<String> = widths.iter().map(|width| "-".repeat(width + 2)).collect();
        text.push_str(&rules.join("+"));
        text.push('\n');
        for row in cells.chunks(names.len()) {
            push_row(&mut text, row, &widths, &right);
        }
    }
    text.push_str(&format!(
        "({count} {})\n",
        if count == 1 { "row" } else { "rows" }
    ));
    Ok(text)
}

fn cell(column: &Values<'_>, row: usize) -> Result<String, ArrowError> {
    let mut value = String::new();
    if !column.write(row, &mut value)? {
        return Ok("NULL".to_owned());
    }
    if column.class() == Class::Text {
        return Ok(if value == "NULL" {
            "\"NULL\"".to_owned()
        } else {
            on_one_line(&value)
        });
    }
    Ok(value)
}

/// Escapes keep a row on one line.
fn on_one_line(value: &str) -> String {
    if !value.contains(char::is_control) {
        return value.to_owned();
    }
    value
        .chars()
        .fold(String::with_capacity(value.len() + 8), |mut text, character| {
            if character.is_control() {
                text.extend(character.escape_default())
            } else {
                text.push(character)
            }
            text
        })
}

fn push_row(text: &mut String, cells: &[String], widths: &[usize], right: &[bool]) {
    for (index, cell) in cells.iter().enumerate() {
        text.push_str(if index == 0 { " " } else { " | " });
        let padding = " ".repeat(widths[index] - cell.width());
        match (right[index], index + 1 == cells.len()) {
            (true, _) => {
                text.push_str(&padding);
                text.push_str(cell);
            }
            (false, true) => text.push_str(cell),
            (false, false) => {
                text.push_str(cell);
                text.push_str(&padding);
            }
        }
    }
    text.push('\n');
}
