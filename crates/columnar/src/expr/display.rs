//! The text of an expression in plans and errors: SQL with few brackets.

use std::fmt;

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::DataType;
use arrow::util::display::array_value_to_string;

use super::node::{Arithmetic, Comparison, Expr, Node};

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.node() {
            Node::Column { name, .. } => f.write_str(name),
            Node::Literal(value) => write_literal(f, value),
            Node::Cast(value) => value.fmt(f),
            Node::Arithmetic { op, left, right } => {
                write_operand(f, left, self.precedence())?;
                write!(f, " {op} ")?;
                // `a - (b - c)` keeps its brackets.
                write_operand(f, right, self.precedence() + 1)
            }
            Node::Compare { op, left, right } => {
                write_operand(f, left, self.precedence() + 1)?;
                write!(f, " {op} ")?;
                write_operand(f, right, self.precedence() + 1)
            }
            Node::And(left, right) => {
                write_operand(f, left, self.precedence())?;
                f.write_str(" and ")?;
                write_operand(f, right, self.precedence())
            }
            Node::Or(left, right) => {
                write_operand(f, left, self.precedence())?;
                f.write_str(" or ")?;
                write_operand(f, right, self.precedence())
            }
            Node::Not(value) => {
                f.write_str("not ")?;
                write_operand(f, value, self.precedence())
            }
            Node::IsNull { value, negated } => {
                write_operand(f, value, self.precedence() + 1)?;
                f.write_str(if *negated { " is not null" } else { " is null" })
            }
            Node::InList { value, list } => {
                write_operand(f, value, self.precedence() + 1)?;
                f.write_str(" in (")?;
                for (at, item) in list.items().iter().enumerate() {
                    f.write_str(if at == 0 { "" } else { ", " })?;
                    write_literal(f, item)?;
                }
                if list.has_null() {
                    f.write_str(if list.items().is_empty() { "null" } else { ", null" })?;
                }
                f.write_str(")")
            }
            Node::Like {
                value,
                pattern,
                ignore_case,
            } => {
                write_operand(f, value, self.precedence() + 1)?;
                f.write_str(if *ignore_case { " ilike " } else { " like " })?;
                write_operand(f, pattern, self.precedence() + 1)
            }
        }
    }
}

impl Expr {
    /// In brackets unless a name, constant or function.
    pub(crate) fn as_operand(&self) -> String {
        if self.precedence() < 9 {
            format!("({self})")
        } else {
            self.to_string()
        }
    }

    /// Higher binds stronger.
    fn precedence(&self) -> u8 {
        match self.node() {
            Node::Or(..) => 1,
            Node::And(..) => 2,
            Node::Not(..) => 3,
            Node::Compare { .. } | Node::IsNull { .. } | Node::InList { .. } | Node::Like { .. } => 4,
            Node::Arithmetic {
                op: Arithmetic::Add | Arithmetic::Subtract,
                ..
            } => 6,
            Node::Arithmetic { .. } => 7,
            Node::Cast(value) => value.precedence(),
            Node::Column { .. } | Node::Literal(_) => 9,
        }
    }
}

impl fmt::Display for Arithmetic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
        })
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Equal => "=",
            Self::NotEqual => "<>",
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::Greater => ">",
            Self::GreaterEqual => ">=",
        })
    }
}

fn write_operand(f: &mut fmt::Formatter<'_>, operand: &Expr, at_least: u8) -> fmt::Result {
    if operand.precedence() < at_least {
        write!(f, "({operand})")
    } else {
        write!(f, "{operand}")
    }
}

fn write_literal(f: &mut fmt::Formatter<'_>, value: &ArrayRef) -> fmt::Result {
    if value.is_null(0) {
        return f.write_str("null");
    }
    let text = array_value_to_string(value, 0).map_err(|_| fmt::Error)?;
    match value.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            write!(f, "'{}'", text.replace('\'', "''"))
        }
        DataType::Date32 | DataType::Date64 => write!(f, "date '{text}'"),
        DataType::Timestamp(..) => write!(f, "timestamp '{text}'"),
        DataType::Interval(_) => write!(f, "interval '{text}'"),
        _ => f.write_str(&text),
    }
}
