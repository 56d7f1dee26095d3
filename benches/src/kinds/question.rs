//! The queries, as text, and their answers by our engine.

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

/// Ten kinds of query over `lineitem`.
pub(super) const KINDS: [Question; 10] = [
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

/// Queries of ClickBench over `hits`, by their places in its list, which begins at 0. Orders have a
/// further key where rows are equal, so that each answer is the only one.
pub(super) const HITS: [Question; 12] = [
    question(
        "1, count of a filter",
        r#"select count(*) as n from hits where "AdvEngineID" <> 0"#,
    ),
    question(
        "2, sum, count, avg of all rows",
        r#"select sum("AdvEngineID") as engines, count(*) as n, avg("ResolutionWidth") as width from hits"#,
    ),
    question(
        "5, distinct phrases",
        r#"select count(distinct "SearchPhrase") as n from hits"#,
    ),
    question(
        "8, distinct users of a region",
        r#"select "RegionID", count(distinct "UserID") as u from hits group by "RegionID" order by u desc, "RegionID" limit 10"#,
    ),
    question(
        "9, four aggregates of a region",
        r#"select "RegionID", sum("AdvEngineID") as engines, count(*) as c, avg("ResolutionWidth") as width, count(distinct "UserID") as u from hits group by "RegionID" order by c desc, "RegionID" limit 10"#,
    ),
    question(
        "12, phrases",
        r#"select "SearchPhrase", count(*) as c from hits where "SearchPhrase" <> '' group by "SearchPhrase" order by c desc, "SearchPhrase" limit 10"#,
    ),
    question(
        "15, users",
        r#"select "UserID", count(*) as c from hits group by "UserID" order by c desc, "UserID" limit 10"#,
    ),
    question(
        "16, users and phrases",
        r#"select "UserID", "SearchPhrase", count(*) as c from hits group by "UserID", "SearchPhrase" order by c desc, "UserID", "SearchPhrase" limit 10"#,
    ),
    question(
        "20, URLs like '%google%'",
        r#"select count(*) as n from hits where "URL" like '%google%'"#,
    ),
    question(
        "21, phrases of URLs like '%google%'",
        r#"select "SearchPhrase", min("URL") as url, count(*) as c from hits where "URL" like '%google%' and "SearchPhrase" <> '' group by "SearchPhrase" order by c desc, "SearchPhrase" limit 10"#,
    ),
    question(
        "33, URLs",
        r#"select "URL", count(*) as c from hits group by "URL" order by c desc, "URL" limit 10"#,
    ),
    question(
        "36, URLs of a counter",
        r#"select "URL", count(*) as views from hits where "CounterID" = 62 and "EventDate" >= date '2013-07-01' and "EventDate" <= date '2013-07-31' and "DontCountHits" = 0 and "IsRefresh" = 0 and "URL" <> '' group by "URL" order by views desc, "URL" limit 10"#,
    ),
];

impl Question {
    pub(super) fn answer(&self, engine: &Engine) -> Result<Answer> {
        Answer::of(&engine.run(self.sql)?.result)
    }
}
