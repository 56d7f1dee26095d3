//! The queue from outside. The numbers are such that several blocks are used.
#![cfg(not(windlass_loom))]

mod against_a_model;
mod ending;
mod panicking;
mod sharing;
mod taking;

use injector::{Injector, Next};

fn take_up_to<V>(queue: &Injector<V>, most: usize) -> Vec<V> {
    let mut run = Vec::new();
    if most > 0 {
        queue.take(|value| {
            run.push(value);
            more_if(run.len() < most)
        });
    }
    run
}

fn take_all<V>(queue: &Injector<V>) -> Vec<V> {
    take_up_to(queue, usize::MAX)
}

fn more_if<V>(more: bool) -> Next<V> {
    if more { Next::More } else { Next::Enough }
}
