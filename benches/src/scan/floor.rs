//! What a search cannot do without: each folder is listed, and each file opened, read and closed, by
//! two threads, with no look at what was read. A row of it stands beside the searches of trees.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, PoisonError};

use anyhow::{Context as _, Result};
use nix::dir::{Dir, Type};
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::Mode;

use super::corpus::Place;
use super::launch::Invocation;
use crate::THREADS;

pub(super) const FLOOR: &str = "system calls alone";

/// First argument of a process that does this, for this program's own use.
const WORD: &str = "system-calls";

/// Bytes of a read: more than most files have.
const BLOCK: usize = 256 << 10;

#[derive(Default)]
struct Folders {
    waiting: Vec<PathBuf>,
    /// Folders that are being read.
    under_way: usize,
}

/// The path, if this process is to do it.
pub(crate) fn asked_for() -> Option<OsString> {
    let mut arguments = std::env::args_os().skip(1);
    (arguments.next()? == WORD).then(|| arguments.next()).flatten()
}

pub(super) fn call(place: &Place) -> Result<Invocation> {
    Ok(Invocation {
        program: std::env::current_exe().context("this program has a path")?,
        arguments: vec![WORD.into(), (&place.path).into()],
        folder: place.folder.clone(),
    })
}

pub(crate) fn read_all(root: OsString) -> Result<()> {
    let folders = Mutex::new(Folders {
        waiting: vec![root.into()],
        under_way: 0,
    });
    let more = Condvar::new();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|_| scope.spawn(|| read_some(&folders, &more)))
            .collect();
        let ended = threads
            .into_iter()
            .map(|thread| thread.join().expect("no thread panics"));
        ended.collect()
    })
}

fn read_some(folders: &Mutex<Folders>, more: &Condvar) -> Result<()> {
    let lock = || folders.lock().unwrap_or_else(PoisonError::into_inner);
    let mut block = vec![0; BLOCK];
    loop {
        let mut state = lock();
        let folder = loop {
            match state.waiting.pop() {
                Some(folder) => break folder,
                None if state.under_way == 0 => return Ok(()),
                None => state = more.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        };
        state.under_way += 1;
        drop(state);
        let below = read_folder(&folder, &mut block);
        let mut state = lock();
        state.under_way -= 1;
        let below = below.with_context(|| folder.display().to_string());
        let failed = below.map(|below| state.waiting.extend(below)).err();
        drop(state);
        more.notify_all();
        if let Some(error) = failed {
            return Err(error);
        }
    }
}

/// Reads the files of a folder. Returns the folders in it.
fn read_folder(folder: &PathBuf, block: &mut [u8]) -> Result<Vec<PathBuf>> {
    let mut dir = Dir::open(
        folder,
        OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC,
        Mode::empty(),
    )?;
    let handle = dir.as_fd().try_clone_to_owned()?;
    let mut below = Vec::new();
    for entry in dir.iter() {
        let entry = entry?;
        let name = entry.file_name();
        if name.to_bytes().starts_with(b".") {
            continue;
        }
        match entry.file_type() {
            Some(Type::Directory) => below.push(folder.join(name.to_str()?)),
            Some(Type::File) => {
                let flags = OFlag::O_RDONLY | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK;
                let file = File::from(openat(&handle, name, flags, Mode::empty())?);
                let mut offset = 0;
                loop {
                    let got = file.read_at(block, offset)?;
                    offset += got as u64;
                    if got < block.len() {
                        break;
                    }
                }
            }
            _ => {}
        }
    }
    Ok(below)
}
