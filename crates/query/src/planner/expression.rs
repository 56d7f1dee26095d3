//! Plans expressions: resolves names, types operators, and refuses the rest.

use columnar::{AggregateFunction, Arithmetic, Comparison, Expr, TypeError};
use sqlparser::ast::{
    self, BinaryOperator, Expr as Sql, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Spanned,
    UnaryOperator, ValueWithSpan,
};

use super::literal::{plan_interval, plan_number, plan_typed_string, plan_value, text};
use super::name::names_match;
use super::position::place;
use super::refusal::{type_mismatch, unsupported};
use crate::error::QueryError;

/// Nesting at most, so that any stack suffices.
const DEPTH: usize = 200;

const GROUPING: &str = "grouping";
/// Keys of GROUPING at most, a bit of its result each.
const GROUPING_KEYS: usize = 31;

/// The meaning of names and aggregates: over rows, or over groups.
pub(super) trait Leaf {
    /// Expressions that are known as a whole, such as keys of GROUP BY.
    fn known(&mut self, ast: &Sql) -> Option<Expr>;

    fn resolve(&self, qualifier: Option<&Ident>, name: &Ident) -> Result<Expr, QueryError>;

    /// `ast` is `None` for a star's column.
    fn column(&mut self, column: Expr, ast: Option<&Sql>) -> Result<Expr, QueryError>;

    /// An `argument` of `None` is the star.
    fn aggregate(
        &mut self,
        function: AggregateFunction,
        argument: Option<&Sql>,
        ast: &Sql,
    ) -> Result<Expr, QueryError>;

    /// GROUPING tells which of the keys `arguments` are NULL because the group has none.
    fn grouping(&mut self, arguments: &[&Sql], ast: &Sql) -> Result<Expr, QueryError>;
}

pub(super) fn plan_expression(ast: &Sql, leaf: &mut dyn Leaf) -> Result<Expr, QueryError> {
    plan_nested(ast, leaf, DEPTH)
}

fn plan_nested(ast: &Sql, leaf: &mut dyn Leaf, depth: usize) -> Result<Expr, QueryError> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err(unsupported(
            format!("an expression nested deeper than {DEPTH} operators"),
            ast,
        ));
    };
    if let Some(known) = leaf.known(ast) {
        return Ok(known);
    }
    let typed = |result: Result<Expr, TypeError>| result.map_err(|error| type_mismatch(error, ast));
    match ast {
        Sql::Nested(inner) => plan_nested(inner, leaf, depth),
        Sql::Identifier(name) => {
            let column = leaf.resolve(None, name)?;
            leaf.column(column, Some(ast))
        }
        Sql::CompoundIdentifier(names) => match names.as_slice() {
            [qualifier, name] => {
                let column = leaf.resolve(Some(qualifier), name)?;
                leaf.column(column, Some(ast))
            }
            _ => Err(unsupported(format!("the qualified name {ast}"), ast)),
        },
        Sql::Value(value) => plan_value(value, ast),
        Sql::TypedString(value) => plan_typed_string(value, ast),
        Sql::Interval(interval) => plan_interval(interval, ast),
        Sql::Function(function) => plan_function(function, leaf, ast),
        Sql::UnaryOp { op, expr } => match op {
            UnaryOperator::Plus => plan_nested(expr, leaf, depth),
            UnaryOperator::Minus => {
                if let Some(number) = negative_number(expr) {
                    return Ok(number);
                }
                let value = plan_nested(expr, leaf, depth)?;
                typed(Expr::arithmetic(Arithmetic::Subtract, Expr::int64(0), value))
            }
            UnaryOperator::Not => {
                let value = plan_nested(expr, leaf, depth)?;
                typed(Expr::not(value))
            }
            other => Err(unsupported(format!("the operator {other}"), ast)),
        },
        Sql::BinaryOp {
            op: op @ (BinaryOperator::And | BinaryOperator::Or),
            ..
        } => {
            let mut parts = Vec::new();
            operands(ast, op, &mut parts);
            let mut planned = Vec::with_capacity(parts.len());
            for part in parts {
                planned.push(plan_nested(part, leaf, depth)?);
            }
            typed(if *op == BinaryOperator::And {
                Expr::all(planned)
            } else {
                Expr::any(planned)
            })
        }
        Sql::BinaryOp { left, op, right } => {
            let (left, right) = (plan_nested(left, leaf, depth)?, plan_nested(right, leaf, depth)?);
            if let Some(op) = arithmetic(op) {
                typed(Expr::arithmetic(op, left, right))
            } else if let Some(op) = comparison(op) {
                typed(Expr::compare(op, left, right))
            } else {
                Err(unsupported(format!("the operator {op}"), ast))
            }
        }
        Sql::IsNull(value) => Ok(Expr::is_null(plan_nested(value, leaf, depth)?)),
        Sql::IsNotNull(value) => Ok(Expr::is_not_null(plan_nested(value, leaf, depth)?)),
        Sql::Between {
            expr,
            negated,
            low,
            high,
        } => {
            let value = plan_nested(expr, leaf, depth)?;
            let (low, high) = (plan_nested(low, leaf, depth)?, plan_nested(high, leaf, depth)?);
            typed(Expr::between(value, low, high).and_then(|inside| negate(inside, *negated)))
        }
        Sql::InList { expr, list, negated } => {
            let value = plan_nested(expr, leaf, depth)?;
            let mut items = Vec::with_capacity(list.len());
            for item in list {
                items.push(plan_nested(item, leaf, depth)?);
            }
            typed(Expr::in_list(value, items).and_then(|inside| negate(inside, *negated)))
        }
        Sql::Like {
            negated,
            any: false,
            expr,
            pattern,
            escape_char,
        }
        | Sql::ILike {
            negated,
            any: false,
            expr,
            pattern,
            escape_char,
        } => {
            let value = plan_nested(expr, leaf, depth)?;
            let pattern = plan_pattern(pattern, escape_char.as_ref(), leaf, depth)?;
            let ignore_case = matches!(ast, Sql::ILike { .. });
            typed(Expr::like(value, pattern, ignore_case).and_then(|like| negate(like, *negated)))
        }
        other => Err(unsupported(construct(other), ast)),
    }
}

pub(super) fn has_aggregate(ast: &Sql) -> bool {
    match ast {
        Sql::Function(function) => aggregate_name(function).is_some(),
        Sql::Nested(value)
        | Sql::UnaryOp { expr: value, .. }
        | Sql::IsNull(value)
        | Sql::IsNotNull(value) => has_aggregate(value),
        Sql::BinaryOp {
            op: op @ (BinaryOperator::And | BinaryOperator::Or),
            ..
        } => {
            let mut parts = Vec::new();
            operands(ast, op, &mut parts);
            parts.into_iter().any(has_aggregate)
        }
        Sql::BinaryOp { left, right, .. } => has_aggregate(left) || has_aggregate(right),
        Sql::Between { expr, low, high, .. } => {
            has_aggregate(expr) || has_aggregate(low) || has_aggregate(high)
        }
        Sql::InList { expr, list, .. } => has_aggregate(expr) || list.iter().any(has_aggregate),
        Sql::Like { expr, pattern, .. } | Sql::ILike { expr, pattern, .. } => {
            has_aggregate(expr) || has_aggregate(pattern)
        }
        _ => false,
    }
}

fn plan_function(function: &ast::Function, leaf: &mut dyn Leaf, ast: &Sql) -> Result<Expr, QueryError> {
    let ast::Function {
        name,
        uses_odbc_syntax: _,
        parameters,
        args,
        filter,
        null_treatment,
        over,
        within_group,
    } = function;
    let position = place(name.span());
    let refuse = |construct: String| Err(QueryError::Unsupported { construct, position });
    if over.is_some() {
        return refuse(format!("the window function {name}"));
    }
    let Some(known) = function_name(function) else {
        return Err(QueryError::UnknownFunction {
            name: name.to_string(),
            candidates: AggregateFunction::names().map(str::to_owned).collect(),
            position,
        });
    };
    if filter.is_some() {
        return refuse(format!("FILTER of {name}"));
    }
    if null_treatment.is_some() || !within_group.is_empty() || !matches!(parameters, FunctionArguments::None)
    {
        return refuse(format!("a modifier of {name}"));
    }
    let FunctionArguments::List(list) = args else {
        return refuse(format!("{name} without arguments"));
    };
    if !list.clauses.is_empty() {
        return refuse(format!("a clause in {name}"));
    }
    let is_distinct = list.duplicate_treatment == Some(ast::DuplicateTreatment::Distinct);
    if known == GROUPING && !is_distinct {
        return plan_grouping(&list.args, leaf, ast);
    }
    let Some(kind) = AggregateFunction::by_name(known, is_distinct) else {
        return refuse(format!("DISTINCT in {name}"));
    };
    match list.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)] if kind == AggregateFunction::Count => {
            leaf.aggregate(kind, None, ast)
        }
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))] => leaf.aggregate(kind, Some(argument), ast),
        [_] => refuse(format!("the argument of {ast}")),
        arguments => Err(QueryError::Invalid {
            message: format!("{name} takes one argument, not {}", arguments.len()),
            position,
        }),
    }
}

fn plan_grouping(arguments: &[FunctionArg], leaf: &mut dyn Leaf, ast: &Sql) -> Result<Expr, QueryError> {
    let mut keys = Vec::with_capacity(arguments.len());
    for argument in arguments {
        match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(key)) => keys.push(key),
            _ => return Err(unsupported(format!("the argument {argument} of GROUPING"), ast)),
        }
    }
    if !(1..=GROUPING_KEYS).contains(&keys.len()) {
        return Err(QueryError::Invalid {
            message: format!("GROUPING takes 1 to {GROUPING_KEYS} keys, not {}", keys.len()),
            position: place(ast.span()),
        });
    }
    leaf.grouping(&keys, ast)
}

fn aggregate_name(function: &ast::Function) -> Option<&'static str> {
    function_name(function).filter(|name| *name != GROUPING)
}

fn function_name(function: &ast::Function) -> Option<&'static str> {
    let [ast::ObjectNamePart::Identifier(name)] = function.name.0.as_slice() else {
        return None;
    };
    AggregateFunction::names()
        .chain([GROUPING])
        .find(|known| names_match(name, known))
}

/// A chain of thousands becomes one level deep.
fn operands<'a>(ast: &'a Sql, op: &BinaryOperator, parts: &mut Vec<&'a Sql>) {
    let mut stack = vec![ast];
    while let Some(next) = stack.pop() {
        match next {
            Sql::BinaryOp {
                left,
                op: found,
                right,
            } if found == op => {
                stack.push(right);
                stack.push(left);
            }
            part => parts.push(part),
        }
    }
}

fn negate(condition: Expr, negated: bool) -> Result<Expr, TypeError> {
    if negated {
        Expr::not(condition)
    } else {
        Ok(condition)
    }
}

/// `-5` becomes one constant, so that the smallest integer can be written.
fn negative_number(operand: &Sql) -> Option<Expr> {
    match operand {
        Sql::Value(ValueWithSpan {
            value: ast::Value::Number(digits, _),
            ..
        }) => plan_number(&format!("-{digits}")),
        _ => None,
    }
}

fn plan_pattern(
    pattern: &Sql,
    escape: Option<&ValueWithSpan>,
    leaf: &mut dyn Leaf,
    depth: usize,
) -> Result<Expr, QueryError> {
    let Some(escape) = escape else {
        return plan_nested(pattern, leaf, depth);
    };
    let position = place(escape.span);
    let invalid = |message: &str| QueryError::Invalid {
        message: message.to_owned(),
        position,
    };
    let mut characters = text(&escape.value)
        .ok_or_else(|| invalid("ESCAPE takes a text of one character"))?
        .chars();
    let (escape, None) = (characters.next(), characters.next()) else {
        return Err(invalid("ESCAPE takes a text of one character"));
    };
    let constant = match pattern {
        Sql::Value(value) => text(&value.value),
        _ => None,
    };
    let Some(constant) = constant else {
        return Err(unsupported("ESCAPE of a pattern that is no constant", pattern));
    };
    let mut translated = String::with_capacity(constant.len());
    let mut characters = constant.chars();
    while let Some(character) = characters.next() {
        if Some(character) == escape {
            let escaped = characters
                .next()
                .ok_or_else(|| invalid("the pattern ends with its escape character"))?;
            translated.push('\\');
            translated.push(escaped);
        } else {
            if character == '\\' {
                translated.push('\\');
            }
            translated.push(character);
        }
    }
    Ok(Expr::text(&translated))
}

fn arithmetic(op: &BinaryOperator) -> Option<Arithmetic> {
    Some(match op {
        BinaryOperator::Plus => Arithmetic::Add,
        BinaryOperator::Minus => Arithmetic::Subtract,
        BinaryOperator::Multiply => Arithmetic::Multiply,
        BinaryOperator::Divide => Arithmetic::Divide,
        BinaryOperator::Modulo => Arithmetic::Remainder,
        _ => return None,
    })
}

fn comparison(op: &BinaryOperator) -> Option<Comparison> {
    Some(match op {
        BinaryOperator::Eq => Comparison::Equal,
        BinaryOperator::NotEq => Comparison::NotEqual,
        BinaryOperator::Lt => Comparison::Less,
        BinaryOperator::LtEq => Comparison::LessEqual,
        BinaryOperator::Gt => Comparison::Greater,
        BinaryOperator::GtEq => Comparison::GreaterEqual,
        _ => return None,
    })
}

fn construct(ast: &Sql) -> String {
    match ast {
        Sql::Case { .. } => "CASE".to_owned(),
        Sql::Cast { .. } | Sql::Convert { .. } => "CAST".to_owned(),
        Sql::Subquery(_) | Sql::InSubquery { .. } | Sql::AnyOp { .. } | Sql::AllOp { .. } => {
            "a sub-query".to_owned()
        }
        Sql::Exists { .. } => "EXISTS".to_owned(),
        Sql::Extract { .. } => "EXTRACT".to_owned(),
        Sql::Substring { .. } => "SUBSTRING".to_owned(),
        Sql::Trim { .. } => "TRIM".to_owned(),
        Sql::Ceil { .. } => "CEIL".to_owned(),
        Sql::Floor { .. } => "FLOOR".to_owned(),
        Sql::Position { .. } => "POSITION".to_owned(),
        Sql::IsTrue(_) | Sql::IsNotTrue(_) => "IS TRUE".to_owned(),
        Sql::IsFalse(_) | Sql::IsNotFalse(_) => "IS FALSE".to_owned(),
        Sql::IsUnknown(_) | Sql::IsNotUnknown(_) => "IS UNKNOWN".to_owned(),
        Sql::IsDistinctFrom(..) | Sql::IsNotDistinctFrom(..) => "IS DISTINCT FROM".to_owned(),
        Sql::SimilarTo { .. } => "SIMILAR TO".to_owned(),
        Sql::RLike { .. } => "RLIKE".to_owned(),
        Sql::Like { .. } | Sql::ILike { .. } => "LIKE ANY".to_owned(),
        Sql::AtTimeZone { .. } => "AT TIME ZONE".to_owned(),
        Sql::Tuple(_) => "a row of values".to_owned(),
        Sql::Array(_) => "an array".to_owned(),
        Sql::GroupingSets(_) => "GROUPING SETS".to_owned(),
        Sql::Cube(_) => "CUBE".to_owned(),
        Sql::Rollup(_) => "ROLLUP".to_owned(),
        other => format!("the expression {other}"),
    }
}
