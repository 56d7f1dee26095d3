//! A job with two stages and a result: async code awaits its ticket, a thread watches its progress.
//!
//! `cargo run -p pipeline-exec --example stages_and_ticket`

use std::collections::HashMap;
use std::error::Error;
use std::sync::{Arc, Mutex, OnceLock};

use pipeline_exec::{Job, JobError, PipelineExecutor, Stage, StepCx, StepError};

type Counts = HashMap<&'static str, usize>;

type Count = (&'static str, usize);

struct CountWords {
    parts: Vec<&'static str>,
    counts: Vec<OnceLock<Counts>>,
    total: Arc<OnceLock<Counts>>,
}

impl Stage for CountWords {
    fn name(&self) -> &str {
        "count words"
    }

    fn slots(&self) -> usize {
        self.parts.len()
    }

    fn run(&self, slot: usize, _cx: &StepCx<'_>) -> Result<(), StepError> {
        let mut counts = Counts::new();
        for word in self.parts[slot].split_whitespace() {
            *counts.entry(word).or_default() += 1;
        }
        self.counts[slot]
            .set(counts)
            .map_err(|_| StepError::from("a slot ran twice"))
    }

    fn finish(&self, _cx: &StepCx<'_>) -> Result<(), StepError> {
        let mut total = Counts::new();
        for counts in self.counts.iter().filter_map(OnceLock::get) {
            for (word, count) in counts {
                *total.entry(*word).or_default() += count;
            }
        }
        self.total
            .set(total)
            .map_err(|_| StepError::from("finished twice"))
    }
}

struct MostFrequent {
    total: Arc<OnceLock<Counts>>,
    found: Mutex<Vec<Count>>,
}

impl Stage for MostFrequent {
    fn name(&self) -> &str {
        "most frequent"
    }

    fn slots(&self) -> usize {
        1
    }

    fn run(&self, _slot: usize, _cx: &StepCx<'_>) -> Result<(), StepError> {
        let total = self.total.get().ok_or("nothing was counted")?;
        let mut words: Vec<_> = total.iter().map(|(word, count)| (*word, *count)).collect();
        words.sort_by_key(|(word, count)| (usize::MAX - count, *word));
        words.truncate(3);
        *self.found.lock().map_err(|_| "somebody panicked")? = words;
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let text = "the cat sat on the mat\nthe dog sat on the cat\nthe end";
    let parts: Vec<_> = text.lines().collect();
    let total = Arc::new(OnceLock::new());
    let count = Arc::new(CountWords {
        counts: vec![OnceLock::new(); parts.len()],
        parts,
        total: total.clone(),
    });
    let frequent = Arc::new(MostFrequent {
        total,
        found: Mutex::default(),
    });

    let executor = PipelineExecutor::new(2)?;
    let job = Job::builder("text")
        .stage(count)
        .stage(frequent.clone())
        .output(move |_cx| {
            Ok(std::mem::take(
                &mut *frequent.found.lock().map_err(|_| "somebody panicked")?,
            ))
        })
        .build();
    let ticket = executor.submit(job)?;
    let control = ticket.control();

    // Any async runtime will do; this is the smallest.
    let report = pollster::block_on(async {
        let report = ticket.await?;
        println!("{} slots ran in {:?}", report.slots, report.run);
        Ok::<_, JobError>(report)
    })?;

    assert_eq!((report.slots, report.slots), control.progress());
    for (word, count) in report.output {
        println!("{count} x {word}");
    }
    Ok(())
}
