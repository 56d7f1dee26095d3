//! Loom models one by one: a planted bug may abort the process, and the model is still named.

use super::bug::{Bug, Hint};
use super::build::TestBinary;
use super::verdict::{Verdict, limit};
use crate::loom::model;
use crate::process::OverLimit;
use crate::tidy;
use crate::workspace::Workspace;

/// Seconds of a model in a build with a bug; without one all take less.
const MODEL_SECONDS: u64 = 120;

/// Preemptions in a model's first quick run, as [`BOUND`]: most bugs need no more, and a deeper
/// search reaches the same execution late.
const FEW: &str = "2";

/// Environment variable that overrides the models' bounds.
const BOUND: &str = "LOOM_MAX_PREEMPTIONS";

/// Runs the models of the bug's crate up to the first failure; `only_hinted`: only those in its
/// hint.
pub(super) fn run(
    workspace: &Workspace,
    binaries: &[TestBinary],
    bug: Option<Bug>,
    only_hinted: bool,
) -> anyhow::Result<Verdict> {
    let hinted = match bug.map(|bug| bug.hint) {
        Some(Hint::Edge(edge)) => tidy::models_of_edge(workspace, edge)?,
        Some(Hint::Model(name)) => vec![name.to_owned()],
        _ => Vec::new(),
    };
    let mut closed = 0;
    for binary in binaries
        .iter()
        .filter(|binary| bug.is_none_or(|bug| bug.krate == binary.package))
    {
        let mut models = model::list(&binary.path, limit(MODEL_SECONDS))?;
        // Models in the hint come first.
        models.sort_by_key(|model| !hinted.iter().any(|name| name == model::short(model)));
        for model in models {
            if only_hinted && !hinted.iter().any(|name| name == model::short(&model)) {
                continue;
            }
            let name = model::short(&model);
            for bound in only_hinted.then_some(Some(FEW)).into_iter().chain([None]) {
                let mut command = binary.command(bug);
                command.envs(bound.map(|bound| (BOUND, bound)));
                match model::fails(&mut command, &model, limit(MODEL_SECONDS)) {
                    Ok(None) => {}
                    Ok(Some(said)) => {
                        eprintln!("model `{name}` fails: {said}");
                        return Ok(Verdict::killed(format!("`{name}`")));
                    }
                    Err(error) if error.is::<OverLimit>() => {
                        return Ok(Verdict::killed(format!("`{name}` (hang)")));
                    }
                    Err(error) => return Err(error),
                }
            }
            closed += 1;
        }
    }
    Ok(Verdict::survived(format!("{closed} models close")))
}
