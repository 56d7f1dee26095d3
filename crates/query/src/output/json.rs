//! One JSON array, an object per row and line.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use arrow::error::ArrowError;

use super::values::{Class, batches};
use crate::result::QueryResult;

pub(super) fn render(result: &QueryResult) -> Result<String, ArrowError> {
    let keys: Vec<String> = unique_names(result)
        .map(|name| {
            let mut key = String::new();
            push_string(&mut key, &name);
            key
        })
        .collect();
    let mut text = String::from("[");
    let mut value = String::new();
    let mut first = true;
    for batch in batches(result) {
        let (rows, columns) = batch?;
        for row in 0..rows {
            text.push_str(if first { "\n{" } else { ",\n{" });
            first = false;
            for (index, (column, key)) in columns.iter().zip(&keys).enumerate() {
                if index > 0 {
                    text.push(',');
                }
                text.push_str(key);
                text.push(':');
                value.clear();
                if !column.write(row, &mut value)? {
                    text.push_str("null");
                    continue;
                }
                match column.class() {
                    Class::Exact | Class::Boolean => text.push_str(&value),
                    Class::Float if value.contains(['N', 'n', 'i']) => {
                        push_string(&mut text, not_finite(&value))
                    }
                    Class::Float => text.push_str(&value),
                    Class::Symbol | Class::Text => push_string(&mut text, &value),
                }
            }
            text.push('}');
        }
    }
    text.push_str(if first { "]\n" } else { "\n]\n" });
    Ok(text)
}

fn not_finite(value: &str) -> &'static str {
    match value {
        "inf" => "Infinity",
        "-inf" => "-Infinity",
        _ => "NaN",
    }
}

/// A repeated name gets a number.
fn unique_names(result: &QueryResult) -> impl Iterator<Item = String> {
    let mut taken = HashSet::new();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    result.schema.fields().iter().map(move |field| {
        let count = counts.entry(field.name()).or_insert(0);
        loop {
            *count += 1;
            let name = match *count {
                1 => field.name().clone(),
                count => format!("{}_{count}", field.name()),
            };
            if taken.insert(name.clone()) {
                return name;
            }
        }
    })
}

fn push_string(text: &mut String, value: &str) {
    text.push('"');
    let mut plain = 0;
    for (at, byte) in value.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0..=0x1f => "",
            _ => continue,
        };
        text.push_str(&value[plain..at]);
        if escape.is_empty() {
            write!(text, "\\u{byte:04x}").expect("writing into memory");
        } else {
            text.push_str(escape);
        }
        plain = at + 1;
    }
    text.push_str(&value[plain..]);
    text.push('"');
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::datatypes::{DataType, Field, Schema};

    use super::*;

    #[test]
    fn repeated_names_are_numbered_around_those_that_are_there() {
        let fields: Vec<Field> = ["a", "a", "a_2", "b", "a", "a_2"]
            .map(|name| Field::new(name, DataType::Int64, true))
            .into();
        let result = QueryResult {
            schema: Arc::new(Schema::new(fields)),
            batches: vec![],
        };
        let names: Vec<String> = unique_names(&result).collect();
        assert_eq!(names, ["a", "a_2", "a_2_2", "b", "a_3", "a_2_3"]);
    }

    #[test]
    fn strings_are_escaped() {
        let mut text = String::new();
        push_string(&mut text, "a\"b\\c\nd\u{1}é");
        assert_eq!(text, r#""a\"b\\c\nd\u0001é""#);
    }
}
