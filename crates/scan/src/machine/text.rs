//! The text of a file, behind its mark and whatever its encoding, at any place.

use std::io;

use super::run::Machine;
use crate::cancel::CancelToken;
use crate::encoding::{Converter, Encoding};
use crate::files::FileSystem;
use crate::output::ReadAt;
use crate::sink::Sink;

/// A file's text, for lines around findings: reads again what a read may leave out.
pub(crate) struct Again<'f, F: FileSystem> {
    files: &'f F,
    cancel: &'f CancelToken,
    file: &'f F::File,
    /// For a file that does not begin with its text.
    converter: Option<Converter>,
}

/// A whole file's text.
pub(super) fn converted(mut file: &[u8], encoding: Encoding) -> Vec<u8> {
    let mut converter = Converter::new(encoding);
    let mut text = Vec::new();
    loop {
        let filled = text.len();
        text.resize(filled + file.len().max(4_096), 0);
        // Memory can be read.
        let read = converter
            .of(&mut file)
            .read_at(filled as u64, &mut text[filled..]);
        let read = read.unwrap_or(0);
        text.truncate(filled + read);
        if read == 0 {
            return text;
        }
    }
}

impl<'f, F: FileSystem> Again<'f, F> {
    pub(crate) fn of<E, K: Sink>(
        machine: &'f Machine<F, E, K>,
        file: &'f F::File,
        encoding: Encoding,
    ) -> Self {
        let is_plain = encoding == (Encoding::Bytes { skip: 0 });
        Self {
            files: &machine.files,
            cancel: &machine.cancel,
            file,
            converter: (!is_plain).then(|| Converter::new(encoding)),
        }
    }
}

impl<F: FileSystem> ReadAt for Again<'_, F> {
    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let mut file = Raw {
            files: self.files,
            cancel: self.cancel,
            file: self.file,
        };
        match &mut self.converter {
            Some(converter) => converter.of(&mut file).read_at(offset, into),
            None => file.read_at(offset, into),
        }
    }
}

struct Raw<'f, F: FileSystem> {
    files: &'f F,
    cancel: &'f CancelToken,
    file: &'f F::File,
}

impl<F: FileSystem> ReadAt for Raw<'_, F> {
    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < into.len() {
            match self
                .files
                .read_at(self.file, offset + filled as u64, &mut into[filled..])
            {
                Ok(0) => break,
                Ok(got) => filled += got,
                Err(error) if error.kind() == io::ErrorKind::Interrupted && !self.cancel.is_cancelled() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }
}
