//! The queries, rows and answers for every engine.
//!
//! The rows are those of TPC-H, with the columns that the two queries read. We hold them as
//! generated; peers load the same values from two Parquet files before the clock runs. Known
//! answers come from a plain loop in whole numbers, without our own filters and aggregates.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::AsArray;
use arrow::datatypes::{Date32Type, Decimal128Type};
use columnar::TableSource;
use query::Work;
use query::source::{self, ScaleFactor, TpchTable, TpchTableKind};
use serde::Serialize;

use crate::tpch::{self, indices, read};

/// A filter and a count over 150,000 rows.
pub(super) const SHORT: &str =
    "select count(*) from customer where c_acctbal > 5000 and c_mktsegment = 'BUILDING'";

const CUSTOMER: [&str; 2] = ["c_acctbal", "c_mktsegment"];

/// 1998-09-02 in days since 1970.
const SHIPPED_UNTIL: i32 = 10_471;
/// 5000 in hundredths.
const BALANCE_ABOVE: i128 = 500_000;

/// Loaded.
#[derive(Debug)]
pub(super) struct Tables {
    pub(super) lineitem: Arc<TpchTable>,
    pub(super) customer: Arc<TpchTable>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Answers {
    pub(super) short: i64,
    pub(super) heavy: Vec<Group>,
}

/// Flag and status; exact sums of quantity, price, discounted price and charge, as text; averages
/// of quantity, price and discount; the count.
pub(super) type Group = ([String; 2], [String; 4], [f64; 3], i64);

/// A peer's input, as a file.
#[derive(Debug, Serialize)]
struct Told<'a> {
    short: &'a str,
    heavy: &'a str,
    lineitem: PathBuf,
    customer: PathBuf,
    answers: &'a Answers,
}

impl Tables {
    pub(super) fn generate(scale: f64, work: &Work) -> anyhow::Result<Self> {
        let load = |kind, columns: &[&str]| -> anyhow::Result<Arc<TpchTable>> {
            let table = TpchTable::new(kind, ScaleFactor::new(scale)?);
            table.load(&indices(&table.schema(), columns)?, work)?;
            Ok(Arc::new(table))
        };
        Ok(Self {
            lineitem: load(TpchTableKind::Lineitem, &tpch::LINEITEM)?,
            customer: load(TpchTableKind::Customer, &CUSTOMER)?,
        })
    }

    /// The tables as generated.
    pub(super) fn loaded(&self) -> Vec<Arc<dyn TableSource>> {
        vec![self.lineitem.clone(), self.customer.clone()]
    }

    /// The tables from the files that [`write_for_peers`](Self::write_for_peers) has written.
    pub(super) fn written(&self, folder: &Path, work: &Work) -> anyhow::Result<Vec<Arc<dyn TableSource>>> {
        let open = |table: &TpchTable| source::open(table.name(), file(table, folder), work);
        Ok(vec![open(&self.lineitem)?, open(&self.customer)?])
    }

    /// Computes the answers by a plain loop over the rows.
    pub(super) fn answers(&self) -> anyhow::Result<Answers> {
        let mut short = 0;
        for morsel in 0..self.customer.morsels() {
            let columns = read(&self.customer, morsel, &CUSTOMER)?;
            let balance = columns[0].as_primitive::<Decimal128Type>().values();
            let segment = columns[1].as_string::<i32>();
            let rows = balance.iter().zip(segment);
            short += rows
                .filter(|(balance, segment)| **balance > BALANCE_ABOVE && *segment == Some("BUILDING"))
                .count();
        }
        let mut groups: BTreeMap<(String, String), Sums> = BTreeMap::new();
        for morsel in 0..self.lineitem.morsels() {
            let columns = read(&self.lineitem, morsel, &tpch::LINEITEM)?;
            let decimal = |column: usize| columns[column].as_primitive::<Decimal128Type>().values();
            let (quantity, price, discount, tax) = (decimal(0), decimal(1), decimal(2), decimal(3));
            let (flag, status) = (columns[4].as_string::<i32>(), columns[5].as_string::<i32>());
            let shipped = columns[6].as_primitive::<Date32Type>().values();
            for row in (0..shipped.len()).filter(|row| shipped[*row] <= SHIPPED_UNTIL) {
                let key = (flag.value(row).to_owned(), status.value(row).to_owned());
                let sums = groups.entry(key).or_default();
                let discounted = price[row] * (100 - discount[row]);
                sums.quantity += quantity[row];
                sums.price += price[row];
                sums.discounted += discounted;
                sums.charge += discounted * (100 + tax[row]);
                sums.discount += discount[row];
                sums.count += 1;
            }
        }
        Ok(Answers {
            short: i64::try_from(short)?,
            heavy: groups.into_iter().map(|(key, sums)| sums.group(key)).collect(),
        })
    }

    /// Two Parquet files, the queries, and the answers. Returns the path of the file that names the
    /// others.
    pub(super) fn write_for_peers(&self, folder: &Path, answers: &Answers) -> anyhow::Result<PathBuf> {
        let told = Told {
            short: SHORT,
            heavy: tpch::Q1,
            lineitem: write(&self.lineitem, &tpch::LINEITEM, folder)?,
            customer: write(&self.customer, &CUSTOMER, folder)?,
            answers,
        };
        let path = folder.join("workload.json");
        serde_json::to_writer(File::create(&path)?, &told)?;
        Ok(path)
    }
}

#[derive(Default)]
struct Sums {
    quantity: i128,
    price: i128,
    discounted: i128,
    charge: i128,
    discount: i128,
    count: i64,
}

impl Sums {
    fn group(self, key: (String, String)) -> Group {
        let average = |hundredths: i128| hundredths as f64 / 100.0 / self.count as f64;
        let sums = [
            (self.quantity, 2),
            (self.price, 2),
            (self.discounted, 4),
            (self.charge, 6),
        ];
        (
            key.into(),
            sums.map(|(sum, places)| decimal(sum, places)),
            [self.quantity, self.price, self.discount].map(average),
            self.count,
        )
    }
}

/// Not negative, with `places` decimal places.
fn decimal(value: i128, places: u32) -> String {
    let one = 10_i128.pow(places);
    format!("{}.{:0width$}", value / one, value % one, width = places as usize)
}

fn write(table: &TpchTable, columns: &[&str], folder: &Path) -> anyhow::Result<PathBuf> {
    let path = file(table, folder);
    tpch::write(table, columns, None, &path)?;
    Ok(path)
}

fn file(table: &TpchTable, folder: &Path) -> PathBuf {
    folder.join(format!("{}.parquet", table.name()))
}

#[cfg(test)]
mod tests {
    use query::pipeline_exec::PipelineExecutor;

    use super::*;

    #[test]
    fn sums_are_written_with_their_places() {
        assert_eq!(decimal(3_773_410_700, 2), "37734107.00");
        assert_eq!(decimal(5, 4), "0.0005");
    }

    #[test]
    fn a_peer_is_told_all_rows_queries_and_answers() {
        let work = Work::from(PipelineExecutor::new(2).unwrap());
        let tables = Tables::generate(0.01, &work).unwrap();
        let answers = tables.answers().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let told = tables.write_for_peers(folder.path(), &answers).unwrap();
        let told: serde_json::Value = serde_json::from_reader(File::open(told).unwrap()).unwrap();
        assert_eq!(told["answers"]["short"], answers.short);
        assert_eq!(told["heavy"], tpch::Q1);
        let opened = query::source::open("lineitem", told["lineitem"].as_str().unwrap(), &work).unwrap();
        let rows = |table: &dyn TableSource| {
            (0..table.morsels())
                .map(|morsel| table.rows(morsel))
                .sum::<usize>()
        };
        assert_eq!(rows(opened.as_ref()), rows(tables.lineitem.as_ref()));
    }
}
