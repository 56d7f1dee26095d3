//! Settings, the pools that a process shares, and the content of a snapshot.

use std::process::Command;

use pools::{ConfigError, CpuError, Pools};

use crate::support::pools;

#[test]
fn numbers_out_of_range_are_refused_by_name() {
    let refused = [
        (Pools::builder().cpu_threads(0), "cpu_threads"),
        (Pools::builder().cpu_threads(1).mixed_threads(0), "mixed_threads"),
        (Pools::builder().cpu_threads(1).blocking_max(0), "blocking_max"),
        (
            Pools::builder().cpu_threads(1).maintenance_threads_max(0),
            "maintenance_threads_max",
        ),
        (Pools::builder().cpu_threads(1).cpu_nice(20), "cpu_nice"),
        (Pools::builder().cpu_threads(40_000), "cpu_threads"),
        (
            Pools::builder().cpu_threads(1).cpu_queue_capacity(0),
            "cpu_queue_capacity",
        ),
        (
            Pools::builder().cpu_threads(1).cpu_queue_capacity(usize::MAX),
            "cpu_queue_capacity",
        ),
    ];
    for (builder, name) in refused {
        let error = builder.build().map(drop).unwrap_err();
        assert!(
            matches!(error, ConfigError::OutOfRange { setting, .. } if setting == name),
            "{error}"
        );
    }
}

#[test]
fn a_name_that_no_thread_can_have_is_refused_before_a_thread_is_to_have_it() {
    let error = Pools::builder().cpu_threads(1).name("a\0b").build().map(drop);
    assert!(
        matches!(error, Err(ConfigError::NulInName { name }) if name == "a\0b"),
        "it would be a panic in whoever used a pool first"
    );
}

#[test]
fn a_pool_is_started_when_it_is_first_used() {
    let pools = pools(1);
    assert!(pools.cpu().snapshot().is_none());
    pools.cpu().run(|_cx| ()).wait().unwrap();
    assert!(pools.cpu().snapshot().is_some());
    assert_eq!(pools.maintenance().snapshot().threads, 0);
}

#[test]
fn a_snapshot_shows_all_three() {
    let pools = pools(1);
    let text = pools.snapshot().to_string();
    for part in ["mixed ", "maintenance ", "CPU          not started"] {
        assert!(text.contains(part), "`{part}` is not in {text}");
    }
    pools.cpu().run(|_cx| ()).wait().unwrap();
    assert!(pools.snapshot().to_string().contains("\nCPU\n"));
}

#[test]
fn the_global_pools_are_the_same_ones_and_work() {
    assert_eq!(Pools::global().cpu().run(|_cx| 1).wait().unwrap(), 1);
    let before = Pools::global().cpu().snapshot().unwrap().jobs.submitted;
    Pools::global().cpu().run(|_cx| 1).wait().unwrap();
    assert!(Pools::global().cpu().snapshot().unwrap().jobs.submitted > before);
}

pub(crate) fn in_a_process(test: &str, variable: &str, value: &str) -> std::process::Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]);
    command.env(variable, value).env(CHILD, "yes").output().unwrap()
}

pub(crate) fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

const CHILD: &str = "WINDLASS_TEST_CHILD";
const WORKERS: &str = "WINDLASS_WORKERS";

#[test]
fn the_environment_says_how_many_workers_there_are() {
    if is_child() {
        let expected = std::env::var(WORKERS).unwrap();
        match expected.parse::<usize>() {
            Ok(workers) => {
                let pools = Pools::builder().build().unwrap();
                assert_eq!(pools.cpu().executor().unwrap().workers(), workers);
                assert_eq!(Pools::global().cpu().executor().unwrap().workers(), workers);
            }
            Err(_) => {
                assert!(matches!(Pools::builder().build(), Err(ConfigError::Host(_))));
                let error = Pools::global().cpu().run(|_cx| ()).wait().unwrap_err();
                assert!(
                    matches!(&error, CpuError::Unavailable(why) if why.contains(WORKERS)),
                    "{error}"
                );
                assert!(Pools::builder().cpu_threads(1).build().is_ok(), "nobody asked");
            }
        }
        return;
    }
    for value in ["3", "many"] {
        let test = "setting_up::the_environment_says_how_many_workers_there_are";
        let output = in_a_process(test, WORKERS, value);
        assert!(output.status.success(), "{value}: {output:?}");
    }
}
