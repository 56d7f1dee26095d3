//! Files that an operator names: read whole, with a bound, and watched by their stamps.
//!
//! A file with secrets is refused if others can read or write it, as PostgreSQL and ssh do. The
//! error has the command that mends it.

use std::fs::{self, File, Metadata};
use std::io::Read;
use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context, bail, ensure};

const BYTES_MAX: u64 = 16 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readers {
    Anybody,
    /// Its owner; also a group if `root` owns it, as keys of certificates are installed.
    OwnerOrGroupOfRoot,
    Owner,
}

/// Each error begins with the path.
///
/// # Errors
///
/// If it is no regular file, cannot be read, is too large, or others than `readers` can read it.
pub(crate) fn read(path: &Path, readers: Readers) -> anyhow::Result<Vec<u8>> {
    read_within(path, readers, BYTES_MAX).with_context(|| path.display().to_string())
}

fn read_within(path: &Path, readers: Readers, bytes_max: u64) -> anyhow::Result<Vec<u8>> {
    // Before it is opened, because opening a pipe waits for a writer.
    ensure!(fs::metadata(path)?.is_file(), "not a file");
    let file = File::open(path)?;
    check_mode(path, &file.metadata()?, readers)?;
    let mut bytes = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        bail!("more than {bytes_max} bytes");
    }
    Ok(bytes)
}

#[cfg(unix)]
fn check_mode(path: &Path, metadata: &Metadata, readers: Readers) -> anyhow::Result<()> {
    use std::os::unix::fs::MetadataExt;

    let mode = metadata.mode() & 0o7777;
    let (refused, mended) = match readers {
        Readers::Anybody => return Ok(()),
        Readers::OwnerOrGroupOfRoot if metadata.uid() == 0 => (0o037, "640"),
        Readers::OwnerOrGroupOfRoot | Readers::Owner => (0o077, "600"),
    };
    ensure!(
        mode & refused == 0,
        "others can read or write it (mode {mode:04o}): chmod {mended} {}",
        quoted(path)
    );
    Ok(())
}

#[cfg(not(unix))]
fn check_mode(_: &Path, _: &Metadata, _: Readers) -> anyhow::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+,@%".contains(c);
    if !path.is_empty() && !path.starts_with('-') && path.chars().all(plain) {
        path
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    }
}

/// Equal stamps mean equal content, except for a file that was written in place, to the same
/// length, twice within a tick of its clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    modified: Option<SystemTime>,
    bytes: u64,
    /// Device, inode, seconds and nanoseconds of the last change.
    #[cfg(unix)]
    node: (u64, u64, i64, i64),
}

impl Stamp {
    pub(super) fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        Some(Self {
            modified: metadata.modified().ok(),
            bytes: metadata.len(),
            #[cfg(unix)]
            node: {
                use std::os::unix::fs::MetadataExt;
                (
                    metadata.dev(),
                    metadata.ino(),
                    metadata.ctime(),
                    metadata.ctime_nsec(),
                )
            },
        })
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn with_mode(folder: &Path, mode: u32) -> std::path::PathBuf {
        let path = folder.join(format!("{mode:o}"));
        fs::write(&path, b"content").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    #[test]
    fn a_secret_file_is_its_owners_alone() {
        let folder = tempfile::tempdir().unwrap();
        for mode in [0o600, 0o400, 0o700] {
            let path = with_mode(folder.path(), mode);
            assert_eq!(read(&path, Readers::Owner).unwrap(), b"content");
        }
        for mode in [0o644, 0o640, 0o604, 0o620, 0o602, 0o610, 0o666] {
            let path = with_mode(folder.path(), mode);
            assert_eq!(read(&path, Readers::Anybody).unwrap(), b"content");
            let error = format!("{:#}", read(&path, Readers::Owner).unwrap_err());
            let (path, expected) = (path.display(), format!("(mode {mode:04o}): chmod 600"));
            assert!(error.starts_with(&format!("{path}: ")), "{error}");
            assert!(error.ends_with(&format!("{expected} {path}")), "{error}");
        }
    }

    #[test]
    fn what_is_no_file_or_too_large_is_refused_with_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let error = format!("{:#}", read(folder.path(), Readers::Anybody).unwrap_err());
        assert_eq!(error, format!("{}: not a file", folder.path().display()));
        let missing = folder.path().join("missing");
        let error = format!("{:#}", read(&missing, Readers::Anybody).unwrap_err());
        assert!(
            error.starts_with(&format!("{}: No such file", missing.display())),
            "{error}"
        );
        let path = with_mode(folder.path(), 0o600);
        assert!(read_within(&path, Readers::Owner, 7).is_ok());
        let error = read_within(&path, Readers::Owner, 6).unwrap_err();
        assert_eq!(error.to_string(), "more than 6 bytes");
    }

    #[test]
    fn a_path_with_other_characters_is_quoted_for_the_shell() {
        let paths = [
            ("users", "users"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("-x", "'-x'"),
        ];
        for (path, expected) in paths {
            assert_eq!(quoted(Path::new(path)), expected);
        }
    }

    #[test]
    fn a_stamp_tells_another_content_another_file_and_another_mode() {
        let folder = tempfile::tempdir().unwrap();
        let path = with_mode(folder.path(), 0o600);
        let mut seen = vec![Stamp::of(&path)];
        assert_eq!(seen[0], Stamp::of(&path));
        fs::write(&path, b"longer content").unwrap();
        seen.push(Stamp::of(&path));
        let other = with_mode(folder.path(), 0o400);
        fs::rename(&other, &path).unwrap();
        seen.push(Stamp::of(&path));
        fs::remove_file(&path).unwrap();
        seen.push(Stamp::of(&path));
        assert_eq!(seen[3], None);
        for (at, stamp) in seen.iter().enumerate() {
            assert!(!seen[..at].contains(stamp), "{seen:?}");
        }
    }
}
