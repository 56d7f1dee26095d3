//! The ten kinds of query from a hundred clients at once.

use std::rc::Rc;

use anyhow::Result;

use super::data::{Data, SCALE};
use super::setup::{self, Asking, Place, Setup, TABLES};
use crate::THREADS;
use crate::bench::{About, Bench};
use crate::options::{Knob, Options};
use crate::peer::{ENGINES, OURS, Peer};
use crate::target::{Of, Target};
use crate::workload::{Column, Workload};

const CLIENTS: usize = 100;
/// Questions of each client in a round.
const EACH: u64 = 3;
const EACH_QUICK: u64 = 2;

const AIM_PEER: &str = "DuckDB";
/// The least ratio of our queries a second to the peer's.
const THROUGHPUT: f64 = 1.2;
/// The greatest ratio of our 99th percentile to the peer's.
const P99: f64 = 0.7;

const KNOBS: &[Knob] = &[ENGINES, SCALE, TABLES];

pub(crate) struct Concurrent;

impl Bench for Concurrent {
    fn about(&self) -> &'static About {
        &About {
            name: "concurrent",
            question: "a hundred clients with ten kinds of query, here and in DuckDB, DataFusion and Polars",
            page: "benches/concurrent.md",
            plots: "",
            rounds: 3,
            knobs: KNOBS,
        }
    }

    fn peers(&self, options: &Options) -> Result<Vec<String>> {
        Ok(setup::peers(options)?.iter().map(Peer::versioned).collect())
    }

    fn workloads(&self, options: &Options) -> Result<Vec<Workload>> {
        let setup = Rc::new(Setup::new(Data::Lineitem, options)?);
        let asking = Asking {
            clients: CLIENTS,
            each: options.of(EACH, EACH_QUICK) as usize,
        };
        let places = Place::wanted(options)?.into_iter();
        places.map(|place| workload(&setup, place, asking)).collect()
    }
}

fn workload(setup: &Rc<Setup>, place: Place, asking: Asking) -> Result<Workload> {
    let name = format!("{CLIENTS} clients, {}", place.name());
    let told = setup.told(&name, Data::Lineitem.questions(), place, asking)?;
    let story = format!(
        "{CLIENTS} clients ask {} queries each, the next when the answer to the last is there. The \
         number of a client chooses its first query; the others follow in the order of `kinds`.",
        asking.each
    );
    let mut targets = Vec::new();
    if setup.has(OURS) && setup.has(AIM_PEER) {
        let of = || Of::Row(AIM_PEER);
        targets.push(Target::at_least(THROUGHPUT, of()));
        targets.push(Target::at_most(P99, of()).column(2));
    }
    Ok(Workload::new(name, story)
        .columns([
            Column::gained("queries/s", 2),
            Column::percentile("p50, ms", 50.0),
            Column::percentile("p99, ms", 99.0),
            Column::told("CPU / wall", 0),
            Column::told("peak, MiB", 1),
        ])
        .cold()
        .rows(setup.rows(&told, &[(OURS, THREADS)], &[]))
        .targets(targets)
        .elsewhere())
}
