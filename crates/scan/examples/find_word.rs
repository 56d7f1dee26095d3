//! Finds a word below folders, with an engine and an output of a few lines.
//!
//!     cargo run --release -p scan --example find_word -- [--files] [--sort] [--threads N] WORD PATH…

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;

use memchr::memmem::Finder;
use memchr::{memchr, memrchr};
use scan::engine::{Engine, Finding, Found, Piece, Unit};
use scan::object::Object;
use scan::output::{Findings, More, Output, ReadAt};
use scan::{CancelToken, ParallelScanConfig, Sink, parallel_scan_paths};

/// Finds lines with a word. A NUL ends the search of a file.
struct Word(Finder<'static>);

impl Engine for Word {
    type Scratch = ();

    fn unit(&self) -> Unit {
        Unit::Lines { max_line: 8 << 20 }
    }

    fn scratch(&self) {}

    fn scan(&self, piece: Piece<'_>, (): &mut (), found: &mut Found) {
        let mut bytes = piece.bytes;
        if piece.offset == 0
            && let Some(nul) = memchr(0, bytes)
        {
            found.nul = Some(nul as u64);
            bytes = &bytes[..nul];
        }
        let mut at = 0;
        while let Some(hit) = self.0.find(&bytes[at..]) {
            let begin = memrchr(b'\n', &bytes[..at + hit]).map_or(0, |newline| newline + 1);
            let end = memchr(b'\n', &bytes[at + hit..]).map_or(bytes.len(), |newline| at + hit + newline + 1);
            found.findings.push(Finding {
                offset: piece.offset + begin as u64,
                line: 0,
                start: found.text.len(),
                len: end - begin,
                matches: 0,
            });
            found.text.extend_from_slice(&bytes[begin..end]);
            at = end;
        }
        found.bytes += bytes.len() as u64;
    }
}

/// Writes paths, or paths and lines, to the standard output.
struct Plain {
    names_only: bool,
}

impl Output for Plain {
    type File = Findings;

    fn begin(&self, _: &Object) -> Findings {
        Findings::default()
    }

    fn piece(
        &self,
        file: &mut Findings,
        object: &Object,
        found: &Found,
        _: &mut dyn ReadAt,
        out: &mut Vec<u8>,
    ) -> io::Result<More> {
        for finding in &found.findings {
            out.extend_from_slice(object.path().as_os_str().as_encoded_bytes());
            out.push(b':');
            out.extend_from_slice(&found.text[finding.start..finding.start + finding.len]);
            if out.last() != Some(&b'\n') {
                out.push(b'\n');
            }
        }
        file.found |= !found.findings.is_empty();
        file.lines += found.findings.len() as u64;
        file.bytes += found.bytes;
        Ok(More::Wanted)
    }

    fn end(
        &self,
        file: Findings,
        object: &Object,
        _: &mut dyn ReadAt,
        out: &mut Vec<u8>,
    ) -> io::Result<Findings> {
        if self.names_only {
            out.extend_from_slice(object.path().as_os_str().as_encoded_bytes());
            out.push(b'\n');
        }
        Ok(file)
    }
}

impl Sink for Plain {
    type Output = Self;

    fn output(&self) -> &Self {
        self
    }

    fn write(&self, block: &[u8]) -> io::Result<()> {
        io::stdout().write_all(block)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut config = ParallelScanConfig::for_host()?;
    let mut words: Vec<OsString> = Vec::new();
    let mut arguments = std::env::args_os().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("--files") => config.names_only = true,
            Some("--sort") => config.sort = true,
            Some("--threads") => {
                let threads = arguments.next().unwrap_or_default();
                let sort = config.sort;
                let names_only = config.names_only;
                config = ParallelScanConfig::with_workers(threads.to_string_lossy().parse()?);
                config.sort = sort;
                config.names_only = names_only;
            }
            _ => words.push(argument),
        }
    }
    let mut words = words.into_iter();
    let word = words.next().unwrap_or_else(|| "unsafe {".into());
    let engine = Word(Finder::new(word.as_encoded_bytes()).into_owned());
    let mut roots: Vec<PathBuf> = words.map(PathBuf::from).collect();
    if roots.is_empty() {
        roots.push("crates".into());
    }
    let sink = Plain {
        names_only: config.names_only,
    };
    let summary = parallel_scan_paths(
        roots,
        &engine,
        &config,
        &sink,
        CancelToken::default(),
        Default::default(),
    )?;
    eprintln!("{summary:?}");
    Ok(())
}
