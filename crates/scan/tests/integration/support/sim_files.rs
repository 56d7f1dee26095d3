//! A file system of plain data, for the simulator: it fails by seed, and counts what is open.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use scan::files::{At, FileSystem, Kind, Names, Status};

use super::data::Random;

/// Names that a directory is read at a time.
const NAMES: usize = 3;

/// A tree of plain data. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct SimFiles(Arc<Mutex<Disk>>);

/// What the files are, what goes wrong, and what has been seen.
#[derive(Debug)]
pub(crate) struct Disk {
    nodes: Vec<Node>,
    random: Random,
    /// Whether a read tells the end of a file, so that files need not be looked at.
    is_plain: bool,
    /// Faults that may yet strike.
    pub(crate) faults: u32,
    /// Chances per strike.
    rarity: u64,
    open: usize,
    pub(crate) open_max: usize,
    /// Names that were listed, by path.
    pub(crate) listed: BTreeMap<PathBuf, Kind>,
    /// Files of which something was changed or withheld: their findings are not those of their text.
    pub(crate) struck: BTreeMap<PathBuf, Strike>,
    changed: BTreeSet<usize>,
}

/// The worst that has struck a file or directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Strike {
    /// Its bytes have changed; it can be read.
    Changed,
    /// A read of it failed: an error, unless the search had ended before.
    Broken,
    /// It could not be opened: an error.
    Refused,
}

#[derive(Debug)]
enum Node {
    Dir(Vec<(String, usize)>),
    File(Vec<u8>),
    /// The same line again and again, with a text in front of some: as long as one likes.
    Long(Long),
    Link(PathBuf),
    Fifo,
}

/// Lines of [`LINE`] bytes. Those that `with_word` numbers begin with the word.
#[derive(Clone, Debug)]
pub(crate) struct Long {
    pub(crate) lines: u64,
    pub(crate) word: &'static str,
    /// Numbers of the lines with the word, from 0.
    pub(crate) with_word: Vec<u64>,
}

/// Bytes of a line of a [`Long`] file.
pub(crate) const LINE: u64 = 64;

impl Long {
    pub(crate) fn len(&self) -> u64 {
        self.lines * LINE
    }

    /// Reads whole lines from a line's begin, which is how large files are read.
    fn read(&self, offset: u64, into: &mut [u8]) -> usize {
        assert_eq!(offset % LINE, 0, "chunks are whole lines here");
        let len = into.len().min((self.len() - offset.min(self.len())) as usize);
        let into = &mut into[..len];
        into.fill(b'.');
        for line in into.chunks_mut(LINE as usize) {
            if let Some(end) = line.get_mut(LINE as usize - 1) {
                *end = b'\n';
            }
        }
        for line in &self.with_word {
            let at = (line * LINE).checked_sub(offset).filter(|at| *at < len as u64);
            if let Some(at) = at {
                let rest = &mut into[at as usize..];
                let len = rest.len().min(self.word.len());
                rest[..len].copy_from_slice(&self.word.as_bytes()[..len]);
            }
        }
        len
    }
}

/// An open file.
#[derive(Debug)]
pub(crate) struct SimFile {
    disk: SimFiles,
    node: usize,
    path: PathBuf,
}

/// An open directory.
#[derive(Debug)]
pub(crate) struct SimDir {
    file: SimFile,
    next: Mutex<usize>,
}

impl SimFiles {
    /// An empty root. Up to `faults` strike, each with a chance of one in `rarity`.
    pub(crate) fn new(seed: u64, faults: u32, rarity: u64) -> Self {
        Self(Arc::new(Mutex::new(Disk {
            nodes: vec![Node::Dir(Vec::new())],
            random: Random::new(seed),
            is_plain: seed.is_multiple_of(2),
            faults,
            rarity,
            open: 0,
            open_max: 0,
            listed: BTreeMap::new(),
            struck: BTreeMap::new(),
            changed: BTreeSet::new(),
        })))
    }

    pub(crate) fn disk(&self) -> MutexGuard<'_, Disk> {
        self.0.lock().expect("nothing panics in it")
    }

    pub(crate) fn dir(&self, path: &str) {
        self.add(path, Node::Dir(Vec::new()));
    }

    pub(crate) fn file(&self, path: &str, text: impl Into<Vec<u8>>) {
        self.add(path, Node::File(text.into()));
    }

    pub(crate) fn long_file(&self, path: &str, long: Long) {
        self.add(path, Node::Long(long));
    }

    pub(crate) fn link(&self, path: &str, to: &str) {
        self.add(path, Node::Link(to.into()));
    }

    pub(crate) fn fifo(&self, path: &str) {
        self.add(path, Node::Fifo);
    }

    fn add(&self, path: &str, node: Node) {
        let mut disk = self.disk();
        let (folder, name) = path.rsplit_once('/').expect("a folder and a name");
        let folder = disk.walk(Path::new(folder), 0).expect("the folder is there");
        let id = disk.nodes.len();
        disk.nodes.push(node);
        match &mut disk.nodes[folder] {
            Node::Dir(names) => names.push((name.to_owned(), id)),
            _ => panic!("{path}: no folder"),
        }
    }

    fn opened(&self, at: At<'_, SimDir>, dir: bool) -> io::Result<SimFile> {
        let mut disk = self.disk();
        let path = Disk::path(at);
        let node = disk.find(at)?;
        if disk.listed.contains_key(&path) {
            disk.may_refuse(&path)?;
        }
        match &disk.nodes[node] {
            Node::Dir(_) if dir => {}
            _ if dir => return Err(io::ErrorKind::NotADirectory.into()),
            _ => {}
        }
        disk.open += 1;
        disk.open_max = disk.open_max.max(disk.open);
        Ok(SimFile {
            disk: self.clone(),
            node,
            path,
        })
    }
}

impl Disk {
    /// Whether the file's bytes have changed, by whatever path it was read.
    pub(crate) fn has_changed(&self, path: &Path) -> bool {
        self.walk(path, 0).is_ok_and(|node| self.changed.contains(&node))
    }

    fn path(at: At<'_, SimDir>) -> PathBuf {
        at.dir
            .map_or_else(|| at.path.to_path_buf(), |dir| dir.file.path.join(at.path))
    }

    fn find(&self, at: At<'_, SimDir>) -> io::Result<usize> {
        let node = self.walk(&Self::path(at), 0)?;
        match &self.nodes[node] {
            Node::Link(_) if !at.follow => Ok(node),
            Node::Link(to) => {
                let path = Self::path(at);
                self.walk(&path.parent().unwrap_or(Path::new("/")).join(to), 1)
            }
            _ => Ok(node),
        }
    }

    /// What is at `path`. Links on the way are followed, one at its end is not. Nothing is ever removed.
    fn walk(&self, path: &Path, depth: usize) -> io::Result<usize> {
        if depth > 8 {
            return Err(io::Error::from_raw_os_error(40));
        }
        let mut at = vec![0];
        let mut prefix = PathBuf::from("/");
        let mut parts = path.components();
        while let Some(part) = parts.next() {
            match part {
                Component::ParentDir => {
                    at.pop();
                    prefix.pop();
                }
                Component::Normal(name) => {
                    let last = *at.last().unwrap_or(&0);
                    let Node::Dir(names) = &self.nodes[last] else {
                        return Err(io::ErrorKind::NotADirectory.into());
                    };
                    let found = names.iter().find(|(known, _)| name == known.as_str());
                    let (_, id) = found.ok_or(io::ErrorKind::NotFound)?;
                    let rest = parts.as_path();
                    if let (Node::Link(to), true) = (&self.nodes[*id], rest.components().next().is_some()) {
                        return self.walk(&prefix.join(to).join(rest), depth + 1);
                    }
                    at.push(*id);
                    prefix.push(name);
                }
                _ => {}
            }
        }
        Ok(*at.last().unwrap_or(&0))
    }

    fn strikes(&mut self) -> bool {
        let strikes = self.faults > 0 && self.random.one_in(self.rarity);
        self.faults -= u32::from(strikes);
        strikes
    }

    fn strike(&mut self, path: &Path, how: Strike) {
        let worst = self.struck.entry(path.to_path_buf()).or_insert(how);
        *worst = how.max(*worst);
    }

    /// Vanished since it was listed, forbidden, or another thing in its place.
    fn may_refuse(&mut self, path: &Path) -> io::Result<()> {
        if !self.strikes() {
            return Ok(());
        }
        self.strike(path, Strike::Refused);
        Err(match self.random.below(2) {
            0 => io::ErrorKind::NotFound.into(),
            _ => io::ErrorKind::PermissionDenied.into(),
        })
    }

    fn status(&self, node: usize) -> Status {
        let (kind, len) = match &self.nodes[node] {
            Node::Dir(_) => (Kind::Dir, 0),
            Node::File(text) => (Kind::File, text.len() as u64),
            Node::Long(long) => (Kind::File, long.len()),
            Node::Link(_) => (Kind::Link, 0),
            Node::Fifo => (Kind::Other, 0),
        };
        Status {
            kind,
            len,
            id: (0, node as u64),
        }
    }
}

impl FileSystem for SimFiles {
    type File = SimFile;
    type Dir = SimDir;

    fn open(&self, at: At<'_, SimDir>) -> io::Result<SimFile> {
        self.opened(at, false)
    }

    fn open_dir(&self, at: At<'_, SimDir>) -> io::Result<SimDir> {
        Ok(SimDir {
            file: self.opened(at, true)?,
            next: Mutex::new(0),
        })
    }

    fn read_dir(&self, dir: &SimDir, names: &mut Names) -> io::Result<bool> {
        let mut disk = self.disk();
        let path = &dir.file.path;
        if disk.strikes() {
            match disk.random.below(3) {
                0 => return Err(io::ErrorKind::Interrupted.into()),
                1 => {
                    disk.strike(path, Strike::Broken);
                    return Err(io::Error::from_raw_os_error(5));
                }
                _ => {
                    // It grows while it is read.
                    let id = disk.nodes.len();
                    disk.nodes.push(Node::File(b"a new needle\n".to_vec()));
                    if let Node::Dir(known) = &mut disk.nodes[dir.file.node] {
                        known.push((format!("new-{id}"), id));
                    }
                }
            }
        }
        let mut next = dir.next.lock().expect("nothing panics in it");
        let Node::Dir(known) = &disk.nodes[dir.file.node] else {
            return Err(io::ErrorKind::NotADirectory.into());
        };
        let read: Vec<(String, usize)> = known.iter().skip(*next).take(NAMES).cloned().collect();
        *next += read.len();
        for (name, node) in &read {
            let kind = disk.status(*node).kind;
            let knows = disk.random.below(8) > 0;
            names.push(name.as_bytes(), if knows { kind } else { Kind::Unknown });
            disk.listed.insert(path.join(name), kind);
        }
        Ok(!read.is_empty())
    }

    fn read_at(&self, file: &SimFile, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let mut disk = self.disk();
        let mut most = into.len();
        if disk.strikes() {
            match disk.random.below(5) {
                0 => return Err(io::ErrorKind::Interrupted.into()),
                1 => {
                    disk.strike(&file.path, Strike::Broken);
                    return Err(io::Error::from_raw_os_error(5));
                }
                2 => most = 1 + disk.random.below(most.max(1) as u64) as usize,
                change => {
                    disk.strike(&file.path, Strike::Changed);
                    disk.changed.insert(file.node);
                    let len = disk.random.below(300) as usize;
                    if let Node::File(text) = &mut disk.nodes[file.node] {
                        if change == 3 {
                            text.truncate(text.len().saturating_sub(len));
                        } else {
                            text.extend(b"more needle\n".iter().cycle().take(len));
                        }
                    }
                }
            }
        }
        let text = match &disk.nodes[file.node] {
            Node::File(text) => text,
            Node::Long(long) => return Ok(long.read(offset, &mut into[..most])),
            _ => return Err(io::Error::from_raw_os_error(29)),
        };
        let rest = text.get(offset as usize..).unwrap_or(&[]);
        let len = rest.len().min(into.len()).min(most);
        into[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }

    fn read_on(&self, file: &SimFile, offset: u64, into: &mut [u8]) -> io::Result<(usize, bool)> {
        let got = self.read_at(file, offset, into)?;
        let mut disk = self.disk();
        let is_end = disk.is_plain && got < into.len() && offset + got as u64 == disk.status(file.node).len;
        Ok((got, is_end && disk.random.below(4) > 0))
    }

    fn file_status(&self, file: &SimFile, listed: Kind) -> io::Result<Status> {
        let disk = self.disk();
        if disk.is_plain && listed == Kind::File {
            return Ok(Status {
                kind: Kind::File,
                len: 0,
                id: (0, 0),
            });
        }
        Ok(disk.status(file.node))
    }

    fn dir_status(&self, dir: &SimDir) -> io::Result<Status> {
        Ok(self.disk().status(dir.file.node))
    }

    fn status(&self, at: At<'_, SimDir>) -> io::Result<Status> {
        let disk = self.disk();
        disk.find(at).map(|node| disk.status(node))
    }

    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(path.to_path_buf())
    }

    fn will_read(&self, _: &SimFile, _: u64, _: u64) {}
}

impl Drop for SimFile {
    fn drop(&mut self) {
        // After a failed run everything is dropped in any order, under a poisoned lock as well.
        if let Ok(mut disk) = self.disk.0.lock() {
            disk.open -= 1;
        }
    }
}
