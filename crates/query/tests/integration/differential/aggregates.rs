//! The aggregate functions that are drawn and evaluated. A function is a row of [`FUNCTIONS`].

use super::generator::{COLUMNS, Random};
use super::reference::{compare, connect, exact, sum};
use crate::run::Cell;

/// The name, with `distinct` for that form; draws an argument; the result of values that are not NULL.
type Function = (&'static str, fn(&mut Random) -> String, fn(&[Cell]) -> Cell);

pub(super) const FUNCTIONS: &[Function] = &[
    ("count", any_column, |values| Cell::Int(values.len() as i64)),
    ("count distinct", any_column, |values| {
        let is_first = |at: &usize| !values[..*at].contains(&values[*at]);
        Cell::Int((0..values.len()).filter(is_first).count() as i64)
    }),
    ("sum", summand, sum),
    ("avg", summand, |values| match sum(values) {
        Cell::Null => Cell::Null,
        Cell::Float(sum) => Cell::Float(sum / values.len() as f64),
        // Both operands are exact, so only the quotient is rounded.
        sum => Cell::Float(exact(&sum).0 as f64 / (values.len() as f64 * unit(&sum))),
    }),
    ("min", any_column, |values| {
        cell(values.iter().min_by(|a, b| compare(a, b)).cloned())
    }),
    ("max", any_column, |values| {
        cell(values.iter().max_by(|a, b| compare(a, b)).cloned())
    }),
    ("bool_and", condition, |values| {
        let and = |all: Cell, value: Cell| connect(false, &all, &value);
        cell(values.iter().cloned().reduce(and))
    }),
    ("median", number, |values| cell(median(values).map(Cell::Float))),
    ("var_samp", number, |values| {
        cell(variance(values).map(Cell::Float))
    }),
    ("stddev_samp", number, |values| {
        cell(variance(values).map(f64::sqrt).map(Cell::Float))
    }),
];

pub(super) fn draw(random: &mut Random) -> String {
    let (name, argument, _) = FUNCTIONS[random.below(FUNCTIONS.len())];
    let argument = argument(random);
    match name.split_once(' ') {
        Some((name, distinct)) => format!("{name}({distinct} {argument})"),
        None => format!("{name}({argument})"),
    }
}

pub(super) fn evaluate(name: &str, values: &[Cell]) -> Cell {
    let row = FUNCTIONS.iter().find(|row| row.0 == name);
    row.unwrap_or_else(|| panic!("not generated: {name}")).2(values)
}

fn any_column(random: &mut Random) -> String {
    random.pick(&COLUMNS).to_owned()
}

fn number(random: &mut Random) -> String {
    random.pick(&["i", "j", "d", "f"]).to_owned()
}

fn condition(random: &mut Random) -> String {
    random.predicate(1)
}

fn summand(random: &mut Random) -> String {
    match random.below(3) {
        0 => random.pick(&["f", "f + i", "f * 2", "-f", "j - f"]).to_owned(),
        _ => random.exact(2),
    }
}

fn cell(value: Option<Cell>) -> Cell {
    value.unwrap_or(Cell::Null)
}

/// How many units are one: floats are quarters.
fn unit(value: &Cell) -> f64 {
    match value {
        Cell::Float(_) => 4.0,
        other => 10f64.powi(exact(other).1 as i32),
    }
}

/// `None` if a value is NaN.
fn units(values: &[Cell]) -> Option<Vec<i128>> {
    let of = |value: &Cell| match value {
        Cell::Float(value) => (!value.is_nan()).then_some((value * 4.0) as i128),
        other => Some(exact(other).0),
    };
    values.iter().map(of).collect()
}

fn median(values: &[Cell]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(compare);
    let middle = values.len().checked_sub(1)? / 2..=values.len() / 2;
    let ends = units(&sorted[middle]).map(|units| units[0] + units[units.len() - 1]);
    Some(ends.map_or(f64::NAN, |sum| sum as f64 / (2.0 * unit(&values[0]))))
}

fn variance(values: &[Cell]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let Some(units) = units(values) else {
        return Some(f64::NAN);
    };
    let (n, sum) = (units.len() as i128, units.iter().sum::<i128>());
    let squares: i128 = units.iter().map(|unit| unit * unit).sum();
    let pairs = (n * (n - 1)) as f64;
    Some((n * squares - sum * sum) as f64 / (pairs * unit(&values[0]).powi(2)))
}
