//! The policy uses core's ports only, so that threads, the simulator and loom run the same code.
//!
//! In the files of [`RULES`], the parts of `std` that block, start threads, read clocks or order
//! memory are closed. Unit tests are free.

use super::rust_source::NamedPath;
use super::tree::Tree;
use super::violation::Violation;

struct Rule {
    under: &'static [&'static str],
    /// Files that are the port to real atomics.
    except: &'static [&'static str],
    closed: &'static [&'static str],
}

const RULES: &[Rule] = &[
    Rule {
        under: &["crates/executor-core/src/"],
        except: &["crates/executor-core/src/ports/native.rs"],
        closed: &[
            "crossbeam",
            "crossbeam_deque",
            "crossbeam_skiplist",
            "loom",
            "num_cpus",
            "core_affinity",
        ],
    },
    Rule {
        under: &[
            "crates/pipeline-exec/src/policy.rs",
            "crates/pipeline-exec/src/policy/",
        ],
        except: &[],
        closed: &[
            "crossbeam",
            "crossbeam_deque",
            "crossbeam_skiplist",
            "loom",
            "executor_threaded",
        ],
    },
];

const STD_CLOSED: &[&str] = &["thread", "sync", "time", "net", "fs", "process"];

/// Shared ownership, spans of time, and names of orderings passed to a port.
const STD_OPEN: &[&str] = &[
    "sync::Arc",
    "sync::Weak",
    "sync::atomic::Ordering",
    "time::Duration",
];

const CLOSED_OPEN: &[&str] = &["crossbeam::utils::CachePadded"];

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    RULES.iter().flat_map(|rule| rule.check(tree)).collect()
}

impl Rule {
    fn check(&self, tree: &Tree) -> Vec<Violation> {
        let covered = |path: &str| {
            self.under.iter().any(|prefix| path.starts_with(prefix)) && !self.except.contains(&path)
        };
        let mut found = Vec::new();
        for (file, source) in tree.rust("crates/").filter(|(file, _)| covered(&file.path)) {
            for named in source
                .paths()
                .iter()
                .filter(|named| !named.test && self.forbids(named))
            {
                let what = format!(
                    "the policy names `{}`, go through a port of executor-core",
                    named.path
                );
                found.push(Violation::new(&file.path, named.line, what));
            }
        }
        found
    }

    fn forbids(&self, named: &NamedPath) -> bool {
        if CLOSED_OPEN.iter().any(|open| named.is_in(open)) {
            return false;
        }
        if self.closed.iter().any(|closed| named.is_in(closed)) {
            return named.import || named.path.contains("::");
        }
        let inside = named
            .path
            .strip_prefix("std::")
            .or_else(|| named.path.strip_prefix("core::"));
        let inside = inside.map(|path| NamedPath {
            path: path.to_owned(),
            ..named.clone()
        });
        inside.is_some_and(|path| {
            STD_CLOSED.iter().any(|closed| path.is_in(closed))
                && !STD_OPEN.iter().any(|open| path.is_in(open))
        }) || (named.import && ["std::*", "core::*", "std", "core"].contains(&named.path.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::violation::assert_found;
    use super::*;

    const POLICY: &str = "crates/pipeline-exec/src/policy/job/claim.rs";

    #[test]
    fn policy_that_names_threads_atomics_or_clocks_is_found() {
        for wrong in [
            "use std::sync::atomic::AtomicUsize;",
            "use std::{thread, fmt};",
            "use std::sync;",
            "use core::sync::atomic as a;",
            "fn f() { let t = std::time::Instant::now(); }",
            "use executor_threaded::Executor;",
            "use crossbeam_skiplist::SkipSet;",
            "fn f(m: &std::sync::Mutex<u8>) {}",
            "use std as s;",
        ] {
            let found = check(&Tree::planted(&[(POLICY, wrong)]));
            assert_found(&found, &["policy/job/claim.rs:1: the policy names"]);
        }
    }

    #[test]
    fn ports_arcs_durations_and_tests_are_open() {
        let fine = "use executor_core::ports::Word; use std::{fmt, sync::Arc, time::Duration};
            use crossbeam::utils::CachePadded; use std::sync::atomic::Ordering;
            #[cfg(test)] mod tests { use std::thread; }";
        assert_found(&check(&Tree::planted(&[(POLICY, fine)])), &[]);
    }

    #[test]
    fn only_the_native_port_of_core_has_atomics() {
        let atomics = "use std::sync::atomic::AtomicUsize;";
        let tree = Tree::planted(&[
            ("crates/executor-core/src/ports/native.rs", atomics),
            ("crates/executor-core/src/run_state.rs", atomics),
            ("crates/executor-threaded/src/sleep.rs", atomics),
        ]);
        assert_found(&check(&tree), &["crates/executor-core/src/run_state.rs:1"]);
    }
}
