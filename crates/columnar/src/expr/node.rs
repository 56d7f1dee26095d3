//! A tree of typed nodes.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;

use super::value_list::ValueList;

/// A typed expression. Cheap to clone.
///
/// ```
/// use arrow::datatypes::{DataType, Field};
/// use columnar::{Comparison, Expr};
///
/// let price = Expr::column(0, &Field::new("price", DataType::Int32, true));
/// let cheap = Expr::compare(Comparison::Less, price, Expr::int64(10))?;
/// assert_eq!(cheap.to_string(), "price < 10");
/// assert_eq!(cheap.data_type(), &DataType::Boolean);
/// # Ok::<(), columnar::TypeError>(())
/// ```
#[derive(Clone)]
pub struct Expr {
    node: Arc<Node>,
    data_type: DataType,
    fallible: bool,
    reads: Reads,
}

/// The columns that an expression reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reads {
    None,
    One(usize),
    Several,
}

impl Reads {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::None, reads) | (reads, Self::None) => reads,
            (Self::One(column), Self::One(other)) if column == other => self,
            _ => Self::Several,
        }
    }
}

/// `+ - * / %`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// Addition.
    Add,
    /// Subtraction.
    Subtract,
    /// Multiplication.
    Multiply,
    /// Division. Integers truncate toward zero. Decimals give a double.
    Divide,
    /// The remainder of a truncated division.
    Remainder,
}

/// `= <> < <= > >=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// Equal.
    Equal,
    /// Not equal.
    NotEqual,
    /// Less.
    Less,
    /// Less or equal.
    LessEqual,
    /// Greater.
    Greater,
    /// Greater or equal.
    GreaterEqual,
}

impl Comparison {
    /// The same comparison with swapped operands.
    #[must_use]
    pub fn swapped(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessEqual => Self::GreaterEqual,
            Self::Greater => Self::Less,
            Self::GreaterEqual => Self::LessEqual,
            same => same,
        }
    }
}

/// A node's children have the types its evaluation expects.
pub(crate) enum Node {
    Column {
        index: usize,
        name: String,
    },
    /// An array of one value.
    Literal(ArrayRef),
    /// A conversion inserted by a constructor. It keeps the values' order and has no text.
    Cast(Expr),
    Arithmetic {
        op: Arithmetic,
        left: Expr,
        right: Expr,
    },
    Compare {
        op: Comparison,
        left: Expr,
        right: Expr,
    },
    And(Expr, Expr),
    Or(Expr, Expr),
    Not(Expr),
    IsNull {
        value: Expr,
        negated: bool,
    },
    InList {
        value: Expr,
        list: ValueList,
    },
    Like {
        value: Expr,
        pattern: Expr,
        ignore_case: bool,
    },
}

impl Expr {
    pub(crate) fn new(node: Node, data_type: DataType, fails_by_itself: bool) -> Self {
        let mut fallible = fails_by_itself;
        let mut reads = match &node {
            Node::Column { index, .. } => Reads::One(*index),
            _ => Reads::None,
        };
        node.for_each_child(|child| {
            fallible |= child.fallible;
            reads = reads.and(child.reads);
        });
        Self {
            node: Arc::new(node),
            data_type,
            fallible,
            reads,
        }
    }

    pub(crate) fn node(&self) -> &Node {
        &self.node
    }

    /// Whether `other` is a clone of it.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.node, &other.node)
    }

    /// The type of the values.
    pub fn data_type(&self) -> &DataType {
        &self.data_type
    }

    /// Whether a row can raise an error. Such an expression is evaluated only for rows that reach
    /// it in the query's text.
    pub fn can_fail(&self) -> bool {
        self.fallible
    }

    /// The value of a literal, as an array of length 1.
    pub fn literal_value(&self) -> Option<&ArrayRef> {
        match self.node() {
            Node::Literal(value) => Some(value),
            _ => None,
        }
    }

    /// The column's index, if this is just a column.
    pub fn as_column(&self) -> Option<usize> {
        match self.node() {
            Node::Column { index, .. } => Some(*index),
            _ => None,
        }
    }

    /// The column, if it reads just one.
    pub(crate) fn only_column(&self) -> Option<usize> {
        match self.reads {
            Reads::One(column) => Some(column),
            Reads::None | Reads::Several => None,
        }
    }

    /// Whether the expressions together read more than one column.
    pub(crate) fn read_several<'e>(exprs: impl IntoIterator<Item = &'e Self>) -> bool {
        let reads = exprs.into_iter().map(|expr| expr.reads);
        reads.fold(Reads::None, Reads::and) == Reads::Several
    }

    /// Adds the columns that the expression reads.
    pub fn collect_columns(&self, columns: &mut BTreeSet<usize>) {
        if let Node::Column { index, .. } = self.node() {
            columns.insert(*index);
        }
        self.node.for_each_child(|child| child.collect_columns(columns));
    }

    /// Whether the expression has no more than `parts` columns, constants, operators and functions.
    pub fn has_at_most(&self, parts: usize) -> bool {
        fn rest(expr: &Expr, parts: usize) -> Option<usize> {
            let mut left = parts.checked_sub(1);
            expr.node
                .for_each_child(|child| left = left.and_then(|left| rest(child, left)));
            left
        }
        rest(self, parts).is_some()
    }

    /// Splits the top conjunction into its parts, in order.
    pub fn conjuncts(self) -> Vec<Expr> {
        let mut parts = Vec::new();
        self.push_conjuncts(&mut parts);
        parts
    }

    fn push_conjuncts(self, parts: &mut Vec<Expr>) {
        match self.node() {
            Node::And(left, right) => {
                left.clone().push_conjuncts(parts);
                right.clone().push_conjuncts(parts);
            }
            _ => parts.push(self),
        }
    }
}

impl Node {
    pub(crate) fn for_each_child(&self, mut visit: impl FnMut(&Expr)) {
        match self {
            Self::Column { .. } | Self::Literal(_) => {}
            Self::Cast(value)
            | Self::Not(value)
            | Self::IsNull { value, .. }
            | Self::InList { value, .. } => visit(value),
            Self::Arithmetic { left, right, .. }
            | Self::Compare { left, right, .. }
            | Self::And(left, right)
            | Self::Or(left, right) => {
                visit(left);
                visit(right);
            }
            Self::Like { value, pattern, .. } => {
                visit(value);
                visit(pattern);
            }
        }
    }
}

impl fmt::Debug for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} : {}", self.data_type)
    }
}
