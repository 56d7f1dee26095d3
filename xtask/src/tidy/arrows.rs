//! The arrows between crates, from `cargo metadata`: none runs against the layers.
//!
//! [`LAYERS`] is the diagram of `docs/architecture.md`. A crate may skip layers, except the
//! simulator, which must not use threads. Tests and examples may use a little more.

use std::collections::BTreeSet;

use super::violation::Violation;
use crate::workspace::{Dependency, Package};

const LAYERS: &[(&str, &[&str])] = &[
    ("executor-core", &[]),
    // In loom's place of the same name, for the models.
    ("generator", &[]),
    ("http-store", &[]),
    ("injector", &[]),
    ("object-server", &[]),
    ("paced-load", &[]),
    ("program-allocator", &[]),
    ("shared-features", &[]),
    ("tpch-tables", &[]),
    ("executor-threaded", &["executor-core", "injector"]),
    ("pipeline-exec", &["executor-threaded", "executor-core"]),
    ("sim", &["pipeline-exec", "executor-core"]),
    ("recorded", &["sim", "executor-threaded"]),
    ("columnar", &["pipeline-exec"]),
    ("pools", &["pipeline-exec"]),
    ("query", &["columnar", "pools", "http-store"]),
    ("windlass-datafusion", &["query"]),
    ("windlass-ballista", &["windlass-datafusion"]),
    (
        "windlass-server",
        &["windlass-datafusion", "http-store", "tpch-tables"],
    ),
    ("scan", &["executor-threaded"]),
    ("windlass", &["query", "scan", "program-allocator"]),
    ("benches", &["windlass", "sim", "object-server"]),
    ("xtask", &[]),
];

const NO_SHORTCUT: &[&str] = &["sim"];

/// Tests of applications run in the simulator; an example of the simulator shows one runner on
/// both.
const TESTS_ONLY: &[(&str, &str)] = &[
    ("columnar", "sim"),
    ("columnar", "shared-features"),
    ("query", "sim"),
    ("query", "object-server"),
    ("query", "shared-features"),
    ("windlass-datafusion", "object-server"),
    ("windlass-datafusion", "paced-load"),
    ("windlass-datafusion", "tpch-tables"),
    ("windlass-ballista", "tpch-tables"),
    ("windlass-server", "paced-load"),
    ("scan", "sim"),
    ("pools", "sim"),
    ("windlass", "sim"),
    ("windlass", "shared-features"),
    ("sim", "executor-threaded"),
];

const PLAIN: &[&str] = &[
    "executor-core",
    "injector",
    "executor-threaded",
    "pipeline-exec",
    "sim",
    "recorded",
];

/// The only crates that name the async runtime.
const ASYNC: &[&str] = &["pools", "windlass-server", "benches"];

/// What needs no runtime: the semaphore, and the cancellation token of tokio-util.
const SYNC: &[(&str, &str)] = &[("query", "tokio"), ("query", "tokio-util")];

pub(crate) fn check(packages: &[Package]) -> Vec<Violation> {
    packages.iter().flat_map(arrows).collect()
}

fn arrows(package: &Package) -> Vec<Violation> {
    let manifest = format!("{}/Cargo.toml", package.folder);
    let Some(allowed) = allowed(&package.name) else {
        let what = format!(
            "crate `{}` has no layer, give it one in xtask/src/tidy/arrows.rs",
            package.name
        );
        return vec![Violation::new(&manifest, 1, what)];
    };
    let mut found = Vec::new();
    for dependency in &package.dependencies {
        let Dependency { name, dev } = dependency;
        if is_member(name) {
            let tests_only = *dev && TESTS_ONLY.contains(&(package.name.as_str(), name.as_str()));
            if !allowed.contains(name.as_str()) && !tests_only {
                let what = format!(
                    "`{}` must not depend on `{name}`, the layers allow {allowed:?}; move the code or turn the arrow",
                    package.name
                );
                found.push(Violation::new(&manifest, 1, what));
            }
        } else if !dev && PLAIN.contains(&package.name.as_str()) && is_heavy(name) {
            let what = format!(
                "`{}` must not depend on `{name}`, that belongs to a layer above",
                package.name
            );
            found.push(Violation::new(&manifest, 1, what));
        } else if !dev
            && is_runtime(name)
            && !ASYNC.contains(&package.name.as_str())
            && !SYNC.contains(&(package.name.as_str(), name.as_str()))
        {
            let what = format!(
                "`{}` must not depend on `{name}`, the async runtime is the pools' affair; use `pools`",
                package.name
            );
            found.push(Violation::new(&manifest, 1, what));
        }
    }
    found
}

fn allowed(name: &str) -> Option<BTreeSet<&'static str>> {
    let (_, below) = LAYERS.iter().find(|(layer, _)| *layer == name)?;
    let mut all: BTreeSet<&str> = below.iter().copied().collect();
    if !NO_SHORTCUT.contains(&name) {
        all.extend(below.iter().filter_map(|layer| allowed(layer)).flatten());
    }
    Some(all)
}

fn is_member(name: &str) -> bool {
    LAYERS.iter().any(|(layer, _)| *layer == name)
}

fn is_heavy(name: &str) -> bool {
    ["arrow", "parquet", "tokio"]
        .iter()
        .any(|heavy| name == *heavy || name.starts_with(&format!("{heavy}-")))
}

fn is_runtime(name: &str) -> bool {
    name == "tokio" || name.starts_with("tokio-")
}

#[cfg(test)]
mod tests {
    use super::super::violation::assert_found;
    use super::*;

    fn package(name: &str, dependencies: &[(&str, bool)]) -> Package {
        let dependency = |(name, dev): &(&str, bool)| Dependency {
            name: (*name).to_owned(),
            dev: *dev,
        };
        Package {
            name: name.to_owned(),
            folder: format!("crates/{name}"),
            dependencies: dependencies.iter().map(dependency).collect(),
            targets: Vec::new(),
        }
    }

    #[test]
    fn arrows_down_the_layers_pass_and_may_skip_one() {
        let packages = [
            package(
                "pipeline-exec",
                &[("executor-threaded", false), ("executor-core", false)],
            ),
            package(
                "query",
                &[("columnar", false), ("pipeline-exec", false), ("sim", true)],
            ),
            package("executor-core", &[("proptest", true)]),
            package("sim", &[("executor-core", false), ("executor-threaded", true)]),
        ];
        assert_found(&check(&packages), &[]);
    }

    #[test]
    fn the_guest_engine_is_on_the_stages_of_queries_and_below_nothing() {
        let engine = package(
            "windlass-datafusion",
            &[("query", false), ("pools", false), ("datafusion", false)],
        );
        assert_found(&check(&[engine]), &[]);
        let found = check(&[
            package("windlass-datafusion", &[("windlass", false), ("tokio", false)]),
            package("query", &[("windlass-datafusion", false)]),
        ]);
        assert_found(
            &found,
            &[
                "`windlass-datafusion` must not depend on `windlass`",
                "`windlass-datafusion` must not depend on `tokio`",
                "`query` must not depend on `windlass-datafusion`",
            ],
        );
    }

    #[test]
    fn an_arrow_turned_round_is_found() {
        let found = check(&[package("executor-core", &[("executor-threaded", false)])]);
        assert_found(
            &found,
            &["crates/executor-core/Cargo.toml:1: `executor-core` must not depend on `executor-threaded`"],
        );
        let found = check(&[package("injector", &[("executor-core", false)])]);
        assert_found(&found, &["`injector` must not depend on `executor-core`"]);
        let found = check(&[package("executor-threaded", &[("pipeline-exec", true)])]);
        assert_found(&found, &["must not depend on `pipeline-exec`"]);
    }

    #[test]
    fn the_simulator_stays_away_from_threads_and_out_of_products() {
        let found = check(&[
            package("sim", &[("executor-threaded", false)]),
            package("query", &[("sim", false)]),
        ]);
        assert_found(
            &found,
            &[
                "`sim` must not depend on `executor-threaded`",
                "`query` must not depend on `sim`",
            ],
        );
    }

    #[test]
    fn the_async_runtime_is_named_by_the_pools_alone() {
        let query = package("query", &[("tokio-stream", false), ("tokio-util", false)]);
        assert_found(&check(&[query]), &["`query` must not depend on `tokio-stream`"]);
        let columns = package("columnar", &[("tokio-util", false), ("tokio", true)]);
        assert_found(
            &check(&[columns]),
            &["`columnar` must not depend on `tokio-util`"],
        );
        let pools = package("pools", &[("tokio", false), ("pipeline-exec", false)]);
        assert_found(&check(&[pools]), &[]);
    }

    #[test]
    fn a_library_below_the_columns_carries_no_arrow_and_no_tokio() {
        let found = check(&[package(
            "pipeline-exec",
            &[("arrow-array", false), ("tokio", false), ("tokio", true)],
        )]);
        assert_found(&found, &["`arrow-array`", "`tokio`"]);
    }

    #[test]
    fn a_crate_without_a_layer_is_found() {
        assert_found(&check(&[package("utils", &[])]), &["crate `utils` has no layer"]);
    }
}
