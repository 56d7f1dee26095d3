//! The queries that engines are asked.

/// The short query of `benches/queries.md`, over 150,000 rows.
pub(crate) const SHORT: &str =
    "select count(*) from customer where c_acctbal > 5000 and c_mktsegment = 'BUILDING'";

pub(crate) const SHORT_JOIN: &str = "select n_name, count(*) as n, sum(s_acctbal) as balance \
     from supplier join nation on s_nationkey = n_nationkey group by n_name order by n_name";

pub(crate) const TPCH: &[&str] = &[
    include_str!("../../tests/tpch/q01.sql"),
    include_str!("../../tests/tpch/q02.sql"),
    include_str!("../../tests/tpch/q03.sql"),
    include_str!("../../tests/tpch/q04.sql"),
    include_str!("../../tests/tpch/q05.sql"),
    include_str!("../../tests/tpch/q06.sql"),
    include_str!("../../tests/tpch/q07.sql"),
    include_str!("../../tests/tpch/q08.sql"),
    include_str!("../../tests/tpch/q09.sql"),
    include_str!("../../tests/tpch/q10.sql"),
    include_str!("../../tests/tpch/q11.sql"),
    include_str!("../../tests/tpch/q12.sql"),
    include_str!("../../tests/tpch/q13.sql"),
    include_str!("../../tests/tpch/q14.sql"),
    include_str!("../../tests/tpch/q15.sql"),
    include_str!("../../tests/tpch/q16.sql"),
    include_str!("../../tests/tpch/q17.sql"),
    include_str!("../../tests/tpch/q18.sql"),
    include_str!("../../tests/tpch/q19.sql"),
    include_str!("../../tests/tpch/q20.sql"),
    include_str!("../../tests/tpch/q21.sql"),
    include_str!("../../tests/tpch/q22.sql"),
];

pub(crate) fn heavy(name: &str) -> Option<&'static [&'static str]> {
    Some(match name {
        "q1" => &[Q1],
        "q3" => &[Q3],
        "q9" => &[Q9],
        "q18" => &[Q18],
        "q21" => &[Q21],
        "join" => &[JOIN],
        "groups" => &[GROUPS],
        "mix" => &[Q1, Q9, Q18, Q21],
        "builds" => &[JOIN, GROUPS],
        other => {
            let number: usize = other.strip_prefix('q')?.parse().ok()?;
            return TPCH.get(number.checked_sub(1)?..number);
        }
    })
}

const Q1: &str = "select l_returnflag, l_linestatus, sum(l_quantity) as sum_qty, \
     sum(l_extendedprice) as sum_base_price, sum(l_extendedprice * (1 - l_discount)) as sum_disc_price, \
     sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) as sum_charge, avg(l_quantity) as avg_qty, \
     avg(l_extendedprice) as avg_price, avg(l_discount) as avg_disc, count(*) as count_order \
     from lineitem where l_shipdate <= date '1998-09-02' \
     group by l_returnflag, l_linestatus order by l_returnflag, l_linestatus";

const Q3: &str = "select l_orderkey, sum(l_extendedprice * (1 - l_discount)) as revenue, o_orderdate, \
     o_shippriority from customer, orders, lineitem where c_mktsegment = 'BUILDING' \
     and c_custkey = o_custkey and l_orderkey = o_orderkey and o_orderdate < date '1995-03-15' \
     and l_shipdate > date '1995-03-15' group by l_orderkey, o_orderdate, o_shippriority \
     order by revenue desc, o_orderdate limit 10";

const Q9: &str = "select nation, o_year, sum(amount) as sum_profit from (select n_name as nation, \
     extract(year from o_orderdate) as o_year, \
     l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity as amount \
     from part, supplier, lineitem, partsupp, orders, nation where s_suppkey = l_suppkey \
     and ps_suppkey = l_suppkey and ps_partkey = l_partkey and p_partkey = l_partkey \
     and o_orderkey = l_orderkey and s_nationkey = n_nationkey and p_name like '%green%') as profit \
     group by nation, o_year order by nation, o_year desc";

const Q18: &str = "select c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity) \
     from customer, orders, lineitem where o_orderkey in (select l_orderkey from lineitem \
     group by l_orderkey having sum(l_quantity) > 300) and c_custkey = o_custkey \
     and o_orderkey = l_orderkey group by c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice \
     order by o_totalprice desc, o_orderdate limit 100";

const Q21: &str = "select s_name, count(*) as numwait from supplier, lineitem l1, orders, nation \
     where s_suppkey = l1.l_suppkey and o_orderkey = l1.l_orderkey and o_orderstatus = 'F' \
     and l1.l_receiptdate > l1.l_commitdate and exists (select * from lineitem l2 \
     where l2.l_orderkey = l1.l_orderkey and l2.l_suppkey <> l1.l_suppkey) \
     and not exists (select * from lineitem l3 where l3.l_orderkey = l1.l_orderkey \
     and l3.l_suppkey <> l1.l_suppkey and l3.l_receiptdate > l3.l_commitdate) \
     and s_nationkey = n_nationkey and n_name = 'SAUDI ARABIA' group by s_name \
     order by numwait desc, s_name limit 100";

/// The build side is all orders: 1.5 million rows at scale 1.
const JOIN: &str = "select count(*), sum(l_extendedprice) from orders, lineitem \
     where o_orderkey = l_orderkey and o_totalprice > l_extendedprice";

/// As many groups as orders: 1.5 million at scale 1.
const GROUPS: &str = "select count(*), max(total) from (select l_orderkey, sum(l_extendedprice) as total \
     from lineitem group by l_orderkey) as orders";
