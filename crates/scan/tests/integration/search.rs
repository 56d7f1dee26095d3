//! What is found: the same as by a loop over the lines of each file, whatever the chunks, workers
//! and order.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use scan::{
    CancelToken, FileTask, ParallelScanConfig, Progress, parallel_scan_dir, parallel_scan_paths,
    process_file, scan_local,
};

use crate::support::data::{Random, text, write};
use crate::support::{Memory, Numbered, Word, by_path, expected};

/// Texts by path, below a folder.
pub(crate) fn texts(folder: &Path, files: usize, seed: u64) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut random = Random::new(seed);
    let mut texts = BTreeMap::new();
    for number in 0..files {
        let name = format!("{}/{}/{number}.txt", random.below(5), random.below(7));
        let path = folder.join(name);
        let max = *random.of(&[200, 2_000, 20_000]);
        let text = text(&mut random, max);
        write(&path, &text);
        texts.insert(path, text);
    }
    texts
}

fn all_expected(texts: &BTreeMap<PathBuf, Vec<u8>>, word: &Word) -> Vec<u8> {
    let mut paths: Vec<_> = texts.keys().collect();
    paths.sort_by_key(|path| path.iter().map(|part| part.to_owned()).collect::<Vec<_>>());
    let all = paths
        .into_iter()
        .map(|path| expected(path, &texts[path], word, false));
    all.collect::<Vec<_>>().concat()
}

#[test]
fn findings_are_those_of_a_loop_whatever_the_chunks_and_workers_are() {
    let folder = tempfile::tempdir().expect("there is a folder for such");
    let texts = texts(folder.path(), 1_000, 1);
    let word = Word::new("needle");
    let all = all_expected(&texts, &word);
    assert!(all.len() > 500_000, "{}", all.len());
    for workers in [1, 2, 8] {
        for chunk_size in [16, 100, 4_096, 256 << 10] {
            for sort in [false, true] {
                let config = ParallelScanConfig {
                    chunk_size,
                    sort,
                    ..ParallelScanConfig::with_workers(workers)
                };
                let sink = Memory::new(Numbered::default());
                let summary = parallel_scan_dir(folder.path(), &word, &config, &sink).expect("it runs");
                let taken = sink.take();
                let what = format!("{workers} workers, {chunk_size}, {sort}");
                assert_eq!(summary.objects, 1_000, "{what}");
                assert_eq!(
                    summary.clean + summary.with_findings,
                    1_000,
                    "{what}: {summary:?}"
                );
                assert!(taken.reports.values().all(|reports| reports.len() == 1), "{what}");
                if sort {
                    assert!(taken.bytes == all, "{what}");
                } else {
                    assert!(by_path(&taken.bytes) == by_path(&all), "{what}");
                }
            }
        }
    }
}

#[test]
fn a_line_longer_than_the_longest_is_searched_in_parts_of_that_length() {
    let folder = tempfile::tempdir().expect("there is a folder for such");
    let texts = texts(folder.path(), 100, 2);
    for max_line in [1, 10, 64, 1_000] {
        let word = Word {
            max_line,
            ..Word::new("need")
        };
        let all = all_expected(&texts, &word);
        for chunk_size in [16, 700, 256 << 10] {
            let config = ParallelScanConfig {
                chunk_size,
                sort: true,
                ..ParallelScanConfig::with_workers(2)
            };
            let sink = Memory::new(Numbered::default());
            let summary = parallel_scan_dir(folder.path(), &word, &config, &sink).expect("it runs");
            assert!(sink.take().bytes == all, "{max_line} {chunk_size}");
            let is_long = |line: &[u8]| line.len() > max_line;
            let searched = |text: &Vec<u8>| {
                let lines = text.split_inclusive(|&byte| byte == b'\n');
                let lines = lines.take_while(|line| !line.contains(&0));
                lines.filter(|line| is_long(line)).count() as u64
            };
            let long: u64 = texts.values().map(searched).sum();
            assert!(summary.cut_lines >= long, "{} of {long}", summary.cut_lines);
        }
    }
}

#[test]
fn one_line_of_many_megabytes_is_found_once_by_all_chunks_together() {
    let folder = tempfile::tempdir().expect("there is a folder for such");
    let mut text = vec![b'x'; 21 << 20];
    text[100_000..100_006].copy_from_slice(b"needle");
    let middle = 13 << 20;
    text[middle..middle + 6].copy_from_slice(b"needle");
    text.extend_from_slice(b"\nneedle at the end");
    let path = folder.path().join("long.txt");
    write(&path, &text);
    let word = Word::new("needle");
    let config = ParallelScanConfig::with_workers(2);
    let sink = Memory::new(Numbered::default());
    let summary = parallel_scan_dir(folder.path(), &word, &config, &sink).expect("it runs");
    assert!(sink.take().bytes == expected(&path, &text, &word, false));
    assert_eq!((summary.lines, summary.cut_lines), (3, 1));
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_text_and_utf16_is_read_as_what_it_says() {
    let folder = tempfile::tempdir().expect("there is a folder for such");
    let word = Word::new("needle");
    let text: String = (0..3_000)
        .map(|number| format!("{number} größer{}\n", ["", " needle"][number % 2]))
        .collect();
    let units = |bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
        let units = std::iter::once(0xfeff).chain(text.encode_utf16());
        units.flat_map(bytes).collect()
    };
    let mut all = Vec::new();
    for (name, bytes) in [
        ("be", units(u16::to_be_bytes)),
        ("le", units(u16::to_le_bytes)),
        ("plain", text.clone().into_bytes()),
        ("utf8", [b"\xef\xbb\xbf", text.as_bytes()].concat()),
    ] {
        let path = folder.path().join(name);
        write(&path, bytes);
        all.extend(expected(&path, text.as_bytes(), &word, false));
    }
    for chunk_size in [16, 1_000, 256 << 10] {
        let config = ParallelScanConfig {
            chunk_size,
            sort: true,
            ..ParallelScanConfig::with_workers(2)
        };
        let sink = Memory::new(Numbered::default());
        parallel_scan_dir(folder.path(), &word, &config, &sink).expect("it runs");
        assert!(sink.take().bytes == all, "{chunk_size}");
    }
}

#[test]
fn a_file_whose_end_is_known_is_not_read_on() {
    let folder = tempfile::tempdir().expect("there is a folder for such");
    let text = "needle\n".repeat(3 << 20);
    write(&folder.path().join("many.txt"), &text);
    let config = ParallelScanConfig::with_workers(2);
    let sink = Memory::new(Numbered { max: Some(1_000_000) });
    let summary = parallel_scan_dir(folder.path(), &Word::new("needle"), &config, &sink).expect("it runs");
    assert_eq!(summary.lines, 1_000_000);
    assert_eq!(crate::support::lines(&sink.take().bytes), 1_000_000);
    assert!(summary.bytes < text.len() as u64 / 2, "{}", summary.bytes);
}

#[test]
fn a_line_over_many_chunks_is_read_once() {
    let folder = tempfile::tempdir().expect("there is a folder for such");
    let path = folder.path().join("one-line.txt");
    let mut text = vec![b'x'; 6 << 20];
    text[3_000_000..3_000_006].copy_from_slice(b"needle");
    text.extend_from_slice(b"\nneedle\n");
    write(&path, &text);
    let config = ParallelScanConfig::with_workers(1);
    let chunk = config.chunk_size as u64;
    let sink = Memory::new(Numbered::default());
    let progress = Arc::new(Progress::default());
    let summary = parallel_scan_paths(
        vec![folder.path().to_owned()],
        &Word::new("needle"),
        &config,
        &sink,
        CancelToken::default(),
        Arc::clone(&progress),
    )
    .expect("it runs");
    assert_eq!(summary.lines, 2);
    assert_eq!(
        sink.take().bytes,
        expected(&path, &text, &Word::new("needle"), false)
    );
    let read = progress.bytes();
    assert!(
        read <= text.len() as u64 + 2 * chunk,
        "{read} of {} bytes",
        text.len()
    );
}

#[test]
fn a_caller_names_its_own_files() {
    let folder = tempfile::tempdir().expect("there is a folder for such");
    let texts = texts(folder.path(), 200, 3);
    let word = Word::new("needle");
    let config = ParallelScanConfig {
        sort: true,
        ..ParallelScanConfig::with_workers(2)
    };
    let files = || {
        let paths = texts.keys().rev().cloned().zip(1_000..);
        paths
            .map(|(path, file_id)| FileTask { file_id, path })
            .collect::<Vec<_>>()
    };
    let all: Vec<u8> = files()
        .iter()
        .flat_map(|file| expected(&file.path, &texts[&file.path], &word, true))
        .collect();
    let sink = Memory::new(Numbered::default());
    let config = config.to_local_config();
    let summary = scan_local(&word, files().into_iter(), &config, &sink).expect("it runs");
    assert_eq!(summary.objects, 200);
    assert!(sink.take().bytes == all);

    let one = files().remove(7);
    let path = one.path.clone();
    process_file(one, &word, &config, &sink).expect("it runs");
    assert_eq!(sink.take().bytes, expected(&path, &texts[&path], &word, true));
}

#[test]
fn a_folder_that_a_caller_names_as_a_file_is_an_error_of_its_own() {
    let folder = tempfile::tempdir().expect("there is a folder for such");
    let path = folder.path().to_path_buf();
    let sink = Memory::new(Numbered::default());
    let config = ParallelScanConfig::with_workers(1).to_local_config();
    let task = FileTask { file_id: 1, path };
    let summary = process_file(task, &Word::new("x"), &config, &sink).expect("it runs");
    assert_eq!((summary.objects, summary.errors), (1, 1));
}

/// Hears how far the scan is whenever a small file is reported, and whenever lines come out, which
/// only small files have.
struct Watching {
    memory: Memory<Numbered>,
    progress: std::sync::Arc<scan::Progress>,
    bytes: std::sync::atomic::AtomicU64,
}

impl Watching {
    fn look(&self) {
        let bytes = self.progress.bytes();
        self.bytes.fetch_max(bytes, std::sync::atomic::Ordering::Relaxed);
    }
}

impl scan::Sink for Watching {
    type Output = Numbered;

    fn output(&self) -> &Numbered {
        &self.memory.output
    }

    fn write(&self, block: &[u8]) -> std::io::Result<()> {
        self.look();
        self.memory.write(block)
    }

    fn report(&self, object: &scan::object::Object, _: &scan::report::Report) {
        if object.path.file_name().is_some_and(|name| name != "large") {
            self.look();
        }
    }
}

#[test]
fn small_files_do_not_wait_for_a_large_one() {
    let folder = tempfile::tempdir().expect("there is a folder for such");
    let large = 96_u64 << 20;
    write(
        &folder.path().join("large"),
        "a line of a large file\n".repeat(large as usize / 23),
    );
    for number in 0..1_000 {
        write(&folder.path().join(format!("{number}")), "a needle\n");
    }
    let progress = std::sync::Arc::new(scan::Progress::default());
    let sink = Watching {
        memory: Memory::new(Numbered::default()),
        progress: std::sync::Arc::clone(&progress),
        bytes: std::sync::atomic::AtomicU64::new(0),
    };
    let config = ParallelScanConfig::with_workers(2);
    let roots = vec![folder.path().to_path_buf()];
    let cancel = scan::CancelToken::default();
    let summary = scan::parallel_scan_paths(roots, &Word::new("needle"), &config, &sink, cancel, progress);
    assert_eq!(summary.expect("it runs").objects, 1_001);
    let bytes = sink.bytes.into_inner();
    assert!(
        bytes < large / 2,
        "{bytes} bytes were read before the last small file"
    );
    let lines = sink.memory.take().bytes;
    assert_eq!(crate::support::lines(&lines), 1_000);
}
