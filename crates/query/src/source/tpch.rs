//! TPC-H tables without a file: `lineitem`, `orders`, `customer`.
//!
//! ```text
//!   orders 1 ‥ 16384 │ 16385 ‥ 32768 │ …     parts, cut by order numbers: a part is a morsel
//!        ▼                  ▼
//!   lineitem rows      lineitem rows         the generator can start anywhere, so parts are generated
//!                                            by whoever opens them, in any order, to the same values
//! ```
//!
//! A morsel is generated when it opens; [`TpchTable::load`] generates the columns a query reads in
//! a job and keeps them. Prices, discounts, taxes and quantities are `Decimal128(15, 2)`, dates
//! `Date32`, keys `Int64`, the rest `Utf8`. Comments are cut from a 300 MiB pool, which takes
//! seconds to make.

mod columns;
mod scale_factor;

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use arrow::array::ArrayRef;
use arrow::datatypes::{Schema, SchemaRef};
use columnar::{MORSEL_ROWS, MorselReader, ReadError, TableSource};
use pipeline_exec::{Job, Stage, StepCx, StepError};
use tpchgen::distribution::Distributions;
use tpchgen::generators::{CustomerGenerator, LineItemGenerator, OrderGenerator};
use tpchgen::text::TextPool;

use self::columns::{CUSTOMER, Columns, LINEITEM, ORDERS};
pub use self::scale_factor::{ScaleFactor, ScaleFactorError};
use super::ready_columns::ReadyColumns;
use crate::error::QueryError;
use crate::statistics::{JobStatistics, Metered};
use crate::work::Work;

/// A TPC-H table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TpchTableKind {
    /// `lineitem`: about 6,000,000 rows times the scale factor.
    Lineitem,
    /// `orders`: 1,500,000 rows times the scale factor.
    Orders,
    /// `customer`: 150,000 rows times the scale factor.
    Customer,
}

impl TpchTableKind {
    /// All tables.
    pub const ALL: [Self; 3] = [Self::Lineitem, Self::Orders, Self::Customer];

    /// The name in queries.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lineitem => "lineitem",
            Self::Orders => "orders",
            Self::Customer => "customer",
        }
    }

    /// Line items are counted by orders.
    fn units(self, scale: ScaleFactor) -> i64 {
        match self {
            Self::Lineitem | Self::Orders => OrderGenerator::calculate_row_count(scale.get(), 1, 1),
            Self::Customer => CustomerGenerator::calculate_row_count(scale.get(), 1, 1),
        }
    }

    fn units_per_part(self) -> i64 {
        let rows = i64::try_from(MORSEL_ROWS).expect("a morsel is small");
        match self {
            // An order has one to seven lines, four on average.
            Self::Lineitem => rows / 4,
            Self::Orders | Self::Customer => rows,
        }
    }

    fn columns(self) -> &'static [columns::Column] {
        match self {
            Self::Lineitem => LINEITEM,
            Self::Orders => ORDERS,
            Self::Customer => CUSTOMER,
        }
    }
}

/// A generated table.
pub struct TpchTable {
    kind: TpchTableKind,
    scale: ScaleFactor,
    schema: SchemaRef,
    rows: OnceLock<Arc<[usize]>>,
    loaded: OnceLock<Loaded>,
}

struct Loaded {
    projection: Vec<usize>,
    parts: Vec<Vec<ArrayRef>>,
}

impl TpchTable {
    /// The table at a scale factor, not generated yet.
    ///
    /// ```
    /// use columnar::TableSource;
    /// use query::source::{ScaleFactor, TpchTable, TpchTableKind};
    ///
    /// let table = TpchTable::new(TpchTableKind::Orders, ScaleFactor::new(0.1)?);
    /// assert_eq!((0..table.morsels()).map(|morsel| table.rows(morsel)).sum::<usize>(), 150_000);
    /// # Ok::<(), query::source::ScaleFactorError>(())
    /// ```
    pub fn new(kind: TpchTableKind, scale: ScaleFactor) -> Self {
        let schema = Arc::new(Schema::new(
            kind.columns()
                .iter()
                .map(columns::Column::field)
                .collect::<Vec<_>>(),
        ));
        Self {
            kind,
            scale,
            schema,
            rows: OnceLock::new(),
            loaded: OnceLock::new(),
        }
    }

    /// Whether `name` in a query means this table.
    pub fn is_called(&self, name: &str) -> bool {
        self.kind.name().eq_ignore_ascii_case(name)
    }

    fn loaded_with(&self, projection: &[usize]) -> Option<&Loaded> {
        let loaded = self.loaded.get()?;
        let has = |column| loaded.projection.contains(column);
        projection.iter().all(has).then_some(loaded)
    }

    fn parts(&self) -> &Arc<[usize]> {
        self.rows
            .get_or_init(|| rows_of_parts(self.kind, self.scale).into())
    }

    /// Generates the columns `projection`, in ascending order, and keeps them in memory. The first
    /// call returns what each worker did, later calls `None`.
    ///
    /// # Errors
    ///
    /// Why `work` stops or cannot run.
    pub fn load(&self, projection: &[usize], work: &Work) -> Result<Option<JobStatistics>, QueryError> {
        work.block_on(self.load_async(projection, work))
    }

    pub(crate) async fn load_async(
        &self,
        projection: &[usize],
        work: &Work,
    ) -> Result<Option<JobStatistics>, QueryError> {
        if self.loaded.get().is_some() {
            return Ok(None);
        }
        let run = work.begin(format!("generating {}", self.kind.name()))?;
        let (kind, scale) = (self.kind, self.scale);
        if self.rows.get().is_none() {
            // Counting takes seconds at a large scale, so no polling thread does it.
            let count = run
                .limited(Job::builder(kind.name()))
                .output(move |_cx| Ok(rows_of_parts(kind, scale)));
            let counted = run.job(count.build()).await?;
            let _ = self.rows.set(counted.output.into());
        }
        let stage = Arc::new(Generate {
            kind,
            scale,
            projection: projection.to_vec(),
            parts: self.parts().iter().map(|_| OnceLock::new()).collect(),
        });
        let rows = Arc::clone(self.parts());
        let metered = Arc::new(Metered::new(stage.clone(), move |part| rows[part]));
        let job = run.limited(Job::builder(self.kind.name())).stage(metered.clone());
        let report = run.job(job.output(move |_cx| stage.parts()).build()).await?;
        let statistics = JobStatistics::new(
            format!("generate {}", self.kind.name()),
            &report,
            metered.workers(),
        );
        // A concurrent caller's columns serve as well.
        let _ = self.loaded.set(Loaded {
            projection: projection.to_vec(),
            parts: report.output,
        });
        Ok(Some(statistics))
    }
}

impl TableSource for TpchTable {
    fn name(&self) -> &str {
        self.kind.name()
    }

    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn morsels(&self) -> usize {
        self.parts().len()
    }

    fn rows(&self, morsel: usize) -> usize {
        self.parts()[morsel]
    }

    fn is_loaded(&self, projection: &[usize]) -> bool {
        self.loaded_with(projection).is_some()
    }

    fn open(&self, morsel: usize, projection: &[usize]) -> Result<Box<dyn MorselReader + '_>, ReadError> {
        let columns = match self.loaded_with(projection) {
            Some(loaded) => ReadyColumns::new(&loaded.projection, loaded.parts[morsel].iter().cloned()),
            None => {
                let arrays = generate(self.kind, self.scale, morsel, self.parts().len(), projection);
                ReadyColumns::made(projection, arrays)
            }
        };
        Ok(Box::new(columns))
    }
}

impl fmt::Debug for TpchTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TpchTable")
            .field("kind", &self.kind)
            .field("scale", &self.scale)
            .field("loaded", &self.loaded.get().map(|loaded| &loaded.projection))
            .finish_non_exhaustive()
    }
}

struct Generate {
    kind: TpchTableKind,
    scale: ScaleFactor,
    projection: Vec<usize>,
    parts: Vec<OnceLock<Vec<ArrayRef>>>,
}

impl Generate {
    fn parts(&self) -> Result<Vec<Vec<ArrayRef>>, StepError> {
        let parts = self.parts.iter().map(|part| part.get().cloned());
        Ok(parts.collect::<Option<_>>().ok_or("a part was not generated")?)
    }
}

impl Stage for Generate {
    fn name(&self) -> &str {
        "generate"
    }

    fn slots(&self) -> usize {
        self.parts.len()
    }

    fn run(&self, slot: usize, _cx: &StepCx<'_>) -> Result<(), StepError> {
        let arrays = generate(self.kind, self.scale, slot, self.parts.len(), &self.projection);
        assert!(self.parts[slot].set(arrays).is_ok(), "each slot runs once");
        Ok(())
    }
}

fn generate(
    kind: TpchTableKind,
    scale: ScaleFactor,
    part: usize,
    parts: usize,
    projection: &[usize],
) -> Vec<ArrayRef> {
    let distributions = Distributions::static_default();
    let text = text_pool(kind, projection);
    let number = |n: usize| i32::try_from(n).expect("the scale factor bounds the number of parts");
    let (part, parts) = (number(part + 1), number(parts));
    let mut columns = Columns::new(kind.columns(), projection);
    let scale = scale.get();
    match kind {
        TpchTableKind::Lineitem => {
            let rows = LineItemGenerator::new_with_distributions_and_text_pool(
                scale,
                part,
                parts,
                distributions,
                text,
            );
            rows.iter().for_each(|row| columns.push_lineitem(&row));
        }
        TpchTableKind::Orders => {
            let rows =
                OrderGenerator::new_with_distributions_and_text_pool(scale, part, parts, distributions, text);
            rows.iter().for_each(|row| columns.push_order(&row));
        }
        TpchTableKind::Customer => {
            let rows = CustomerGenerator::new_with_distributions_and_text_pool(
                scale,
                part,
                parts,
                distributions,
                text,
            );
            rows.iter().for_each(|row| columns.push_customer(&row));
        }
    }
    columns.finish()
}

/// Comments have their own random streams, so a small pool serves if no comment is read.
fn text_pool(kind: TpchTableKind, projection: &[usize]) -> &'static TextPool {
    static SMALL: OnceLock<TextPool> = OnceLock::new();
    if projection
        .iter()
        .any(|&column| kind.columns()[column].is_comment())
    {
        TextPool::get_or_init_default()
    } else {
        SMALL.get_or_init(|| TextPool::new(64 << 10, Distributions::static_default()))
    }
}

/// An order's line count comes from its own random stream.
fn rows_of_parts(kind: TpchTableKind, scale: ScaleFactor) -> Vec<usize> {
    let units = kind.units(scale);
    if units == 0 {
        return Vec::new();
    }
    let parts = (units + kind.units_per_part() - 1) / kind.units_per_part();
    let ranges = (0..parts).map(|part| {
        // As the generator: equal parts, and the last takes the remainder.
        let start = units / parts * part;
        let end = if part + 1 == parts {
            units
        } else {
            units / parts * (part + 1)
        };
        start..end
    });
    let mut lines = OrderGenerator::create_line_count_random();
    let mut rows = |range: Range<i64>| -> i64 {
        match kind {
            TpchTableKind::Orders | TpchTableKind::Customer => range.end - range.start,
            TpchTableKind::Lineitem => range
                .map(|_| {
                    let count = lines.next_value();
                    lines.row_finished();
                    i64::from(count)
                })
                .sum(),
        }
    };
    ranges
        .map(|range| usize::try_from(rows(range)).expect("a part is small"))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::task::{Context, Waker};

    use arrow::array::AsArray;
    use arrow::datatypes::{Date32Type, Decimal128Type, Int64Type};
    use pools::Pools;

    use super::*;

    fn table(kind: TpchTableKind, scale: f64) -> TpchTable {
        TpchTable::new(kind, ScaleFactor::new(scale).unwrap())
    }

    #[test]
    fn every_part_has_the_rows_that_were_announced() {
        for kind in TpchTableKind::ALL {
            for scale in [0.001, 0.013, 0.05] {
                let table = table(kind, scale);
                for morsel in 0..table.morsels() {
                    let keys = table.open(morsel, &[0]).unwrap().column(0).unwrap();
                    assert_eq!(keys.len(), table.rows(morsel), "{kind:?} {scale} {morsel}");
                }
            }
        }
    }

    #[test]
    fn rows_are_counted_on_a_cpu_worker_and_not_by_the_thread_that_polls() {
        let pools = Pools::builder().cpu_threads(1).cpu_spares(0);
        let pools = pools.build().expect("in range");
        let (begin, begun) = mpsc::channel();
        let (open, gate) = mpsc::channel::<()>();
        let held = pools.cpu().run(move |_cx| {
            begin.send(()).expect("the test waits");
            gate.recv().expect("the test opens it");
        });
        begun.recv().expect("the worker runs it");
        let (table, work) = (table(TpchTableKind::Lineitem, 0.001), Work::new(&pools));
        let answer = pools.mixed().block_on(async {
            let mut load = std::pin::pin!(table.load_async(&[0], &work));
            let mut context = Context::from_waker(Waker::noop());
            assert!(load.as_mut().poll(&mut context).is_pending());
            assert!(table.rows.get().is_none(), "the worker is held");
            open.send(()).expect("the worker waits");
            load.await
        });
        let statistics = answer.expect("a plain thread").expect("nothing stops it");
        assert!(statistics.is_some() && table.rows.get().is_some());
        held.wait().expect("it ran");
    }

    #[test]
    fn line_items_are_those_of_the_benchmark() {
        let table = table(TpchTableKind::Lineitem, 1.0);
        let mut reader = table.open(0, &[0, 1, 4, 5, 6, 8, 10, 14]).unwrap();
        assert_eq!(reader.column(0).unwrap().as_primitive::<Int64Type>().value(0), 1);
        assert_eq!(
            reader.column(1).unwrap().as_primitive::<Int64Type>().value(0),
            155_190
        );
        assert_eq!(
            reader
                .column(4)
                .unwrap()
                .as_primitive::<Decimal128Type>()
                .value(0),
            1_700
        );
        assert_eq!(
            reader
                .column(5)
                .unwrap()
                .as_primitive::<Decimal128Type>()
                .value(0),
            2_116_823
        );
        assert_eq!(
            reader
                .column(6)
                .unwrap()
                .as_primitive::<Decimal128Type>()
                .value(0),
            4
        );
        assert_eq!(reader.column(8).unwrap().as_string::<i32>().value(0), "N");
        // 1996-03-13.
        assert_eq!(
            reader.column(10).unwrap().as_primitive::<Date32Type>().value(0),
            9_568
        );
        assert_eq!(reader.column(14).unwrap().as_string::<i32>().value(0), "TRUCK");
        assert_eq!(
            (0..table.morsels())
                .map(|morsel| table.rows(morsel))
                .sum::<usize>(),
            6_001_215
        );
    }

    #[test]
    fn a_small_pool_of_text_changes_no_other_column() {
        for kind in TpchTableKind::ALL {
            let table = table(kind, 0.001);
            let others: Vec<usize> = (0..kind.columns().len())
                .filter(|&column| !kind.columns()[column].is_comment())
                .collect();
            let all: Vec<usize> = (0..kind.columns().len()).collect();
            let (mut without, mut with) = (table.open(0, &others).unwrap(), table.open(0, &all).unwrap());
            for column in others {
                assert_eq!(&without.column(column).unwrap(), &with.column(column).unwrap());
            }
        }
    }
}
