//! Jobs on the pipeline executor, drawn from the seed: several submitters, stages, failures,
//! cancels, a drain or a shutdown.

mod grown;
mod open;
mod plan;
mod submitted;
mod submitter;

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use pipeline_exec::policy::PipelineConfig;

use super::Summary;
use crate::line::{Fields, LineError};
use crate::pipeline::Extras;
use crate::report::Failure;
use crate::scheduler::Dice;
use crate::setup::Setup;
use crate::simulation::Simulation;

use plan::Plan;

pub(crate) use submitted::{Handed, Submitted};
pub(super) use submitted::{conclude, end, look, spares};
pub(super) use submitter::Submitter;

/// A load of jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jobs {
    /// Number of jobs.
    pub jobs: u32,
    /// Most stages of a job.
    pub stages: u32,
    /// Most slots of a stage.
    pub slots: u32,
    /// Workers in the reserve role.
    pub reserve: usize,
    /// Most jobs in flight.
    pub capacity: usize,
    /// Nanoseconds of a quantum.
    pub quantum_ns: u64,
    /// Nanoseconds of a slot. The first two slots of a stage take none.
    pub slot_ns: u64,
    /// Cancels, each of some job at some moment.
    pub cancels: usize,
    /// Whether slots may fail and panic, and jobs be late.
    pub troubles: bool,
    /// Whether actors that wait for a job may lend it their threads.
    pub lends: bool,
    /// Whether slots may run nested jobs.
    pub nests: bool,
    /// Number of spare threads.
    pub spares: usize,
    /// Nanoseconds of a slot or turn that a [long slot](crate::Faults::long_slots) strikes.
    pub long_slot_ns: u64,
    /// Most initial tasks of a growing job. 0: no job grows.
    pub tasks: u32,
}

impl Default for Jobs {
    fn default() -> Self {
        Self {
            jobs: 1,
            stages: 1,
            slots: 4,
            reserve: 0,
            capacity: 8,
            quantum_ns: 1_000,
            slot_ns: 0,
            cancels: 0,
            troubles: false,
            lends: false,
            nests: false,
            spares: 0,
            long_slot_ns: 0,
            tasks: 0,
        }
    }
}

/// Separates this draw from the schedule's.
const PLAN: u64 = 0xd1b5_4a32_d192_ed03;

impl Jobs {
    pub(crate) fn write(&self, fields: &mut Fields) {
        let Self {
            jobs,
            stages,
            slots,
            reserve,
            capacity,
            quantum_ns,
            slot_ns,
            cancels,
            troubles,
            lends,
            nests,
            spares,
            long_slot_ns,
            tasks,
        } = self;
        fields.push("scenario", "jobs");
        fields.push("jobs", jobs);
        fields.push("stages", stages);
        fields.push("slots", slots);
        fields.push("reserve", reserve);
        fields.push("capacity", capacity);
        fields.push("quantum_ns", quantum_ns);
        fields.push("slot_ns", slot_ns);
        fields.push("cancels", cancels);
        fields.push("troubles", troubles);
        if *lends {
            fields.push("lends", lends);
        }
        if *nests {
            fields.push("nests", nests);
        }
        if *spares > 0 {
            fields.push("spares", spares);
        }
        if *long_slot_ns > 0 {
            fields.push("long_slot_ns", long_slot_ns);
        }
        if *tasks > 0 {
            fields.push("tasks", tasks);
        }
    }

    pub(super) fn read(fields: &mut Fields) -> Result<Self, LineError> {
        let default = Self::default();
        Ok(Self {
            jobs: fields.take("jobs")?.unwrap_or(default.jobs),
            stages: fields.take("stages")?.unwrap_or(default.stages),
            slots: fields.take("slots")?.unwrap_or(default.slots),
            reserve: fields.take("reserve")?.unwrap_or(default.reserve),
            capacity: fields.take("capacity")?.unwrap_or(default.capacity),
            quantum_ns: fields.take("quantum_ns")?.unwrap_or(default.quantum_ns),
            slot_ns: fields.take("slot_ns")?.unwrap_or(default.slot_ns),
            cancels: fields.take("cancels")?.unwrap_or(default.cancels),
            troubles: fields.take("troubles")?.unwrap_or(default.troubles),
            lends: fields.take("lends")?.unwrap_or(default.lends),
            nests: fields.take("nests")?.unwrap_or(default.nests),
            spares: fields.take("spares")?.unwrap_or(default.spares),
            long_slot_ns: fields.take("long_slot_ns")?.unwrap_or(default.long_slot_ns),
            tasks: fields.take("tasks")?.unwrap_or(default.tasks),
        })
    }

    pub(super) fn check(&self, setup: &Setup) -> Result<(), LineError> {
        let workers = setup.config.workers;
        let problem = if self.reserve >= workers {
            format!(
                "`reserve={}`: of {workers} workers one must be main",
                self.reserve
            )
        } else if self.capacity == 0 {
            "`capacity=0`: no job would be accepted".to_owned()
        } else if self.spares > workers {
            format!(
                "`spares={}`: one for each of {workers} workers at most",
                self.spares
            )
        } else if self.long_slot_ns == 0 && setup.faults.long_slots > 0 {
            "`long_slots`: how long they are is `long_slot_ns`".to_owned()
        } else if self.stages == 0 {
            "`stages=0`: a job has a stage at least".to_owned()
        } else if setup.faults.panic_something() {
            "`panics`, `inside`, `hooks`: looks do not panic; `troubles=true` makes slots that do".to_owned()
        } else if setup.faults.overflows > 0 {
            "`overflows`: looks are few; how many jobs there may be is `capacity`".to_owned()
        } else {
            return Ok(());
        };
        Err(LineError(problem))
    }

    pub(super) fn run(&self, simulation: Simulation, seed: u64) -> Result<Summary, Failure> {
        let Setup {
            config, producers, ..
        } = simulation.setup();
        let config = PipelineConfig {
            main: config.workers - self.reserve,
            reserve: self.reserve,
            quantum: Duration::from_nanos(self.quantum_ns),
            capacity: self.capacity,
        };
        let mut dice = Dice::new(seed ^ PLAN);
        let plan = Rc::new(Plan::default());
        let mut hands: Vec<Vec<Handed>> = (0..*producers).map(|_| Vec::new()).collect();
        for n in 0..self.jobs as usize {
            let job = plan.any(&mut dice, n, self);
            hands[n % producers].push(job);
        }
        let slot_ns = self.slot_ns;
        let submitted = Submitted {
            hands,
            cancels: self.cancels,
            lends: self.lends,
            slot_ns: Box::new(move |_spec, _stage, slot| if slot < 2 { 0 } else { slot_ns }),
            claims: None,
            extras: Extras {
                spares: self.spares,
                long_ns: self.long_slot_ns,
                may_be_long: None,
            },
            grows: self.tasks > 0,
            complaints: Arc::clone(&plan.complaints),
        };
        submitted.run(&simulation, config, || plan.complaint())
    }
}
