//! The ten queries, as text, and their answers by our engine.

use anyhow::Result;

use super::answer::Answer;
use crate::engine::Engine;
use crate::tpch::Q1;

#[derive(Debug)]
pub(super) struct Question {
    pub(super) name: &'static str,
    pub(super) sql: &'static str,
}

const fn question(name: &'static str, sql: &'static str) -> Question {
    Question { name, sql }
}

pub(super) const QUESTIONS: [Question; 10] = [
    question(
        "Q6",
        "select sum(l_extendedprice * l_discount) as revenue from lineitem where l_shipdate >= date \
         '1994-01-01' and l_shipdate < date '1995-01-01' and l_discount between 0.05 and 0.07 and \
         l_quantity < 24",
    ),
    question("Q1", Q1),
    question(
        "count, 5 filters",
        "select count(*) as n from lineitem where l_shipdate >= date '1995-01-01' and l_quantity < 30 \
         and l_discount >= 0.03 and l_tax < 0.06 and l_returnflag = 'N'",
    ),
    question(
        "rows, 3 columns of 3 filters",
        "select l_orderkey, l_partkey, l_extendedprice from lineitem where l_quantity < 3 and l_discount \
         >= 0.09 and l_shipdate < date '1996-01-01'",
    ),
    question(
        "group by supplier",
        "select l_suppkey, count(*) as n, sum(l_quantity) as quantity from lineitem group by l_suppkey",
    ),
    question(
        "min, max, avg of all rows",
        "select min(l_extendedprice) as least, max(l_extendedprice) as most, avg(l_extendedprice) as \
         mean from lineitem",
    ),
    question(
        "like '%special%', sum",
        "select sum(l_extendedprice) as price from lineitem where l_comment like '%special%'",
    ),
    question(
        "or of three",
        "select count(*) as n, sum(l_extendedprice) as price from lineitem where l_quantity < 3 or \
         l_discount = 0.10 or l_shipdate < date '1992-06-01'",
    ),
    question(
        "top 10 by price",
        "select l_orderkey, l_extendedprice from lineitem order by l_extendedprice desc, l_orderkey \
         limit 10",
    ),
    question(
        "group by two texts",
        "select l_shipmode, l_shipinstruct, count(*) as n, sum(l_extendedprice) as price from lineitem \
         group by l_shipmode, l_shipinstruct",
    ),
];

impl Question {
    pub(super) fn answer(&self, engine: &Engine) -> Result<Answer> {
        Answer::of(&engine.run(self.sql)?.result)
    }
}
