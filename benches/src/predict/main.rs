//! Predicts makespans from the simulator's virtual time, and says how far off that is on the cores at hand.
//!
//! `cargo xtask sim --predict` runs it. What operations cost is measured first, then loads are run on threads and in the simulator:
//!
//! ```text
//!   rounds:  calibrate ─► loads on 1 and 2 threads, in turn ─┐
//!                │                                           ├─► error of each prediction
//!                └─► costs ─► loads in the simulator ────────┘
//!                                   └─► curves to 1,024 workers, with their bounds
//! ```

mod calibrate;
mod disturbance;
mod load;
mod threads;
mod virtual_time;

fn main() {
    let mut calibration = calibrate::Calibration::default();
    let mut burners = Vec::new();
    let rounds: usize = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(5);
    let loads: Vec<_> = load::COARSE.iter().chain(&load::FINE).collect();
    let mut times = vec![vec![Vec::new(); 2]; loads.len()];
    let mut all = vec![vec![0; 2]; loads.len()];
    for _ in 0..rounds {
        calibration.round();
        let burner = threads::Burner::measure();
        burners.push(burner);
        for (l, load) in loads.iter().enumerate() {
            for w in [1, 2] {
                for _ in 0..8 {
                    let run = threads::measure(load, w, burner);
                    all[l][w - 1] += 1;
                    if run.is_undisturbed() {
                        times[l][w - 1].push(run.elapsed.as_nanos() as f64 / 1e6);
                        break;
                    }
                }
            }
        }
    }
    println!("{burners:?}");
    let costs = calibration.costs();
    print!("{costs}");
    for (l, load) in loads.iter().enumerate() {
        for w in [1, 2] {
            let t = &mut times[l][w - 1];
            t.sort_by(f64::total_cmp);
            if t.is_empty() {
                println!("{} {w} never", load.name);
                continue;
            }
            print!("{}/{} ", t.len(), all[l][w - 1]);
            let start = std::time::Instant::now();
            let p = virtual_time::predict(load, w, &costs, 1);
            let predicted = p.answered_ns.unwrap() as f64 / 1e6;
            let m = t[t.len() / 2];
            println!(
                "{:<22} {w}: measured {m:8.3} ({:.3} … {:.3}) predicted {predicted:8.3} error {:+.1} %   T1 {:.3} Tinf {:.3} tasks {} in {:?}",
                load.name,
                t[0],
                t[t.len() - 1],
                (predicted / m - 1.0) * 100.0,
                p.work_ns as f64 / 1e6,
                p.span_ns as f64 / 1e6,
                p.tasks,
                start.elapsed()
            );
        }
    }
    if std::env::args().any(|a| a == "--large") {
        for load in &load::LARGE {
            for w in [1, 16, 64, 256, 1024] {
                let start = std::time::Instant::now();
                let p = virtual_time::predict(load, w, &costs, 1);
                println!(
                    "{:<22} {w}: {:.3} ms, speed-up {:.1}, tasks {} T1 {:.3} Tinf {:.3} in {:?}",
                    load.name,
                    p.elapsed_ns as f64 / 1e6,
                    p.work_ns as f64 / p.elapsed_ns as f64,
                    p.tasks,
                    p.work_ns as f64 / 1e6,
                    p.span_ns as f64 / 1e6,
                    start.elapsed()
                );
            }
        }
    }
}
