//! Probe.
use executor_threaded::{Executor, ExecutorConfig, Pin};
use std::time::Instant;
fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<usize>().unwrap());
    let (workers, rounds, depth) = (
        args.next().unwrap_or(1),
        args.next().unwrap_or(9),
        args.next().unwrap_or(20) as u32,
    );
    let executor = Executor::<u32>::new(
        ExecutorConfig {
            workers,
            pin_threads: Pin::Auto,
            ..Default::default()
        },
        |_| 0_u64,
        move |depth, cx| {
            if depth > 0 {
                cx.spawn_local(depth - 1);
                cx.spawn_local(depth - 1);
            } else {
                cx.scratch += 1;
            }
        },
    )
    .unwrap();
    let mut times = vec![];
    for _ in 0..rounds {
        let t = Instant::now();
        executor.spawn_external(depth).unwrap();
        executor.wait_idle();
        times.push(t.elapsed().as_nanos() as f64 / ((1u64 << (depth + 1)) - 1) as f64);
    }
    times.sort_by(f64::total_cmp);
    println!(
        "{workers} workers: {:.2} ns per task (best {:.2})",
        times[times.len() / 2],
        times[0]
    );
    if std::env::var("M").is_ok() {
        println!("{}", executor.join());
    }
}
