//! On `injector` alone: lines of a made-up log in batches from several threads, counted by a
//! consumer that sleeps when idle.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use std::thread;

use injector::{Contended, Injector, Next};

const PRODUCERS: usize = 3;
const BATCHES: usize = 500;
const LINES: usize = 8;

type Batch = Vec<(usize, usize)>;

fn main() -> Result<(), Box<dyn Error>> {
    let queue = Injector::<Batch>::new();
    let (registered, counted) = (AtomicBool::new(false), AtomicUsize::new(0));
    let all = PRODUCERS * BATCHES * LINES;
    let counts = thread::scope(|scope| {
        let consumer = scope.spawn(|| {
            let mut counts = BTreeMap::new();
            while counted.load(Ordering::Relaxed) < all {
                let taken = take_lines(&queue, 20);
                if taken.is_empty() {
                    registered.store(true, Ordering::Relaxed);
                    fence(Ordering::SeqCst);
                    if !queue.has_ready() && counted.load(Ordering::Relaxed) < all {
                        thread::park();
                    }
                    registered.store(false, Ordering::Relaxed);
                }
                counted.fetch_add(taken.len(), Ordering::Relaxed);
                taken
                    .into_iter()
                    .for_each(|(producer, _)| *counts.entry(producer).or_insert(0) += 1);
            }
            counts
        });
        for producer in 0..PRODUCERS {
            let (queue, registered, consumer) = (&queue, &registered, consumer.thread().clone());
            scope.spawn(move || {
                for batch in 0..BATCHES {
                    queue.push((0..LINES).map(|line| (producer, batch * LINES + line)).collect());
                    fence(Ordering::SeqCst);
                    if registered.load(Ordering::Relaxed) {
                        consumer.unpark();
                    }
                }
            });
        }
        consumer.join().map_err(|_| "the consumer panicked")
    })?;
    let expected: BTreeMap<_, _> = (0..PRODUCERS).map(|producer| (producer, BATCHES * LINES)).collect();
    assert_eq!(counts, expected);
    assert!(queue.is_empty() && queue.len() == 0 && !queue.has_ready());
    assert_eq!(queue.try_take(|_| Next::More), Ok::<usize, Contended>(0));
    println!("{queue:?} after {all} lines");
    Ok(())
}

/// Puts the rest of the last batch back.
fn take_lines(queue: &Injector<Batch>, most: usize) -> Batch {
    let mut taken = Batch::new();
    queue.take(|mut batch| {
        let own = batch.len().min(most - taken.len());
        taken.extend(batch.drain(..own));
        match (batch.is_empty(), taken.len() < most) {
            (false, _) => Next::PutBack(batch),
            (true, true) => Next::More,
            (true, false) => Next::Enough,
        }
    });
    taken
}
