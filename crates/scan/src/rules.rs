//! Which files of a tree are left out: ignore files, globs, types and hidden names.
//!
//! Every directory has a chain of rules, from its own ignore files to those of the root's parents.
//! The crate `ignore` has the matchers, and its walker the same precedence, which tests compare.
//! Its chain of directories is its own, so this is another.
//!
//! ```text
//!   globs of the user > .rgignore > .ignore > .gitignore > .git/info/exclude > git's global file
//!     > files of the user > types > hidden names
//!   of ignore files of one name: the nearest directory's; .gitignore up to the repository's root
//! ```

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::overrides::Override;
use ignore::types::Types;

use crate::config::ParallelScanConfig;
use crate::files::is_hidden;

mod chain;
mod ignore_file;

pub(crate) use chain::{Chain, Place};

/// Rules that leave files out.
#[derive(Clone, Debug)]
pub struct RuleConfig {
    /// Globs that come before all other rules. Default: none.
    pub overrides: Override,
    /// Types of files to look at. Default: all.
    pub types: Types,
    /// Further ignore files, relative to the working directory. Default: none.
    pub ignore_files: Vec<PathBuf>,
    /// Names of ignore files that come before `.ignore`. Default: `.rgignore`.
    pub custom_names: Vec<String>,
    /// Whether `.ignore` is read. Default `true`.
    pub dot_ignore: bool,
    /// Whether `.gitignore` is read. Default `true`.
    pub git_ignore: bool,
    /// Whether `.git/info/exclude` is read. Default `true`.
    pub git_exclude: bool,
    /// Whether git's global file is read. Default `true`.
    pub git_global: bool,
    /// Whether the rules of the root's parents count. Default `true`.
    pub parents: bool,
    /// Whether git's rules count in repositories alone. Default `true`.
    pub require_git: bool,
    /// Whether letters of either case match in ignore files. Default `false`.
    pub case_insensitive: bool,
    /// Levels below the root that are entered. Default: all.
    pub max_depth: Option<usize>,
}

impl Default for RuleConfig {
    fn default() -> Self {
        Self {
            overrides: Override::empty(),
            types: Types::empty(),
            ignore_files: Vec::new(),
            custom_names: vec![".rgignore".to_owned()],
            dot_ignore: true,
            git_ignore: true,
            git_exclude: true,
            git_global: true,
            parents: true,
            require_git: true,
            case_insensitive: false,
            max_depth: None,
        }
    }
}

impl RuleConfig {
    /// These rules without any ignore file.
    #[must_use]
    pub fn without_ignore_files(self) -> Self {
        Self {
            ignore_files: Vec::new(),
            custom_names: Vec::new(),
            dot_ignore: false,
            git_ignore: false,
            git_exclude: false,
            git_global: false,
            parents: false,
            ..self
        }
    }
}

/// What all directories of a scan share.
#[derive(Debug)]
pub(crate) struct Rules {
    pub(crate) config: RuleConfig,
    skip_hidden: bool,
    global: Gitignore,
    explicit: Vec<Gitignore>,
}

impl Rules {
    pub(crate) fn new(config: &ParallelScanConfig) -> Self {
        let rules = config.rules.clone();
        let rules = if config.respect_gitignore {
            rules
        } else {
            rules.without_ignore_files()
        };
        let working = std::env::current_dir().ok();
        let builder = || {
            let mut builder = GitignoreBuilder::new(working.as_deref()?);
            // Fails for no value of this version.
            let _ = builder.case_insensitive(rules.case_insensitive);
            Some(builder)
        };
        let global = if rules.git_global {
            builder().map_or_else(Gitignore::empty, |builder| builder.build_global().0)
        } else {
            Gitignore::empty()
        };
        let of_file = |path: &PathBuf| {
            let mut builder = builder()?;
            // Lines that are no globs are left out, as everywhere.
            let _ = builder.add(path);
            builder.build().ok()
        };
        let explicit = rules.ignore_files.iter().filter_map(of_file).collect();
        Self {
            skip_hidden: config.skip_hidden,
            global,
            explicit,
            config: rules,
        }
    }

    /// Whether a rule may leave out a path below `chain` for more than its name.
    pub(crate) fn look_at_paths(&self, chain: &Chain) -> bool {
        chain.has_rules()
            || !(self.config.overrides.is_empty()
                && self.config.types.is_empty()
                && self.explicit.is_empty()
                && self.global.is_empty())
    }

    /// Whether `name` is left out, if no rule looks at paths.
    pub(crate) fn leave_out_name(&self, name: &OsStr) -> bool {
        self.skip_hidden && is_hidden(name)
    }

    /// Whether `path`, which is named `name`, is left out.
    pub(crate) fn leave_out(&self, chain: &Chain, path: &Path, name: &OsStr, is_dir: bool) -> bool {
        let path = if path.as_os_str().as_encoded_bytes().starts_with(b"./") {
            path.strip_prefix("./").unwrap_or(path)
        } else {
            path
        };
        match self.matched(chain, path, is_dir) {
            Verdict::Out => true,
            Verdict::In => false,
            Verdict::None => self.leave_out_name(name),
        }
    }

    fn matched(&self, chain: &Chain, path: &Path, is_dir: bool) -> Verdict {
        if !self.config.overrides.is_empty() {
            let verdict = Verdict::of(&self.config.overrides.matched(path, is_dir));
            if verdict != Verdict::None {
                return verdict;
            }
        }
        let mut verdict = chain.matched(self, path, is_dir);
        if verdict != Verdict::Out && !self.config.types.is_empty() {
            verdict = verdict_or(Verdict::of(&self.config.types.matched(path, is_dir)), verdict);
        }
        verdict
    }

    fn matched_outside(&self, any_git: bool, path: &Path, is_dir: bool) -> Verdict {
        let global = if any_git {
            Verdict::of(&self.global.matched(path, is_dir))
        } else {
            Verdict::None
        };
        let explicit = self.explicit.iter().rev();
        explicit.fold(global, |verdict, rules| {
            if verdict == Verdict::None {
                Verdict::of(&rules.matched(path, is_dir))
            } else {
                verdict
            }
        })
    }

    fn read_any_of_git(&self) -> bool {
        self.config.require_git && (self.config.git_ignore || self.config.git_exclude)
    }

    fn needs_parents(&self) -> bool {
        let RuleConfig {
            parents,
            git_ignore,
            git_exclude,
            git_global,
            ..
        } = self.config;
        parents || git_ignore || git_exclude || git_global
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    None,
    Out,
    In,
}

impl Verdict {
    fn of<T>(found: &Match<T>) -> Self {
        match found {
            Match::None => Self::None,
            Match::Ignore(_) => Self::Out,
            Match::Whitelist(_) => Self::In,
        }
    }
}

fn verdict_or(first: Verdict, second: Verdict) -> Verdict {
    if first == Verdict::None { second } else { first }
}
