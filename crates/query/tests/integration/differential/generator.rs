//! Makes tables and queries from a seed.
//!
//! Floats are quarters and no quotient is summed, so no answer depends on rounding.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use columnar::TableSource;

use super::aggregates;
use super::drawn_file;
use super::reference::{Table, date};
use super::tiny_table::{TinyTable, batch};
use crate::run::{Cell, Row};

pub(crate) const COLUMNS: [&str; 8] = ["i", "j", "d", "f", "s", "u", "day", "b"];

const WORDS: [&str; 10] = ["", "a", "ab", "abc", "b", "ba%", "NULL", "x_y", "é", "zz top"];
const PATTERNS: [&str; 9] = ["%", "a%", "%b", "%b%", "_", "a_", "_b%", "", "%é%"];

#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) table: Table,
    pub(crate) sql: String,
    morsel_rows: usize,
    zone_maps: bool,
    coded: usize,
    random: Random,
}

impl Case {
    pub(crate) fn generate(seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let rows = match random.below(10) {
            0 => 0,
            1 => 1,
            _ => random.below(200),
        };
        let rows = (0..rows).map(|_| random.row()).collect();
        let morsel_rows = 1 + random.below(30);
        let zone_maps = random.chance(2);
        let sql = random.query();
        Self {
            table: Table {
                columns: COLUMNS.to_vec(),
                rows,
            },
            sql,
            morsel_rows,
            zone_maps,
            coded: random.below(1 << (COLUMNS.len() + 1)),
            random,
        }
    }

    pub(crate) fn source(&self) -> Arc<dyn TableSource> {
        let batch = batch(&self.table.columns, &self.table.rows);
        let table = TinyTable::of(batch, self.morsel_rows);
        Arc::new(table.with_zone_maps(self.zone_maps).with_codes(self.coded))
    }

    /// The table as a Parquet file in `folder`, written as the seed likes.
    pub(crate) fn file(&self, folder: &Path) -> PathBuf {
        let path = folder.join("t.parquet");
        let batch = batch(&self.table.columns, &self.table.rows);
        drawn_file::write(&path, &batch, self.random.clone());
        path
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014).
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub(super) fn chance(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(super) fn pick<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.below(choices.len())]
    }

    fn row(&mut self) -> Row {
        COLUMNS
            .map(|column| {
                if self.chance(3) {
                    return Cell::Null;
                }
                match column {
                    "i" => Cell::Int(self.below(41) as i64 - 20),
                    "j" => Cell::Int(self.below(7) as i64 - 3),
                    "d" => Cell::Decimal(self.below(2001) as i128 - 1000, 2),
                    "f" if self.chance(30) => Cell::Float(f64::NAN),
                    "f" => Cell::Float((self.below(81) as f64 - 40.0) * 0.25),
                    "s" => Cell::Text(self.pick(&WORDS).to_owned()),
                    "u" => Cell::Text(self.pick(&["red", "green", "blue"]).to_owned()),
                    "day" => date(&format!("2024-01-{:02}", 1 + self.below(28))),
                    _ => Cell::Bool(self.chance(2)),
                }
            })
            .to_vec()
    }

    fn query(&mut self) -> String {
        let condition = match self.below(12) {
            0 => String::new(),
            1 => format!(" where {} and i / j > {}", self.leaf(), self.below(5)),
            2 => format!(" where j <> 0 and (i / j = {} or i % j = 1)", self.below(3)),
            _ => format!(" where {}", self.predicate(3)),
        };
        match self.below(3) {
            0 => self.rows_query(&condition),
            1 => self.totals_query(&condition),
            _ => self.groups_query(&condition),
        }
    }

    fn rows_query(&mut self, condition: &str) -> String {
        if self.chance(6) {
            return format!("select * from t{condition}{}", self.limit());
        }
        let count = 1 + self.below(4);
        let items: Vec<String> = (0..count)
            .map(|index| match self.below(4) {
                0 => format!("{} as a{index}", self.number(2)),
                1 => format!("{} as a{index}", self.predicate(1)),
                _ => format!("{} as a{index}", self.pick(&COLUMNS)),
            })
            .collect();
        let order = match self.below(3) {
            0 => String::new(),
            1 => format!(" order by a0{}", self.direction()),
            _ => format!(
                " order by {}{}, {}{}",
                self.pick(&COLUMNS),
                self.direction(),
                count,
                self.direction()
            ),
        };
        format!(
            "select {} from t{condition}{order}{}",
            items.join(", "),
            self.limit()
        )
    }

    fn totals_query(&mut self, condition: &str) -> String {
        let count = 1 + self.below(4);
        let items: Vec<String> = (0..count).map(|_| self.aggregate()).collect();
        format!("select {} from t{condition}", items.join(", "))
    }

    fn groups_query(&mut self, condition: &str) -> String {
        let mut keys: Vec<&str> = vec![self.pick(&["u", "j", "b", "s", "day"])];
        if self.chance(2) {
            let second = self.pick(&["u", "j", "b", "f", "d"]);
            if !keys.contains(&second) {
                keys.push(second);
            }
        }
        let mut items: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
        for index in 0..1 + self.below(3) {
            items.push(format!("{} as a{index}", self.aggregate()));
        }
        if self.chance(3) {
            items.reverse();
        }
        let order = match self.below(3) {
            0 => String::new(),
            1 => format!(
                " order by a0{}, {}{}",
                self.direction(),
                keys[0],
                self.direction()
            ),
            _ => format!(" order by {}{}", keys[0], self.direction()),
        };
        format!(
            "select {} from t{condition} group by {}{order}{}",
            items.join(", "),
            keys.join(", "),
            self.limit()
        )
    }

    fn aggregate(&mut self) -> String {
        match self.below(8) {
            0 => "count(*)".to_owned(),
            1 => format!("sum({}) + count(*)", self.exact(1)),
            _ => aggregates::draw(self),
        }
    }

    fn direction(&mut self) -> &'static str {
        self.pick(&["", "", " asc", " desc", " desc nulls last", " nulls first"])
    }

    fn limit(&mut self) -> String {
        if self.chance(3) {
            format!(" limit {}", self.below(12))
        } else {
            String::new()
        }
    }

    pub(super) fn predicate(&mut self, depth: usize) -> String {
        if depth == 0 || self.chance(4) {
            return self.leaf();
        }
        match self.below(5) {
            0 => format!("not ({})", self.predicate(depth - 1)),
            1 => format!("not {}", self.leaf()),
            2 => format!("{} and {}", self.predicate(depth - 1), self.predicate(depth - 1)),
            3 => format!("{} or {}", self.predicate(depth - 1), self.predicate(depth - 1)),
            _ => format!(
                "({} or {}) and {}",
                self.predicate(depth - 1),
                self.leaf(),
                self.predicate(depth - 1)
            ),
        }
    }

    fn leaf(&mut self) -> String {
        let operator = self.pick(&["=", "<>", "<", "<=", ">", ">="]);
        let not = self.pick(&["", "", "not "]);
        match self.below(12) {
            0 | 1 => format!("{} {operator} {}", self.number(2), self.number(1)),
            2 | 3 => format!(
                "{} {operator} {}",
                self.pick(&["i", "j", "d", "f"]),
                self.literal()
            ),
            4 => format!("{} {operator} '{}'", self.pick(&["s", "u"]), self.pick(&WORDS)),
            5 => format!("day {operator} date '2024-01-{:02}'", 1 + self.below(28)),
            6 => format!(
                "{} {not}between {} and {}",
                self.pick(&["i", "d", "f"]),
                self.literal(),
                self.literal()
            ),
            7 => format!(
                "day {not}between date '2024-01-{:02}' and date '2024-01-{:02}'",
                1 + self.below(28),
                1 + self.below(28)
            ),
            8 => match self.chance(2) {
                true => format!("s {not}in ('{}', '{}')", self.pick(&WORDS), self.pick(&WORDS)),
                false => format!("j {not}in ({}, {}, null)", self.below(4), self.below(4)),
            },
            9 => format!("{} {not}like '{}'", self.pick(&["s", "u"]), self.pick(&PATTERNS)),
            10 => format!("{} is {not}null", self.pick(&COLUMNS)),
            _ => self.pick(&["b", "b", "b = true", "s < u", "not b"]).to_owned(),
        }
    }

    fn number(&mut self, depth: usize) -> String {
        if depth == 0 || self.chance(3) {
            return match self.chance(4) {
                true => self.literal(),
                false => self.pick(&["i", "j", "d", "f"]).to_owned(),
            };
        }
        match self.below(7) {
            0 => format!("({} + {})", self.number(depth - 1), self.number(depth - 1)),
            1 => format!("({} - {})", self.number(depth - 1), self.number(depth - 1)),
            2 => format!("({} * {})", self.number(depth - 1), self.number(depth - 1)),
            3 => format!(
                "{} / {}",
                self.pick(&["i", "j", "d", "f"]),
                self.pick(&["2", "-3", "0.5", "4.0"])
            ),
            4 => format!("i % {}", 2 + self.below(4)),
            5 => format!("-{}", self.pick(&["i", "j", "d", "f"])),
            _ => format!(
                "{} + {} * {}",
                self.pick(&["i", "d"]),
                self.pick(&["j", "f"]),
                self.literal()
            ),
        }
    }

    /// No rounding.
    pub(super) fn exact(&mut self, depth: usize) -> String {
        if depth == 0 || self.chance(3) {
            return self.pick(&["i", "j", "d", "2", "0.5"]).to_owned();
        }
        let operator = self.pick(&["+", "-", "*"]);
        format!("{} {operator} ({})", self.exact(depth - 1), self.exact(depth - 1))
    }

    fn literal(&mut self) -> String {
        let whole = self.below(23) as i64 - 11;
        match self.below(3) {
            0 => format!("{whole}.{:02}", self.below(100)),
            1 => format!("{whole}.{}", self.pick(&["0", "25", "5", "125"])),
            _ => whole.to_string(),
        }
    }
}
