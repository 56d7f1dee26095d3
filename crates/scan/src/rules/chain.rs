//! The chain of a directory's rules: a node for each directory that has any.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::ignore_file;
use super::{Rules, Verdict, verdict_or};
use crate::files::{At, FileSystem, Names, Status};

/// The rules of one directory and of all above it. Directories without rules share their parent's.
#[derive(Clone, Debug)]
pub(crate) struct Chain {
    node: Option<Arc<Node>>,
    base: Arc<Base>,
}

/// A directory, as the reader of its ignore files sees it.
pub(crate) struct Place<'a, F: FileSystem> {
    pub(crate) files: &'a F,
    pub(crate) handle: Option<&'a F::Dir>,
    pub(crate) path: &'a Path,
    /// All its names, if they are known.
    pub(crate) names: Option<&'a Names>,
}

#[derive(Debug)]
struct Base {
    /// The root as it was named.
    root: PathBuf,
    /// The root without links, if its parents have rules.
    absolute: Option<PathBuf>,
}

#[derive(Debug)]
struct Node {
    parent: Option<Arc<Node>>,
    /// Above the root: matched against absolute paths.
    is_above: bool,
    custom: Gitignore,
    dot_ignore: Gitignore,
    git_ignore: Gitignore,
    git_exclude: Gitignore,
    has_git: bool,
    /// Whether this or one above has.
    any_git: bool,
}

impl Chain {
    /// The rules above `root`.
    pub(crate) fn above<F: FileSystem>(files: &F, rules: &Rules, root: &Path) -> Self {
        let absolute = if rules.needs_parents() {
            files.canonical(root).ok()
        } else {
            None
        };
        let mut chain = Self {
            node: None,
            base: Arc::new(Base {
                root: root.to_path_buf(),
                absolute: absolute.clone(),
            }),
        };
        let parents = absolute.iter().flat_map(|path| path.ancestors().skip(1));
        let parents: Vec<&Path> = parents.collect();
        for path in parents.into_iter().rev() {
            let place = Place {
                files,
                handle: None,
                path,
                names: None,
            };
            let git = place.git(rules);
            let has_git =
                rules.config.require_git && rules.config.git_ignore && (git.is_some() || place.has(".jj"));
            let node = place.node(rules, git, chain.heeds_git(rules) || has_git);
            chain = chain.with(Node {
                is_above: true,
                has_git,
                ..node
            });
        }
        chain
    }

    /// These rules and those of the directory at `place`.
    pub(crate) fn below<F: FileSystem>(&self, rules: &Rules, place: &Place<'_, F>) -> Self {
        let git = place.git(rules);
        let has_git = rules.read_any_of_git() && (git.is_some() || place.may_have(".jj") && place.has(".jj"));
        let node = place.node(rules, git, self.heeds_git(rules) || has_git);
        self.with(Node { has_git, ..node })
    }

    pub(super) fn has_rules(&self) -> bool {
        self.node.is_some()
    }

    /// Whether git's rules count here.
    fn heeds_git(&self, rules: &Rules) -> bool {
        !rules.config.require_git || self.node.as_ref().is_some_and(|node| node.any_git)
    }

    fn with(&self, mut node: Node) -> Self {
        if node.is_empty() {
            return self.clone();
        }
        node.any_git = node.has_git || self.node.as_ref().is_some_and(|parent| parent.any_git);
        node.parent.clone_from(&self.node);
        Self {
            node: Some(Arc::new(node)),
            base: Arc::clone(&self.base),
        }
    }

    pub(super) fn matched(&self, rules: &Rules, path: &Path, is_dir: bool) -> Verdict {
        let any_git = self.heeds_git(rules);
        let mut found = ByKind::default();
        let mut absolute = None;
        let mut saw_git = false;
        let mut next = self.node.as_ref();
        while let Some(node) = next {
            next = node.parent.as_ref();
            if node.is_above && !rules.config.parents {
                break;
            }
            let mut look = |verdict: &mut Verdict, matcher: &Gitignore| {
                if *verdict != Verdict::None || matcher.is_empty() {
                    return;
                }
                let path = if node.is_above {
                    absolute.get_or_insert_with(|| self.base.absolute(path))
                } else {
                    path
                };
                *verdict = Verdict::of(&matcher.matched(path, is_dir));
            };
            look(&mut found.custom, &node.custom);
            look(&mut found.dot_ignore, &node.dot_ignore);
            if any_git && !saw_git {
                look(&mut found.git_ignore, &node.git_ignore);
                look(&mut found.git_exclude, &node.git_exclude);
            }
            saw_git |= node.has_git;
        }
        let inner = [
            found.custom,
            found.dot_ignore,
            found.git_ignore,
            found.git_exclude,
        ];
        let inner = inner.into_iter().fold(Verdict::None, verdict_or);
        if inner == Verdict::None {
            rules.matched_outside(any_git, path, is_dir)
        } else {
            inner
        }
    }
}

struct ByKind {
    custom: Verdict,
    dot_ignore: Verdict,
    git_ignore: Verdict,
    git_exclude: Verdict,
}

impl Default for ByKind {
    fn default() -> Self {
        Self {
            custom: Verdict::None,
            dot_ignore: Verdict::None,
            git_ignore: Verdict::None,
            git_exclude: Verdict::None,
        }
    }
}

impl Base {
    /// `path`, which begins with the root as it was named, without links up to the root.
    fn absolute(&self, path: &Path) -> PathBuf {
        let Some(absolute) = &self.absolute else {
            return path.to_path_buf();
        };
        let root = self.root.strip_prefix("./").unwrap_or(&self.root);
        absolute.join(path.strip_prefix(root).unwrap_or(path))
    }
}

impl Node {
    fn is_empty(&self) -> bool {
        let Self {
            custom,
            dot_ignore,
            git_ignore,
            git_exclude,
            has_git,
            ..
        } = self;
        !has_git
            && [custom, dot_ignore, git_ignore, git_exclude]
                .iter()
                .all(|rules| rules.is_empty())
    }
}

impl<F: FileSystem> Place<'_, F> {
    /// What the ignore files say. `git` is what is known of `.git`. Without `heeds_git` git's files
    /// are not read: a repository below does not look above itself.
    fn node(&self, rules: &Rules, git: Option<Status>, heeds_git: bool) -> Node {
        let config = &rules.config;
        let custom: Vec<&str> = config.custom_names.iter().map(String::as_str).collect();
        let only_if = |wanted: bool, name: &'static str| {
            if wanted { vec![name] } else { Vec::new() }
        };
        let exclude = (heeds_git && config.git_exclude && git.is_some())
            .then(|| ignore_file::git_folder(self, git))
            .flatten()
            .map(|folder| folder.join("info/exclude"));
        Node {
            parent: None,
            is_above: false,
            custom: self.rules_of(rules, &custom),
            dot_ignore: self.rules_of(rules, &only_if(config.dot_ignore, ".ignore")),
            git_ignore: self.rules_of(rules, &only_if(heeds_git && config.git_ignore, ".gitignore")),
            git_exclude: exclude.map_or_else(Gitignore::empty, |path| {
                let text = self.read_path(&path);
                self.build(rules, text.iter().map(|text| (path.as_path(), text.as_slice())))
            }),
            has_git: false,
            any_git: false,
        }
    }

    /// What `.git` is, if it matters.
    fn git(&self, rules: &Rules) -> Option<Status> {
        let matters = rules.read_any_of_git() || rules.config.git_exclude;
        if matters && self.may_have(".git") {
            self.status(".git")
        } else {
            None
        }
    }

    fn rules_of(&self, rules: &Rules, names: &[&str]) -> Gitignore {
        let names = names.iter().filter(|name| self.may_have(name));
        let texts: Vec<_> = names
            .filter_map(|name| Some((Path::new(*name), self.read(name)?)))
            .collect();
        self.build(rules, texts.iter().map(|(path, text)| (*path, text.as_slice())))
    }

    fn build<'t>(&self, rules: &Rules, texts: impl Iterator<Item = (&'t Path, &'t [u8])>) -> Gitignore {
        let mut texts = texts.peekable();
        if texts.peek().is_none() {
            return Gitignore::empty();
        }
        let mut builder = GitignoreBuilder::new(self.path);
        // Fails for no value of this version.
        let _ = builder.case_insensitive(rules.config.case_insensitive);
        for (path, text) in texts {
            ignore_file::add(&mut builder, path, text);
        }
        builder.build().unwrap_or_else(|_| Gitignore::empty())
    }

    fn may_have(&self, name: &str) -> bool {
        self.names.is_none_or(|names| names.has(name))
    }

    fn has(&self, name: &str) -> bool {
        self.status(name).is_some()
    }

    fn status(&self, name: &str) -> Option<Status> {
        self.at(name, |at| self.files.status(at).ok())
    }

    pub(super) fn read(&self, name: &str) -> Option<Vec<u8>> {
        self.at(name, |at| ignore_file::read(self.files, at))
    }

    pub(super) fn read_path(&self, path: &Path) -> Option<Vec<u8>> {
        ignore_file::read(self.files, At::named(path))
    }

    pub(super) fn path(&self) -> &Path {
        self.path
    }

    fn at<R>(&self, name: &str, look: impl FnOnce(At<'_, F::Dir>) -> R) -> R {
        match self.handle {
            Some(dir) => look(At {
                dir: Some(dir),
                path: Path::new(name),
                follow: true,
            }),
            None => look(At::named(&self.path.join(name))),
        }
    }
}
