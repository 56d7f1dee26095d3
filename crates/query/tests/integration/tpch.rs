//! The published answers of TPC-H at scale 1, from generated rows, from Parquet and from CSV.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow::array::RecordBatch;
use columnar::TableSource;
use parquet::arrow::ArrowWriter;
use query::output::{OutputFormat, render};
use query::source::{self, ScaleFactor, TpchTable, TpchTableKind};
use query::{QueryPlanner, QueryResult, Work};

use crate::folder::Folder;
use crate::run::{Cell, Row, assert_same_bits, catalog, executors, query, rows};

const Q1: &str = "
    select l_returnflag, l_linestatus, sum(l_quantity) as sum_qty, sum(l_extendedprice) as sum_base_price,
        sum(l_extendedprice * (1 - l_discount)) as sum_disc_price,
        sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) as sum_charge,
        avg(l_quantity) as avg_qty, avg(l_extendedprice) as avg_price, avg(l_discount) as avg_disc,
        count(*) as count_order
    from lineitem
    where l_shipdate <= date '1998-12-01' - interval '90' day
    group by l_returnflag, l_linestatus
    order by l_returnflag, l_linestatus";

const Q6: &str = "
    select sum(l_extendedprice * l_discount) as revenue
    from lineitem
    where l_shipdate >= date '1994-01-01' and l_shipdate < date '1994-01-01' + interval '1' year
        and l_discount between 0.06 - 0.01 and 0.06 + 0.01 and l_quantity < 24";

const COLUMNS: [usize; 7] = [4, 5, 6, 7, 8, 9, 10];

/// Averages are rounded to two digits.
const Q1_ANSWER: [&str; 4] = [
    "A|F|37734107.00|56586554400.73|53758257134.8700|55909065222.827692|25.52|38273.13|0.05|1478493",
    "N|F|991417.00|1487504710.38|1413082168.0541|1469649223.194375|25.52|38284.47|0.05|38854",
    "N|O|74476040.00|111701729697.74|106118230307.6056|110367043872.497010|25.50|38249.12|0.05|2920374",
    "R|F|37719753.00|56568041380.90|53741292684.6040|55889619119.831932|25.51|38250.85|0.05|1478870",
];
const Q6_ANSWER: &str = "123141078.2283";

fn scale(factor: f64) -> ScaleFactor {
    ScaleFactor::new(factor).expect("a sensible scale")
}

fn lineitem(factor: f64, executor: &Work) -> Arc<TpchTable> {
    let table = TpchTable::new(TpchTableKind::Lineitem, scale(factor));
    table.load(&COLUMNS, executor).expect("generates");
    Arc::new(table)
}

fn decimal(text: &str) -> Cell {
    let (whole, fraction) = text.split_once('.').expect("a decimal");
    Cell::Decimal(
        format!("{whole}{fraction}").parse().expect("digits"),
        fraction.len() as u32,
    )
}

/// A sum may come as an integer where the file had no decimals.
fn published(row: &Row) -> String {
    let field = |(index, cell): (usize, &Cell)| match cell {
        Cell::Text(text) => text.clone(),
        Cell::Int(value) => value.to_string(),
        Cell::Float(value) => format!("{value:.2}"),
        Cell::Decimal(..) => {
            let text = Q1_ANSWER
                .iter()
                .map(|line| line.split('|').nth(index).expect("ten fields"));
            text.map(str::to_owned)
                .find(|text| decimal(text) == *cell)
                .unwrap_or_else(|| format!("{cell:?}"))
        }
        other => format!("{other:?}"),
    };
    row.iter().enumerate().map(field).collect::<Vec<_>>().join("|")
}

fn assert_published(q1: &QueryResult, q6: &QueryResult, what: &str) {
    assert_eq!(
        rows(q1).iter().map(published).collect::<Vec<_>>(),
        Q1_ANSWER,
        "Q1 from {what}"
    );
    assert_eq!(rows(q6), [[decimal(Q6_ANSWER)]], "Q6 from {what}");
}

fn write_parquet(table: &TpchTable, folder: &Path) {
    let schema = Arc::new(table.schema().project(&COLUMNS).expect("columns of the table"));
    let middle = table.morsels() / 2;
    for (name, morsels) in [("a.parquet", 0..middle), ("b.parquet", middle..table.morsels())] {
        let file = File::create(folder.join(name)).expect("a file");
        let mut writer = ArrowWriter::try_new(file, schema.clone(), None).expect("a writer");
        for morsel in morsels {
            writer.write(&batch(table, morsel)).expect("a batch");
        }
        writer.close().expect("a footer");
    }
}

fn batch(table: &TpchTable, morsel: usize) -> RecordBatch {
    let schema = Arc::new(table.schema().project(&COLUMNS).expect("columns of the table"));
    let mut reader = table.open(morsel, &COLUMNS).expect("in memory");
    let columns = COLUMNS.map(|column| reader.column(column).expect("in memory"));
    RecordBatch::try_new(schema, columns.to_vec()).expect("columns of one length")
}

fn write_csv(table: &TpchTable, path: &Path) {
    use std::io::Write;
    let mut file = std::io::BufWriter::new(File::create(path).expect("a file"));
    for morsel in 0..table.morsels() {
        let batch = batch(table, morsel);
        let result = QueryResult {
            schema: batch.schema(),
            batches: vec![batch],
        };
        let text = render(&result, OutputFormat::Csv).expect("text");
        let header = text.iter().position(|&byte| byte == b'\n').expect("a header") + 1;
        file.write_all(if morsel == 0 { &text } else { &text[header..] })
            .expect("a disk with room");
    }
    file.flush().expect("a disk with room");
}

#[test]
fn published_answers_from_generated_rows_parquet_and_csv_with_any_number_of_threads() {
    let executors = executors();
    let folder = Folder::new();
    let generated = lineitem(1.0, &executors[1]);
    std::fs::create_dir(folder.path("lineitem")).expect("a folder");
    write_parquet(&generated, &folder.path("lineitem"));
    write_csv(&generated, &folder.path("lineitem.csv"));
    let sources: [(&str, Arc<dyn TableSource>); 3] = [
        ("generated rows", generated),
        (
            "Parquet",
            source::open("lineitem", folder.path("lineitem"), &executors[1]).expect("opens"),
        ),
        (
            "CSV",
            source::open("lineitem", folder.path("lineitem.csv"), &executors[1]).expect("opens"),
        ),
    ];
    for (what, table) in sources {
        let tables = catalog(table);
        let answers: Vec<(QueryResult, QueryResult)> = executors
            .iter()
            .map(|executor| {
                let answer =
                    |sql| query(sql, &tables, executor).unwrap_or_else(|error| panic!("{what}: {error}"));
                (answer(Q1), answer(Q6))
            })
            .collect();
        let (q1, q6) = &answers[0];
        assert_published(q1, q6, what);
        for (other_q1, other_q6) in &answers[1..] {
            assert_same_bits(q1, other_q1, what);
            assert_same_bits(q6, other_q6, what);
        }
    }
}

#[test]
fn a_table_that_is_generated_while_it_is_read_gives_the_same_as_one_in_memory() {
    let executor = &executors()[1];
    let loaded = catalog(lineitem(0.01, executor));
    let streamed = catalog(Arc::new(TpchTable::new(TpchTableKind::Lineitem, scale(0.01))));
    for sql in [Q1, Q6] {
        let (loaded, streamed) = (
            query(sql, &loaded, executor).unwrap(),
            query(sql, &streamed, executor).unwrap(),
        );
        assert_same_bits(&loaded, &streamed, sql);
    }
}

#[test]
fn a_plan_names_the_columns_that_have_to_be_loaded() {
    let table = Arc::new(TpchTable::new(TpchTableKind::Lineitem, scale(0.01)));
    let plan = QueryPlanner::plan(Q1, &catalog(table)).unwrap();
    let mut columns = plan.columns();
    columns.sort_unstable();
    assert_eq!(columns, COLUMNS);
}
