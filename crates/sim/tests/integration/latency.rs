//! Short jobs beside heavy ones at full size, in virtual time, on 1 to 64 workers: latency, shares,
//! waits, cancels.
//!
//! Short jobs take 1 ms and arrive in an open loop. Heavy ones take 1 s in slots of 1 ms; each
//! client submits the next when the last has ended.

use std::num::NonZeroUsize;

use pipeline_exec::split_threads;
use sim::{Figures, Traffic};

const WORKERS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

const MS: u64 = 1_000_000;

/// Nanoseconds until eight heavy jobs submitted together are no longer young.
const SETTLED_NS: u64 = 100 * MS;

/// Nanoseconds that waking, claiming and accounting may add.
const OVERHEAD_NS: u64 = MS / 25;

fn short_jobs(workers: usize, slots: u32) -> Traffic {
    let (_, reserve) = split_threads(NonZeroUsize::new(workers).expect("there are workers"));
    let shorts = 1_000;
    let short_every_ns = 8 * MS / workers as u64;
    Traffic {
        shorts,
        short_after_ns: SETTLED_NS,
        short_slots: slots,
        short_slot_ns: MS / u64::from(slots),
        short_every_ns,
        length_ns: SETTLED_NS + u64::from(shorts) * short_every_ns,
        reserve,
        ..Traffic::default()
    }
}

fn too_many_short_jobs(workers: usize, length_ns: u64) -> Traffic {
    let alone = short_jobs(workers, 1);
    let short_every_ns = MS * 100 / (120 * workers as u64);
    Traffic {
        short_every_ns,
        shorts: (length_ns / short_every_ns) as u32,
        heavies: (workers as u32).max(8),
        length_ns,
        capacity: 1 << 20,
        short_after_ns: 0,
        ..alone
    }
}

fn measure(traffic: &Traffic, workers: usize) -> Figures {
    let figures = traffic.measure(workers, 1);
    figures.unwrap_or_else(|failure| panic!("{failure}"))
}

fn alone_and_beside(alone: &Traffic, beside: &Traffic, workers: usize) -> (Figures, Figures) {
    let (alone_figures, figures) = (measure(alone, workers), measure(beside, workers));
    assert_eq!(figures.short.count, alone.shorts as usize);
    let busy = figures.heavy_share + figures.short_share;
    assert!(busy > 0.95, "workers were idle beside heavy jobs:\n{figures}");
    (alone_figures, figures)
}

/// More than alone on the main workers, or on both of two: heavy jobs keep the reserve workers, which
/// help a job that is alone.
fn takes_a_slot_more(slots: u32, slot_ns: u64) {
    for workers in WORKERS {
        let (main, _) = split_threads(NonZeroUsize::new(workers).expect("there are workers"));
        let main = main.max(workers.min(2));
        let on_main = measure(&short_jobs(main, slots), main);
        let alone = short_jobs(workers, slots);
        let beside = Traffic {
            heavies: 8,
            heavy_slots: (1_000 * MS / slot_ns) as u32,
            heavy_slot_ns: slot_ns,
            ..alone.clone()
        };
        let (alone, figures) = alone_and_beside(&alone, &beside, workers);
        let (p99, max) = (figures.short.p99_ns, figures.short.max_ns);
        let bound_ns = on_main.short.p99_ns + slot_ns + OVERHEAD_NS;
        let longest_ns = beside.settled_bound_ns(workers, alone.short.max_ns);
        assert!(
            p99 <= bound_ns && max <= longest_ns,
            "{workers} workers, at most {bound_ns} and {longest_ns} ns\nalone, main\n{on_main}all\n{alone}beside\n{figures}"
        );
    }
}

#[test]
fn a_short_job_of_four_slots_takes_a_slot_more_beside_eight_heavy_ones() {
    takes_a_slot_more(4, MS);
}

#[test]
fn a_short_job_of_one_slot_takes_a_slot_more_beside_eight_heavy_ones() {
    takes_a_slot_more(1, MS);
}

#[test]
fn a_short_job_takes_a_short_slot_more_where_heavy_ones_claim_many_at_a_time() {
    takes_a_slot_more(4, MS / 10);
}

#[test]
fn a_burst_of_panics_and_cancels_costs_short_jobs_a_visit_and_heavy_ones_no_share() {
    for workers in WORKERS {
        let alone = short_jobs(workers, 4);
        // A heavy job that ended early is replaced by a young one.
        let beside = Traffic {
            heavies: 8,
            panics: 10,
            cancels: 20,
            ..alone.clone()
        };
        let (alone, figures) = alone_and_beside(&alone, &beside, workers);
        let bound_ns = alone.short.p99_ns + beside.visit_ns();
        assert!(
            figures.short.p99_ns <= bound_ns,
            "{workers} workers, at most {bound_ns} ns\nalone\n{alone}beside\n{figures}"
        );
    }
}

#[test]
fn heavy_jobs_keep_their_share_beside_more_short_ones_than_all_workers_can_do() {
    for workers in WORKERS {
        let traffic = too_many_short_jobs(workers, 2_000 * MS / workers.min(8) as u64);
        let burst = Traffic {
            panics: 10,
            ..traffic.clone()
        };
        for traffic in [traffic, burst] {
            let figures = measure(&traffic, workers);
            assert!(figures.heavy_share >= 0.15, "{workers} workers\n{figures}");
            // The rest is for short jobs, except what heavy ones get while they are young.
            assert!(figures.short_share >= 0.8, "{workers} workers\n{figures}");
        }
    }
}

#[test]
fn neither_the_oldest_nor_the_heaviest_starves_for_a_minute_of_short_and_ever_heavier_jobs() {
    for workers in [1, 2, 4] {
        let traffic = Traffic {
            middles: 1,
            growth: 1_000,
            ..too_many_short_jobs(workers, 60_000 * MS)
        };
        let figures = measure(&traffic, workers);
        let bound_ns = traffic.wait_bound_ns(workers);
        assert!(bound_ns < 2_000 * MS, "a bound that means something");
        for waited_ns in [figures.middle_wait_ns, figures.heavy_wait_ns] {
            assert!(
                waited_ns <= bound_ns,
                "{workers} workers, at most {bound_ns} ns\n{figures}"
            );
        }
        assert!(figures.middle_share > 0.005, "{workers} workers\n{figures}");
    }
}

#[test]
fn no_job_starves_on_many_workers() {
    for workers in [8, 16, 32, 64] {
        let traffic = Traffic {
            middles: 1,
            growth: 1_000,
            ..too_many_short_jobs(workers, 4_000 * MS / workers as u64)
        };
        let figures = measure(&traffic, workers);
        let bound_ns = traffic.wait_bound_ns(workers);
        for waited_ns in [figures.middle_wait_ns, figures.heavy_wait_ns] {
            assert!(
                waited_ns <= bound_ns,
                "{workers} workers, at most {bound_ns} ns\n{figures}"
            );
        }
    }
}

#[test]
fn a_cancelled_job_has_stopped_within_a_slot() {
    for workers in WORKERS {
        let beside = Traffic {
            heavies: 8,
            cancels: 100,
            ..short_jobs(workers, 4)
        };
        let figures = measure(&beside, workers);
        assert!(figures.stop.count >= 30, "too few were cancelled:\n{figures}");
        assert!(
            figures.stop.max_ns <= beside.blocking_ns(),
            "{workers} workers\n{figures}"
        );
    }
}

#[test]
fn loads_that_are_all_heavy_or_all_light_lose_nothing_to_the_split() {
    for workers in WORKERS {
        let light = Traffic {
            shorts: 100 * workers as u32,
            short_every_ns: 0,
            short_after_ns: 0,
            capacity: 1 << 20,
            ..short_jobs(workers, 1)
        };
        let heavy = Traffic {
            shorts: 0,
            heavies: 8,
            heavy_jobs: 2,
            heavy_slots: 10 * workers as u32,
            ..light.clone()
        };
        for split in [light, heavy] {
            let one_role = Traffic {
                reserve: 0,
                ..split.clone()
            };
            let (split, one_role) = (measure(&split, workers), measure(&one_role, workers));
            let (took, bound) = (split.makespan_ns as f64, one_role.makespan_ns as f64 / 0.97);
            assert!(
                took <= bound,
                "{workers} workers\nsplit\n{split}one role\n{one_role}"
            );
        }
    }
}
