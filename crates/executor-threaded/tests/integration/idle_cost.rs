//! An idle executor costs nothing, by the kernel's count of context switches.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::fs;
use std::thread;
use std::time::Duration;

use executor_threaded::Executor;

use crate::support::{config, threads_named};

#[test]
fn the_workers_of_an_idle_executor_make_no_context_switch() {
    for workers in [2, 65] {
        let executor = Executor::<()>::builder()
            .config(config(workers, None))
            .thread_name("idle-cost")
            .build(|_| (), |(), _cx| {})
            .expect("the executor starts");
        executor
            .spawn_external_batch(vec![(); 1_000])
            .expect("the gate is open");
        executor.wait_idle();
        let asleep = settled();
        assert_eq!(asleep.len(), workers);
        thread::sleep(Duration::from_secs(2));
        assert_eq!(context_switches(), asleep);
        executor.join();
    }
}

/// The counts, once they have stopped changing, which never happens if workers poll.
fn settled() -> BTreeMap<String, u64> {
    let mut before = context_switches();
    for _ in 0..200 {
        thread::sleep(Duration::from_millis(50));
        let now = context_switches();
        if now == before {
            return now;
        }
        before = now;
    }
    panic!("the workers did not come to rest: {before:?}");
}

fn context_switches() -> BTreeMap<String, u64> {
    let threads = threads_named("idle-cost").into_iter();
    threads.map(|tid| (tid.clone(), switches_of(&tid))).collect()
}

fn switches_of(tid: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/self/task/{tid}/status")).expect("the thread lives");
    let counts: Vec<u64> = status
        .lines()
        .filter(|line| line.contains("ctxt_switches:"))
        .filter_map(|line| line.split_whitespace().nth(1)?.parse().ok())
        .collect();
    assert_eq!(counts.len(), 2, "voluntary and involuntary: {status}");
    counts.iter().sum()
}
