//! A copy of the tree in the build folder, to be changed and built there.
//!
//! Unchanged files keep their times, so builds in the copy are incremental between runs.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::tidy;
use crate::workspace::Workspace;

#[derive(Debug)]
pub(crate) struct Copy {
    pub(crate) root: PathBuf,
    pub(crate) builds: PathBuf,
}

impl Copy {
    pub(crate) fn make(workspace: &Workspace, name: &str) -> anyhow::Result<Copy> {
        let folder = workspace.target.join(name);
        let copy = Copy {
            root: folder.join("tree"),
            builds: folder.join("builds"),
        };
        let mut kept = BTreeSet::new();
        for path in tidy::files(workspace)? {
            let bytes =
                fs::read(workspace.root.join(&path)).with_context(|| format!("cannot read {path}"))?;
            copy.write(&path, &bytes)?;
            kept.insert(copy.root.join(&path));
        }
        remove_others(&copy.root, &kept)?;
        Ok(copy)
    }

    pub(crate) fn write(&self, path: &str, bytes: &[u8]) -> anyhow::Result<()> {
        let to = self.root.join(path);
        if fs::read(&to).is_ok_and(|old| old == bytes) {
            return Ok(());
        }
        fs::create_dir_all(to.parent().context("a file has a folder")?)?;
        fs::write(&to, bytes).with_context(|| format!("cannot write {}", to.display()))
    }
}

fn remove_others(folder: &Path, kept: &BTreeSet<PathBuf>) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            remove_others(&path, kept)?;
        } else if !kept.contains(&path) {
            fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_follows_the_tree_and_what_is_the_same_keeps_its_time() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        let workspace = Workspace {
            target: root.join("target"),
            root: root.clone(),
            packages: Vec::new(),
        };
        for (path, text) in [("a.rs", "one"), ("b/c.rs", "two"), ("target/CACHEDIR.TAG", "")] {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), text).unwrap();
        }
        let copy = Copy::make(&workspace, "copied").unwrap();
        let time = || fs::metadata(copy.root.join("a.rs")).unwrap().modified().unwrap();
        let before = time();
        copy.write("b/c.rs", b"planted").unwrap();
        fs::write(copy.root.join("b/old.rs"), "left over").unwrap();
        Copy::make(&workspace, "copied").unwrap();
        assert_eq!(fs::read(copy.root.join("b/c.rs")).unwrap(), b"two");
        assert!(!copy.root.join("b/old.rs").exists() && !copy.root.join("target").exists());
        assert_eq!(time(), before);
    }
}
