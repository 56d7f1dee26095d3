//! Chunks of a large file: claimed, searched, and put out in order by the worker that completes
//! the next.

use std::iter;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use executor_core::TaskCtx;
use executor_core::ports::Access;

use super::batch::Discovered;
use super::chunked::{Chunked, Claim, Done, Fold, Folded};
use super::counters::Slot;
use super::file::report;
use super::lines::{Lines, Range};
use super::run::{FileOf, OutputOf, Types, Worker, read};
use super::task::Task;
use super::text::Again;
use super::window::Stream;
use crate::engine::{Engine, Found, Piece, Unit};
use crate::output::More;

/// Files with more bytes are cut into larger chunks.
const LARGE: u64 = 8 << 20;

/// Bytes of a file beside which small files stand in the queue of its chunks. A shorter one is soon
/// over, and put off to the end it would leave workers idle there.
const LONG: u64 = 64 << 20;

/// Bytes of the largest chunk.
const CHUNK_MAX: usize = 1 << 20;

impl<T: Types> Worker<'_, '_, T> {
    /// Makes a file whose path is in hand one of chunks, and begins with it.
    pub(crate) fn share(
        &mut self,
        found: Discovered<T::Files>,
        file: FileOf<T>,
        slot: Slot,
        size: u64,
        mark: u64,
    ) {
        let chunk = self.machine.config.chunk_size;
        let chunk = if size > LARGE {
            (4 * chunk).min(CHUNK_MAX).max(chunk)
        } else {
            chunk
        };
        let object = self.parts.object.clone();
        let stream = Stream::new(object.id, found.position());
        let fold = Fold {
            outlet: self.begin(&object, stream, &[]),
            found,
            object,
            out: Vec::new(),
            cut_lines: 0,
            stopped: None,
        };
        let workers = self.machine.config.workers;
        if size >= LONG {
            // Ordering: Relaxed. A count by which turns are shared out, and nothing hangs on it.
            self.machine.long_files.fetch_add(1, Ordering::Relaxed);
        }
        let chunked = Chunked::new(file, slot, (size, mark), chunk as u64, workers, fold);
        self.chunks(Arc::new(chunked));
    }

    /// Searches chunks of a file for one turn.
    pub(crate) fn chunks(&mut self, chunked: Arc<Chunked<T::Files, OutputOf<T>>>) {
        // What was found in small files does not wait until the large one is searched.
        if self.put_ended() {
            self.put_block();
        }
        loop {
            let is_cancelled = self.is_cancelled();
            let claim = self.cx.access("claim a chunk", || chunked.claim(is_cancelled));
            let (index, found) = match claim {
                Claim::Chunk { index, share, found } => {
                    if share {
                        self.spawn(iter::once(Task::Chunks(Arc::clone(&chunked))));
                        self.cx.publish();
                    }
                    (index, found)
                }
                Claim::Leave => return,
                Claim::End(fold) => return self.end(&chunked, *fold),
            };
            let done = self.chunk(&chunked, index, found);
            let folded = self
                .cx
                .access("complete a chunk", || chunked.complete(index, done));
            self.fold(&chunked, folded);
            // Its turn is over, so that files behind it get theirs. By path it is better to go on,
            // as what is behind it cannot be put out.
            if !self.machine.window.is_sorted {
                return self.cx.spawn_global(Task::Chunks(chunked));
            }
        }
    }

    fn chunk(&mut self, chunked: &Chunked<T::Files, OutputOf<T>>, index: u64, mut found: Found) -> Done {
        let machine = self.machine;
        let Unit::Lines { max_line } = machine.engine.unit() else {
            unreachable!("a file that is searched whole is not shared");
        };
        let begin = index * chunked.chunk;
        let range = Range {
            begin,
            end: Some(chunked.end_of(index)),
            size: chunked.size,
            max_line,
            is_first: index == 0,
        };
        let Self { cx, parts, .. } = self;
        let mut block = parts.take_block();
        let unit = machine.config.chunk_size;
        block.grow(unit, (chunked.chunk as usize).div_ceil(unit));
        let mut long = std::mem::take(&mut parts.long);
        let mut lines = Lines::new(&mut block, &mut long, range);
        // Before the text's first line is the mark of its encoding.
        let begun = if index == 0 && chunked.mark > 0 {
            let cx = &mut **cx;
            let first = lines.first(&mut |offset, into| read(machine, cx, &chunked.file, offset, into));
            first.map(|_| ())
        } else {
            Ok(())
        };
        lines.skip(chunked.mark);
        let mut stopped = begun.err();
        while stopped.is_none() {
            let cx = &mut **cx;
            let cut = match lines.next(&mut |offset, into| read(machine, cx, &chunked.file, offset, into)) {
                Ok(Some(cut)) => cut,
                Ok(None) => break,
                Err(stop) => {
                    stopped = Some(stop);
                    break;
                }
            };
            let piece = Piece {
                bytes: cut.bytes,
                offset: cut.offset,
                named: chunked.named,
                last: cut.last,
            };
            machine.engine.scan(piece, &mut parts.engine, &mut found);
            if found.nul.is_some() {
                break;
            }
        }
        let cut_lines = lines.cut_lines();
        let owned_to = lines.owned_to();
        long.trim();
        parts.long = long;
        parts.block = Some(block);
        Done {
            found,
            cut_lines,
            owned_to,
            stopped,
        }
    }

    /// Puts out chunks as long as the next one is done.
    fn fold(
        &mut self,
        chunked: &Arc<Chunked<T::Files, OutputOf<T>>>,
        mut folded: Folded<T::Files, OutputOf<T>>,
    ) {
        loop {
            let (mut fold, done) = match folded {
                Folded::Next(fold, done) => (fold, done),
                Folded::Wait => return,
                Folded::End(fold) => return self.end(chunked, *fold),
            };
            let mut again = Again::of(self.machine, &chunked.file, chunked.encoding());
            let Fold {
                object,
                outlet,
                out,
                cut_lines,
                stopped,
                ..
            } = &mut *fold;
            *cut_lines += done.cut_lines;
            let is_last = done.stopped.is_some() || done.found.nul.is_some();
            *stopped = stopped.take().or(done.stopped);
            let is_enough = match self.piece(outlet, object, &done.found, &mut again, out) {
                Ok(more) => is_last || more == More::Enough,
                Err(error) => {
                    let offset = done.found.findings.first().map_or(0, |finding| finding.offset);
                    *stopped = Some(super::run::Stop::Failed { offset, error });
                    true
                }
            };
            let (next, spawn) = self
                .cx
                .access("a chunk is out", || chunked.folded(fold, done.found, is_enough));
            if spawn {
                self.spawn(iter::once(Task::Chunks(Arc::clone(chunked))));
            }
            folded = next;
        }
    }

    fn end(&mut self, chunked: &Chunked<T::Files, OutputOf<T>>, fold: Fold<T::Files, OutputOf<T>>) {
        let Fold {
            found,
            object,
            outlet,
            mut out,
            cut_lines,
            stopped,
        } = fold;
        let mut again = Again::of(self.machine, &chunked.file, chunked.encoding());
        let ended = self.finish(outlet, &object, &mut again, &mut out);
        self.put_whole(&mut out);
        if chunked.size >= LONG {
            // Ordering: Relaxed. As in `share`.
            self.machine.long_files.fetch_sub(1, Ordering::Relaxed);
        }
        self.report(found, &object, &report(ended, stopped, cut_lines));
    }
}
