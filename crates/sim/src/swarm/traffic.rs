//! Traffic drawn from seeds: small, and mostly under the strategy that makes virtual time
//! meaningful.

use std::time::Duration;

use crate::scenario::{Load, Scenario, Traffic};
use crate::schedule::StrategyKind;
use crate::scheduler::Dice;
use crate::setup::Setup;

const DRAW: u64 = 0x5851_f42d_4c95_7f2d;

/// Seeds per seed of traffic.
const ONE_IN: usize = 8;

/// Short jobs, at most: the oracles' work at each step grows with waiting jobs.
const SHORTS_MAX: u64 = 200;

/// Quanta of the longest traffic: several times the wait beside a heavy and a middle job.
const LONG: u64 = 400;

pub(super) fn draw(seed: u64) -> Option<(Scenario, StrategyKind)> {
    let mut dice = Dice::new(seed ^ DRAW);
    (dice.below(ONE_IN) == 0).then(|| {
        let scenario = scenario(&mut dice);
        let strategy = match dice.below(8) {
            0 => StrategyKind::Random,
            1 => StrategyKind::Sticky,
            _ => StrategyKind::Earliest,
        };
        (scenario, strategy)
    })
}

fn scenario(dice: &mut Dice) -> Scenario {
    let workers = [1, 1, 2, 2, 3, 4, 8][dice.below(7)];
    let quantum_ns = [200_000, 500_000, 2_000_000][dice.below(3)];
    let heavy_slot_ns = quantum_ns / [1, 2, 2, 5][dice.below(4)];
    let short_slot_ns = quantum_ns / [1, 2, 8][dice.below(3)];
    // Starvation shows late.
    let longest = if workers <= 2 { LONG } else { 150 };
    let length_ns = quantum_ns * [30, 90, 150, longest][dice.below(4)];
    let load_percent = [6, 25, 120][dice.below(3)];
    let mut short_slots = 1 + dice.below(4) as u32;
    let every_ns = |slots: u32| u64::from(slots) * short_slot_ns * 100 / (load_percent * workers as u64);
    while length_ns / every_ns(short_slots) > SHORTS_MAX {
        short_slots += 1;
    }
    let short_every_ns = every_ns(short_slots);
    let shorts = (length_ns / short_every_ns) as u32;
    let heavies = [0, 1, 2, 5, 8][dice.below(5)];
    let troubles = dice.below(3) == 0;
    let cancels = if heavies > 0 {
        dice.below(3) / 2 * (1 + dice.below(4))
    } else {
        0
    };
    let traffic = Traffic {
        shorts,
        short_slots,
        short_slot_ns,
        short_every_ns,
        heavies,
        heavy_slots: [8, 20, 40, 400][dice.below(4)],
        heavy_slot_ns,
        growth: [0, 0, 1, 1_000][dice.below(4)],
        middles: dice.below(2) as u32,
        panics: if troubles { 10 } else { 0 },
        cancels: cancels as u32,
        length_ns,
        reserve: if workers == 1 {
            0
        } else {
            dice.below(2).max(workers * 15 / 100)
        },
        quantum_ns,
        ..Traffic::default()
    };
    let config = Setup::default()
        .config
        .workers(workers)
        .tune(|tuning| tuning.park_timeout = (dice.below(8) == 0).then(|| Duration::from_micros(200)));
    Scenario {
        load: Load::Traffic(traffic),
        setup: Setup {
            config,
            ..Setup::default()
        },
    }
}
