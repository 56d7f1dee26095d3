//! A small engine, a plain output and a sink that remembers, and the same search by a loop.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use memchr::{memchr, memchr_iter, memmem};
use scan::Sink;
use scan::engine::{Engine, Finding, Found, Piece, Unit};
use scan::object::Object;
use scan::output::{Findings, More, Output, ReadAt};
use scan::report::{Outcome, Report};

pub(crate) mod data;
pub(crate) mod sim_files;
pub(crate) mod simulated_tree;

/// Finds lines with a word. A line with a NUL ends the search of a file that was not named.
#[derive(Clone, Debug)]
pub(crate) struct Word {
    pub(crate) word: Vec<u8>,
    pub(crate) max_line: usize,
}

impl Word {
    pub(crate) fn new(word: &str) -> Self {
        Self {
            word: word.as_bytes().to_vec(),
            max_line: 8 << 20,
        }
    }
}

impl Engine for Word {
    type Scratch = ();

    fn unit(&self) -> Unit {
        Unit::Lines {
            max_line: self.max_line,
        }
    }

    fn scratch(&self) {}

    fn scan(&self, piece: Piece<'_>, (): &mut (), found: &mut Found) {
        let mut at = 0;
        for line in piece.bytes.split_inclusive(|&byte| byte == b'\n') {
            // A line that is longer than the longest comes in parts, whatever else is in the piece.
            if let Some(nul) = memchr(0, line).filter(|_| !piece.named) {
                found.nul = Some(piece.offset + (at + nul) as u64);
                return;
            }
            if memmem::find(line, &self.word).is_some() {
                found.findings.push(Finding {
                    offset: piece.offset + at as u64,
                    line: found.lines,
                    start: found.text.len(),
                    len: line.len(),
                    matches: 0,
                });
                found.text.extend_from_slice(line);
                found.found += 1;
            }
            found.lines += u64::from(line.ends_with(b"\n"));
            at += line.len();
            found.bytes += line.len() as u64;
        }
    }
}

/// What [`Word`] finds in a text, as [`Numbered`] puts it out.
pub(crate) fn expected(path: &Path, text: &[u8], word: &Word, named: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let mut offset = 0;
    for (number, line) in text.split_inclusive(|&byte| byte == b'\n').enumerate() {
        for part in line.chunks(word.max_line) {
            if !named && part.contains(&0) {
                return out;
            }
            if memmem::find(part, &word.word).is_some() {
                write_line(&mut out, path, number as u64 + 1, offset, part);
            }
            offset += part.len() as u64;
        }
    }
    out
}

fn write_line(out: &mut Vec<u8>, path: &Path, number: u64, offset: u64, line: &[u8]) {
    out.extend_from_slice(format!("{}:{number}:{offset}:", path.display()).as_bytes());
    out.extend_from_slice(line);
    if !line.ends_with(b"\n") {
        out.push(b'\n');
    }
}

/// Puts out path, number, offset and line.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Numbered {
    /// Lines after which a file's rest is not wanted.
    pub(crate) max: Option<u64>,
}

#[derive(Debug, Default)]
pub(crate) struct Numbers {
    lines: u64,
    findings: Findings,
}

impl Output for Numbered {
    type File = Numbers;

    fn begin(&self, _: &Object) -> Numbers {
        Numbers::default()
    }

    fn piece(
        &self,
        file: &mut Numbers,
        object: &Object,
        found: &Found,
        _: &mut dyn ReadAt,
        out: &mut Vec<u8>,
    ) -> io::Result<More> {
        for finding in &found.findings {
            if self.max.is_some_and(|max| file.findings.lines >= max) {
                return Ok(More::Enough);
            }
            let line = &found.text[finding.start..finding.start + finding.len];
            let number = file.lines + finding.line + 1;
            write_line(out, object.path(), number, finding.offset, line);
            file.findings.found = true;
            file.findings.lines += 1;
        }
        file.lines += found.lines;
        file.findings.bytes += found.bytes;
        Ok(More::Wanted)
    }

    fn end(&self, file: Numbers, _: &Object, _: &mut dyn ReadAt, _: &mut Vec<u8>) -> io::Result<Findings> {
        Ok(file.findings)
    }
}

/// Puts out paths alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names;

impl Output for Names {
    type File = ();

    fn begin(&self, _: &Object) {}

    fn piece(
        &self,
        (): &mut (),
        _: &Object,
        _: &Found,
        _: &mut dyn ReadAt,
        _: &mut Vec<u8>,
    ) -> io::Result<More> {
        panic!("a file that is only named is not searched")
    }

    fn end(&self, (): (), object: &Object, _: &mut dyn ReadAt, out: &mut Vec<u8>) -> io::Result<Findings> {
        out.extend_from_slice(object.path().as_os_str().as_encoded_bytes());
        out.push(b'\n');
        Ok(Findings {
            found: true,
            ..Findings::default()
        })
    }
}

/// Remembers everything.
#[derive(Debug)]
pub(crate) struct Memory<O> {
    pub(crate) output: O,
    pub(crate) taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
pub(crate) struct Taken {
    pub(crate) bytes: Vec<u8>,
    pub(crate) blocks: usize,
    /// How each object ended, and how often.
    pub(crate) reports: BTreeMap<PathBuf, Vec<String>>,
}

impl<O> Memory<O> {
    pub(crate) fn new(output: O) -> Self {
        Self {
            output,
            taken: Mutex::default(),
        }
    }

    pub(crate) fn take(&self) -> Taken {
        std::mem::take(&mut *self.taken.lock().expect("no test panics here"))
    }
}

impl<O: Output> Sink for Memory<O> {
    type Output = O;

    fn output(&self) -> &O {
        &self.output
    }

    fn write(&self, block: &[u8]) -> io::Result<()> {
        let mut taken = self.taken.lock().expect("no test panics here");
        taken.bytes.extend_from_slice(block);
        taken.blocks += 1;
        Ok(())
    }

    fn report(&self, object: &Object, report: &Report) {
        let outcome = match &report.outcome {
            Outcome::Clean => "clean".to_owned(),
            Outcome::Findings => "findings".to_owned(),
            Outcome::Skipped(why) => format!("skipped: {why}"),
            Outcome::Error(trouble) => format!("error: {trouble}"),
        };
        let mut taken = self.taken.lock().expect("no test panics here");
        taken
            .reports
            .entry(object.path.clone())
            .or_default()
            .push(outcome);
    }
}

/// Output lines by path: the lines of one path must be together.
pub(crate) fn by_path(bytes: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut paths: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut last = String::new();
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        let path =
            String::from_utf8_lossy(&line[..memchr(b':', line).expect("a path is in front")]).into_owned();
        if path != last {
            assert!(!paths.contains_key(&path), "the lines of {path} are not together");
            last.clone_from(&path);
        }
        paths.entry(path).or_default().extend_from_slice(line);
    }
    paths
}

pub(crate) fn lines(text: &[u8]) -> usize {
    memchr_iter(b'\n', text).count()
}
