//! The rows, the queries and their answers.
//!
//! A column for each kind of key and one of values. `order` is like `l_orderkey` in TPC-H: a
//! quarter as many keys as rows, ascending, one to seven rows each. Other keys are random; a hot
//! key has half of the rows.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use columnar::MemoryTable;
use parquet::arrow::ArrowWriter;
use serde::Serialize;

/// Groups in an answer, about.
const ANSWER_ROWS: usize = 100;

const HOT: i64 = 7;

#[derive(Debug)]
pub(crate) struct Rows {
    pub(crate) table: Arc<MemoryTable>,
    pub(crate) queries: Vec<Query>,
    batch: RecordBatch,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Query {
    pub(crate) name: &'static str,
    column: &'static str,
    pub(crate) sql: String,
    /// Key, sum and count of each group, in ascending order.
    pub(crate) answer: Vec<[i64; 3]>,
}

/// The peers' input, as a file.
#[derive(Serialize)]
struct Told<'a> {
    tables: HashMap<&'static str, PathBuf>,
    queries: [&'a Query; 1],
}

impl Rows {
    pub(crate) fn new(rows: usize) -> anyhow::Result<Self> {
        let mut random = Random(1);
        let values: Vec<i64> = (0..rows).map(|_| random.below(1_000_000)).collect();
        let many = (rows / 4).max(1);
        let mut spread = |keys: usize| -> Vec<i64> { (0..rows).map(|_| random.below(keys)).collect() };
        let kinds = [
            ("4", "few", spread(4)),
            ("10 k", "thousands", spread(10_000)),
            ("200 k", "parts", spread(200_000)),
            ("1.5 M, in runs (`l_orderkey`)", "orders", runs(rows)),
            ("1.5 M, spread", "many", spread(many)),
            ("6 M", "rows_of_one", shuffled(rows)),
        ];
        let hot = [
            ("10 k, one hot", "thousands_hot"),
            ("1.5 M, one hot", "many_hot"),
            ("6 M, one hot", "rows_of_one_hot"),
        ];
        let mut columns: Vec<(&'static str, &'static str, Vec<i64>)> = kinds.into();
        for ((name, column), like) in hot.into_iter().zip([1, 4, 5]) {
            let keys = columns[like].2.clone();
            let mut coin = Random(4);
            let keys = keys
                .into_iter()
                .map(|key| if coin.below(2) == 0 { HOT } else { key });
            columns.push((name, column, keys.collect()));
        }
        let queries = columns
            .iter()
            .map(|&(name, column, ref keys)| Query::new(name, column, keys, &values))
            .collect();
        let array = |values: Vec<i64>| Arc::new(Int64Array::from(values)) as ArrayRef;
        let columns = columns.into_iter().map(|(_, column, keys)| (column, array(keys)));
        let batch = RecordBatch::try_from_iter(columns.chain([("v", array(values))]))?;
        Ok(Self {
            table: Arc::new(MemoryTable::try_new("t", batch.schema(), [batch.clone()])?),
            queries,
            batch,
        })
    }

    /// Writes the peers' input. Returns the path of the file that names the others.
    pub(crate) fn write(&self, query: &Query, folder: &Path) -> anyhow::Result<PathBuf> {
        std::fs::create_dir(folder)?;
        let rows = folder.join("t.parquet");
        let columns = [query.column, "v"].map(|name| self.batch.schema().index_of(name));
        let batch = self
            .batch
            .project(&columns.into_iter().collect::<Result<Vec<_>, _>>()?)?;
        let mut writer = ArrowWriter::try_new(File::create(&rows)?, batch.schema(), None)?;
        writer.write(&batch)?;
        writer.close()?;
        let told = Told {
            tables: [("t", rows)].into(),
            queries: [query],
        };
        let path = folder.join("workload.json");
        serde_json::to_writer(File::create(&path)?, &told)?;
        Ok(path)
    }
}

impl Query {
    /// Computes the answer by a plain loop.
    fn new(name: &'static str, column: &'static str, keys: &[i64], values: &[i64]) -> Self {
        let mut groups: HashMap<i64, [i64; 2]> = HashMap::new();
        for (&key, &value) in keys.iter().zip(values) {
            let [sum, count] = groups.entry(key).or_default();
            *sum += value;
            *count += 1;
        }
        let mut sums: Vec<i64> = groups.values().map(|[sum, _]| *sum).collect();
        sums.sort_unstable_by_key(|&sum| std::cmp::Reverse(sum));
        let least = sums.get(ANSWER_ROWS).copied().unwrap_or(-1);
        let mut answer: Vec<[i64; 3]> = groups
            .into_iter()
            .filter(|(_, [sum, _])| *sum > least)
            .map(|(key, [sum, count])| [key, sum, count])
            .collect();
        answer.sort_unstable();
        Self {
            name,
            column,
            sql: format!(
                "select {column}, sum(v), count(*) from t group by {column} having sum(v) > {least}"
            ),
            answer,
        }
    }
}

/// One to seven rows for each key.
fn runs(rows: usize) -> Vec<i64> {
    let mut random = Random(2);
    let mut keys = Vec::with_capacity(rows);
    let mut key = 0;
    while keys.len() < rows {
        let lines = 1 + random.below(7) as usize;
        keys.extend(std::iter::repeat_n(key, lines.min(rows - keys.len())));
        key += 1;
    }
    keys
}

fn shuffled(rows: usize) -> Vec<i64> {
    let mut random = Random(3);
    let mut keys: Vec<i64> = (0..rows as i64).collect();
    for at in (1..rows).rev() {
        keys.swap(at, random.below(at + 1) as usize);
    }
    keys
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> i64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(x ^ x >> 31) * bound as u128) >> 64) as i64
    }
}
