//! Runs one model, and prints the line that `cargo xtask loom` reads.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// `LOOM_MAX_PREEMPTIONS` overrides `bound`.
pub(crate) fn model(name: &str, bound: Option<usize>, scene: impl Fn() + Sync + Send + 'static) {
    // Ordering: Relaxed, here and below. A counter outside of the model, read after it.
    let executions = Arc::new(AtomicUsize::new(0));
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = match std::env::var("LOOM_MAX_PREEMPTIONS") {
        Ok(bound) => Some(bound.parse().expect("LOOM_MAX_PREEMPTIONS is a number")),
        Err(_) => bound,
    };
    builder.max_branches = 20_000;
    let bound = builder
        .preemption_bound
        .map_or_else(|| "none".to_owned(), |bound| bound.to_string());
    let start = Instant::now();
    let counter = executions.clone();
    builder.check(move || {
        counter.fetch_add(1, Ordering::Relaxed);
        scene();
    });
    let executions = executions.load(Ordering::Relaxed);
    let seconds = start.elapsed().as_secs_f64();
    println!("loom-model name={name} bound={bound} executions={executions} seconds={seconds:.2}");
}
