//! Conditions on texts that a reader answers: when it is asked, and what is read beside.

use std::sync::{Arc, Mutex};

use arrow::array::{Array as _, ArrayRef, AsArray as _, StringViewArray};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use columnar::{
    Comparison, Expr, MorselReader, Output, PassingTexts, ReadError, SelectPlan, SortKey, SpacedTexts,
    TableSource, TextCondition,
};

use crate::scan::{column, run_on, scan};

/// Two columns with the same texts in one morsel; notes what is asked.
#[derive(Debug)]
struct Searched {
    texts: StringViewArray,
    asked: Mutex<Vec<(&'static str, usize)>>,
}

impl Searched {
    fn new(texts: &[&str]) -> Arc<Self> {
        Arc::new(Self {
            texts: StringViewArray::from_iter_values(texts),
            asked: Mutex::default(),
        })
    }

    fn note(&self, what: &'static str, column: usize) {
        self.asked.lock().unwrap().push((what, column));
    }

    fn plan(self: &Arc<Self>, filter: Expr, columns: &[&str]) -> SelectPlan {
        let columns = columns
            .iter()
            .map(|name| ((*name).to_owned(), column(self.as_ref(), name)));
        let columns = columns.collect();
        scan(self.clone(), Some(filter), Output::Rows { columns })
    }

    /// The first column of the result, and what was asked for it.
    fn run(&self, plan: SelectPlan) -> (Vec<String>, Vec<(&'static str, usize)>) {
        self.asked.lock().unwrap().clear();
        let result = run_on(plan, 1).unwrap();
        let texts = result.column(0).as_string_view().iter();
        let texts = texts.map(|text| text.unwrap().to_owned()).collect();
        (texts, self.asked.lock().unwrap().clone())
    }

    fn like(&self, name: &str, text: &str) -> Expr {
        Expr::like(column(self, name), Expr::text(&format!("%{text}%")), false).unwrap()
    }
}

impl TableSource for Searched {
    fn name(&self) -> &str {
        "searched"
    }

    fn schema(&self) -> SchemaRef {
        let field = |name| Field::new(name, DataType::Utf8View, false);
        Arc::new(Schema::new(vec![field("a"), field("b")]))
    }

    fn morsels(&self) -> usize {
        1
    }

    fn rows(&self, _morsel: usize) -> usize {
        self.texts.len()
    }

    fn open(&self, _morsel: usize, _projection: &[usize]) -> Result<Box<dyn MorselReader + '_>, ReadError> {
        Ok(Box::new(Reader(self)))
    }
}

struct Reader<'a>(&'a Searched);

impl MorselReader for Reader<'_> {
    fn column(&mut self, column: usize) -> Result<ArrayRef, ReadError> {
        self.0.note("read", column);
        Ok(Arc::new(self.0.texts.clone()))
    }

    fn texts_where(
        &mut self,
        column: usize,
        condition: &dyn TextCondition,
    ) -> Result<Option<Box<dyn PassingTexts>>, ReadError> {
        self.0.note("searched", column);
        let texts = &self.0.texts;
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        for text in texts.iter().flatten() {
            bytes.extend(text.as_bytes());
            ends.push(bytes.len() as u32);
        }
        let rows = condition.answers(&SpacedTexts::new(&bytes, &ends, 0));
        let texts = texts.clone();
        Ok(Some(Box::new(Passing { rows, texts })))
    }
}

#[derive(Debug)]
struct Passing {
    rows: BooleanBuffer,
    texts: StringViewArray,
}

impl PassingTexts for Passing {
    fn rows(&self) -> &BooleanBuffer {
        &self.rows
    }

    fn texts(&self, rows: &mut dyn Iterator<Item = usize>) -> Option<ArrayRef> {
        let texts = rows.map(|row| self.rows.value(row).then(|| self.texts.value(row)));
        let texts: Option<Vec<&str>> = texts.collect();
        Some(Arc::new(StringViewArray::from_iter_values(texts?)))
    }

    fn bytes(&self) -> usize {
        0
    }
}

const TEXTS: [&str; 4] = ["a shop", "a cart", "the cart of a shop", "none"];

#[test]
fn a_column_that_is_searched_is_not_read() {
    let table = Searched::new(&TEXTS);
    let (found, asked) = table.run(table.plan(table.like("a", "shop"), &["a"]));
    assert_eq!(found, ["a shop", "the cart of a shop"]);
    assert_eq!(asked, [("searched", 0)]);
}

#[test]
fn conditions_on_one_column_are_searched_together() {
    let table = Searched::new(&TEXTS);
    let without = Expr::not(table.like("a", "cart")).unwrap();
    let both = Expr::and(table.like("a", "shop"), without).unwrap();
    let (found, asked) = table.run(table.plan(both, &["b", "a"]));
    assert_eq!(found, ["a shop"]);
    assert_eq!(asked, [("searched", 0), ("read", 1)]);
}

#[test]
fn texts_that_all_pass_are_not_read_again() {
    let table = Searched::new(&TEXTS[..3]);
    let (found, asked) = table.run(table.plan(table.like("a", "a"), &["a"]));
    assert_eq!(found, TEXTS[..3]);
    assert_eq!(asked, [("searched", 0)]);
}

#[test]
fn a_column_that_another_condition_reads_is_not_searched() {
    let table = Searched::new(&TEXTS);
    let (a, b) = (column(table.as_ref(), "a"), column(table.as_ref(), "b"));
    let same = Expr::compare(Comparison::Equal, a, b).unwrap();
    let both = Expr::and(table.like("a", "shop"), same).unwrap();
    let (found, asked) = table.run(table.plan(both, &["a"]));
    assert_eq!(found, ["a shop", "the cart of a shop"]);
    assert_eq!(asked, [("read", 0), ("read", 1)]);
}

#[test]
fn a_column_whose_greatest_values_are_looked_for_is_not_searched() {
    let table = Searched::new(&TEXTS);
    let a = column(table.as_ref(), "a");
    let mut plan = table.plan(table.like("a", "shop"), &["a"]);
    plan.order = vec![SortKey::new(a, true, false).unwrap()];
    let (found, asked) = table.run(plan.clone());
    assert_eq!(found, ["the cart of a shop", "a shop"]);
    assert_eq!(asked, [("searched", 0)], "all rows that pass are needed");
    plan.limit = Some(1);
    let (found, asked) = table.run(plan);
    assert_eq!(found, ["the cart of a shop"]);
    assert_eq!(asked, [("read", 0)]);
}
