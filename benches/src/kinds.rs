//! Ten kinds of query over `lineitem`, and queries of ClickBench over `hits`, from a Parquet file and
//! from memory, in our engine and in others.
//!
//! Each engine has the same rows, SQL and number of threads, and a process of its own a round. Each
//! answer is compared with ours from generated rows, which is known before a clock runs.

mod answer;
pub(crate) mod concurrent;
mod data;
mod hits;
mod question;
mod setup;

use std::rc::Rc;

use anyhow::Result;

use crate::THREADS;
use crate::bench::{About, Bench};
use crate::options::Options;
use crate::peer::{ENGINES, OURS, Peer};
use crate::target::{ALL_PEERS, Of, Target};
use crate::workload::{Column, Workload};
use data::{ROWS, SCALE};
use question::Question;
use setup::{Asking, Limit, Ours, Place, Setup, TABLES};

pub(crate) use data::Data;

/// Runs of a query in a round.
const RUNS: usize = 5;

/// The greatest ratio of our time to the best peer's.
const AIM: f64 = 0.7;
/// The least ratio of our time on one thread to that on two.
const SPEED_UP: f64 = 1.85;
/// Milliseconds from which it is asked: shorter queries are bound by waking a thread.
const SPEED_UP_FROM: f64 = 20.0;
/// The greatest ratio of our peak of memory to the least peer's.
const PEAK_AIM: f64 = 1.1;
/// The column of the peaks.
const PEAK: usize = 2;
const ON_ONE_THREAD: &str = "windlass, one thread";
const OUR_ROWS: [Ours; 2] = [(OURS, THREADS), (ON_ONE_THREAD, 1)];

const PAGES: Limit = ("pages read and decompressed", "pages");
const BY_HAND: Limit = ("loop by hand", "loop");
const MEMCPY: Limit = ("memcpy of the columns", "memcpy");

pub(crate) struct Kinds(pub(crate) Data);

impl Bench for Kinds {
    fn about(&self) -> &'static About {
        match self.0 {
            Data::Lineitem => &About {
                name: "kinds",
                question: "ten kinds of query, from Parquet and from memory, here and in DuckDB, DataFusion and Polars",
                page: "benches/kinds.md",
                plots: "",
                rounds: 3,
                knobs: &[ENGINES, SCALE, TABLES],
            },
            Data::Hits => &About {
                name: "hits",
                question: "twelve queries of ClickBench, from Parquet and from memory, here and in DuckDB, DataFusion and Polars",
                page: "benches/hits.md",
                plots: "",
                rounds: 3,
                knobs: &[ENGINES, ROWS, TABLES],
            },
        }
    }

    fn peers(&self, options: &Options) -> Result<Vec<String>> {
        Ok(setup::peers(options)?.iter().map(Peer::versioned).collect())
    }

    fn workloads(&self, options: &Options) -> Result<Vec<Workload>> {
        let setup = Rc::new(Setup::new(self.0, options)?);
        let mut workloads = Vec::new();
        for place in Place::wanted(options)? {
            for question in self.0.questions() {
                workloads.push(workload(&setup, question, place)?);
            }
        }
        Ok(workloads)
    }
}

fn workload(setup: &Rc<Setup>, question: &'static Question, place: Place) -> Result<Workload> {
    let name = format!("{}, {}", question.name, place.name());
    let asking = Asking {
        clients: 1,
        each: RUNS,
    };
    let told = setup.told(&name, std::slice::from_ref(question), place, asking)?;
    let story = format!(
        "{RUNS} runs a round behind one that is not counted. The median of all; in brackets that of \
         the least and of the greatest round."
    );
    let (family, limits) = match place {
        Place::Files => ("Parquet", &[PAGES][..]),
        Place::Memory => ("memory", &[BY_HAND, MEMCPY][..]),
    };
    let workload = Workload::new(name, story)
        .columns([
            Column::percentile("ms", 50.0),
            Column::told("CPU / wall", 0),
            Column::told("peak, MiB", 1),
        ])
        .cold()
        .rows(setup.rows(&told, &OUR_ROWS, limits))
        .elsewhere()
        .pivot(family, "query", question.name, &[0, 1, PEAK]);
    Ok(if setup.has(OURS) && setup.has_peers() {
        workload.targets([
            Target::at_most(AIM, ALL_PEERS),
            Target::as_fast(SPEED_UP, Of::Row(ON_ONE_THREAD)).from(SPEED_UP_FROM),
            Target::at_most(PEAK_AIM, ALL_PEERS).column(PEAK),
        ])
    } else {
        workload
    })
}

#[cfg(test)]
mod tests {
    use super::answer::Answer;
    use super::*;

    #[test]
    fn another_answer_is_an_error() {
        let benches = crate::benches();
        for data in [Data::Lineitem, Data::Hits] {
            let words = [Kinds(data).about().name, "--quick"].map(std::ffi::OsString::from);
            let (_, options) = Options::read(words, &benches).unwrap();
            let setup = Setup::new(data, &options).unwrap();
            let questions = data.questions().iter();
            let answers: Vec<Answer> = questions
                .map(|question| setup.answer(question).unwrap())
                .collect();
            for (at, answer) in answers.iter().enumerate() {
                assert!(answer.verify(answer).is_ok());
                assert!(answer.verify(&answers[(at + 1) % answers.len()]).is_err());
            }
        }
    }
}
