//! The programs of the tables, and how each is called for a search.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::corpus::Place;
use super::launch::Invocation;
use crate::options::Options;

pub(super) const OURS: &str = "windlass";
pub(super) const PEER: &str = "rg";
pub(super) const PEER_VERSION: &str = "15.2.0";
const INSTALL: &str = "`cargo install ripgrep --version 15.2.0 --locked --root target/peers` installs it";

/// Paths below the target directory.
pub(super) const WINDLASS: &str = "release/windlass";
pub(super) const RIPGREP: &str = "peers/bin/rg";

#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) path: PathBuf,
    pub(super) version: String,
    /// Words before the flags.
    first: &'static [&'static str],
}

#[derive(Clone, Debug)]
pub(super) struct Programs {
    pub(super) ours: Program,
    pub(super) peer: Program,
    /// Other tools that are installed, for comparison: what they find is not what the two find.
    pub(super) others: Vec<(&'static str, Program)>,
}

impl Programs {
    pub(super) fn find(options: &Options, target: &Path) -> Result<Self> {
        let below = |knob: &str, default: &str| match options.text(knob) {
            "" => target.join(default),
            path => PathBuf::from(path),
        };
        let peer = Program::new(below("rg", RIPGREP), &[]).context(INSTALL)?;
        if !peer.version.starts_with(&format!("ripgrep {PEER_VERSION}")) {
            eprintln!(
                "the peer is {PEER_VERSION}, and this is {}; {INSTALL}",
                peer.version
            );
        }
        let mut ours = Program::new(below("windlass", WINDLASS), &["scan"])?;
        if ours.version.starts_with("ripgrep") {
            eprintln!(
                "`--windlass` is {}: the tables compare it with itself",
                ours.version
            );
            ours.first = &[];
        } else {
            let help = Command::new(&ours.path).args(["scan", "--help"]).output()?;
            ensure!(help.status.success(), "{} has no `scan`", ours.path.display());
        }
        let installed = |name: &'static str, first| {
            let program = Program::new(name.into(), first).ok()?;
            Some((name, program))
        };
        let ugrep: &[&str] = &["-J2"];
        let others = [installed("grep", &[]), installed("ugrep", ugrep)];
        Ok(Self {
            ours,
            peer,
            others: others.into_iter().flatten().collect(),
        })
    }

    pub(super) fn versions(&self) -> Vec<String> {
        let others = self.others.iter().map(|(_, program)| program.version.clone());
        [self.ours.version.clone(), self.peer.version.clone()]
            .into_iter()
            .chain(others)
            .collect()
    }
}

impl Program {
    fn new(path: PathBuf, first: &'static [&'static str]) -> Result<Self> {
        let named = || format!("cannot run {}", path.display());
        let output = Command::new(&path)
            .arg("--version")
            .output()
            .with_context(named)?;
        ensure!(output.status.success(), named());
        let text = String::from_utf8_lossy(&output.stdout);
        let version = text.lines().next().unwrap_or_default();
        let version = version
            .split(" (rev")
            .next()
            .unwrap_or_default()
            .trim()
            .to_owned();
        // Without a folder in its name a program is found by `PATH`, wherever it is started.
        let path = match path.components().count() {
            1 => path,
            _ => std::path::absolute(path)?,
        };
        Ok(Self { path, version, first })
    }

    /// A search with the flags that windlass and ripgrep share.
    pub(super) fn search(&self, threads: usize, flags: &[&str], place: &Place) -> Invocation {
        let mut words: Vec<OsString> = self.first.iter().map(OsString::from).collect();
        words.push(format!("--threads={threads}").into());
        words.extend(flags.iter().map(OsString::from));
        self.invocation(words, place)
    }

    /// A call with words of its own.
    pub(super) fn other(&self, words: &[&str], place: &Place) -> Invocation {
        let words = self.first.iter().chain(words).map(OsString::from);
        self.invocation(words.collect(), place)
    }

    fn invocation(&self, mut arguments: Vec<OsString>, place: &Place) -> Invocation {
        arguments.push((&place.path).into());
        Invocation {
            program: self.path.clone(),
            arguments,
            folder: place.folder.clone(),
        }
    }
}
