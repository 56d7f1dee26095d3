//! Spare threads and long slots, drawn for loads without them.

use crate::scenario::{Load, Scenario};
use crate::scheduler::Dice;

const DRAW: u64 = 0x1405_7b7e_f767_814f;

/// Quanta of a long slot.
const LONG: [u64; 3] = [4, 10, 50];

/// Nanoseconds of a quantum, for a load without one.
const NO_QUANTUM_NS: u64 = 1_000;

pub(super) fn add(seed: u64, mut scenario: Scenario) -> Scenario {
    let mut dice = Dice::new(seed ^ DRAW);
    let (spares, long_slot_ns, quantum_ns, one_in) = match &mut scenario.load {
        Load::Tasks(_) => return scenario,
        Load::Jobs(jobs) => (&mut jobs.spares, &mut jobs.long_slot_ns, jobs.quantum_ns, 2),
        Load::Traffic(traffic) => (
            &mut traffic.spares,
            &mut traffic.long_slot_ns,
            traffic.quantum_ns,
            3,
        ),
    };
    let workers = scenario.setup.config.workers;
    if dice.below(one_in) == 0 {
        *spares = 1 + dice.below(workers.min(4));
    }
    if dice.below(if *spares > 0 { 4 } else { 12 }) < 3 {
        *long_slot_ns = quantum_ns.max(NO_QUANTUM_NS) * LONG[dice.below(LONG.len())];
        scenario.setup.faults.long_slots = 1 + dice.below(8) as u32;
    }
    scenario
}
