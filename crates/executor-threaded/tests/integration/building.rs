//! Building an executor: invalid settings, names, stacks, cores, and the environment.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use executor_threaded::affinity::{CoreAssigner, CoreError};
use executor_threaded::hooks::{IdleAction, IdleHooks, IdleRound, Park};
use executor_threaded::{BuildError, Executor, ExecutorHandle, Pin, for_host};

use crate::support::{assert_no_thread_is_left, both_ways_of_parking, config};

#[test]
fn a_setting_out_of_its_range_is_named() {
    let bad = [
        (config(1, None).workers(0), "workers"),
        (config(1, None).workers(usize::MAX), "workers"),
        (
            config(1, None).tune(|tuning| tuning.steal_tries = 0),
            "steal_tries",
        ),
    ];
    for (config, field) in bad {
        let error = Executor::<()>::new(config, |_| (), |(), _cx| {}).expect_err(field);
        assert!(
            matches!(error, BuildError::Config(inner) if inner.field == field),
            "{error:?}"
        );
        assert!(error.to_string().contains(field), "{error}");
    }
}

#[test]
fn executors_and_handles_can_be_shared_even_if_tasks_can_only_be_sent() {
    fn shared<X: Send + Sync>() {}
    fn cloned<X: Clone>() {}
    // A `Cell` is `Send` and not `Sync`.
    shared::<Executor<std::cell::Cell<u32>>>();
    shared::<ExecutorHandle<std::cell::Cell<u32>>>();
    cloned::<ExecutorHandle<std::cell::Cell<u32>>>();
}

#[test]
fn a_thread_name_that_no_thread_can_have_is_refused() {
    let built = Executor::<()>::builder()
        .config(config(1, None))
        .thread_name("a\0b")
        .build(|_| (), |(), _cx| {});
    let error = built.expect_err("a NUL byte");
    assert!(error.to_string().contains("a\\0b"), "{error}");
}

#[test]
fn a_thread_that_cannot_be_started_is_an_error_and_the_started_ones_are_joined() {
    // A quarter of the address space: a few such stacks fit at most.
    let started = Arc::new(AtomicUsize::new(0));
    let (starts, stops) = (Arc::clone(&started), Arc::clone(&started));
    let built = Executor::<()>::builder()
        .config(config(65, None))
        .thread_name("huge-stack")
        .stack_size(1 << 45)
        .on_start(move |_| {
            starts.fetch_add(1, Ordering::Relaxed);
        })
        .on_stop(move |_| {
            stops.fetch_sub(1, Ordering::Relaxed);
        })
        .build(|_| (), |(), _cx| {});
    let error = built.expect_err("65 such stacks do not fit any address space");
    assert!(matches!(error, BuildError::Thread { .. }), "{error:?}");
    assert!(error.to_string().contains("could not be started"), "{error}");
    assert_eq!(started.load(Ordering::Relaxed), 0, "whoever started has stopped");
    assert_no_thread_is_left("huge-stack");
}

both_ways_of_parking! {
    fn hooks_run_on_every_worker_and_idle_hooks_are_asked(park_timeout) {
        struct Counting {
            rounds: Arc<AtomicUsize>,
            park_timeout: Option<std::time::Duration>,
        }
        impl IdleHooks for Counting {
            fn on_idle(&mut self, _round: IdleRound) -> IdleAction {
                self.rounds.fetch_add(1, Ordering::Relaxed);
                IdleAction::Park(Park { spin_before: 0, timeout: self.park_timeout })
            }
        }
        let (started, stopped, rounds) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)), Arc::default());
        let (starts, stops, idles) = (Arc::clone(&started), Arc::clone(&stopped), Arc::clone(&rounds));
        let executor = Executor::<()>::builder()
            .config(config(3, park_timeout))
            .stack_size(256 * 1024)
            .on_start(move |worker| { starts.fetch_add(worker + 1, Ordering::Relaxed); })
            .on_stop(move |worker| { stops.fetch_add(worker + 1, Ordering::Relaxed); })
            .idle_hooks(move |_worker, config| Counting {
                rounds: Arc::clone(&idles),
                park_timeout: config.tuning.park_timeout,
            })
            .build(|_| (), |(), _cx| {})
            .expect("the executor starts");
        assert_eq!(started.load(Ordering::Relaxed), 1 + 2 + 3);
        assert_eq!(stopped.load(Ordering::Relaxed), 0);
        executor.spawn_external_batch(vec![(); 100]).expect("the gate is open");
        executor.wait_idle();
        executor.join();
        assert_eq!(stopped.load(Ordering::Relaxed), 1 + 2 + 3);
        assert!(rounds.load(Ordering::Relaxed) > 0);
    }
}

/// One test for all of pinning, since cores are dealt out once per process.
#[test]
#[cfg(target_os = "linux")]
fn a_core_belongs_to_one_executor_at_a_time() {
    use std::collections::BTreeSet;
    use std::sync::Mutex;

    fn pinned(pin_threads: Pin, workers: usize) -> Result<(Executor<()>, BTreeSet<String>), BuildError> {
        let places: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = Arc::clone(&places);
        let config = config(workers, None).pin_threads(pin_threads);
        let executor = Executor::<()>::new(
            config,
            move |_| seen.lock().expect("nobody panics here").push(allowed_cores()),
            |(), _cx| {},
        )?;
        let places = places
            .lock()
            .expect("nobody panics here")
            .iter()
            .cloned()
            .collect();
        Ok((executor, places))
    }

    let cores = core_count();
    let (first, places) = pinned(Pin::Always, cores).expect("all cores are free");
    assert_eq!(
        places.len(),
        cores,
        "each worker has a core of its own: {places:?}"
    );
    assert!(
        places.iter().all(|place| place.parse::<usize>().is_ok()),
        "{places:?}"
    );

    let error = pinned(Pin::Always, 1)
        .map(|_| ())
        .expect_err("every core is taken");
    assert!(
        matches!(error, BuildError::Cores(CoreError::TooFew { wanted: 1, free: 0 })),
        "{error:?}"
    );
    let (unpinned, places) = pinned(Pin::Auto, 1).expect("Auto does without");
    assert_eq!(places, BTreeSet::from([allowed_cores()]));
    unpinned.join();

    first.join();
    let error = pinned(Pin::Always, cores + 1)
        .map(|_| ())
        .expect_err("there are not as many");
    assert!(
        matches!(error, BuildError::Cores(CoreError::TooFew { free, .. }) if free == cores),
        "{error:?}"
    );
    let (again, places) = pinned(Pin::Always, cores).expect("the cores were given back");
    assert_eq!(places.len(), cores);
    drop(again);
    let (free, places) = pinned(Pin::Never, 1).expect("Never always can");
    assert_eq!(places, BTreeSet::from([allowed_cores()]));
    drop(free);

    let one = CoreAssigner::new().cores()[0];
    let kept = Executor::<()>::builder()
        .config(config(2, None).pin_threads(Pin::Always))
        .cpus([one])
        .build(|_| (), |(), _cx| {});
    let error = kept.map(|_| ()).expect_err("two workers and one core");
    assert!(
        matches!(error, BuildError::Cores(CoreError::TooFew { wanted: 2, free: 1 })),
        "{error:?}"
    );

    let while_running: Arc<Mutex<BTreeSet<String>>> = Arc::default();
    let seen = Arc::clone(&while_running);
    let homely = Executor::<()>::builder()
        .config(config(cores, None).pin_threads(Pin::WhileParked))
        .cpus(CoreAssigner::new().cores().iter().copied())
        .thread_name("homely")
        .build(
            |_| (),
            move |(), _cx| {
                let mut seen = seen.lock().expect("no task panics");
                seen.insert(allowed_cores());
            },
        );
    let homely = homely.expect("all cores are free again");
    let homes_of_the_parked = || -> BTreeSet<String> {
        let threads = std::fs::read_dir("/proc/self/task").expect("Linux lists threads");
        let homely = threads.flatten().filter(|thread| {
            let name = std::fs::read_to_string(thread.path().join("comm"));
            name.is_ok_and(|name| name.starts_with("homely-"))
        });
        let statuses = homely.flat_map(|thread| std::fs::read_to_string(thread.path().join("status")));
        let cores = statuses.map(|status| allowed_cores_in(&status));
        cores.filter(|cores| cores.parse::<usize>().is_ok()).collect()
    };
    for _ in 0..3 {
        let mut looks = 0;
        while homes_of_the_parked().len() < cores {
            std::thread::yield_now();
            looks += 1;
            assert!(looks < 100_000, "the workers park elsewhere");
        }
        homely
            .spawn_external_batch(vec![(); 100])
            .expect("the gate is open");
        homely.wait_idle();
    }
    homely.join();
    let while_running = while_running.lock().expect("no task panicked");
    assert_eq!(*while_running, BTreeSet::from([allowed_cores()]));

    fn core_count() -> usize {
        let ranges = allowed_cores();
        let ends = ranges.split(',').map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let number = |text: &str| text.parse::<usize>().expect("a core's number");
            number(last) + 1 - number(first)
        });
        ends.sum()
    }
}

/// Runs this test again in a child process: setting the variable here would race with other tests.
#[test]
fn the_environment_overrides_the_number_of_workers_and_nonsense_in_it_is_an_error() {
    const CHILD: &str = "WINDLASS_TEST_IS_CHILD";
    if std::env::var_os(CHILD).is_some() {
        match for_host() {
            Ok(config) => println!("[workers {}]", config.workers),
            Err(error) => println!("[error {error}]"),
        }
        return;
    }
    let child = |workers: Option<&str>| {
        let test = std::env::current_exe().expect("this program has a path");
        let mut command = Command::new(test);
        let name = "building::the_environment_overrides_the_number_of_workers_and_nonsense_in_it_is_an_error";
        command.args(["--exact", name, "--nocapture"]).env(CHILD, "1");
        match workers {
            Some(workers) => command.env("WINDLASS_WORKERS", workers),
            None => command.env_remove("WINDLASS_WORKERS"),
        };
        let output = command.output().expect("the child runs");
        String::from_utf8(output.stdout).expect("the child speaks UTF-8")
    };
    let said = child(Some("7"));
    assert!(said.contains("[workers 7]"), "{said}");
    let said = child(Some("many"));
    assert!(
        said.contains("[error") && said.contains("WINDLASS_WORKERS") && said.contains("\"many\""),
        "{said}"
    );
    let said = child(None);
    assert!(said.contains(&format!("[workers {}]", num_cpus::get())), "{said}");
}

#[cfg(target_os = "linux")]
fn allowed_cores() -> String {
    let status = std::fs::read_to_string("/proc/thread-self/status").expect("Linux tells a thread's status");
    allowed_cores_in(&status)
}

#[cfg(target_os = "linux")]
fn allowed_cores_in(status: &str) -> String {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    line.expect("the status has the cores").trim().to_owned()
}

#[test]
#[cfg(target_os = "linux")]
fn workers_are_kept_to_the_cores_that_were_named() {
    let machine = CoreAssigner::new().cores().to_vec();
    for cores in [&machine[..1], &machine[..]] {
        let places = Arc::new(std::sync::Mutex::new(std::collections::BTreeSet::new()));
        let notes = Arc::clone(&places);
        let executor = Executor::<()>::builder()
            .config(config(3, None))
            .cpus(cores.iter().copied())
            .build(
                move |_| {
                    notes
                        .lock()
                        .expect("nobody panics here")
                        .insert(CoreAssigner::new().cores().to_vec())
                },
                |(), _cx| {},
            )
            .expect("they are allowed");
        executor.join();
        let places = places.lock().expect("nobody panics here");
        assert_eq!(*places, [cores.to_vec()].into());
    }
}

#[test]
fn a_core_that_is_not_allowed_is_named_and_nothing_starts() {
    let built = Executor::<()>::builder()
        .config(config(1, None))
        .cpus([1_000_000])
        .on_start(|_| panic!("started"))
        .build(|_| (), |(), _cx| {});
    let error = built.map(|_| ()).expect_err("no machine has that one");
    assert!(error.to_string().contains("core 1000000"), "{error}");
    let error = Executor::<()>::builder()
        .cpus([])
        .build(|_| (), |(), _cx| {})
        .map(|_| ())
        .expect_err("nowhere to run");
    assert!(matches!(error, BuildError::Cores(CoreError::Empty)), "{error:?}");
}

#[test]
fn tasks_of_eight_kilobytes_and_large_scratch_values_fit_the_stack() {
    type Task = [u8; 8192];
    let run = |task: Task, cx: &mut executor_threaded::WorkerCtx<Task, [u64; 20_000]>| {
        cx.scratch[0] += u64::from(task[8191]);
        if task[0] > 0 {
            let mut next = task;
            next[0] -= 1;
            cx.spawn_local(next);
            cx.spawn_local(next);
        }
    };
    for stack in [None, Some(256 << 10)] {
        let builder = Executor::<Task>::builder().config(config(2, None));
        let builder = match stack {
            Some(bytes) => builder.stack_size(bytes),
            None => builder,
        };
        let report = builder
            .scope(
                |_| [0; 20_000],
                run,
                |executor| {
                    let mut task = [1; 8192];
                    task[0] = 10;
                    executor.spawn(task).expect("the gate is open");
                },
            )
            .expect("the executor starts");
        assert_eq!(
            report.scratches.iter().map(|scratch| scratch[0]).sum::<u64>(),
            (1 << 11) - 1
        );
    }
    let executor = Executor::<Task>::new(config(2, None), |_| [0; 20_000], run).expect("the executor starts");
    executor.spawn_external([3; 8192]).expect("the gate is open");
    assert_eq!(executor.join().total.executed(), (1 << 4) - 1);
}

#[test]
fn without_settings_there_is_a_worker_for_each_core_of_the_host() {
    let made = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&made);
    let executor = Executor::<()>::builder()
        .build(
            move |_worker| {
                counted.fetch_add(1, Ordering::Relaxed);
            },
            |(), _cx| {},
        )
        .expect("no variable says otherwise");
    executor.join();
    let host = for_host().expect("no variable says otherwise");
    assert_eq!(made.load(Ordering::Relaxed), host.workers);
}
