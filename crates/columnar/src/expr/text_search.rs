//! Conditions on one column of texts that a reader answers for the texts of a page.

use arrow::buffer::BooleanBuffer;
use memchr::memmem::Finder;

use super::contains::{contained_in, searched_text};
use super::node::{Expr, Node};
use crate::table::{SpacedTexts, TextCondition};

/// Whether texts contain other texts: `url like '%shop%' and url not like '%cart%'`.
pub(crate) struct TextSearch {
    expr: Expr,
    column: usize,
    test: Test,
}

enum Test {
    Contains(Box<Finder<'static>>),
    Not(Box<Test>),
    And(Box<Test>, Box<Test>),
    Or(Box<Test>, Box<Test>),
}

impl TextSearch {
    /// `None` if `expr` reads other columns, or has other parts.
    pub(crate) fn of(expr: &Expr) -> Option<Self> {
        Some(Self {
            column: expr.only_column()?,
            test: Test::of(expr)?,
            expr: expr.clone(),
        })
    }

    pub(crate) fn expr(&self) -> &Expr {
        &self.expr
    }

    pub(crate) fn column(&self) -> usize {
        self.column
    }
}

impl TextCondition for TextSearch {
    fn answers(&self, texts: &SpacedTexts<'_>) -> BooleanBuffer {
        self.test.answers(texts)
    }
}

impl Test {
    fn of(expr: &Expr) -> Option<Self> {
        let both = |left: &Expr, right: &Expr| Some((Box::new(Self::of(left)?), Box::new(Self::of(right)?)));
        Some(match expr.node() {
            Node::Like {
                value,
                pattern,
                ignore_case: false,
            } => {
                value.as_column()?;
                let text = searched_text(pattern.literal_value()?)?;
                Self::Contains(Box::new(Finder::new(text.as_bytes()).into_owned()))
            }
            Node::Not(test) => Self::Not(Box::new(Self::of(test)?)),
            Node::And(left, right) => {
                let (left, right) = both(left, right)?;
                Self::And(left, right)
            }
            Node::Or(left, right) => {
                let (left, right) = both(left, right)?;
                Self::Or(left, right)
            }
            _ => return None,
        })
    }

    fn answers(&self, texts: &SpacedTexts<'_>) -> BooleanBuffer {
        match self {
            Self::Contains(finder) => contained_in(texts, finder),
            Self::Not(test) => !&test.answers(texts),
            Self::And(left, right) => &left.answers(texts) & &right.answers(texts),
            Self::Or(left, right) => &left.answers(texts) | &right.answers(texts),
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, BooleanArray, StringViewArray};
    use arrow::datatypes::{DataType, Field};
    use proptest::prelude::*;
    use std::sync::Arc;

    use super::*;
    use crate::error::ExecError;
    use crate::expr::{ColumnSource, Comparison};

    struct Rows(ArrayRef);

    impl ColumnSource for Rows {
        fn rows(&self) -> usize {
            self.0.len()
        }

        fn column(&self, _index: usize) -> Result<ArrayRef, ExecError> {
            Ok(self.0.clone())
        }
    }

    fn column() -> Expr {
        Expr::column(0, &Field::new("t", DataType::Utf8View, true))
    }

    fn like(pattern: &str) -> Expr {
        Expr::like(column(), Expr::text(pattern), false).unwrap()
    }

    #[test]
    fn other_conditions_are_left_to_the_rows() {
        let is_known = |expr: &Expr| TextSearch::of(expr).is_some();
        assert!(is_known(&like("%a%")));
        assert!(is_known(&Expr::not(like("%a%")).unwrap()));
        let equal = Expr::compare(Comparison::Equal, column(), Expr::text("a")).unwrap();
        let other = Expr::column(1, &Field::new("u", DataType::Utf8View, true));
        let other = Expr::like(other, Expr::text("%b%"), false).unwrap();
        for expr in [
            like("a%"),
            like("%a_b%"),
            equal,
            Expr::or(like("%a%"), other).unwrap(),
        ] {
            assert!(!is_known(&expr), "{expr}");
        }
    }

    proptest! {
        /// The gaps hold the letters of the texts.
        #[test]
        fn answers_are_those_of_the_rows(
            texts in proptest::collection::vec("[ab]{0,9}", 0..60),
            gap in 0_usize..5,
            first in "[ab]{1,4}",
            second in "[ab]{1,4}",
        ) {
            let (mut bytes, mut ends) = (Vec::new(), Vec::new());
            for text in &texts {
                bytes.extend(&b"abab"[..gap]);
                bytes.extend(text.as_bytes());
                ends.push(bytes.len() as u32);
            }
            let spaced = SpacedTexts::new(&bytes, &ends, gap);
            let rows = Rows(Arc::new(StringViewArray::from_iter_values(&texts)));
            let (first, second) = (like(&format!("%{first}%")), like(&format!("%{second}%")));
            let without = Expr::not(second.clone()).unwrap();
            for expr in [
                first.clone(),
                Expr::and(first.clone(), without).unwrap(),
                Expr::or(first, second).unwrap(),
            ] {
                let expected = expr.evaluate_condition(&rows).unwrap();
                let found = TextSearch::of(&expr).unwrap().answers(&spaced);
                prop_assert_eq!(BooleanArray::new(found, None), expected, "{}", expr);
            }
        }
    }
}
