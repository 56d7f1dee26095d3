//! Which files are walked: the same as by the crate `ignore`, on generated trees.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;
use ignore::overrides::OverrideBuilder;
use ignore::types::TypesBuilder;
use scan::{ParallelScanConfig, parallel_scan_dir};
use tempfile::TempDir;

use crate::support::data::{Random, write};
use crate::support::{Memory, Names, Word};

const NAMES: &[&str] = &[
    "a", "b", "src", "target", ".hid", "x.rs", "y.txt", "z.log", "foo", "bar.rs", "é",
];

const PATTERNS: &[&str] = &[
    "a",
    "/a",
    "a/",
    "*.rs",
    "!x.rs",
    "**/b",
    "b/**",
    "src/*.txt",
    "/src",
    "!src",
    "target",
    "foo/",
    "!foo/",
    "z.*",
    "*",
    "!*.txt",
    "a/**/b",
    "# no rule",
    "",
    "\\!x",
    "y.txt ",
    "[xy].*",
    "/*/b",
    "!.hid",
    ".hid",
    "!/a/x.rs",
    "**",
    "src/",
    "{a,b}",
    "[",
    "a/b/",
    "!b",
    "*.log\r",
];

fn rules(random: &mut Random) -> String {
    let lines = (0..1 + random.below(4)).map(|_| *random.of(PATTERNS));
    let mut text = lines.collect::<Vec<_>>().join("\n");
    if random.one_in(8) {
        text.insert(0, '\u{feff}');
    }
    text
}

fn fill(random: &mut Random, folder: &Path, depth: usize) {
    for name in NAMES {
        let path = folder.join(name);
        match random.below(7) {
            0 | 1 if depth < 2 => {
                fs::create_dir_all(&path).expect("a folder can be made");
                fill(random, &path, depth + 1);
            }
            2 | 3 => write(&path, "text"),
            4 if random.one_in(4) => {
                let to = *random.of(&["a", "..", "x.rs", "nothing", "../b"]);
                symlink(to, &path).expect("a link can be made");
            }
            _ => {}
        }
    }
    for name in [".gitignore", ".ignore", ".rgignore"] {
        if random.one_in(4) {
            write(&folder.join(name), rules(random));
        }
    }
    match random.below(12) {
        0 => {
            fs::create_dir_all(folder.join(".git/info")).expect("a folder can be made");
            if random.one_in(2) {
                write(&folder.join(".git/info/exclude"), rules(random));
            }
        }
        1 => fs::create_dir_all(folder.join(".jj")).expect("a folder can be made"),
        2 => write(
            &folder.join(".git"),
            format!("gitdir: {}\n", folder.join("a").display()),
        ),
        _ => {}
    }
}

fn walked(builder: &WalkBuilder) -> (BTreeSet<PathBuf>, usize) {
    let mut errors = 0;
    let mut files = BTreeSet::new();
    for entry in builder.build() {
        match entry {
            Ok(entry) if entry.file_type().is_some_and(|kind| kind.is_file()) => {
                files.insert(entry.into_path());
            }
            Ok(_) => {}
            Err(_) => errors += 1,
        }
    }
    (files, errors)
}

/// In memory where the system keeps a folder there. On ext4 an inode is not given away again for five
/// seconds, and each new file passes over all of those, so that a tree took 40 ms.
fn folder() -> TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .expect("there is a folder for such")
}

#[test]
fn a_thousand_trees_are_walked_as_ignore_walks_them() {
    let above = folder();
    let mut found = 0;
    for seed in 0..1_000 {
        let mut random = Random::new(seed);
        let folder = above.path().join(seed.to_string());
        let outer = folder.join("outer");
        fs::create_dir_all(&outer).expect("a folder can be made");
        fill(&mut random, &folder, 2);
        let root = outer.join("root");
        fs::create_dir_all(&root).expect("a folder can be made");
        if random.one_in(3) {
            fs::create_dir_all(outer.join(".git")).expect("a folder can be made");
        }
        fill(&mut random, &root, 0);

        let mut config = ParallelScanConfig {
            names_only: true,
            skip_hidden: !random.one_in(4),
            respect_gitignore: !random.one_in(8),
            follow_symlinks: random.one_in(4),
            sort: random.one_in(2),
            ..ParallelScanConfig::with_workers(1 + (seed % 3) as usize)
        };
        config.rules.require_git = !random.one_in(4);
        config.rules.parents = !random.one_in(4);
        config.rules.git_ignore = !random.one_in(8);
        config.rules.git_exclude = !random.one_in(8);
        config.rules.dot_ignore = !random.one_in(8);
        config.rules.git_global = false;
        config.rules.case_insensitive = random.one_in(8);
        config.rules.max_depth = random.one_in(6).then(|| 1 + random.below(3) as usize);
        if random.one_in(6) {
            let mut globs = OverrideBuilder::new(&root);
            globs
                .add(random.of::<&str>(&["*.rs", "!*.rs", "src/**", "!a"]))
                .expect("a glob");
            config.rules.overrides = globs.build().expect("globs");
        }
        if random.one_in(6) {
            let mut types = TypesBuilder::new();
            types.add_defaults();
            types.select("rust");
            config.rules.types = types.build().expect("types");
        }

        let reads = config.respect_gitignore;
        let mut builder = WalkBuilder::new(&root);
        builder
            .hidden(config.skip_hidden)
            .follow_links(config.follow_symlinks)
            .require_git(config.rules.require_git)
            .parents(reads && config.rules.parents)
            .git_ignore(reads && config.rules.git_ignore)
            .git_exclude(reads && config.rules.git_exclude)
            .git_global(false)
            .ignore(reads && config.rules.dot_ignore)
            .ignore_case_insensitive(config.rules.case_insensitive)
            .max_depth(config.rules.max_depth)
            .overrides(config.rules.overrides.clone())
            .types(config.rules.types.clone());
        if reads {
            builder.add_custom_ignore_filename(".rgignore");
        }
        let (expected, errors) = walked(&builder);

        let sink = Memory::new(Names);
        let summary = parallel_scan_dir(&root, &Word::new(""), &config, &sink).expect("it runs");
        let bytes = sink.take().bytes;
        let names = String::from_utf8(bytes).expect("the names are text");
        let files: Vec<PathBuf> = names.lines().map(PathBuf::from).collect();
        if config.sort {
            let mut sorted = files.clone();
            sorted.sort();
            assert_eq!(files, sorted, "seed {seed}");
        }
        let set: BTreeSet<PathBuf> = files.iter().cloned().collect();
        assert_eq!(set.len(), files.len(), "seed {seed}");
        let differ: Vec<_> = set.symmetric_difference(&expected).take(5).collect();
        assert!(differ.is_empty(), "seed {seed}: {differ:?}: {config:?}");
        // A link that leads nowhere is an error there even if a rule leaves it out.
        if !config.follow_symlinks {
            assert_eq!(summary.errors as usize, errors, "seed {seed}");
        }
        found += set.len();
        fs::remove_dir_all(&folder).expect("the tree can be removed");
    }
    assert!(found > 5_000, "{found}");
}
