//! The way of one file's findings: through the output into bytes, and out in one piece.

use std::io;

use executor_core::ports::Access;

use super::run::{OutputOf, Types, Worker};
use super::window::{BLOCK, Stream};
use crate::engine::Found;
use crate::object::Object;
use crate::output::{Findings, More, Output, ReadAt};
use crate::sink::Sink;

/// What is kept of a file's output between its pieces.
pub(crate) struct Outlet<O: Output> {
    file: O::File,
    stream: Stream,
    /// Where the object's bytes begin behind those of whole objects; `None` once some are gone.
    mark: Option<usize>,
}

impl<T: Types> Worker<'_, '_, T> {
    /// A file begins. `out` has whole objects, or nothing.
    pub(crate) fn begin(&mut self, object: &Object, stream: Stream, out: &[u8]) -> Outlet<OutputOf<T>> {
        Outlet {
            file: self.machine.sink.output().begin(object),
            stream,
            mark: Some(out.len()),
        }
    }

    /// Puts out what was found in the next piece.
    pub(crate) fn piece(
        &mut self,
        outlet: &mut Outlet<OutputOf<T>>,
        object: &Object,
        found: &Found,
        source: &mut dyn ReadAt,
        out: &mut Vec<u8>,
    ) -> io::Result<More> {
        let machine = self.machine;
        let output = machine.sink.output();
        let more = output.piece(&mut outlet.file, object, found, source, out)?;
        let len = out.len() - outlet.mark.unwrap_or(0);
        if len >= BLOCK || (len > 0 && machine.sink.is_prompt()) {
            if let Some(mark) = outlet.mark.take() {
                let mut own = out.split_off(mark);
                self.put_whole(out);
                std::mem::swap(out, &mut own);
            }
            let pushed = self.cx.access("push a part", || {
                machine.window.push(&machine.sink, &mut outlet.stream, out)
            });
            machine.check(pushed);
        }
        Ok(more)
    }

    /// A file has ended.
    pub(crate) fn finish(
        &mut self,
        outlet: Outlet<OutputOf<T>>,
        object: &Object,
        source: &mut dyn ReadAt,
        out: &mut Vec<u8>,
    ) -> io::Result<Findings> {
        let machine = self.machine;
        let Outlet { file, stream, mark } = outlet;
        let ended = machine.sink.output().end(file, object, source, out);
        if mark.is_none() {
            let finished = self.cx.access("put out the rest", || {
                machine.window.finish(&machine.sink, stream, out)
            });
            machine.check(finished);
        } else {
            if machine.window.is_sorted {
                self.parts.ended.push(stream.position());
            }
            if out.len() >= BLOCK || machine.sink.is_prompt() {
                self.put_whole(out);
            }
        }
        ended
    }

    /// What is out, and does not fill a block yet, does not wait for more.
    pub(crate) fn put_block(&mut self) {
        let machine = self.machine;
        let put = self
            .cx
            .access("put out a block", || machine.window.flush(&machine.sink));
        machine.check(put);
    }

    /// Puts out the worker's whole objects. Returns whether there were any.
    pub(crate) fn put_ended(&mut self) -> bool {
        let mut out = std::mem::take(&mut self.parts.out);
        let are_any = self.put_whole(&mut out);
        self.parts.out = out;
        are_any
    }

    pub(crate) fn put_whole(&mut self, out: &mut Vec<u8>) -> bool {
        let Self {
            machine, cx, parts, ..
        } = self;
        let ended = &mut parts.ended;
        if out.is_empty() && ended.is_empty() {
            return false;
        }
        let put = cx.access("put out whole objects", || {
            machine.window.put_whole(&machine.sink, ended, out)
        });
        machine.check(put);
        true
    }
}
