//! `cargo xtask mutants [NAME]`: bugs that are planted on purpose, each with the layer that has to notice it.
//!
//! Simulator and models are trusted because they are seen to fail. A planted bug is a line of the shipped code that a
//! `--cfg windlass_mutant="<name>"` leaves out; no normal build has it. Each is built into a folder of its own and
//! run on one layer:
//!
//! ```text
//! simulator   windlass-sim --expect-failure --seeds 1000      some schedule must fail, by the right oracle
//! loom        the models of the edge that loses its end       some model must fail; each that does is named
//! ```
//!
//! A bug that survives is a failure, and so is one that can no longer be built.

mod models;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use anyhow::ensure;

use crate::process::{self, Limit};
use crate::table;
use crate::usage::{Misuse, Outcome};
use crate::workspace::Workspace;
use crate::{loom, sim};

/// How many schedules the simulator has.
const SCHEDULES: &str = "1000";

/// A planted bug and who must notice it.
#[derive(Debug)]
pub(crate) struct Mutant {
    /// The value of `windlass_mutant`.
    name: &'static str,
    /// Its row in the table of `cargo xtask ci`.
    pub(crate) step: &'static str,
    /// What is left out.
    leaves_out: &'static str,
    layer: Layer,
    /// Whether every run of CI shows that it is found. Each is a build of its own, so not all can be.
    in_ci: bool,
}

#[derive(Debug)]
enum Layer {
    /// Sequentially consistent interleavings. One of these oracles has to speak first: another would have found something
    /// else.
    Simulator { oracles: &'static [&'static str] },
    /// The C11 memory model: the models that `docs/memory-model.md` names for this edge.
    Loom {
        package: &'static str,
        edge: &'static str,
    },
}

/// The planted bugs, each on the cheapest layer that can find it.
const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "m04_no_second_look",
        step: "planted m04",
        leaves_out: "the look after registering as a sleeper",
        layer: Layer::Simulator {
            oracles: &["reach", "lost-wake-up", "deadlock"],
        },
        in_ci: true,
    },
    Mutant {
        name: "m25_no_publish_fence",
        step: "planted m25",
        leaves_out: "the fence before reading the sleepers",
        layer: Layer::Loom {
            package: "executor-core",
            edge: "sleep/publish",
        },
        in_ci: true,
    },
    Mutant {
        name: "m28_private_work_hidden",
        step: "planted m28",
        leaves_out: "private tasks for those who are hungry",
        layer: Layer::Simulator {
            oracles: &["hidden-work"],
        },
        in_ci: false,
    },
    Mutant {
        name: "m33_private_not_covered",
        step: "planted m33",
        leaves_out: "the count that covers a private task",
        layer: Layer::Simulator { oracles: &["count"] },
        in_ci: false,
    },
    Mutant {
        name: "m34_parks_on_private",
        step: "planted m34",
        leaves_out: "the private tasks before parking",
        layer: Layer::Simulator {
            oracles: &["hidden-work"],
        },
        in_ci: false,
    },
    Mutant {
        name: "m35_exposed_without_wake",
        step: "planted m35",
        leaves_out: "the wake for private tasks that become public",
        layer: Layer::Simulator {
            oracles: &["liveness"],
        },
        in_ci: false,
    },
];

/// Those that every run of CI shows to be found.
pub(crate) fn in_ci() -> impl Iterator<Item = &'static Mutant> {
    MUTANTS.iter().filter(|mutant| mutant.in_ci)
}

/// Plants the bugs whose name contains the argument, or all.
pub(crate) fn run(arguments: Vec<OsString>) -> anyhow::Result<Outcome> {
    let filter = match arguments.as_slice() {
        [] => String::new(),
        [name] if !name.to_string_lossy().starts_with('-') => name.to_string_lossy().into_owned(),
        [first, ..] => {
            let what = format!("mutants takes one name and no options, not `{}`", first.display());
            return Err(Misuse::new(what).into());
        }
    };
    let chosen: Vec<&Mutant> = MUTANTS
        .iter()
        .filter(|mutant| mutant.name.contains(&filter))
        .collect();
    ensure!(!chosen.is_empty(), "no planted bug is called `{filter}`");
    let workspace = Workspace::load()?;
    let mut survivors = false;
    let mut rows = Vec::new();
    for mutant in chosen {
        let verdict = mutant.check(&workspace, Limit::NONE)?;
        survivors |= !verdict.killed;
        let result = if verdict.killed { "killed" } else { "SURVIVED" };
        rows.push([mutant.name.to_owned(), result.to_owned(), verdict.how]);
    }
    println!();
    table::print(["planted bug", "result", "how"], &rows);
    Ok(if survivors {
        Outcome::Failed
    } else {
        Outcome::Passed
    })
}

/// What became of a planted bug.
#[derive(Debug)]
pub(crate) struct Verdict {
    /// Whether its layer noticed.
    pub(crate) killed: bool,
    how: String,
}

impl Mutant {
    /// Builds with the bug and runs the layer that must notice.
    ///
    /// # Errors
    ///
    /// When it does not build, when the layer cannot be run, or when it was ended because the limit was over.
    pub(crate) fn check(&self, workspace: &Workspace, limit: Limit) -> anyhow::Result<Verdict> {
        match self.layer {
            Layer::Simulator { oracles } => self.simulate(workspace, oracles, limit),
            Layer::Loom { package, edge } => self.explore(workspace, package, edge, limit),
        }
    }

    /// One line for the table of `cargo xtask ci`.
    pub(crate) fn summary(&self, verdict: &Verdict) -> String {
        let Mutant { leaves_out, .. } = self;
        format!("without {leaves_out}: {}", verdict.how)
    }

    fn simulate(&self, workspace: &Workspace, oracles: &[&str], limit: Limit) -> anyhow::Result<Verdict> {
        let mut build = sim::build(workspace)?;
        self.plant(&mut build, workspace, &[]);
        ensure!(
            process::run(&mut build, limit)?.success(),
            "`{}` does not build",
            self.name
        );
        let mut run = sim::command(workspace)?;
        self.plant(&mut run, workspace, &[]);
        run.args(["--", "--expect-failure", "--seeds", SCHEDULES, "--out"])
            .arg(self.folder(workspace).join("choices"));
        let mut last = String::new();
        let status = process::run_reading(&mut run, limit, |line| {
            if !line.trim().is_empty() {
                last = line.trim().to_owned();
            }
        })?;
        Ok(Verdict {
            killed: status.success() && oracles.iter().any(|oracle| last.contains(&format!("`{oracle}`"))),
            how: last,
        })
    }

    fn explore(
        &self,
        workspace: &Workspace,
        package: &str,
        edge: &str,
        limit: Limit,
    ) -> anyhow::Result<Verdict> {
        let mut build = loom::build(package);
        self.plant(&mut build, workspace, &["--cfg", "windlass_loom"]);
        let binary = process::built_test(&mut build, limit)?;
        let tests = models::of_edge(workspace, edge, &binary, limit)?;
        let (mut killers, mut closed) = (Vec::new(), Vec::new());
        for test in &tests {
            let name = models::short(test);
            match models::fails(&binary, test, limit)? {
                Some(said) => {
                    println!("model `{name}` fails: {said}");
                    killers.push(name);
                }
                None => {
                    println!("model `{name}` closes");
                    closed.push(name);
                }
            }
        }
        let how = if killers.is_empty() {
            format!("survived {}", closed.join(", "))
        } else {
            format!("killed by {}", killers.join(", "))
        };
        Ok(Verdict {
            killed: !killers.is_empty(),
            how,
        })
    }

    /// The build gets the bug, and a folder of its own to go to.
    fn plant(&self, command: &mut Command, workspace: &Workspace, flags: &[&str]) {
        let bug = format!("windlass_mutant=\"{}\"", self.name);
        process::add_rustflags(command, &[flags, &["--cfg", &bug]].concat());
        command.env("CARGO_TARGET_DIR", self.folder(workspace));
    }

    fn folder(&self, workspace: &Workspace) -> PathBuf {
        workspace.target.join("mutants").join(self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_planted_bug_has_its_place_in_the_code_and_its_name_in_the_lints() {
        let workspace = Workspace::load().unwrap();
        let manifest = std::fs::read_to_string(workspace.root.join("Cargo.toml")).unwrap();
        let sites =
            std::fs::read_to_string(workspace.root.join("crates/executor-core/src/mutant.rs")).unwrap();
        for Mutant { name, .. } in MUTANTS {
            let quoted = format!("\"{name}\"");
            assert!(
                manifest.contains(&quoted),
                "{name} is not in the manifest's check-cfg"
            );
            assert!(sites.contains(&quoted), "{name} is planted nowhere");
        }
    }

    #[test]
    fn a_command_with_a_bug_keeps_to_its_own_folder() {
        let workspace = Workspace::load().unwrap();
        let mut command = process::cargo();
        MUTANTS[0].plant(&mut command, &workspace, &["--cfg", "windlass_loom"]);
        let variable = |name: &str| {
            let found = command.get_envs().find(|(key, _)| *key == name);
            found
                .and_then(|(_, value)| value)
                .unwrap()
                .to_string_lossy()
                .into_owned()
        };
        assert!(variable("CARGO_TARGET_DIR").ends_with("mutants/m04_no_second_look"));
        let flags = variable("CARGO_ENCODED_RUSTFLAGS");
        assert!(
            flags.ends_with("--cfg\x1fwindlass_loom\x1f--cfg\x1fwindlass_mutant=\"m04_no_second_look\""),
            "{flags:?}"
        );
    }
}
