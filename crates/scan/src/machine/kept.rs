//! Bytes that are ready before their turn: in memory up to a bound, and beyond in a file without a
//! name.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use crate::files::nameless;

/// Bytes that are read back from the file at a time.
const BACK: usize = 64 << 10;

/// The bytes of one object that were ready too early, in order.
#[derive(Debug, Default)]
pub(crate) struct Kept(VecDeque<Segment>);

#[derive(Debug)]
enum Segment {
    Memory(Vec<u8>),
    Spilled { offset: u64, len: u64 },
}

/// Counts what is kept, and has the file.
#[derive(Debug)]
pub(crate) struct Store {
    memory: usize,
    memory_max: usize,
    /// Bytes in the file that are still wanted.
    spilled: u64,
    file: Option<File>,
    end: u64,
    folder: PathBuf,
}

impl Kept {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[cfg(test)]
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self(VecDeque::from([Segment::Memory(bytes.to_vec())]))
    }

    #[cfg(test)]
    pub(crate) fn text(&self) -> String {
        let segments = self.0.iter().map(|segment| match segment {
            Segment::Memory(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Segment::Spilled { .. } => "spilled".to_owned(),
        });
        segments.collect()
    }
}

impl Store {
    pub(crate) fn new(memory_max: usize, folder: Option<PathBuf>) -> Self {
        Self {
            memory: 0,
            memory_max,
            spilled: 0,
            file: None,
            end: 0,
            folder: folder.unwrap_or_else(std::env::temp_dir),
        }
    }

    /// Adds `bytes` to what is kept of an object.
    pub(crate) fn add(&mut self, kept: &mut Kept, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        if self.memory + bytes.len() <= self.memory_max {
            self.memory += bytes.len();
            kept.0.push_back(Segment::Memory(bytes.to_vec()));
            return Ok(());
        }
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(nameless(&self.folder)?),
        };
        file.write_all_at(bytes, self.end)?;
        let len = bytes.len() as u64;
        match kept.0.back_mut() {
            Some(Segment::Spilled { offset, len: before }) if *offset + *before == self.end => *before += len,
            _ => kept.0.push_back(Segment::Spilled {
                offset: self.end,
                len,
            }),
        }
        self.end += len;
        self.spilled += len;
        Ok(())
    }

    /// Hands what is kept of an object to `put`, in order.
    pub(crate) fn take(
        &mut self,
        kept: Kept,
        mut put: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        for segment in kept.0 {
            match segment {
                Segment::Memory(bytes) => {
                    self.memory -= bytes.len();
                    put(&bytes)?;
                }
                Segment::Spilled { offset, len } => {
                    self.back(offset, len, &mut put)?;
                    self.spilled -= len;
                }
            }
        }
        if self.spilled == 0 && self.end > 0 {
            self.end = 0;
            if let Some(file) = &self.file {
                file.set_len(0)?;
            }
        }
        Ok(())
    }

    fn back(
        &self,
        mut offset: u64,
        len: u64,
        put: &mut impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        let end = offset + len;
        let mut buffer = vec![0; BACK];
        while offset < end {
            let part = usize::try_from(end - offset).map_or(BACK, |rest| rest.min(BACK));
            file.read_exact_at(&mut buffer[..part], offset)?;
            put(&buffer[..part])?;
            offset += part as u64;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(store: &mut Store, kept: Kept) -> Vec<u8> {
        let mut out = Vec::new();
        let put = |bytes: &[u8]| {
            out.extend_from_slice(bytes);
            Ok(())
        };
        store.take(kept, put).expect("the file can be read");
        out
    }

    #[test]
    fn what_memory_does_not_hold_comes_back_from_the_file() {
        let mut store = Store::new(10, None);
        let (mut one, mut other) = (Kept::default(), Kept::default());
        for round in 0..1_000_u32 {
            let kept = if round % 3 == 0 { &mut one } else { &mut other };
            store
                .add(kept, format!("{round} ").as_bytes())
                .expect("there is a folder");
        }
        assert!(store.memory <= 10 && store.spilled > 3_000);
        let numbers = |of: &dyn Fn(u32) -> bool| -> String {
            (0..1_000).filter(|n| of(*n)).map(|n| format!("{n} ")).collect()
        };
        let out = taken(&mut store, other);
        assert_eq!(String::from_utf8_lossy(&out), numbers(&|n| n % 3 != 0));
        let out = taken(&mut store, one);
        assert_eq!(String::from_utf8_lossy(&out), numbers(&|n| n % 3 == 0));
        assert_eq!((store.memory, store.spilled, store.end), (0, 0, 0));
    }
}
