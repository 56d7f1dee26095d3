//! Output by path stays in order, together, and within its bound in memory.

use scan::{ParallelScanConfig, parallel_scan_dir};

use crate::support::data::write;
use crate::support::{Memory, Numbered, Word, by_path, expected};

/// A large file in front of many small ones, all lines of which are found.
fn outputs(sort: bool, kept_bytes_max: usize) -> (Vec<u8>, Vec<u8>) {
    let folder = tempfile::tempdir().expect("there is a folder for such");
    let word = Word::new("needle");
    let mut all = Vec::new();
    let large = folder.path().join("a.txt");
    let text = "a needle in a line of a large file\n".repeat(400_000);
    write(&large, &text);
    all.extend(expected(&large, text.as_bytes(), &word, false));
    for number in 0..2_000 {
        let path = folder.path().join(format!("b/{number:04}.txt"));
        let text = format!("needle {number}\n").repeat(50);
        write(&path, &text);
        all.extend(expected(&path, text.as_bytes(), &word, false));
    }
    let config = ParallelScanConfig {
        sort,
        kept_bytes_max,
        ..ParallelScanConfig::with_workers(4)
    };
    let sink = Memory::new(Numbered::default());
    let summary = parallel_scan_dir(folder.path(), &word, &config, &sink).expect("it runs");
    assert_eq!(summary.with_findings, 2_001);
    (sink.take().bytes, all)
}

#[test]
fn by_path_everything_is_in_order_in_memory_and_in_the_file() {
    for kept in [0, 100_000, 16 << 20] {
        let (found, expected) = outputs(true, kept);
        assert!(found == expected, "{kept}");
    }
}

#[test]
fn without_an_order_each_file_is_together() {
    for kept in [0, 16 << 20] {
        let (found, expected) = outputs(false, kept);
        assert!(by_path(&found) == by_path(&expected), "{kept}");
    }
}
