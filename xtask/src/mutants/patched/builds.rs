//! The programs of a layer, built incrementally in the copy: patches differ by a few lines.

use std::path::PathBuf;

use anyhow::ensure;

use crate::copy::Copy;
use crate::loom;
use crate::mutants::layer::Layer;
use crate::process::{self, Built, Limit, cargo};

#[derive(Debug)]
pub(super) enum Programs {
    Tests(Vec<Built>),
    Simulator(PathBuf),
}

pub(super) fn build(copy: &Copy, krate: &str, layer: Layer, limit: Limit) -> anyhow::Result<Programs> {
    let mut command = cargo();
    match layer {
        Layer::Unit => {
            command.args([
                "test",
                "--no-run",
                "--lib",
                "--test",
                "integration",
                "--package",
                krate,
            ]);
        }
        Layer::Sim => {
            command.args(["build", "--release", "--package", "sim", "--bin", "windlass-sim"]);
            // Few runs find most patches, so the build takes more time than they do.
            command.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1");
        }
        Layer::Loom => {
            command.args([
                "test",
                "--release",
                "--no-run",
                "--test",
                loom::TARGET,
                "--package",
                krate,
            ]);
            process::add_rustflags(&mut command, &["--cfg", "windlass_loom"]);
        }
    }
    command
        .current_dir(&copy.root)
        .env("CARGO_TARGET_DIR", copy.builds.join(layer.name()))
        .env("CARGO_INCREMENTAL", "1")
        .env("CARGO_PROFILE_RELEASE_DEBUG", "false");
    let mut built = process::built(&mut command, limit)?;
    if layer != Layer::Sim {
        return Ok(Programs::Tests(built));
    }
    ensure!(
        built.len() == 1,
        "the simulator is one program, not {}",
        built.len()
    );
    Ok(Programs::Simulator(built.remove(0).path))
}
