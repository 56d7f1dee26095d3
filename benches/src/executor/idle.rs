//! Nothing to do: whether the workers sleep, by the kernel's count.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;

use crate::contender::{Contender, Outcome};
use crate::options::Options;
use crate::pool::{self, Ours};
use crate::target::{Of, Target};
use crate::workload::{Column, Workload};

const SETTLE: Duration = Duration::from_millis(200);

pub(super) fn workload(options: &Options) -> Workload {
    let window = Duration::from_secs(options.of(10, 1));
    let mut contenders: Vec<Contender> = Vec::new();
    for pool in pool::all(&[Ours::plain()], |n: u64, _: &mut dyn FnMut(u64)| n) {
        let start = move || {
            let others = switches().expect("the kernel counts");
            let mut pool = (pool.start)();
            move || {
                (0..100).for_each(|n| pool.spawn(n));
                let answer = pool.wait(100);
                std::thread::sleep(SETTLE);
                let count = || of_workers(&others);
                let (before, cpu, wall) = (count(), ProcessTime::now(), Instant::now());
                std::thread::sleep(window);
                let burnt = cpu.elapsed().as_secs_f64() / wall.elapsed().as_secs_f64();
                Outcome {
                    answer,
                    measured: vec![(count() - before) as f64, burnt],
                    ..Outcome::default()
                }
            }
        };
        contenders.push(Contender::new(pool.name, pool.role, start));
    }
    Workload::new(
        "idle",
        format!(
            "Workers that have run 100 tasks and have nothing to do, for {} s: context switches of \
             all of them together, and CPU time of the process, that of the sleeping caller \
             included.",
            window.as_secs()
        ),
    )
    .columns([
        Column::measured("switches", 0),
        Column::measured("CPU, s per s", 1),
    ])
    .cold()
    .rounds_max(1)
    .answer(|| 99 * 100 / 2)
    .rows(contenders)
    .targets([
        Target::at_most(1.0, Of::Number(0.0)),
        Target::at_most(1.0, Of::Number(0.000_05)).column(1),
    ])
}

fn of_workers(others: &BTreeMap<String, u64>) -> u64 {
    let all = switches().expect("the kernel counts");
    all.iter()
        .filter(|(thread, _)| !others.contains_key(*thread))
        .map(|(_, switches)| switches)
        .sum()
}

/// Context switches of each thread of this process, voluntary and not.
fn switches() -> io::Result<BTreeMap<String, u64>> {
    let mut all = BTreeMap::new();
    for thread in fs::read_dir("/proc/self/task")? {
        let thread = thread?;
        let status = fs::read_to_string(thread.path().join("status"))?;
        let counts = status.lines().filter_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.ends_with("ctxt_switches")
                .then(|| value.trim().parse::<u64>())
        });
        let mut sum = 0;
        for count in counts {
            sum += count.map_err(io::Error::other)?;
        }
        all.insert(thread.file_name().to_string_lossy().into_owned(), sum);
    }
    Ok(all)
}
