//! Replays every file of the corpus, from its line and from its choices.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use sim::{Choices, ReplayLine, RunOptions, Scenario};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    line: String,
    once: String,
    story: String,
    choices: Option<Choices>,
}

#[test]
fn what_was_wrong_once_is_right_now() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut replayed = 0;
    for file in fs::read_dir(&folder).expect("the corpus is there") {
        let path = file.expect("it can be listed").path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let name = path.display();
        let entry: Entry = serde_json::from_slice(&fs::read(&path).expect("it can be read"))
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(
            !entry.once.is_empty() && !entry.story.is_empty(),
            "{name}: no story"
        );
        let line: ReplayLine = entry
            .line
            .parse()
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let scenario = Scenario::from_line(&line).unwrap_or_else(|error| panic!("{name}: {error}"));
        let by_line = line.choices.clone();
        let by_choices = entry.choices.map(Some);
        for choices in std::iter::once(by_line).chain(by_choices) {
            let options = RunOptions {
                silenced: None,
                choices,
                keep_events: false,
            };
            if let Err(failure) = scenario.run(line.strategy, line.seed, options) {
                panic!("{name} fails again, once {}: {failure}", entry.once);
            }
        }
        replayed += 1;
    }
    assert!(replayed > 0, "the corpus is empty");
}
