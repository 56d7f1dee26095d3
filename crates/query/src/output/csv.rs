//! CSV by RFC 4180, but lines end in LF alone.
//!
//! It reads back to the same rows: NULL is an empty field, an empty text is `""`.

use arrow::error::ArrowError;

use super::values::{Class, batches};
use crate::result::QueryResult;

pub(super) fn render(result: &QueryResult) -> Result<String, ArrowError> {
    let mut text = String::new();
    if result.schema.fields().is_empty() {
        return Ok(text);
    }
    for (index, field) in result.schema.fields().iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        push_text(&mut text, field.name());
    }
    text.push('\n');
    let mut value = String::new();
    for batch in batches(result) {
        let (rows, columns) = batch?;
        for row in 0..rows {
            for (index, column) in columns.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                value.clear();
                if !column.write(row, &mut value)? {
                    continue;
                }
                match column.class() {
                    Class::Exact | Class::Float | Class::Boolean => text.push_str(&value),
                    Class::Symbol | Class::Text => push_text(&mut text, &value),
                }
            }
            text.push('\n');
        }
    }
    Ok(text)
}

fn push_text(text: &mut String, value: &str) {
    let special = |byte: u8| matches!(byte, b',' | b'"' | b'\n' | b'\r');
    let edge = value.trim_matches(' ').len() != value.len();
    if !value.is_empty() && !edge && !value.bytes().any(special) {
        text.push_str(value);
        return;
    }
    text.push('"');
    for (index, part) in value.split('"').enumerate() {
        if index > 0 {
            text.push_str("\"\"");
        }
        text.push_str(part);
    }
    text.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_quoted_where_they_would_be_misread() {
        let quoted = |value: &str| {
            let mut text = String::new();
            push_text(&mut text, value);
            text
        };
        assert_eq!(quoted("plain text"), "plain text");
        assert_eq!(quoted(""), "\"\"");
        assert_eq!(quoted(" x"), "\" x\"");
        assert_eq!(quoted("a,b"), "\"a,b\"");
        assert_eq!(quoted("say \"hi\"\n"), "\"say \"\"hi\"\"\n\"");
    }
}
