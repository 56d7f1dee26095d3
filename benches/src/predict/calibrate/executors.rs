//! Empty tasks and empty slots on one worker: the part of their time that the other costs do not
//! explain.

use sim::Costs;

use super::{Calibration, in_ps};
use crate::predict::load::{EMPTY_JOB, EMPTY_TREE, Load};
use crate::predict::threads::{self, Burner};
use crate::predict::virtual_time::predict;

const EMPTY: [(&str, Load); 2] = [("empty tree", EMPTY_TREE), ("empty job", EMPTY_JOB)];

pub(super) fn measure(calibration: &mut Calibration) {
    for (name, load) in EMPTY {
        // A round has one value: the least disturbed run.
        let runs = (0..5).map(|_| threads::measure(&load, 1, Burner::idle()).elapsed);
        let least = runs.min().expect("there were some");
        calibration.add(name, least.as_nanos() as f64);
    }
}

pub(super) fn complete(calibration: &Calibration, mut costs: Costs) -> Costs {
    let unexplained_ps = |(name, load): (&str, Load), costs: &Costs| {
        let profile = predict(&load, 1, costs, 1);
        let explained_ns = profile.answered_ns.unwrap_or(profile.elapsed_ns);
        in_ps((calibration.ns(name) - explained_ns as f64) / profile.tasks as f64)
    };
    let [tree, job] = EMPTY;
    let task_ps = unexplained_ps(tree, &costs);
    // About a third of it is spent where a task is spawned.
    costs.keep_ps = task_ps / 3;
    costs.task_ps = task_ps - costs.keep_ps;
    costs.slot_ps = unexplained_ps(job, &costs);
    costs
}
