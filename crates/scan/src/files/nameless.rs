//! A file without a name: its room is free again when it is closed.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, openat, unlink};

pub(crate) fn nameless(folder: &Path) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR;
    match openat(CWD, folder, flags | OFlags::TMPFILE, mode) {
        Ok(file) => Ok(file.into()),
        // Some file systems have no such files.
        Err(_) => {
            let path = folder.join(format!(".windlass-scan-{}", std::process::id()));
            let file = openat(CWD, &path, flags | OFlags::CREATE | OFlags::EXCL, mode)?;
            unlink(&path)?;
            Ok(file.into())
        }
    }
}
