//! Turns generated rows into columns, only those that are read.

use std::fmt::Write;
use std::sync::Arc;

use arrow::array::{ArrayRef, Date32Builder, Decimal128Builder, Int32Builder, Int64Builder, StringBuilder};
use arrow::datatypes::{DataType, Field};
use tpchgen::dates::TPCHDate;
use tpchgen::decimal::TPCHDecimal;
use tpchgen::generators::{Customer, LineItem, Order};

/// A column without NULLs.
#[derive(Debug)]
pub(super) struct Column {
    name: &'static str,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Key,
    Number,
    Decimal,
    Date,
    Text,
}

impl Column {
    pub(super) fn field(&self) -> Field {
        let data_type = match self.kind {
            Kind::Key => DataType::Int64,
            Kind::Number => DataType::Int32,
            Kind::Decimal => DataType::Decimal128(15, 2),
            Kind::Date => DataType::Date32,
            Kind::Text => DataType::Utf8,
        };
        Field::new(self.name, data_type, false)
    }

    pub(super) fn is_comment(&self) -> bool {
        self.name.ends_with("_comment")
    }
}

const fn column(name: &'static str, kind: Kind) -> Column {
    Column { name, kind }
}

pub(super) const LINEITEM: &[Column] = &[
    column("l_orderkey", Kind::Key),
    column("l_partkey", Kind::Key),
    column("l_suppkey", Kind::Key),
    column("l_linenumber", Kind::Number),
    column("l_quantity", Kind::Decimal),
    column("l_extendedprice", Kind::Decimal),
    column("l_discount", Kind::Decimal),
    column("l_tax", Kind::Decimal),
    column("l_returnflag", Kind::Text),
    column("l_linestatus", Kind::Text),
    column("l_shipdate", Kind::Date),
    column("l_commitdate", Kind::Date),
    column("l_receiptdate", Kind::Date),
    column("l_shipinstruct", Kind::Text),
    column("l_shipmode", Kind::Text),
    column("l_comment", Kind::Text),
];

pub(super) const ORDERS: &[Column] = &[
    column("o_orderkey", Kind::Key),
    column("o_custkey", Kind::Key),
    column("o_orderstatus", Kind::Text),
    column("o_totalprice", Kind::Decimal),
    column("o_orderdate", Kind::Date),
    column("o_orderpriority", Kind::Text),
    column("o_clerk", Kind::Text),
    column("o_shippriority", Kind::Number),
    column("o_comment", Kind::Text),
];

pub(super) const CUSTOMER: &[Column] = &[
    column("c_custkey", Kind::Key),
    column("c_name", Kind::Text),
    column("c_address", Kind::Text),
    column("c_nationkey", Kind::Key),
    column("c_phone", Kind::Text),
    column("c_acctbal", Kind::Decimal),
    column("c_mktsegment", Kind::Text),
    column("c_comment", Kind::Text),
];

#[derive(Debug)]
pub(super) struct Columns {
    builders: Vec<(usize, Builder)>,
}

#[derive(Debug)]
enum Builder {
    Key(Int64Builder),
    Number(Int32Builder),
    Decimal(Decimal128Builder),
    Date(Date32Builder),
    Text(StringBuilder),
}

impl Builder {
    fn key(&mut self, value: i64) {
        let Self::Key(builder) = self else {
            unreachable!("not a key column")
        };
        builder.append_value(value);
    }

    fn number(&mut self, value: i32) {
        let Self::Number(builder) = self else {
            unreachable!("not a number column")
        };
        builder.append_value(value);
    }

    fn decimal(&mut self, value: TPCHDecimal) {
        let Self::Decimal(builder) = self else {
            unreachable!("not a decimal column")
        };
        builder.append_value(i128::from(value.into_inner()));
    }

    fn date(&mut self, value: TPCHDate) {
        let Self::Date(builder) = self else {
            unreachable!("not a date column")
        };
        builder.append_value(value.to_unix_epoch());
    }

    fn text(&mut self, value: &str) {
        let Self::Text(builder) = self else {
            unreachable!("not a text column")
        };
        builder.append_value(value);
    }

    fn display(&mut self, value: impl std::fmt::Display) {
        let Self::Text(builder) = self else {
            unreachable!("not a text column")
        };
        write!(builder, "{value}").expect("writing into memory");
        builder.append_value("");
    }

    fn finish(self) -> ArrayRef {
        match self {
            Self::Key(mut builder) => Arc::new(builder.finish()),
            Self::Number(mut builder) => Arc::new(builder.finish()),
            Self::Decimal(mut builder) => Arc::new(builder.finish()),
            Self::Date(mut builder) => Arc::new(builder.finish()),
            Self::Text(mut builder) => Arc::new(builder.finish()),
        }
    }
}

impl Columns {
    pub(super) fn new(table: &[Column], projection: &[usize]) -> Self {
        let builders = projection.iter().map(|&index| {
            let builder = match table[index].kind {
                Kind::Key => Builder::Key(Int64Builder::new()),
                Kind::Number => Builder::Number(Int32Builder::new()),
                Kind::Decimal => {
                    let data_type = table[index].field().data_type().clone();
                    Builder::Decimal(Decimal128Builder::new().with_data_type(data_type))
                }
                Kind::Date => Builder::Date(Date32Builder::new()),
                Kind::Text => Builder::Text(StringBuilder::new()),
            };
            (index, builder)
        });
        Self {
            builders: builders.collect(),
        }
    }

    pub(super) fn push_lineitem(&mut self, row: &LineItem<'_>) {
        for (column, builder) in &mut self.builders {
            match column {
                0 => builder.key(row.l_orderkey),
                1 => builder.key(row.l_partkey),
                2 => builder.key(row.l_suppkey),
                3 => builder.number(row.l_linenumber),
                // The generated quantity is a whole number.
                4 => builder.decimal(TPCHDecimal::new(row.l_quantity * 100)),
                5 => builder.decimal(row.l_extendedprice),
                6 => builder.decimal(row.l_discount),
                7 => builder.decimal(row.l_tax),
                8 => builder.text(row.l_returnflag),
                9 => builder.text(row.l_linestatus),
                10 => builder.date(row.l_shipdate),
                11 => builder.date(row.l_commitdate),
                12 => builder.date(row.l_receiptdate),
                13 => builder.text(row.l_shipinstruct),
                14 => builder.text(row.l_shipmode),
                15 => builder.text(row.l_comment),
                other => unreachable!("lineitem has no column {other}"),
            }
        }
    }

    pub(super) fn push_order(&mut self, row: &Order<'_>) {
        for (column, builder) in &mut self.builders {
            match column {
                0 => builder.key(row.o_orderkey),
                1 => builder.key(row.o_custkey),
                2 => builder.text(row.o_orderstatus.as_str()),
                3 => builder.decimal(row.o_totalprice),
                4 => builder.date(row.o_orderdate),
                5 => builder.text(row.o_orderpriority),
                6 => builder.display(row.o_clerk),
                7 => builder.number(row.o_shippriority),
                8 => builder.text(row.o_comment),
                other => unreachable!("orders has no column {other}"),
            }
        }
    }

    pub(super) fn push_customer(&mut self, row: &Customer<'_>) {
        for (column, builder) in &mut self.builders {
            match column {
                0 => builder.key(row.c_custkey),
                1 => builder.display(row.c_name),
                2 => builder.display(&row.c_address),
                3 => builder.key(row.c_nationkey),
                4 => builder.display(&row.c_phone),
                5 => builder.decimal(row.c_acctbal),
                6 => builder.text(row.c_mktsegment),
                7 => builder.text(row.c_comment),
                other => unreachable!("customer has no column {other}"),
            }
        }
    }

    pub(super) fn finish(self) -> Vec<ArrayRef> {
        self.builders
            .into_iter()
            .map(|(_, builder)| builder.finish())
            .collect()
    }
}
