//! Reads ignore files, through the port. What cannot be read has no rules.

use std::io;
use std::path::{Path, PathBuf};

use ignore::gitignore::GitignoreBuilder;

use super::chain::Place;
use crate::files::{At, FileSystem, Kind, Status};

/// Bytes of an ignore file after which it is not read on.
const MAX: usize = 16 << 20;

/// The whole file, or `None` if it is none.
pub(super) fn read<F: FileSystem>(files: &F, at: At<'_, F::Dir>) -> Option<Vec<u8>> {
    let file = files.open(at).ok()?;
    let mut text = vec![0; 4_096];
    let mut len = 0;
    loop {
        match files.read_at(&file, len as u64, &mut text[len..]) {
            Ok(0) => break,
            Ok(more) => len += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return None,
        }
        if len == text.len() {
            if len >= MAX {
                break;
            }
            text.resize(2 * len, 0);
        }
    }
    text.truncate(len);
    Some(text)
}

/// Adds the lines up to the first that is no text.
pub(super) fn add(builder: &mut GitignoreBuilder, path: &Path, text: &[u8]) {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        // A carriage return without an end of line is a part of the glob.
        let line = line
            .strip_suffix(b"\r\n")
            .or(line.strip_suffix(b"\n"))
            .unwrap_or(line);
        let Ok(line) = std::str::from_utf8(line) else {
            return;
        };
        // A line that is no glob is left out.
        let _ = builder.add_line(Some(path.to_path_buf()), line);
    }
}

/// Where the repository's own files are: in `.git`, or where that file points.
pub(super) fn git_folder<F: FileSystem>(place: &Place<'_, F>, git: Option<Status>) -> Option<PathBuf> {
    if git.is_none_or(|git| git.kind != Kind::File) {
        return Some(place.path().join(".git"));
    }
    let text = place.read(".git")?;
    let folder = PathBuf::from(first_line(&text)?.strip_prefix("gitdir: ")?);
    let text = place.read_path(&folder.join("commondir"))?;
    let common = first_line(&text)?;
    Some(if common.starts_with('.') {
        folder.join(common)
    } else {
        PathBuf::from(common)
    })
}

fn first_line(text: &[u8]) -> Option<&str> {
    let line = text.split(|&byte| byte == b'\n').next()?;
    std::str::from_utf8(line.strip_suffix(b"\r").unwrap_or(line)).ok()
}
