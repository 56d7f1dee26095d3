//! One job of equal slots on many workers, in virtual time, against the ideal.
//!
//! Slots are whole, so `s` slots on `n` workers take at least `⌈s / n⌉` times as long as one: the
//! ideal.

use std::time::Duration;

use sim::{Simulation, StrategyKind};

use crate::equal_slots::{executor, job};

fn takes_ns(workers: usize, slots: usize, slot_ns: u64) -> u64 {
    let simulation = Simulation::new(1)
        .strategy(StrategyKind::Earliest)
        .begin_ns(1_000_000);
    let config = executor(workers, Duration::from_millis(2));
    let run = simulation.run_job(config, job("equal", None, slots), move |_stage, _slot| slot_ns);
    let summary = run.unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(summary.profile.work_ns, slots as u64 * slot_ns);
    summary.profile.elapsed_ns
}

fn of_ideal(workers: usize, slots: usize, slot_ns: u64) -> f64 {
    let ideal_ns = slots.div_ceil(workers) as u64 * slot_ns;
    ideal_ns as f64 / takes_ns(workers, slots, slot_ns) as f64
}

#[test]
fn a_thousand_slots_of_a_millisecond_speed_up_by_95_of_100_on_up_to_64_workers() {
    for workers in [1, 2, 4, 8, 16, 32, 64] {
        let part = of_ideal(workers, 1_000, 1_000_000);
        assert!(part >= 0.95, "{workers} workers: {part:.3} of the ideal");
        let speed_up = 1e9 / takes_ns(workers, 1_000, 1_000_000) as f64;
        assert!(
            speed_up >= 0.95 * workers as f64,
            "{workers} workers: {speed_up:.2}"
        );
    }
}

#[test]
fn a_thousand_slots_of_100_microseconds_speed_up_by_95_of_100_on_up_to_16_workers() {
    for workers in [1, 2, 4, 8, 16] {
        let part = of_ideal(workers, 1_000, 100_000);
        assert!(part >= 0.95, "{workers} workers: {part:.3} of the ideal");
    }
}

#[test]
fn ten_slots_of_a_millisecond_speed_up_as_far_as_ten_slots_can() {
    for workers in [1, 2, 4, 8, 16, 32, 64] {
        let part = of_ideal(workers, 10, 1_000_000);
        assert!(part >= 0.95, "{workers} workers: {part:.3} of the ideal");
    }
}
