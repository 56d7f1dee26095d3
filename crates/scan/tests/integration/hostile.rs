//! Trees that do not hold still, or are made to hang a walker.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use scan::{CancelToken, ParallelScanConfig, parallel_scan_dir, parallel_scan_paths};

use crate::support::data::{Random, write};
use crate::support::{Memory, Numbered, Word, by_path};

#[test]
fn what_is_no_file_is_skipped_and_says_why() {
    let folder = tempfile::tempdir().expect("there is a folder for such");
    let at = |name: &str| folder.path().join(name);
    write(&at("plain"), "needle\n");
    write(&at("empty"), "");
    symlink("plain", at("link")).expect("a link can be made");
    symlink(".", at("loop")).expect("a link can be made");
    symlink("nowhere", at("dangling")).expect("a link can be made");
    let _socket = UnixListener::bind(at("socket")).expect("a socket can be made");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        at("fifo"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .expect("a FIFO can be made");
    let word = Word::new("needle");
    let reports = |follow_symlinks| {
        let config = ParallelScanConfig {
            follow_symlinks,
            ..ParallelScanConfig::with_workers(2)
        };
        let sink = Memory::new(Numbered::default());
        let summary = parallel_scan_dir(folder.path(), &word, &config, &sink).expect("it runs");
        let reports = sink.take().reports;
        assert_eq!(summary.objects as usize, reports.len());
        let reports = reports.into_iter().map(|(path, reports)| {
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            assert_eq!(reports.len(), 1, "{name}");
            format!("{name} {}", reports[0])
        });
        reports.collect::<Vec<_>>()
    };
    assert_eq!(
        reports(false),
        [
            "dangling skipped: a symbolic link",
            "empty clean",
            "fifo skipped: no regular file",
            "link skipped: a symbolic link",
            "loop skipped: a symbolic link",
            "plain findings",
            "socket skipped: no regular file",
        ]
    );
    assert_eq!(
        reports(true),
        [
            "dangling error: No such file or directory (os error 2)",
            "empty clean",
            "fifo skipped: no regular file",
            "link findings",
            "loop error: a link to a directory that it is in",
            "plain findings",
            "socket skipped: no regular file",
        ]
    );
}

#[test]
fn what_cannot_be_read_is_an_error_with_its_name() {
    let folder = tempfile::tempdir().expect("there is a folder for such");
    write(&folder.path().join("secret"), "needle\n");
    write(&folder.path().join("closed/inside"), "needle\n");
    let set = |name: &str, mode| {
        fs::set_permissions(folder.path().join(name), fs::Permissions::from_mode(mode)).expect("it is ours");
    };
    set("secret", 0o000);
    set("closed", 0o000);
    let sink = Memory::new(Numbered::default());
    let config = ParallelScanConfig::with_workers(2);
    let summary = parallel_scan_dir(folder.path(), &Word::new("needle"), &config, &sink).expect("it runs");
    let missing =
        parallel_scan_dir(&folder.path().join("missing"), &Word::new("x"), &config, &sink).expect("it runs");
    set("closed", 0o700);
    assert_eq!((missing.objects, missing.errors), (1, 1));
    // Root may read everything.
    if !rustix::process::geteuid().is_root() {
        assert_eq!((summary.objects, summary.errors), (2, 2));
    }
}

#[test]
fn a_chain_of_directories_deeper_than_there_may_be_open_files_is_walked() {
    let folder = tempfile::tempdir().expect("there is a folder for such");
    let mut path = folder.path().to_path_buf();
    for depth in 0..600 {
        path.push("d");
        fs::create_dir(&path).expect("a folder can be made");
        write(&path.join("f"), format!("needle {depth}\n"));
    }
    let config = ParallelScanConfig {
        open_files_max: 16,
        max_in_flight_objects: 3,
        ..ParallelScanConfig::with_workers(2)
    };
    for sort in [false, true] {
        let config = ParallelScanConfig {
            sort,
            ..config.clone()
        };
        let sink = Memory::new(Numbered::default());
        let summary =
            parallel_scan_dir(folder.path(), &Word::new("needle"), &config, &sink).expect("it runs");
        assert_eq!((summary.objects, summary.with_findings), (600, 600));
    }
}

#[test]
fn a_tree_that_changes_while_it_is_scanned_is_reported_object_by_object() {
    let folder = tempfile::tempdir().expect("there is a folder for such");
    let root = folder.path().to_path_buf();
    for number in 0..200 {
        write(
            &root.join(format!("{}/{number}", number % 7)),
            "a line with a needle\n".repeat(2_000),
        );
    }
    let ends = Arc::new(AtomicBool::new(false));
    let changer = thread::spawn({
        let (root, ends) = (root.clone(), Arc::clone(&ends));
        move || {
            let mut random = Random::new(5);
            while !ends.load(Ordering::Relaxed) {
                let path = root.join(format!("{}/{}", random.below(7), random.below(220)));
                match random.below(5) {
                    0 => drop(fs::remove_file(&path)),
                    1 => drop(fs::write(
                        &path,
                        "a line with a needle\n".repeat(random.below(40_000) as usize),
                    )),
                    2 => {
                        if let Ok(file) = fs::OpenOptions::new().write(true).open(&path) {
                            drop(file.set_len(random.below(40_000)));
                        }
                    }
                    3 => drop(fs::create_dir(&path)),
                    _ => drop(fs::remove_dir(&path)),
                }
            }
        }
    });
    let begin = Instant::now();
    let seconds = std::env::var("WINDLASS_SCAN_SECONDS")
        .ok()
        .and_then(|text| text.parse().ok());
    while begin.elapsed() < Duration::from_secs(seconds.unwrap_or(2)) {
        let config = ParallelScanConfig {
            chunk_size: 4_096,
            ..ParallelScanConfig::with_workers(2)
        };
        let sink = Memory::new(Numbered::default());
        let summary = parallel_scan_dir(&root, &Word::new("needle"), &config, &sink).expect("it runs");
        let taken = sink.take();
        let sum = summary.clean + summary.with_findings + summary.skipped + summary.errors;
        assert_eq!(sum, summary.objects);
        assert_eq!(taken.reports.values().map(Vec::len).sum::<usize>() as u64, sum);
        by_path(&taken.bytes);
    }
    ends.store(true, Ordering::Relaxed);
    changer.join().expect("it does not panic");
}

#[test]
fn a_cancelled_scan_ends_soon_with_whole_lines() {
    let folder = tempfile::tempdir().expect("there is a folder for such");
    write(
        &folder.path().join("large"),
        "a line with a needle\n".repeat(3 << 20),
    );
    for number in 0..2_000 {
        write(&folder.path().join(format!("d/{number}")), "a needle\n");
    }
    for round in 0..10 {
        let cancel = CancelToken::default();
        let sink = Memory::new(Numbered::default());
        let config = ParallelScanConfig {
            sort: round % 2 == 0,
            ..ParallelScanConfig::with_workers(2)
        };
        let canceller = thread::spawn({
            let cancel = cancel.clone();
            move || {
                thread::sleep(Duration::from_millis(round));
                cancel.cancel();
                Instant::now()
            }
        });
        let roots = vec![folder.path().to_path_buf()];
        let summary = parallel_scan_paths(
            roots,
            &Word::new("needle"),
            &config,
            &sink,
            cancel,
            Arc::default(),
        );
        let ended = Instant::now();
        let summary = summary.expect("it runs");
        let cancelled = canceller.join().expect("it does not panic");
        assert!(ended.saturating_duration_since(cancelled) < Duration::from_secs(2));
        let taken = sink.take();
        let sum = summary.clean + summary.with_findings + summary.skipped + summary.errors;
        assert_eq!(sum, summary.objects);
        assert!(taken.bytes.is_empty() || taken.bytes.ends_with(b"needle\n"));
        by_path(&taken.bytes);
    }
}
