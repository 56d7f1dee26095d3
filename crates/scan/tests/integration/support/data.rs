//! Texts and trees for tests, generated from a seed.

use std::fs;
use std::path::Path;

/// A small generator of random numbers.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x853c_49e6_748f_ea9b)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }

    pub(crate) fn one_in(&mut self, chances: u64) -> bool {
        self.below(chances) == 0
    }

    pub(crate) fn of<'t, T>(&mut self, all: &'t [T]) -> &'t T {
        &all[self.below(all.len() as u64) as usize]
    }
}

/// A text of up to `max` bytes, some lines of which have the word `needle`.
pub(crate) fn text(random: &mut Random, max: u64) -> Vec<u8> {
    let len = if random.one_in(12) {
        0
    } else {
        random.below(max + 1)
    };
    let longest = *random.of(&[3, 30, 90, 2_000]);
    let nul = random.one_in(9);
    let crlf = random.one_in(9);
    let mut text = Vec::new();
    while (text.len() as u64) < len {
        let line = random.below(longest + 1);
        for _ in 0..line {
            text.push(b'a' + random.below(26) as u8);
        }
        if random.one_in(4) {
            text.extend_from_slice(b"needle");
        }
        if nul && random.one_in(40) {
            text.push(0);
        }
        if crlf {
            text.push(b'\r');
        }
        text.push(b'\n');
    }
    if random.one_in(2) {
        text.truncate(len as usize);
    }
    text
}

pub(crate) fn write(path: &Path, text: impl AsRef<[u8]>) {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).expect("a folder can be made");
    }
    fs::write(path, text).expect("a file can be written");
}
