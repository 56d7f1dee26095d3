//! The ten questions as loops by hand over plain columns, each thread with its share of the rows,
//! and [those of ClickBench](hits).
//!
//! Numbers of many values have 64 bits; numbers, days and texts of few values are codes of 8 or 16
//! bits, as in our table in memory. Codes are in the order of their values, so a range of values is
//! one of codes.

mod hits;

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::ops::Range;
use std::thread;

use anyhow::{Context as _, Result, bail};
use arrow::array::{Array as _, ArrayRef, AsArray as _};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Date32Type, Decimal128Type, Int32Type, Int64Type};
use memchr::memmem::Finder;
use query::QueryResult;

use super::answer::{Answer, Value};

/// Hundredths in one: prices, quantities, discounts and taxes are counted in them.
const HUNDREDTHS: f64 = 100.0;

/// Days since 1970 of dates in the questions.
const DAY_1992_06_01: i64 = 8_187;
const DAY_1994: i64 = 8_766;
const DAY_1995: i64 = 9_131;
const DAY_1996: i64 = 9_496;
const DAY_1998_09_02: i64 = 10_471;

/// A question over loaded columns, to be run by a number of threads.
pub(super) type Loop = Box<dyn Fn(usize) -> Found>;

/// Columns of an answer.
#[derive(Debug, Default)]
pub(super) struct Found {
    texts: Vec<Vec<String>>,
    numbers: Vec<Vec<f64>>,
    /// Columns of numbers before the texts.
    before: usize,
}

/// Codes of the rows, and the values in their order.
struct Coded<V, C = u8> {
    rows: Vec<C>,
    values: Vec<V>,
}

/// Texts one behind the other, and where each ends.
struct Texts {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

/// The loop for the question `name` over `rows`, which are of the columns that it reads.
pub(super) fn load(name: &str, rows: &QueryResult) -> Result<Loop> {
    let numbers = |column| numbers(rows, column);
    let coded = |column| Coded::encode(numbers(column)?);
    let days = |column| Coded::encode(numbers(column)?);
    let texts = |column| Coded::encode(strings(rows, column)?);
    Ok(match name {
        "Q6" => q6(
            numbers("l_extendedprice")?,
            coded("l_discount")?,
            coded("l_quantity")?,
            days("l_shipdate")?,
        )?,
        "Q1" => q1(
            [texts("l_returnflag")?, texts("l_linestatus")?],
            coded("l_quantity")?,
            numbers("l_extendedprice")?,
            [coded("l_discount")?, coded("l_tax")?],
            days("l_shipdate")?,
        )?,
        "count, 5 filters" => five_filters(
            days("l_shipdate")?,
            coded("l_quantity")?,
            [coded("l_discount")?, coded("l_tax")?],
            texts("l_returnflag")?,
        )?,
        "rows, 3 columns of 3 filters" => three_columns(
            ["l_orderkey", "l_partkey", "l_extendedprice"]
                .into_iter()
                .map(numbers)
                .collect::<Result<_>>()?,
            coded("l_quantity")?,
            coded("l_discount")?,
            days("l_shipdate")?,
        )?,
        "group by supplier" => by_supplier(numbers("l_suppkey")?, coded("l_quantity")?),
        "min, max, avg of all rows" => min_max_avg(numbers("l_extendedprice")?),
        "like '%special%', sum" => like(Texts::of(rows, "l_comment")?, numbers("l_extendedprice")?),
        "or of three" => or_of_three(
            coded("l_quantity")?,
            coded("l_discount")?,
            days("l_shipdate")?,
            numbers("l_extendedprice")?,
        )?,
        "top 10 by price" => top_ten(numbers("l_extendedprice")?, numbers("l_orderkey")?),
        "group by two texts" => by_two_texts(
            [texts("l_shipmode")?, texts("l_shipinstruct")?],
            numbers("l_extendedprice")?,
        ),
        other => return hits::load(other, rows),
    })
}

fn q6(price: Vec<i64>, discount: Coded<i64>, quantity: Coded<i64>, day: Coded<i64, u16>) -> Result<Loop> {
    let days = day.codes(DAY_1994..DAY_1995)?;
    let discounts = discount.codes(5..8)?;
    let quantities = quantity.codes(0..2_400)?;
    Ok(Box::new(move |threads| {
        let parts = split(price.len(), threads, |rows| {
            let codes = day
                .of(&rows)
                .iter()
                .zip(discount.of(&rows))
                .zip(quantity.of(&rows));
            let mut revenue = 0;
            for (((day, by), quantity), price) in codes.zip(&price[rows.clone()]) {
                if days.contains(day) & discounts.contains(by) & quantities.contains(quantity) {
                    revenue += price * discount.values[*by as usize];
                }
            }
            revenue
        });
        Found::row([parts.iter().sum::<i64>() as f64 / HUNDREDTHS / HUNDREDTHS])
    }))
}

/// Sums of a group of Q1. The sum of charges has six digits behind the point and fits up to scale
/// 80.
#[derive(Clone, Copy, Default)]
struct Q1Sums {
    quantity: i64,
    base: i64,
    discounted: i64,
    charge: i64,
    discount: i64,
    count: i64,
}

impl Q1Sums {
    fn add(&mut self, other: &Self) {
        self.quantity += other.quantity;
        self.base += other.base;
        self.discounted += other.discounted;
        self.charge += other.charge;
        self.discount += other.discount;
        self.count += other.count;
    }
}

fn q1(
    [flag, status]: [Coded<String>; 2],
    quantity: Coded<i64>,
    price: Vec<i64>,
    [discount, tax]: [Coded<i64>; 2],
    day: Coded<i64, u16>,
) -> Result<Loop> {
    let days = day.codes(0..DAY_1998_09_02 + 1)?;
    let width = status.values.len();
    Ok(Box::new(move |threads| {
        let parts = split(price.len(), threads, |rows| {
            let mut groups = vec![Q1Sums::default(); flag.values.len() * width];
            let keys = day.of(&rows).iter().zip(flag.of(&rows)).zip(status.of(&rows));
            let values = quantity.of(&rows).iter().zip(&price[rows.clone()]);
            let values = values.zip(discount.of(&rows)).zip(tax.of(&rows));
            for (((day, flag), status), (((quantity_of, &base), by), tax_of)) in keys.zip(values) {
                if !days.contains(day) {
                    continue;
                }
                let by = discount.values[*by as usize];
                let discounted = base * (100 - by);
                groups[*flag as usize * width + *status as usize].add(&Q1Sums {
                    quantity: quantity.values[*quantity_of as usize],
                    base,
                    discounted,
                    charge: discounted * (100 + tax.values[*tax_of as usize]),
                    discount: by,
                    count: 1,
                });
            }
            groups
        });
        let mut groups = vec![Q1Sums::default(); flag.values.len() * width];
        for part in &parts {
            groups
                .iter_mut()
                .zip(part)
                .for_each(|(group, part)| group.add(part));
        }
        let mut found = Found::of(2, 8);
        for (at, group) in groups.iter().enumerate().filter(|(_, group)| group.count > 0) {
            let [quantity, base, discount] =
                [group.quantity, group.base, group.discount].map(|sum| sum as f64 / HUNDREDTHS);
            let count = group.count as f64;
            found.push(
                [&flag.values[at / width], &status.values[at % width]],
                [
                    quantity,
                    base,
                    group.discounted as f64 / HUNDREDTHS.powi(2),
                    group.charge as f64 / HUNDREDTHS.powi(3),
                    quantity / count,
                    base / count,
                    discount / count,
                    count,
                ],
            );
        }
        found
    }))
}

fn five_filters(
    day: Coded<i64, u16>,
    quantity: Coded<i64>,
    [discount, tax]: [Coded<i64>; 2],
    flag: Coded<String>,
) -> Result<Loop> {
    let days = day.codes(DAY_1995..i64::MAX)?;
    let quantities = quantity.codes(0..3_000)?;
    let discounts = discount.codes(3..i64::MAX)?;
    let taxes = tax.codes(0..6)?;
    let flags = flag.codes("N".to_owned().."N\0".to_owned())?;
    Ok(Box::new(move |threads| {
        let parts = split(day.rows.len(), threads, |rows| {
            let codes = day
                .of(&rows)
                .iter()
                .zip(quantity.of(&rows))
                .zip(discount.of(&rows));
            let codes = codes.zip(tax.of(&rows)).zip(flag.of(&rows));
            let count = codes.map(|((((day, quantity), discount), tax), flag)| {
                u32::from(
                    days.contains(day)
                        & quantities.contains(quantity)
                        & discounts.contains(discount)
                        & taxes.contains(tax)
                        & flags.contains(flag),
                )
            });
            count.sum::<u32>()
        });
        Found::row([f64::from(parts.iter().sum::<u32>())])
    }))
}

fn three_columns(
    columns: Vec<Vec<i64>>,
    quantity: Coded<i64>,
    discount: Coded<i64>,
    day: Coded<i64, u16>,
) -> Result<Loop> {
    let quantities = quantity.codes(0..300)?;
    let discounts = discount.codes(9..i64::MAX)?;
    let days = day.codes(0..DAY_1996)?;
    Ok(Box::new(move |threads| {
        let parts = split(day.rows.len(), threads, |rows| {
            let codes = quantity
                .of(&rows)
                .iter()
                .zip(discount.of(&rows))
                .zip(day.of(&rows));
            let mut found: Vec<[i64; 3]> = Vec::new();
            for (((quantity, discount), day), row) in codes.zip(rows.clone()) {
                if quantities.contains(quantity) & discounts.contains(discount) & days.contains(day) {
                    found.push([columns[0][row], columns[1][row], columns[2][row]]);
                }
            }
            found
        });
        let mut found = Found::of(0, 3);
        for [order, part, price] in parts.into_iter().flatten() {
            found.push([], [order as f64, part as f64, price as f64 / HUNDREDTHS]);
        }
        found
    }))
}

fn by_supplier(supplier: Vec<i64>, quantity: Coded<i64>) -> Loop {
    let end = supplier.iter().max().map_or(0, |last| *last as usize + 1);
    Box::new(move |threads| {
        let parts = split(supplier.len(), threads, |rows| {
            let mut groups = vec![[0_i64; 2]; end];
            for (&supplier, code) in supplier[rows.clone()].iter().zip(quantity.of(&rows)) {
                let [count, sum] = &mut groups[supplier as usize];
                *count += 1;
                *sum += quantity.values[*code as usize];
            }
            groups
        });
        let mut found = Found::of(0, 3);
        for supplier in 0..end {
            let [count, sum] = [0, 1].map(|at| parts.iter().map(|part| part[supplier][at]).sum::<i64>());
            if count > 0 {
                found.push([], [supplier as f64, count as f64, sum as f64 / HUNDREDTHS]);
            }
        }
        found
    })
}

fn min_max_avg(price: Vec<i64>) -> Loop {
    Box::new(move |threads| {
        let parts = split(price.len(), threads, |rows| {
            let start = (i64::MAX, i64::MIN, 0);
            let prices = price[rows].iter();
            prices.fold(start, |(least, most, sum), &price| {
                (least.min(price), most.max(price), sum + price)
            })
        });
        let least = parts.iter().map(|part| part.0).min().unwrap_or_default();
        let most = parts.iter().map(|part| part.1).max().unwrap_or_default();
        let sum: i64 = parts.iter().map(|part| part.2).sum();
        let mean = sum as f64 / HUNDREDTHS / price.len() as f64;
        Found::row([least as f64 / HUNDREDTHS, most as f64 / HUNDREDTHS, mean])
    })
}

fn like(comment: Texts, price: Vec<i64>) -> Loop {
    Box::new(move |threads| {
        let parts = split(price.len(), threads, |rows| {
            let mut sum = 0;
            rows_with("special", &comment, rows, |row| sum += price[row]);
            sum
        });
        Found::row([parts.iter().sum::<i64>() as f64 / HUNDREDTHS])
    })
}

fn or_of_three(
    quantity: Coded<i64>,
    discount: Coded<i64>,
    day: Coded<i64, u16>,
    price: Vec<i64>,
) -> Result<Loop> {
    let quantities = quantity.codes(0..300)?;
    let discounts = discount.codes(10..11)?;
    let days = day.codes(0..DAY_1992_06_01)?;
    Ok(Box::new(move |threads| {
        let parts = split(price.len(), threads, |rows| {
            let codes = quantity
                .of(&rows)
                .iter()
                .zip(discount.of(&rows))
                .zip(day.of(&rows));
            let (mut count, mut sum) = (0, 0);
            for (((quantity, discount), day), price) in codes.zip(&price[rows.clone()]) {
                let is_kept =
                    quantities.contains(quantity) | discounts.contains(discount) | days.contains(day);
                count += i64::from(is_kept);
                sum += price & -i64::from(is_kept);
            }
            (count, sum)
        });
        let count: i64 = parts.iter().map(|part| part.0).sum();
        let sum: i64 = parts.iter().map(|part| part.1).sum();
        Found::row([count as f64, sum as f64 / HUNDREDTHS])
    }))
}

fn top_ten(price: Vec<i64>, order: Vec<i64>) -> Loop {
    const ROWS: usize = 10;
    Box::new(move |threads| {
        let parts = split(price.len(), threads, |rows| {
            let mut top = BinaryHeap::with_capacity(ROWS + 1);
            let mut least = i64::MIN;
            for (&price, row) in price[rows.clone()].iter().zip(rows) {
                if price >= least {
                    top.push(Reverse((price, Reverse(order[row]))));
                    if top.len() > ROWS {
                        top.pop();
                        least = top.peek().map_or(i64::MIN, |Reverse((price, _))| *price);
                    }
                }
            }
            top.into_vec()
        });
        let mut top: Vec<_> = parts.into_iter().flatten().collect();
        top.sort_unstable();
        let mut found = Found::of(0, 2);
        for Reverse((price, Reverse(order))) in top.into_iter().take(ROWS) {
            found.push([], [order as f64, price as f64 / HUNDREDTHS]);
        }
        found
    })
}

fn by_two_texts([mode, instruct]: [Coded<String>; 2], price: Vec<i64>) -> Loop {
    let width = instruct.values.len();
    let end = mode.values.len() * width;
    Box::new(move |threads| {
        let parts = split(price.len(), threads, |rows| {
            let mut groups = vec![[0_i64; 2]; end];
            let keys = mode.of(&rows).iter().zip(instruct.of(&rows));
            for ((mode, instruct), price) in keys.zip(&price[rows.clone()]) {
                let [count, sum] = &mut groups[*mode as usize * width + *instruct as usize];
                *count += 1;
                *sum += price;
            }
            groups
        });
        let mut found = Found::of(2, 2);
        for key in 0..end {
            let [count, sum] = [0, 1].map(|at| parts.iter().map(|part| part[key][at]).sum::<i64>());
            if count > 0 {
                found.push(
                    [&mode.values[key / width], &instruct.values[key % width]],
                    [count as f64, sum as f64 / HUNDREDTHS],
                );
            }
        }
        found
    })
}

/// Visits those of `rows` whose text holds `pattern`.
fn rows_with(pattern: &str, texts: &Texts, rows: Range<usize>, mut visit: impl FnMut(usize)) {
    let finder = Finder::new(pattern);
    let (mut row, mut at, end) = (rows.start, texts.start(rows.start), texts.start(rows.end));
    while let Some(found) = finder.find(&texts.bytes[at..end]) {
        let first = at + found;
        while texts.ends[row] <= first {
            row += 1;
        }
        if first + pattern.len() <= texts.ends[row] {
            visit(row);
            at = texts.ends[row];
        } else {
            at = first + 1;
        }
    }
}

/// Runs `part` on each thread's share of the rows.
fn split<T: Send>(rows: usize, threads: usize, part: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
    let part = &part;
    thread::scope(|scope| {
        let shares = (0..threads).map(|at| rows * at / threads..rows * (at + 1) / threads);
        let running: Vec<_> = shares.map(|share| scope.spawn(move || part(share))).collect();
        let parts = running.into_iter().map(thread::ScopedJoinHandle::join);
        parts.map(|part| part.expect("a loop panics nowhere")).collect()
    })
}

impl Found {
    fn of(texts: usize, numbers: usize) -> Self {
        Self {
            texts: vec![Vec::new(); texts],
            numbers: vec![Vec::new(); numbers],
            before: 0,
        }
    }

    fn row<const N: usize>(numbers: [f64; N]) -> Self {
        let mut found = Self::of(0, N);
        found.push([], numbers);
        found
    }

    fn push<const T: usize, const N: usize>(&mut self, texts: [&String; T], numbers: [f64; N]) {
        let columns = self.texts.iter_mut().zip(texts);
        columns.for_each(|(column, text)| column.push(text.clone()));
        let columns = self.numbers.iter_mut().zip(numbers);
        columns.for_each(|(column, number)| column.push(number));
    }

    /// Puts the texts behind the first column of numbers.
    fn with_texts_second(mut self) -> Self {
        self.before = 1;
        self
    }

    pub(super) fn answer(self) -> Answer {
        let (first, others) = self.numbers.split_at(self.before);
        let numbers = |columns: &[Vec<f64>], row: usize| -> Vec<Value> {
            columns.iter().map(|column| Value::Number(column[row])).collect()
        };
        let row = |row: usize| {
            let texts = self.texts.iter().map(|column| Value::Text(column[row].clone()));
            let texts: Vec<Value> = texts.collect();
            [numbers(first, row), texts, numbers(others, row)].concat()
        };
        let rows = self.numbers.first().map_or(0, Vec::len);
        Answer::of_rows((0..rows).map(row).collect())
    }
}

impl<V: Ord + Clone, C: Copy + TryFrom<usize>> Coded<V, C> {
    fn encode(rows: Vec<V>) -> Result<Self> {
        let mut values = BTreeSet::new();
        for value in &rows {
            if !values.contains(value) {
                values.insert(value.clone());
            }
        }
        let values: Vec<V> = values.into_iter().collect();
        let code = |value: V| code(values.partition_point(|known| *known < value));
        let rows: Result<Vec<C>> = rows.into_iter().map(code).collect();
        Ok(Self { rows: rows?, values })
    }

    /// The codes of the values in `range`.
    fn codes(&self, range: Range<V>) -> Result<Range<C>> {
        let below = |end: &V| code(self.values.partition_point(|value| value < end));
        Ok(below(&range.start)?..below(&range.end)?)
    }

    fn of(&self, rows: &Range<usize>) -> &[C] {
        &self.rows[rows.clone()]
    }
}

fn code<C: TryFrom<usize>>(code: usize) -> Result<C> {
    code.try_into().ok().context("more values than codes")
}

impl Texts {
    fn of(rows: &QueryResult, column: &str) -> Result<Self> {
        let mut texts = Self {
            bytes: Vec::new(),
            ends: Vec::new(),
        };
        for text in strings(rows, column)? {
            texts.bytes.extend_from_slice(text.as_bytes());
            texts.ends.push(texts.bytes.len());
        }
        Ok(texts)
    }

    fn start(&self, row: usize) -> usize {
        row.checked_sub(1).map_or(0, |before| self.ends[before])
    }

    fn text(&self, row: usize) -> &[u8] {
        &self.bytes[self.start(row)..self.ends[row]]
    }
}

fn numbers(rows: &QueryResult, column: &str) -> Result<Vec<i64>> {
    let mut numbers = Vec::new();
    for values in arrays(rows, column)? {
        match values.data_type() {
            DataType::Int64 => numbers.extend(values.as_primitive::<Int64Type>().values()),
            DataType::Int32 => {
                let values = values.as_primitive::<Int32Type>().values().iter();
                numbers.extend(values.map(|value| i64::from(*value)));
            }
            DataType::Date32 => {
                numbers.extend(
                    values
                        .as_primitive::<Date32Type>()
                        .values()
                        .iter()
                        .map(|day| i64::from(*day)),
                );
            }
            DataType::Decimal128(_, 2) => {
                let values = values.as_primitive::<Decimal128Type>().values().iter();
                numbers.extend(values.map(|value| *value as i64));
            }
            other => bail!("{column} has the type {other}"),
        }
    }
    Ok(numbers)
}

fn strings(rows: &QueryResult, column: &str) -> Result<Vec<String>> {
    let mut strings = Vec::new();
    for values in arrays(rows, column)? {
        let views = cast(&values, &DataType::Utf8View)?;
        strings.extend(views.as_string_view().iter().flatten().map(str::to_owned));
    }
    Ok(strings)
}

fn arrays(rows: &QueryResult, column: &str) -> Result<Vec<ArrayRef>> {
    let arrays = rows.batches.iter().map(|batch| {
        let values = batch
            .column_by_name(column)
            .with_context(|| format!("no {column}"))?;
        anyhow::ensure!(values.null_count() == 0, "a NULL in {column}");
        Ok(values.clone())
    });
    arrays.collect()
}
