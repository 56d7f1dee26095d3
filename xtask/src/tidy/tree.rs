//! The files of the repository, read once: those that git tracks or would add.
//!
//! Without git the folder is walked, except build folders. Tests of checks plant their own trees.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::Context as _;

use super::rust_source::RustSource;

#[derive(Debug)]
pub(crate) struct Tree {
    files: BTreeMap<String, File>,
}

#[derive(Debug)]
pub(crate) struct File {
    /// Relative to the root, with `/`.
    pub(crate) path: String,
    /// Empty if it is not UTF-8.
    pub(crate) text: String,
    pub(crate) rust: Option<RustSource>,
}

impl Tree {
    pub(crate) fn load(root: &Path) -> anyhow::Result<Tree> {
        let mut files = BTreeMap::new();
        for path in paths(root)? {
            let full = root.join(&path);
            // Git still lists a deleted file.
            if full.is_file() {
                let bytes = std::fs::read(&full).with_context(|| format!("cannot read {path}"))?;
                let text = String::from_utf8(bytes).unwrap_or_default();
                files.insert(path.clone(), File::new(path, text));
            }
        }
        Ok(Tree { files })
    }

    #[cfg(test)]
    pub(crate) fn planted(files: &[(&str, &str)]) -> Tree {
        let file = |(path, text): &(&str, &str)| {
            (
                (*path).to_owned(),
                File::new((*path).to_owned(), (*text).to_owned()),
            )
        };
        Tree {
            files: files.iter().map(file).collect(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.files.len()
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = &File> {
        self.files.values()
    }

    pub(crate) fn file(&self, path: &str) -> Option<&File> {
        self.files.get(path)
    }

    pub(crate) fn rust<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a File, &'a RustSource)> {
        let under = self.files().filter(move |file| file.path.starts_with(prefix));
        under.filter_map(|file| Some((file, file.rust.as_ref()?)))
    }

    pub(crate) fn with_extension<'a>(&'a self, extension: &'a str) -> impl Iterator<Item = &'a File> {
        self.files().filter(move |file| {
            file.path
                .rsplit_once('.')
                .is_some_and(|(_, found)| found == extension)
        })
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        let folder = format!("{path}/");
        path.is_empty()
            || self.files.contains_key(path)
            || self
                .files
                .range(folder.clone()..)
                .next()
                .is_some_and(|(found, _)| found.starts_with(&folder))
    }
}

impl File {
    fn new(path: String, text: String) -> File {
        let rust = path.ends_with(".rs").then(|| RustSource::parse(&path, &text));
        File { path, text, rust }
    }

    pub(crate) fn is_product(&self) -> bool {
        let mut parts = self.path.split('/');
        parts.next() == Some("crates") && parts.nth(1) == Some("src")
    }
}

/// `path` resolved against the folder of the file `from`; `None` if it leaves the repository.
pub(crate) fn resolve(from: &str, path: &str) -> Option<String> {
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

fn paths(root: &Path) -> anyhow::Result<Vec<String>> {
    let git = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output();
    if let Ok(output) = git
        && output.status.success()
    {
        let list = String::from_utf8_lossy(&output.stdout).into_owned();
        return Ok(list
            .split('\0')
            .filter(|path| !path.is_empty())
            .map(str::to_owned)
            .collect());
    }
    let mut paths = Vec::new();
    walk(root, root, &mut paths)?;
    Ok(paths)
}

fn walk(root: &Path, folder: &Path, paths: &mut Vec<String>) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            if !path.join("CACHEDIR.TAG").exists() && !path.ends_with(".git") {
                walk(root, &path, paths)?;
            }
        } else {
            paths.push(path.strip_prefix(root)?.to_string_lossy().replace('\\', "/"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_exists_when_it_holds_a_file() {
        let tree = Tree::planted(&[("docs/a.md", ""), ("docs-more/b.md", "")]);
        assert!(tree.exists("docs") && tree.exists("docs/") && tree.exists("docs/a.md"));
        assert!(!tree.exists("doc") && !tree.exists("docs/b.md"));
    }

    #[test]
    fn paths_resolve_against_the_folder_of_the_file_and_stay_inside() {
        assert_eq!(
            resolve("docs/a.md", "../crates/sim").as_deref(),
            Some("crates/sim")
        );
        assert_eq!(resolve("README.md", "./docs/").as_deref(), Some("docs"));
        assert_eq!(resolve("docs/a.md", "../../elsewhere"), None);
    }

    #[test]
    fn an_export_without_git_is_walked_past_build_folders() {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("src/a.rs", "//! A."),
            ("target/CACHEDIR.TAG", ""),
            ("target/b.rs", ""),
        ] {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let mut found = Vec::new();
        walk(folder.path(), folder.path(), &mut found).unwrap();
        assert_eq!(found, ["src/a.rs"]);
    }
}
