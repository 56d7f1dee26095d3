//! The spill folder: one server's alone, and empty when it starts.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

/// Its lock makes the folder one server's, and its text says what the folder is.
const LOCK: &str = "windlass-server.lock";

/// A spill folder, locked by this process until it is dropped.
#[derive(Debug)]
pub struct SpillFolder {
    path: PathBuf,
    _lock: File,
}

impl SpillFolder {
    /// Creates the folder, or takes over and empties one that a server has left.
    ///
    /// # Errors
    ///
    /// If another server holds it, if it has files but was never a spill folder, or if it cannot be
    /// written.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let shown = path.display();
        fs::create_dir_all(path).with_context(|| format!("cannot make the spill folder {shown}"))?;
        let lock = path.join(LOCK);
        let entries = fs::read_dir(path).with_context(|| format!("cannot read the spill folder {shown}"))?;
        let others = entries
            .map(|entry| entry.map(|entry| entry.path()))
            .filter(|entry| !entry.as_ref().is_ok_and(|entry| *entry == lock))
            .collect::<Result<Vec<_>, _>>()?;
        if !others.is_empty() && !lock.exists() {
            bail!("{shown} has files and is no spill folder of a server: name an empty or a new folder");
        }
        let file = File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&lock);
        let file = file.with_context(|| format!("cannot write into the spill folder {shown}"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => bail!("the spill folder {shown} is another server's"),
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("cannot lock the spill folder {shown}"));
            }
        }
        for entry in others {
            let removed = if entry.is_dir() && !entry.is_symlink() {
                fs::remove_dir_all(&entry)
            } else {
                fs::remove_file(&entry)
            };
            removed.with_context(|| format!("cannot remove {} of an earlier server", entry.display()))?;
        }
        Ok(Self {
            path: path.to_owned(),
            _lock: file,
        })
    }

    /// Returns the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_emptied_if_a_server_has_left_it_and_refused_if_it_is_anyones() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("spill");
        let folder = SpillFolder::open(&path).unwrap();
        assert!(
            SpillFolder::open(&path)
                .unwrap_err()
                .to_string()
                .contains("another server's")
        );
        fs::create_dir(path.join("left")).unwrap();
        fs::write(path.join("left/rows"), "x").unwrap();
        drop(folder);
        let folder = SpillFolder::open(&path).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "the lock alone");
        fs::write(root.path().join("mine"), "x").unwrap();
        let error = SpillFolder::open(root.path()).unwrap_err();
        assert!(error.to_string().contains("is no spill folder"), "{error}");
        assert!(root.path().join("mine").exists());
    }
}
