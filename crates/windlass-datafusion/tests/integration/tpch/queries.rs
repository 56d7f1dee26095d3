//! The queries and their published answers, from the folder `tests/tpch`.

use crate::rows::words;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Query {
    name: &'static str,
    sql: &'static str,
    published: &'static str,
}

macro_rules! query {
    ($number:literal) => {
        Query {
            name: concat!("Q", $number),
            sql: include_str!(concat!("../../tpch/q", $number, ".sql")),
            published: include_str!(concat!("../../tpch/q", $number, ".txt")),
        }
    };
}

const ALL: [Query; 22] = [
    query!("01"),
    query!("02"),
    query!("03"),
    query!("04"),
    query!("05"),
    query!("06"),
    query!("07"),
    query!("08"),
    query!("09"),
    query!("10"),
    query!("11"),
    query!("12"),
    query!("13"),
    query!("14"),
    query!("15"),
    query!("16"),
    query!("17"),
    query!("18"),
    query!("19"),
    query!("20"),
    query!("21"),
    query!("22"),
];

impl Query {
    pub(crate) fn all() -> impl Iterator<Item = Query> {
        ALL.into_iter()
    }

    pub(crate) fn name(self) -> &'static str {
        self.name
    }

    pub(crate) fn sql(self) -> &'static str {
        self.sql
    }

    pub(crate) fn published(self) -> Vec<String> {
        self.published.lines().map(words).collect()
    }
}
