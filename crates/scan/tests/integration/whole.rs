//! The whole of it: trees, chunks, workers, patterns and printer, against ripgrep's own search and
//! printers over the files one after another.

use scan::object::Object;
use scan::print::Printer;
use scan::{ParallelScanConfig, parallel_scan_dir};

use crate::random::{self, Random};
use crate::reference::Reference;
use crate::same_as_ripgrep::{pattern, print};
use crate::support::Memory;
use crate::support::data::write;

#[test]
fn a_scan_by_path_prints_what_ripgrep_prints_file_after_file() {
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let mut pattern = pattern(&mut random);
        let mut print = print(&mut random);
        // Where ripgrep's answer depends on its blocks, `same_as_ripgrep` says what holds.
        pattern.invert = false;
        if pattern.max_count.is_some() || pattern.multi_line {
            (print.before, print.after) = (0, 0);
        }
        let folder = tempfile::tempdir().expect("there is a folder for such");
        let mut reference = Reference::new(&pattern, &print);
        for number in 0..20 {
            let mut bytes = random::file(&mut random);
            if random.one_in(8) {
                bytes.retain(|byte| *byte != 0);
                bytes = random::encoded(&bytes, &mut random);
            }
            let path = folder.path().join(format!("{}/{}", number / 7, number % 7));
            write(&path, &bytes);
            let object = Object {
                id: number,
                path,
                named: false,
            };
            reference.file(&object, &bytes);
        }
        let expected = reference.into_out();
        for (chunk_size, workers) in [(16, 2), (64, 3), (1_000, 2), (256 << 10, 1)] {
            let (engine, printer) = Printer::new(&pattern, print.clone()).expect("the patterns are right");
            let config = ParallelScanConfig {
                chunk_size,
                sort: true,
                ..ParallelScanConfig::with_workers(workers)
            };
            let sink = Memory::new(printer);
            parallel_scan_dir(folder.path(), &engine, &config, &sink).expect("it runs");
            let found = sink.take().bytes;
            assert!(
                found == expected,
                "seed {seed}, chunk {chunk_size}: {pattern:?} {print:?}\n--- ours\n{}\n--- ripgrep's\n{}",
                String::from_utf8_lossy(&found),
                String::from_utf8_lossy(&expected),
            );
        }
    }
}
