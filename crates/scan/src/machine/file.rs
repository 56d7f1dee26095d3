//! A file in one turn: opened, looked at, read and searched.

use std::io;

use executor_core::ports::Access;

use super::batch::Discovered;
use super::counters::Slot;
use super::emit::Outlet;
use super::lines::{Lines, Range};
use super::long_line::LongLine;
use super::run::{FileOf, Machine, OutputOf, Stop, Types, Worker, read};
use super::text::{Again, converted};
use super::window::Stream;
use crate::encoding::Encoding;
use crate::engine::{Engine, Found, Piece, Unit};
use crate::files::{FileSystem, Kind, Status};
use crate::object::Object;
use crate::output::{Findings, More, Output, ReadAt};
use crate::report::{Outcome, Report, Skipped, Trouble};
use crate::sink::Sink;

/// A file of more chunks than this is shared among workers.
const CHUNKS_ALONE: u64 = 8;

/// Reads by way of a context.
type ReadWith<'r, C> = dyn FnMut(&mut C, u64, &mut [u8]) -> Result<(usize, bool), Stop> + 'r;

/// One file's search by one worker.
struct Search<O: Output> {
    object: Object,
    outlet: Outlet<O>,
    out: Vec<u8>,
    found: Found,
    cut_lines: u64,
    encoding: Encoding,
}

/// How far one worker got with a file.
enum Searched {
    /// To its end, or why not.
    Ended(Option<Stop>),
    /// Nowhere: others may take a part in it.
    Large { len: u64, slot: Slot, skip: u64 },
}

impl<T: Types> Worker<'_, '_, T> {
    /// A file or a directory. `may_share`: other workers may take a part in a large file.
    pub(crate) fn object(&mut self, found: Discovered<T::Files>, may_share: bool) {
        found.batch.describe(found.index(), &mut self.parts.object);
        if self.is_standard_input(&found) {
            return self.standard_input(found, may_share);
        }
        let kind = self.kind(&found);
        if matches!(kind, Ok(Kind::Dir)) && self.machine.tree.is_some() {
            return self.enter(found);
        }
        // What kind of thing the caller has named is known only now.
        if self.parts.object.named {
            self.discovered(1);
        }
        match kind {
            Ok(_) => self.file(found, may_share),
            Err(error) => self.end_without_output(found, &Report::error(Trouble::Open(error))),
        }
    }

    fn file(&mut self, found: Discovered<T::Files>, may_share: bool) {
        if self.is_cancelled() {
            return self.end_without_output(found, &Report::skipped(Skipped::Cancelled));
        }
        if self.machine.config.names_only {
            return match self.too_large_by_name(&found) {
                Ok(false) => self.name(found),
                Ok(true) => self.end_without_output(found, &Report::skipped(Skipped::TooLarge)),
                Err(error) => self.end_without_output(found, &Report::error(Trouble::Open(error))),
            };
        }
        let (file, status) = match self.open(&found) {
            Ok(opened) => opened,
            Err(error) => return self.end_without_output(found, &Report::error(Trouble::Open(error))),
        };
        if let Some(report) = self.refused(&found, status) {
            return self.end_without_output(found, &report);
        }
        self.opened_file(found, file, status.len, may_share);
    }

    /// Searches an open file of `len` bytes; 0 if that is unknown.
    pub(crate) fn opened_file(
        &mut self,
        found: Discovered<T::Files>,
        file: FileOf<T>,
        len: u64,
        may_share: bool,
    ) {
        let in_lines = matches!(self.machine.engine.unit(), Unit::Lines { .. });
        if may_share
            && in_lines
            && is_large(len, self.machine.config.chunk_size)
            && let Some(slot) = self.machine.counters.slot()
        {
            // A text that must be read in order cannot be shared.
            if let Ok(Encoding::Bytes { skip }) = self.encoding(&file) {
                return self.share(found, file, slot, len, skip);
            }
        }
        self.alone(found, file, len, may_share);
    }

    fn open(&mut self, found: &Discovered<T::Files>) -> io::Result<(FileOf<T>, Status)> {
        let needs_length =
            self.max_size().is_some() || matches!(self.machine.engine.unit(), Unit::Whole { .. });
        let listed = if needs_length { Kind::Unknown } else { found.kind() };
        let Self {
            machine, cx, parts, ..
        } = self;
        let follow = machine.follows();
        let file = cx.access("open a file", || {
            found.at(&parts.object.path, follow, |at| machine.files.open(at))
        })?;
        let status = cx.access("look at a file", || machine.files.file_status(&file, listed))?;
        Ok((file, status))
    }

    /// How the text of an open file is written.
    fn encoding(&mut self, file: &FileOf<T>) -> Result<Encoding, Stop> {
        let mut first = [0; Encoding::MARK];
        let mut filled = 0;
        while self.machine.config.encodings && filled < first.len() {
            match read(self.machine, self.cx, file, filled as u64, &mut first[filled..])? {
                (0, _) => break,
                (got, _) => filled += got,
            }
        }
        Ok(Encoding::of(&first[..filled]))
    }

    /// Why an open file is not searched.
    fn refused(&self, found: &Discovered<T::Files>, status: Status) -> Option<Report> {
        match status.kind {
            Kind::File if self.max_size().is_some_and(|max| status.len > max) => {
                Some(Report::skipped(Skipped::TooLarge))
            }
            Kind::File => None,
            Kind::Dir if self.parts.object.named => {
                Some(Report::error(Trouble::Open(io::ErrorKind::IsADirectory.into())))
            }
            _ if found.kind() == Kind::File => Some(Report::error(Trouble::Replaced)),
            _ => Some(Report::skipped(Skipped::Special)),
        }
    }

    /// Bytes of the largest file that is searched. In a tree, a file that is named has no bound.
    fn max_size(&self) -> Option<u64> {
        let is_exempt = self.parts.object.named && self.machine.tree.is_some();
        self.machine.config.max_file_size.filter(|_| !is_exempt)
    }

    /// Whether a file that is not opened is larger than the limit.
    fn too_large_by_name(&mut self, found: &Discovered<T::Files>) -> io::Result<bool> {
        let Some(max) = self.max_size() else {
            return Ok(false);
        };
        let Self {
            machine, cx, parts, ..
        } = self;
        let follow = machine.follows();
        let status = cx.access("look at a name", || {
            found.at(&parts.object.path, follow, |at| machine.files.status(at))
        })?;
        Ok(status.len > max)
    }

    /// Puts out a file's name alone.
    pub(crate) fn name(&mut self, found: Discovered<T::Files>) {
        let mut nothing: &[u8] = &[];
        let (object, mut out) = self.in_hand();
        let stream = Stream::new(object.id, found.position());
        let outlet = self.begin(&object, stream, &out);
        let ended = self.finish(outlet, &object, &mut nothing, &mut out);
        self.parts.out = out;
        self.report(found, &object, &report(ended, None, 0));
        self.parts.object = object;
    }

    fn alone(&mut self, found: Discovered<T::Files>, file: FileOf<T>, len: u64, may_share: bool) {
        let (object, out) = self.in_hand();
        let stream = Stream::new(object.id, found.position());
        let mut search = Search {
            outlet: self.begin(&object, stream, &out),
            object,
            out,
            found: std::mem::take(&mut self.parts.found),
            cut_lines: 0,
            encoding: Encoding::Bytes { skip: 0 },
        };
        let searched = match self.machine.engine.unit() {
            Unit::Lines { max_line } => {
                let range = Range {
                    begin: 0,
                    end: (len > 0).then_some(len),
                    size: len,
                    max_line,
                    is_first: true,
                };
                let may_be_longer = len == 0 && found.kind() == Kind::File;
                self.in_lines(&mut search, &file, range, may_be_longer.then_some(may_share))
            }
            Unit::Whole { max_file } => {
                let done = self.as_a_whole(&mut search, &file, len, max_file as u64);
                Searched::Ended(done.err())
            }
        };
        let Search {
            object,
            outlet,
            mut out,
            found: findings,
            cut_lines,
            encoding,
        } = search;
        self.parts.found = findings;
        let stopped = match searched {
            Searched::Ended(stopped) => stopped,
            Searched::Large { len, slot, skip } => {
                self.parts.out = out;
                self.parts.object = object;
                return self.share(found, file, slot, len, skip);
            }
        };
        let mut again = Again::of(self.machine, &file, encoding);
        let ended = self.finish(outlet, &object, &mut again, &mut out);
        self.parts.out = out;
        self.report(found, &object, &report(ended, stopped, cut_lines));
        self.parts.object = object;
    }

    /// Piece by piece. A file that may be longer than its first block, since it was not looked at,
    /// is looked at then, and `may` be shared.
    fn in_lines(
        &mut self,
        search: &mut Search<OutputOf<T>>,
        file: &FileOf<T>,
        range: Range,
        may_be_longer: Option<bool>,
    ) -> Searched {
        let mut block = self.parts.take_block();
        let mut long = std::mem::take(&mut self.parts.long);
        let mut lines = Lines::new(&mut block, &mut long, range);
        let (machine, cx) = (self.machine, &mut *self.cx);
        let mut stopped = None;
        if machine.config.encodings || may_be_longer.is_some() {
            match lines.first(&mut |offset, into| read(machine, cx, file, offset, into)) {
                Ok(first) if machine.config.encodings => search.encoding = Encoding::of(first),
                Ok(_) => {}
                Err(stop) => stopped = Some(stop),
            }
        }
        let needs_look = !lines.has_whole_file() && !matches!(stopped, Some(Stop::Cancelled));
        if let Some(may_share) = may_be_longer.filter(|_| needs_look) {
            match look_late(machine, cx, file) {
                Ok(len) => {
                    if may_share
                        && stopped.is_none()
                        && is_large(len, machine.config.chunk_size)
                        && let Encoding::Bytes { skip } = search.encoding
                        && let Some(slot) = machine.counters.slot()
                    {
                        self.parts.block = Some(block);
                        self.parts.long = long;
                        return Searched::Large { len, slot, skip };
                    }
                    lines.set_size(len);
                }
                Err(stop @ Stop::Replaced) => stopped = Some(stop),
                Err(stop) => stopped = stopped.or(Some(stop)),
            }
        }
        stopped = stopped.or_else(|| {
            if let Encoding::Bytes { skip } = search.encoding {
                lines.skip(skip);
                let mut read =
                    |cx: &mut T::Context, offset, into: &mut [u8]| read(machine, cx, file, offset, into);
                return self.each_piece(search, file, &mut lines, &mut read);
            }
            let range = Range {
                end: None,
                size: 0,
                ..range
            };
            lines.restart(range);
            let mut text = Again::of(machine, file, search.encoding);
            let mut read = |_: &mut T::Context, offset, into: &mut [u8]| {
                if machine.cancel.is_cancelled() {
                    return Err(Stop::Cancelled);
                }
                let got = text.read_at(offset, into);
                got.map(|got| (got, false))
                    .map_err(|error| machine.stop(offset, error))
            };
            self.each_piece(search, file, &mut lines, &mut read)
        });
        search.cut_lines = lines.cut_lines();
        self.parts.block = Some(block);
        long.trim();
        self.parts.long = long;
        Searched::Ended(stopped)
    }

    fn each_piece(
        &mut self,
        search: &mut Search<OutputOf<T>>,
        file: &FileOf<T>,
        lines: &mut Lines<'_>,
        read: &mut ReadWith<'_, T::Context>,
    ) -> Option<Stop> {
        loop {
            let cx = &mut *self.cx;
            let cut = match lines.next(&mut |offset, into| read(cx, offset, into)) {
                Ok(Some(cut)) => cut,
                Ok(None) => return None,
                Err(stop) => return Some(stop),
            };
            let piece = Piece {
                bytes: cut.bytes,
                offset: cut.offset,
                named: search.object.named,
                last: cut.last,
            };
            match self.search(search, piece, file) {
                Ok(More::Wanted) => {}
                Ok(More::Enough) => return None,
                Err(stop) => return Some(stop),
            }
        }
    }

    fn as_a_whole(
        &mut self,
        search: &mut Search<OutputOf<T>>,
        file: &FileOf<T>,
        len: u64,
        max: u64,
    ) -> Result<(), Stop> {
        let mut whole = std::mem::take(&mut self.parts.long).into_whole();
        let read = self.read_whole(&mut whole, file, len, max);
        let done = read.and_then(|()| {
            if self.machine.config.encodings {
                search.encoding = Encoding::of(&whole);
                if search.encoding != (Encoding::Bytes { skip: 0 }) {
                    whole = converted(&whole, search.encoding);
                }
            }
            let piece = Piece {
                bytes: &whole,
                offset: 0,
                named: search.object.named,
                last: true,
            };
            self.search(search, piece, file).map(|_| ())
        });
        self.parts.long = LongLine::kept(whole);
        done
    }

    fn read_whole(&mut self, whole: &mut Vec<u8>, file: &FileOf<T>, len: u64, max: u64) -> Result<(), Stop> {
        let mut filled = 0;
        loop {
            if filled as u64 > max || len > max {
                return Err(Stop::TooLong { max });
            }
            if filled == whole.len() {
                let room = if filled == 0 { len + 1 } else { 2 * filled as u64 };
                let room = room.clamp(4_096, max.saturating_add(1));
                whole.resize(usize::try_from(room).unwrap_or(usize::MAX), 0);
            }
            let (got, _) = read(self.machine, self.cx, file, filled as u64, &mut whole[filled..])?;
            filled += got;
            if got == 0 || len > 0 && filled as u64 >= len && filled < whole.len() {
                whole.truncate(filled);
                return Ok(());
            }
        }
    }

    fn search(
        &mut self,
        search: &mut Search<OutputOf<T>>,
        piece: Piece<'_>,
        file: &FileOf<T>,
    ) -> Result<More, Stop> {
        let Search {
            object,
            outlet,
            out,
            found,
            encoding,
            ..
        } = search;
        let mut again = Again::of(self.machine, file, *encoding);
        found.clear();
        self.machine.engine.scan(piece, &mut self.parts.engine, found);
        match self.piece(outlet, object, found, &mut again, out) {
            Ok(More::Wanted) if found.nul.is_none() => Ok(More::Wanted),
            Ok(_) => Ok(More::Enough),
            Err(error) => Err(self.machine.stop(piece.offset, error)),
        }
    }

    /// The object whose path is in hand, and the worker's output.
    pub(crate) fn in_hand(&mut self) -> (Object, Vec<u8>) {
        let parts = &mut *self.parts;
        (std::mem::take(&mut parts.object), std::mem::take(&mut parts.out))
    }
}

fn is_large(len: u64, chunk_size: usize) -> bool {
    len / CHUNKS_ALONE > chunk_size as u64
}

/// The length of a file whose first block is not all of it, or is empty.
fn look_late<F: FileSystem, E, K: Sink>(
    machine: &Machine<F, E, K>,
    cx: &mut impl Access,
    file: &F::File,
) -> Result<u64, Stop> {
    let status = cx.access("look at a file", || {
        machine.files.file_status(file, Kind::Unknown)
    });
    match status {
        Ok(status) if status.kind == Kind::File => Ok(status.len),
        Ok(_) => Err(Stop::Replaced),
        Err(error) => Err(Stop::Failed { offset: 0, error }),
    }
}

/// The report of a file that was searched, or as far as it was.
pub(crate) fn report(ended: io::Result<Findings>, stopped: Option<Stop>, cut_lines: u64) -> Report {
    let (findings, late) = match ended {
        Ok(findings) => (findings, None),
        Err(error) => (Findings::default(), Some(Stop::Failed { offset: 0, error })),
    };
    let outcome = match stopped.or(late) {
        None if findings.found => Outcome::Findings,
        None => Outcome::Clean,
        Some(Stop::Cancelled) => Outcome::Skipped(Skipped::Cancelled),
        Some(Stop::Failed { offset, error }) => Outcome::Error(Trouble::Read { offset, error }),
        Some(Stop::TooLong { max }) => Outcome::Error(Trouble::TooLong { max }),
        Some(Stop::Replaced) => Outcome::Error(Trouble::Replaced),
    };
    Report {
        outcome,
        findings,
        cut_lines,
    }
}
