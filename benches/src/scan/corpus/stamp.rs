//! Generated trees are kept: each has a stamp beside it that says what made it.
//!
//! A tree is made under another name and renamed when it is whole. Without its stamp, or with that
//! of another generator or size, it is made anew.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use nix::sys::statvfs::statvfs;

/// Of the generators; raise it when they change.
const VERSION: u32 = 1;

/// Bytes of the disk that a generator leaves free.
const RESERVE: u64 = 4 << 30;

#[derive(Debug)]
pub(super) struct Store {
    root: PathBuf,
    folder: PathBuf,
}

impl Store {
    pub(super) fn new(root: PathBuf, scale: f64) -> Self {
        let folder = root.join(format!("scale-{scale}"));
        Self { root, folder }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Makes the tree `name` of `size`, which takes some `bytes` of the disk, unless it is there.
    pub(super) fn make(
        &self,
        name: &str,
        size: u64,
        bytes: u64,
        make: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<()> {
        let (path, stamp) = (self.path(name), self.path(&format!("{name}.stamp")));
        let stamped = format!("generator {VERSION}, size {size}\n");
        if path.exists() && fs::read_to_string(&stamp).is_ok_and(|found| found == stamped) {
            return Ok(());
        }
        fs::create_dir_all(&self.folder)?;
        // Otherwise ignore files above would have a part in it.
        fs::create_dir_all(self.folder.join(".git"))?;
        let partial = self.path(&format!("{name}.partial"));
        for old in [&stamp, &path, &partial] {
            remove(old)?;
        }
        self.ensure_room(name, bytes)?;
        let start = Instant::now();
        fs::create_dir(&partial)?;
        make(&partial).with_context(|| format!("{name} could not be generated"))?;
        fs::rename(&partial, &path)?;
        fs::write(stamp, stamped)?;
        eprintln!(
            "generated {}, some {} MB, in {:.1} s",
            path.display(),
            bytes / 1_000_000,
            start.elapsed().as_secs_f64()
        );
        Ok(())
    }

    /// Removes the trees of all sizes. A folder with anything else stays.
    pub(super) fn remove(&self) -> Result<()> {
        let scales = match fs::read_dir(&self.root) {
            Ok(scales) => scales,
            Err(_) => return Ok(()),
        };
        for scale in scales {
            let scale = scale?;
            if scale.file_name().to_string_lossy().starts_with("scale-") {
                for tree in fs::read_dir(scale.path())? {
                    remove(&tree?.path())?;
                }
                fs::remove_dir(scale.path())?;
            }
        }
        fs::remove_dir(&self.root).with_context(|| self.root.display().to_string())
    }

    fn ensure_room(&self, name: &str, bytes: u64) -> Result<()> {
        let disk = statvfs(&self.folder)?;
        let free = disk.blocks_available() * disk.fragment_size();
        ensure!(
            free >= bytes + RESERVE,
            "{name} takes some {} MB, and the disk has {} MB: --scale or --log-gib makes it smaller",
            bytes / 1_000_000,
            free / 1_000_000
        );
        Ok(())
    }
}

/// Removes what is there: a file, a tree, a chain of any length.
fn remove(path: &Path) -> Result<()> {
    let Ok(found) = fs::symlink_metadata(path) else {
        return Ok(());
    };
    let named = || path.display().to_string();
    if !found.is_dir() {
        return fs::remove_file(path).with_context(named);
    }
    shorten(path)?;
    if fs::remove_dir_all(path).is_err() {
        // What has no permission to be read is opened.
        open_folders(path)?;
        fs::remove_dir_all(path).with_context(named)?;
    }
    Ok(())
}

fn open_folders(folder: &Path) -> Result<()> {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            open_folders(&entry.path())?;
        }
    }
    Ok(())
}

/// Takes away the first folder of a chain until it has one: the rest moves up, so no path is long.
fn shorten(chain: &Path) -> Result<()> {
    let child = |folder: &Path| -> Result<Option<PathBuf>> {
        let mut folders = Vec::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            }
        }
        Ok(if folders.len() == 1 { folders.pop() } else { None })
    };
    while let Some(first) = child(chain)? {
        let Some(second) = child(&first)? else {
            return Ok(());
        };
        let aside = chain.join("moved-up");
        fs::rename(second, &aside)?;
        fs::remove_dir_all(&first)?;
        fs::rename(aside, first)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::super::trees;
    use super::*;

    #[test]
    fn a_tree_is_made_once_and_anew_for_another_size() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path().join("corpora"), 0.5);
        let made = Cell::new(0);
        let make = |size| {
            store.make("A", size, 0, |tree| {
                made.set(made.get() + 1);
                Ok(fs::write(tree.join("file"), "text")?)
            })
        };
        make(1).unwrap();
        make(1).unwrap();
        assert_eq!(made.get(), 1);
        make(2).unwrap();
        assert_eq!(made.get(), 2);
        assert!(store.make("B", 1, 0, |_| anyhow::bail!("no")).is_err());
        assert!(!store.path("B").exists() && !store.path("B.stamp").exists());
        let error = store.make("C", 1, u64::MAX / 2, |_| Ok(())).unwrap_err();
        assert!(error.to_string().contains("--scale"), "{error}");
        store.remove().unwrap();
        assert!(!folder.path().join("corpora").exists());
        store.remove().unwrap();
    }

    #[test]
    fn a_chain_longer_than_a_path_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let chain = folder.path().join("chain");
        fs::create_dir(&chain).unwrap();
        trees::chain(&chain, 500, 2).unwrap();
        remove(&chain).unwrap();
        assert!(!chain.exists());
    }
}
