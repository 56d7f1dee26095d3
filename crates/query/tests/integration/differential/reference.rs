//! Evaluates queries row by row over the parser's tree, which is all it shares with the engine.

use std::cmp::Ordering;

use sqlparser::ast::{
    BinaryOperator, DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments,
    GroupByExpr, LimitClause, OrderByKind, Query, Select, SelectItem, SetExpr, Statement, UnaryOperator,
    Value,
};
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::Parser;

use super::aggregates;
use crate::run::{Cell, Row};

#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) columns: Vec<&'static str>,
    pub(crate) rows: Vec<Row>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DivisionByZero;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    NotOfNullIsTrue,
    EmptySumIsZero,
}

type Outcome<T> = Result<T, DivisionByZero>;

pub(crate) fn answer(sql: &str, table: &Table, fault: Fault) -> Outcome<Vec<Row>> {
    let statements =
        Parser::parse_sql(&GenericDialect {}, sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let [Statement::Query(query)] = statements.as_slice() else {
        panic!("not one query: {sql}")
    };
    let SetExpr::Select(select) = query.body.as_ref() else {
        panic!("not a select: {sql}")
    };
    Reference { table, fault }.select(query, select)
}

#[derive(Debug, Clone, Copy)]
struct Reference<'a> {
    table: &'a Table,
    fault: Fault,
}

#[derive(Debug, Clone, Copy)]
enum Scope<'a> {
    Row(&'a Row),
    /// Columns are those of the first row.
    Group(&'a [&'a Row]),
}

impl Reference<'_> {
    fn select(&self, query: &Query, select: &Select) -> Outcome<Vec<Row>> {
        let mut kept: Vec<&Row> = Vec::new();
        for row in &self.table.rows {
            let keep = match &select.selection {
                Some(condition) => self.condition(condition, row)?,
                None => true,
            };
            if keep {
                kept.push(row);
            }
        }
        let GroupByExpr::Expressions(keys, _) = &select.group_by else {
            panic!("GROUP BY ALL")
        };
        let items = self.items(select);
        let grouped = !keys.is_empty() || items.iter().any(|(expr, _)| has_aggregate(expr));
        let groups = if grouped {
            Some(self.groups(keys, &items, &kept)?)
        } else {
            None
        };
        let scopes: Vec<Scope<'_>> = match &groups {
            Some(groups) => groups.iter().map(|group| Scope::Group(group)).collect(),
            None => kept.iter().map(|row| Scope::Row(row)).collect(),
        };
        let mut answers: Vec<(Row, Row)> = Vec::new();
        for scope in scopes {
            let values = items
                .iter()
                .map(|(expr, _)| self.value(expr, scope))
                .collect::<Outcome<Row>>()?;
            let mut sort_keys = Vec::new();
            for expr in order_expressions(query) {
                sort_keys.push(match position(expr, &items) {
                    Some(index) => values[index].clone(),
                    None => self.value(expr, scope)?,
                });
            }
            answers.push((sort_keys, values));
        }
        self.sort(query, &mut answers);
        let mut rows: Vec<Row> = answers.into_iter().map(|(_, values)| values).collect();
        if let Some(LimitClause::LimitOffset { limit, offset, .. }) = &query.limit_clause {
            let skip = offset.as_ref().map_or(0, |offset| count_of(&offset.value));
            rows.drain(..skip.min(rows.len()));
            rows.truncate(limit.as_ref().map_or(usize::MAX, count_of));
        }
        Ok(rows)
    }

    fn items(&self, select: &Select) -> Vec<(Expr, Option<String>)> {
        let mut items = Vec::new();
        for item in &select.projection {
            match item {
                SelectItem::UnnamedExpr(expr) => items.push((expr.clone(), None)),
                SelectItem::ExprWithAlias { expr, alias } => {
                    items.push((expr.clone(), Some(alias.value.clone())))
                }
                SelectItem::Wildcard(_) => items.extend(
                    self.table
                        .columns
                        .iter()
                        .map(|&name| (Expr::Identifier(name.into()), Some(name.to_owned()))),
                ),
                other => panic!("not generated: {other}"),
            }
        }
        items
    }

    fn condition(&self, expr: &Expr, row: &Row) -> Outcome<bool> {
        if let Expr::BinaryOp {
            left,
            op: BinaryOperator::And,
            right,
        } = expr
        {
            return Ok(self.condition(left, row)? && self.condition(right, row)?);
        }
        Ok(self.value(expr, Scope::Row(row))? == Cell::Bool(true))
    }

    fn groups<'r>(
        &self,
        keys: &[Expr],
        items: &[(Expr, Option<String>)],
        rows: &[&'r Row],
    ) -> Outcome<Vec<Vec<&'r Row>>> {
        if keys.is_empty() {
            return Ok(vec![rows.to_vec()]);
        }
        let mut groups: Vec<(Row, Vec<&'r Row>)> = Vec::new();
        for row in rows {
            let key = keys
                .iter()
                .map(|key| {
                    let key = position(key, items).map_or(key, |index| &items[index].0);
                    self.value(key, Scope::Row(row))
                })
                .collect::<Outcome<Row>>()?;
            match groups.iter_mut().find(|(other, _)| *other == key) {
                Some((_, members)) => members.push(row),
                None => groups.push((key, vec![row])),
            }
        }
        Ok(groups.into_iter().map(|(_, members)| members).collect())
    }

    fn sort(&self, query: &Query, answers: &mut [(Row, Row)]) {
        let Some(OrderByKind::Expressions(keys)) = query.order_by.as_ref().map(|order| &order.kind) else {
            return;
        };
        answers.sort_by(|(a, _), (b, _)| {
            for (index, key) in keys.iter().enumerate() {
                let descending = key.options.asc == Some(false);
                let nulls_first = key.options.nulls_first.unwrap_or(descending);
                let order = match (&a[index], &b[index]) {
                    (Cell::Null, Cell::Null) => Ordering::Equal,
                    (Cell::Null, _) if nulls_first => Ordering::Less,
                    (Cell::Null, _) => Ordering::Greater,
                    (_, Cell::Null) if nulls_first => Ordering::Greater,
                    (_, Cell::Null) => Ordering::Less,
                    (a, b) if descending => compare(b, a),
                    (a, b) => compare(a, b),
                };
                if order != Ordering::Equal {
                    return order;
                }
            }
            Ordering::Equal
        });
    }

    fn value(&self, expr: &Expr, scope: Scope<'_>) -> Outcome<Cell> {
        match expr {
            Expr::Nested(inner) => self.value(inner, scope),
            Expr::Identifier(name) => Ok(self.column(&name.value, scope)),
            Expr::Value(literal) => Ok(constant(&literal.value)),
            Expr::TypedString(typed) => Ok(date(
                typed.value.clone().into_string().as_deref().expect("a string"),
            )),
            Expr::BinaryOp {
                left,
                op: op @ (BinaryOperator::And | BinaryOperator::Or),
                right,
            } => {
                let decides = *op == BinaryOperator::Or;
                let left = self.value(left, scope)?;
                if left == Cell::Bool(decides) {
                    return Ok(left);
                }
                Ok(connect(decides, &left, &self.value(right, scope)?))
            }
            Expr::BinaryOp { left, op, right } => {
                binary(op, &self.value(left, scope)?, &self.value(right, scope)?)
            }
            Expr::UnaryOp {
                op: UnaryOperator::Not,
                expr,
            } => Ok(self.not(self.value(expr, scope)?)),
            Expr::UnaryOp {
                op: UnaryOperator::Minus,
                expr,
            } => Ok(match self.value(expr, scope)? {
                Cell::Null => Cell::Null,
                Cell::Int(value) => Cell::Int(-value),
                Cell::Decimal(value, scale) => Cell::Decimal(-value, scale),
                Cell::Float(value) => Cell::Float(-value),
                other => panic!("minus {other:?}"),
            }),
            Expr::IsNull(expr) => Ok(Cell::Bool(self.value(expr, scope)? == Cell::Null)),
            Expr::IsNotNull(expr) => Ok(Cell::Bool(self.value(expr, scope)? != Cell::Null)),
            Expr::Between {
                expr,
                negated,
                low,
                high,
            } => {
                let value = self.value(expr, scope)?;
                let above = binary(&BinaryOperator::GtEq, &value, &self.value(low, scope)?)?;
                let below = binary(&BinaryOperator::LtEq, &value, &self.value(high, scope)?)?;
                let inside = connect(false, &above, &below);
                Ok(if *negated { self.not(inside) } else { inside })
            }
            Expr::InList { expr, list, negated } => {
                let value = self.value(expr, scope)?;
                let mut found = Cell::Bool(false);
                for item in list {
                    match binary(&BinaryOperator::Eq, &value, &self.value(item, scope)?)? {
                        Cell::Bool(true) => {
                            found = Cell::Bool(true);
                            break;
                        }
                        Cell::Null => found = Cell::Null,
                        _ => {}
                    }
                }
                Ok(if *negated { self.not(found) } else { found })
            }
            Expr::Like {
                negated,
                expr,
                pattern,
                ..
            } => {
                let matched = match (self.value(expr, scope)?, self.value(pattern, scope)?) {
                    (Cell::Text(text), Cell::Text(pattern)) => {
                        let (text, pattern): (Vec<char>, Vec<char>) =
                            (text.chars().collect(), pattern.chars().collect());
                        Cell::Bool(like(&text, &pattern))
                    }
                    (Cell::Null, _) | (_, Cell::Null) => Cell::Null,
                    other => panic!("like {other:?}"),
                };
                Ok(if *negated { self.not(matched) } else { matched })
            }
            Expr::Function(function) => self.aggregate(function, scope),
            other => panic!("not generated: {other}"),
        }
    }

    fn not(&self, value: Cell) -> Cell {
        match value {
            Cell::Bool(value) => Cell::Bool(!value),
            Cell::Null if self.fault == Fault::NotOfNullIsTrue => Cell::Bool(true),
            Cell::Null => Cell::Null,
            other => panic!("not {other:?}"),
        }
    }

    fn column(&self, name: &str, scope: Scope<'_>) -> Cell {
        let index = self.table.columns.iter().position(|column| *column == name);
        let index = index.unwrap_or_else(|| panic!("no column {name}"));
        match scope {
            Scope::Row(row) => row[index].clone(),
            Scope::Group(rows) => rows[0][index].clone(),
        }
    }

    fn aggregate(&self, function: &Function, scope: Scope<'_>) -> Outcome<Cell> {
        let Scope::Group(rows) = scope else {
            panic!("{function} over a row")
        };
        let mut name = function.name.to_string().to_lowercase();
        let FunctionArguments::List(arguments) = &function.args else {
            panic!("{function}")
        };
        if arguments.duplicate_treatment == Some(DuplicateTreatment::Distinct) {
            name.push_str(" distinct");
        }
        let [FunctionArg::Unnamed(argument)] = arguments.args.as_slice() else {
            panic!("{function}")
        };
        let FunctionArgExpr::Expr(argument) = argument else {
            return Ok(Cell::Int(rows.len() as i64));
        };
        let mut values = Vec::new();
        for row in rows {
            match self.value(argument, Scope::Row(row))? {
                Cell::Null => {}
                value => values.push(value),
            }
        }
        Ok(match aggregates::evaluate(&name, &values) {
            Cell::Null if self.fault == Fault::EmptySumIsZero && name == "sum" => Cell::Int(0),
            value => value,
        })
    }
}

/// AND if `decides` is false, OR if it is true: a side equal to `decides` decides, otherwise NULL
/// does.
pub(super) fn connect(decides: bool, left: &Cell, right: &Cell) -> Cell {
    let sides = [left, right];
    if sides.contains(&&Cell::Bool(decides)) {
        Cell::Bool(decides)
    } else if sides.contains(&&Cell::Null) {
        Cell::Null
    } else {
        Cell::Bool(!decides)
    }
}

pub(super) fn sum(values: &[Cell]) -> Cell {
    let add = |a: Cell, b: &Cell| binary(&BinaryOperator::Plus, &a, b).expect("a sum divides nothing");
    values
        .split_first()
        .map_or(Cell::Null, |(first, rest)| rest.iter().fold(first.clone(), add))
}

fn binary(op: &BinaryOperator, left: &Cell, right: &Cell) -> Outcome<Cell> {
    if *left == Cell::Null || *right == Cell::Null {
        return Ok(Cell::Null);
    }
    let order = |test: fn(Ordering) -> bool| Ok(Cell::Bool(test(compare(left, right))));
    match op {
        BinaryOperator::Eq => order(Ordering::is_eq),
        BinaryOperator::NotEq => order(Ordering::is_ne),
        BinaryOperator::Lt => order(Ordering::is_lt),
        BinaryOperator::LtEq => order(Ordering::is_le),
        BinaryOperator::Gt => order(Ordering::is_gt),
        BinaryOperator::GtEq => order(Ordering::is_ge),
        _ => arithmetic(op, left, right),
    }
}

fn arithmetic(op: &BinaryOperator, left: &Cell, right: &Cell) -> Outcome<Cell> {
    let divides = matches!(op, BinaryOperator::Divide | BinaryOperator::Modulo);
    if divides && compare(right, &Cell::Int(0)).is_eq() {
        return Err(DivisionByZero);
    }
    Ok(match (left, right) {
        (Cell::Int(a), Cell::Int(b)) => Cell::Int(match op {
            BinaryOperator::Plus => a + b,
            BinaryOperator::Minus => a - b,
            BinaryOperator::Multiply => a * b,
            BinaryOperator::Divide => a / b,
            BinaryOperator::Modulo => a % b,
            other => panic!("not generated: {other}"),
        }),
        (Cell::Int(_) | Cell::Decimal(..), Cell::Int(_) | Cell::Decimal(..)) if !divides => {
            let ((a, scale_a), (b, scale_b)) = (exact(left), exact(right));
            let common = scale_a.max(scale_b);
            let (wide_a, wide_b) = (a * 10i128.pow(common - scale_a), b * 10i128.pow(common - scale_b));
            match op {
                BinaryOperator::Plus => Cell::Decimal(wide_a + wide_b, common),
                BinaryOperator::Minus => Cell::Decimal(wide_a - wide_b, common),
                BinaryOperator::Multiply => Cell::Decimal(a * b, scale_a + scale_b),
                other => panic!("not generated: {other}"),
            }
        }
        _ => {
            let (a, b) = (float(left), float(right));
            Cell::Float(match op {
                BinaryOperator::Plus => a + b,
                BinaryOperator::Minus => a - b,
                BinaryOperator::Multiply => a * b,
                BinaryOperator::Divide => a / b,
                BinaryOperator::Modulo => a % b,
                other => panic!("not generated: {other}"),
            })
        }
    })
}

/// NaN is the greatest float and equal to itself.
pub(super) fn compare(left: &Cell, right: &Cell) -> Ordering {
    match (left, right) {
        (Cell::Bool(a), Cell::Bool(b)) => a.cmp(b),
        (Cell::Text(a), Cell::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
        (Cell::Date(a), Cell::Date(b)) => a.cmp(b),
        (Cell::Float(_), _) | (_, Cell::Float(_)) => {
            let (a, b) = (float(left), float(right));
            a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
        }
        _ => {
            let ((a, scale_a), (b, scale_b)) = (exact(left), exact(right));
            let common = scale_a.max(scale_b);
            (a * 10i128.pow(common - scale_a)).cmp(&(b * 10i128.pow(common - scale_b)))
        }
    }
}

pub(super) fn exact(value: &Cell) -> (i128, u32) {
    match value {
        Cell::Int(value) => (i128::from(*value), 0),
        Cell::Decimal(value, scale) => (*value, *scale),
        other => panic!("not an exact number: {other:?}"),
    }
}

fn float(value: &Cell) -> f64 {
    match value {
        Cell::Float(value) => *value,
        Cell::Int(value) => *value as f64,
        Cell::Decimal(value, scale) => *value as f64 / 10f64.powi(*scale as i32),
        other => panic!("not a number: {other:?}"),
    }
}

fn constant(value: &Value) -> Cell {
    match value {
        Value::Null => Cell::Null,
        Value::Boolean(value) => Cell::Bool(*value),
        Value::SingleQuotedString(text) => Cell::Text(text.clone()),
        Value::Number(text, _) => match text.split_once('.') {
            None => Cell::Int(text.parse().expect("small numbers")),
            Some((whole, fraction)) => Cell::Decimal(
                format!("{whole}{fraction}").parse().expect("digits"),
                fraction.len() as u32,
            ),
        },
        other => panic!("not generated: {other}"),
    }
}

/// January 2024 is the only generated month.
pub(crate) fn date(text: &str) -> Cell {
    let day = text.strip_prefix("2024-01-").expect("a date in January 2024");
    Cell::Date(19_722 + day.parse::<i32>().expect("a day"))
}

fn like(text: &[char], pattern: &[char]) -> bool {
    match pattern.split_first() {
        None => text.is_empty(),
        Some(('%', rest)) => (0..=text.len()).any(|skip| like(&text[skip..], rest)),
        Some((wanted, rest)) => text
            .split_first()
            .is_some_and(|(found, text)| (*wanted == '_' || wanted == found) && like(text, rest)),
    }
}

fn has_aggregate(expr: &Expr) -> bool {
    match expr {
        Expr::Function(_) => true,
        Expr::Nested(inner) | Expr::UnaryOp { expr: inner, .. } => has_aggregate(inner),
        Expr::BinaryOp { left, right, .. } => has_aggregate(left) || has_aggregate(right),
        _ => false,
    }
}

fn order_expressions(query: &Query) -> Vec<&Expr> {
    match query.order_by.as_ref().map(|order| &order.kind) {
        Some(OrderByKind::Expressions(keys)) => keys.iter().map(|key| &key.expr).collect(),
        _ => Vec::new(),
    }
}

fn position(expr: &Expr, items: &[(Expr, Option<String>)]) -> Option<usize> {
    match expr {
        Expr::Value(literal) => match constant(&literal.value) {
            Cell::Int(number) => usize::try_from(number - 1).ok(),
            _ => None,
        },
        Expr::Identifier(name) => items
            .iter()
            .position(|(_, alias)| alias.as_deref() == Some(&name.value)),
        _ => None,
    }
}

fn count_of(expr: &Expr) -> usize {
    match expr {
        Expr::Value(literal) => match constant(&literal.value) {
            Cell::Int(count) => usize::try_from(count).expect("not negative"),
            other => panic!("limit {other:?}"),
        },
        other => panic!("limit {other}"),
    }
}
