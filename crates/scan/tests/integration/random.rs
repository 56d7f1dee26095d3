//! Numbers by seed, and files and patterns made of them.

/// A small generator of numbers: the same seed, the same numbers.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % bound as u64) as usize
    }

    pub(crate) fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }

    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

const WORDS: [&str; 16] = [
    "use", "user", "unused", "Use", "USE", "error", "foo", "foobar", "x", "été", "Ünder", "a-b", "0815", "(",
    "std::io", "e",
];

/// A file with many lines that patterns of [`pattern`] match, and some that they do not.
pub(crate) fn file(random: &mut Random) -> Vec<u8> {
    let mut file = Vec::new();
    let crlf = random.one_in(4);
    let odd = random.one_in(5);
    let lines = random.pick(&[0, 1, 3, 10, 40, 40, 150, 600]);
    let widest = random.pick(&[1, 4, 8, 30]);
    for _ in 0..lines {
        let words = random.below(widest);
        for word in 0..words {
            if word > 0 {
                file.extend_from_slice(random.pick(&[" ", " ", " ", "", ", ", "\t"]).as_bytes());
            }
            file.extend_from_slice(random.pick(&WORDS).as_bytes());
            if odd && random.one_in(20) {
                file.push(random.pick(&[0xff, 0xc3, b'\r', 0x07, b'"', b'\\']));
            }
        }
        let is_crlf = crlf && !random.one_in(10);
        file.extend_from_slice(if is_crlf { b"\r\n" } else { b"\n" });
    }
    if random.one_in(3) {
        file.extend_from_slice(random.pick(&WORDS).as_bytes());
    }
    if random.one_in(6) && !file.is_empty() {
        for _ in 0..random.pick(&[1, 1, 2, 9]) {
            let at = random.below(file.len().min(64 << 10));
            file.insert(at, 0);
        }
        // ripgrep's first block has three bytes if a newline is among them.
        for byte in file.iter_mut().take(3).filter(|byte| **byte == b'\n') {
            *byte = b'x';
        }
    }
    file
}

/// As UTF-16, or as UTF-8 with a mark, if it is text.
pub(crate) fn encoded(file: &[u8], random: &mut Random) -> Vec<u8> {
    let text = String::from_utf8_lossy(file);
    let units = || std::iter::once(0xfeff_u16).chain(text.encode_utf16().collect::<Vec<_>>());
    match random.below(3) {
        0 => units().flat_map(u16::to_le_bytes).collect(),
        1 => units().flat_map(u16::to_be_bytes).collect(),
        _ => [b"\xef\xbb\xbf", text.as_bytes()].concat(),
    }
}

pub(crate) fn patterns(random: &mut Random) -> (Vec<&'static str>, bool) {
    const PLAIN: [&str; 10] = ["use", "e", "foo", "(", "std::io", "été", "x", "Ü", "", "zebra"];
    const REGEX: [&str; 17] = [
        "use",
        "e",
        "us(e|ed)",
        r"\w+oo\w*",
        r"\buser?\b",
        "^use",
        "r$",
        r"^\s*$",
        "x*",
        r"[0-9]{4}",
        "(?i)use",
        r"\w{3}\s+\w{3}",
        ".",
        r"foo.*bar",
        "zebra|error",
        "é",
        r"[^a-z]",
    ];
    let fixed = random.one_in(4);
    let from: &[&str] = if fixed { &PLAIN } else { &REGEX };
    let count = random.pick(&[1, 1, 1, 2, 3]);
    ((0..count).map(|_| random.pick(from)).collect(), fixed)
}
