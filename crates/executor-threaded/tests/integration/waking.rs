//! No wake-up is lost: ping-pong with sleeping workers, and waiting for an idle executor.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use executor_threaded::Executor;

use crate::support::{both_ways_of_parking, config, sized, wait_until};

both_ways_of_parking! {
    fn a_million_ping_pongs_with_two_workers_and_spin_iters_0(park_timeout) {
        ping_pong(2, park_timeout, sized(100_000, 1_000_000));
    }
}

both_ways_of_parking! {
    fn a_million_ping_pongs_with_65_workers_and_spin_iters_0(park_timeout) {
        ping_pong(65, park_timeout, sized(100_000, 1_000_000));
    }
}

/// Every round finds the workers asleep or about to be. A lost wake-up hangs the test.
fn ping_pong(workers: usize, park_timeout: Option<Duration>, rounds: usize) {
    let pongs = Arc::new(AtomicUsize::new(0));
    let (ponged, producer) = (Arc::clone(&pongs), thread::current());
    let executor = Executor::<usize>::new(
        config(workers, park_timeout).tune(|tuning| tuning.spin_iters = 0),
        |_| (),
        move |ping, _cx| {
            let before = ponged.swap(ping, Ordering::Release);
            assert_eq!(before + 1, ping, "one ping at a time");
            producer.unpark();
        },
    )
    .expect("the executor starts");
    for ping in 1..=rounds {
        executor.spawn_external(ping).expect("the gate is open");
        while pongs.load(Ordering::Acquire) != ping {
            thread::park();
        }
    }
    let metrics = executor.join();
    assert_eq!(metrics.total.executed(), rounds as u64);
}

both_ways_of_parking! {
    fn a_long_chain_through_the_global_queue_arrives(park_timeout) {
        let executor = Executor::<usize>::new(
            config(4, park_timeout).tune(|tuning| tuning.spin_iters = 0),
            |_| (),
            |left, cx| if left > 0 { cx.spawn_global(left - 1) },
        )
        .expect("the executor starts");
        let links = sized(50_000, 500_000);
        executor.spawn_external(links).expect("the gate is open");
        assert_eq!(executor.join().total.executed(), links as u64 + 1);
    }
}

both_ways_of_parking! {
    fn a_batch_of_tasks_that_wait_for_each_other_gets_all_workers(park_timeout) {
        for workers in [2, 8, 65] {
            for _ in 0..20 {
                let met = Arc::new(AtomicUsize::new(0));
                let meets = Arc::clone(&met);
                let executor = Executor::<()>::new(
                    config(workers, park_timeout).tune(|tuning| tuning.spin_iters = 0),
                    |_| (),
                    move |(), _cx| {
                        meets.fetch_add(1, Ordering::Relaxed);
                        wait_until(|| meets.load(Ordering::Relaxed) == workers);
                    },
                )
                .expect("the executor starts");
                executor.spawn_external_batch(vec![(); workers]).expect("the gate is open");
                executor.join();
            }
        }
    }
}

both_ways_of_parking! {
    fn spawned_tasks_that_wait_for_each_other_get_all_workers(park_timeout) {
        for workers in [2, 8, 65] {
            for _ in 0..20 {
                let met = Arc::new(AtomicUsize::new(0));
                let meets = Arc::clone(&met);
                let executor = Executor::<bool>::new(
                    config(workers, park_timeout).tune(|tuning| tuning.spin_iters = 0),
                    |_| (),
                    move |root, cx| {
                        if root {
                            (1..workers).for_each(|_| cx.spawn_local(false));
                        }
                        meets.fetch_add(1, Ordering::Relaxed);
                        wait_until(|| meets.load(Ordering::Relaxed) == workers);
                    },
                )
                .expect("the executor starts");
                executor.spawn_external(true).expect("the gate is open");
                executor.join();
            }
        }
    }
}

both_ways_of_parking! {
    fn wait_idle_sees_everything_that_was_spawned_before_it(park_timeout) {
        let done = Arc::new(AtomicUsize::new(0));
        let does = Arc::clone(&done);
        let executor = Executor::<u32>::new(config(3, park_timeout), |_| (), move |task, cx| {
            if task > 0 {
                cx.spawn_local(task - 1);
                cx.spawn_global(task - 1);
            }
            does.fetch_add(1, Ordering::Relaxed);
        })
        .expect("the executor starts");
        executor.wait_idle();
        for round in 1..=sized(500, 2_000) {
            executor.spawn_external(5).expect("the gate stays open");
            executor.wait_idle();
            assert_eq!(done.load(Ordering::Relaxed), round * 63);
        }
        assert!(executor.is_accepting());
        executor.join();
    }
}

both_ways_of_parking! {
    fn several_threads_may_wait_for_idleness_at_once(park_timeout) {
        let executor = Executor::<u32>::new(config(2, park_timeout), |_| (), |task, cx| {
            if task > 0 {
                cx.spawn_local(task - 1);
            }
        })
        .expect("the executor starts");
        let done = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..sized(200, 1_000) {
                        executor.spawn_external(20).expect("the gate is open");
                        executor.wait_idle();
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(done.load(Ordering::Relaxed), 4 * sized(200, 1_000));
        executor.join();
    }
}

both_ways_of_parking! {
    fn wait_idle_ends_when_the_executor_is_shut_down(park_timeout) {
        for _ in 0..sized(100, 500) {
            let executor = Executor::<u32>::new(config(2, park_timeout), |_| (), |task, cx| {
                // Never idle by itself.
                cx.spawn_local(task);
            })
            .expect("the executor starts");
            executor.spawn_external(0).expect("the gate is open");
            let handle = executor.handle();
            thread::scope(|scope| {
                scope.spawn(|| executor.wait_idle());
                handle.shutdown();
            });
            assert_eq!(executor.shutdown(), [0]);
        }
    }
}
