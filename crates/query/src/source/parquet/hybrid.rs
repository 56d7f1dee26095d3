//! Numbers as Parquet writes levels and codes: runs of one number, and numbers packed by the bit.
//!
//! The format is *RLE / bit-packing hybrid* in
//! [Parquet's encodings](https://parquet.apache.org/docs/file-format/data-pages/encodings/).

/// Widest number in bits.
const WIDTH_MAX: usize = 32;

/// A number that `u8`, `u16` or `u32` holds.
pub(super) trait Number: Copy + TryFrom<u32> {
    const BITS: usize;
    const ZERO: Self;

    /// The lowest bits.
    fn cut(word: u64) -> Self;
}

macro_rules! numbers {
    ($($number:ty)*) => {
        $(impl Number for $number {
            const BITS: usize = Self::BITS as usize;
            const ZERO: Self = 0;

            fn cut(word: u64) -> Self {
                word as Self
            }
        })*
    };
}
numbers!(u8 u16 u32);

/// Appends `count` numbers of `width` bits. `None` if `bytes` end before, are no such numbers, or hold
/// a number that is too great for its type.
pub(super) fn read<N: Number>(mut bytes: &[u8], width: usize, count: usize, into: &mut Vec<N>) -> Option<()> {
    if width > N::BITS {
        let mut wide: Vec<u32> = Vec::new();
        read(bytes, width, count, &mut wide)?;
        for number in wide {
            into.push(number.try_into().ok()?);
        }
        return Some(());
    }
    let begin = into.len();
    into.resize(begin.checked_add(count)?, N::ZERO);
    let mut left = &mut into[begin..];
    while !left.is_empty() {
        let run = Run::next(&mut bytes, width)?;
        let numbers;
        (numbers, left) = left.split_at_mut(run.len.min(left.len()));
        match run.packed() {
            Some(packed) => unpack(packed, width, numbers),
            None => numbers.fill(run.number().try_into().ok()?),
        }
    }
    Some(())
}

/// Numbers of a kind.
struct Run<'a> {
    /// How many there are. The last ones of a packed run may stand for nothing.
    len: usize,
    is_packed: bool,
    stored: &'a [u8],
}

impl<'a> Run<'a> {
    fn next(bytes: &mut &'a [u8], width: usize) -> Option<Self> {
        let header = varint(bytes)?;
        let run = usize::try_from(header >> 1).ok().filter(|run| *run > 0)?;
        let is_packed = header & 1 == 1;
        let (len, size) = match is_packed {
            true => (run.checked_mul(8)?, run.checked_mul(width)?),
            false => (run, width.div_ceil(8)),
        };
        let (stored, behind) = bytes.split_at_checked(size)?;
        *bytes = behind;
        Some(Self {
            len,
            is_packed,
            stored,
        })
    }

    /// `None` if all numbers are the same [`number`](Self::number).
    fn packed(&self) -> Option<&'a [u8]> {
        self.is_packed.then_some(self.stored)
    }

    fn number(&self) -> u32 {
        let mut wide = [0; 4];
        wide[..self.stored.len()].copy_from_slice(self.stored);
        u32::from_le_bytes(wide)
    }
}

/// Appends the `count` codes of a page, which begin with a byte that is their width.
pub(super) fn read_codes<N: Number>(bytes: &[u8], count: usize, into: &mut Vec<N>) -> Option<()> {
    let (width, bytes) = width_of_codes(bytes, count)?;
    read(bytes, width, count, into)
}

/// Appends those of the `count` codes of a page that are at `places`, which ascend and are below
/// `count`.
pub(super) fn read_codes_at(
    bytes: &[u8],
    count: usize,
    places: impl IntoIterator<Item = usize>,
    into: &mut Vec<u32>,
) -> Option<()> {
    let (width, mut bytes) = width_of_codes(bytes, count)?;
    let mut places = places.into_iter().peekable();
    let mut begin = 0;
    while begin < count {
        let run = Run::next(&mut bytes, width)?;
        let end = begin.saturating_add(run.len);
        while let Some(place) = places.next_if(|place| *place < end) {
            into.push(match run.packed() {
                Some(packed) => packed_at(packed, width, place - begin),
                None => run.number(),
            });
        }
        begin = end;
    }
    Some(())
}

/// The width of a page's codes, and what is behind it.
fn width_of_codes(bytes: &[u8], count: usize) -> Option<(usize, &[u8])> {
    // A page of NULLs may have no codes and no width.
    let (width, bytes) = match bytes.split_first() {
        Some((width, bytes)) => (usize::from(*width), bytes),
        None if count == 0 => (0, bytes),
        None => return None,
    };
    (width <= WIDTH_MAX).then_some((width, bytes))
}

/// One of the numbers in `packed`.
fn packed_at(packed: &[u8], width: usize, place: usize) -> u32 {
    let bit = place * width;
    // A number that begins within a byte reaches into five at most.
    let bytes = &packed[bit / 8..packed.len().min(bit / 8 + 5)];
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    let mask = (1 << width) - 1;
    (u64::from_le_bytes(word) >> (bit % 8) & mask) as u32
}

pub(super) fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
pub(super) fn put_varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Reads the first numbers of `packed`.
fn unpack<N: Number>(packed: &[u8], width: usize, numbers: &mut [N]) {
    macro_rules! of_width {
        ($($width:literal)*) => {
            match width {
                0 => {}
                $($width => unpack_groups::<N, $width>(packed, numbers),)*
                _ => unreachable!("a number has at most 32 bits"),
            }
        };
    }
    of_width!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32);
}

fn unpack_groups<N: Number, const WIDTH: usize>(packed: &[u8], numbers: &mut [N]) {
    let (groups, _) = packed.as_chunks::<WIDTH>();
    let (whole, last) = numbers.as_chunks_mut();
    for (numbers, group) in whole.iter_mut().zip(groups) {
        *numbers = unpacked(group);
    }
    if !last.is_empty() {
        last.copy_from_slice(&unpacked(&groups[whole.len()])[..last.len()]);
    }
}

/// The compiler knows each shift, since it knows the width.
fn unpacked<N: Number, const WIDTH: usize>(group: &[u8; WIDTH]) -> [N; 8] {
    let mask = u64::MAX >> (64 - WIDTH);
    if WIDTH <= 8 {
        let word = word_of(group, 0);
        return std::array::from_fn(|at| N::cut(word >> (at * WIDTH) & mask));
    }
    std::array::from_fn(|at| {
        let bit = at * WIDTH;
        // A whole word is read at once, so that of the last numbers begins before them.
        let begin = (bit / 8).min(WIDTH - 8);
        N::cut(word_of(group, begin) >> (bit - 8 * begin) & mask)
    })
}

/// Up to eight bytes from `begin` on.
fn word_of<const WIDTH: usize>(group: &[u8; WIDTH], begin: usize) -> u64 {
    let mut word = [0; 8];
    let bytes = &group[begin..WIDTH.min(begin + 8)];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn packed(numbers: &[u32], width: usize) -> Vec<u8> {
        let mut bytes = vec![0; numbers.len() * width / 8];
        for (at, number) in numbers.iter().enumerate() {
            for bit in 0..width {
                let place = at * width + bit;
                bytes[place / 8] |= u8::from(number >> bit & 1 == 1) << (place % 8);
            }
        }
        bytes
    }

    /// Numbers are read by a narrow type if it holds all of them.
    fn assert_holds<N: Number + PartialEq + std::fmt::Debug>(bytes: &[u8], width: usize, numbers: &[u32]) {
        let mut found = Vec::new();
        let is_read = read::<N>(bytes, width, numbers.len(), &mut found);
        let narrow: Option<Vec<N>> = numbers.iter().map(|number| (*number).try_into().ok()).collect();
        assert_eq!(is_read.map(|()| found), narrow);
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(
            width in 0..=WIDTH_MAX,
            parts in proptest::collection::vec((any::<bool>(), 1_usize..20, any::<u32>()), 1..10),
            short in 0_usize..8,
            every in 1_usize..30,
        ) {
            let mask = (u64::MAX >> (64 - width.max(1))) as u32 * u32::from(width > 0);
            let (mut bytes, mut expected) = (Vec::new(), Vec::new());
            for (is_run, count, seed) in parts {
                if is_run {
                    put_varint((count as u64) << 1, &mut bytes);
                    bytes.extend(&(seed & mask).to_le_bytes()[..width.div_ceil(8)]);
                    expected.extend(std::iter::repeat_n(seed & mask, count));
                } else {
                    let number = |at: usize| seed.wrapping_mul(2 * at as u32 + 1).rotate_left(at as u32) & mask;
                    let numbers: Vec<u32> = (0..8 * count).map(number).collect();
                    put_varint((count as u64) << 1 | 1, &mut bytes);
                    bytes.extend(packed(&numbers, width));
                    expected.extend(numbers);
                }
            }
            let count = expected.len().saturating_sub(short);
            let page = [&[width as u8], &bytes[..]].concat();
            let places = (0..count).filter(|place| place % every == short % every);
            let mut found = Vec::new();
            prop_assert_eq!(read_codes_at(&page, count, places.clone(), &mut found), Some(()));
            let at: Vec<u32> = places.map(|place| expected[place]).collect();
            prop_assert_eq!(found, at);
            prop_assert_eq!(read_codes_at(&page, expected.len() + 1, [], &mut Vec::new()), None);
            let mut found = vec![7];
            prop_assert_eq!(read(&bytes, width, count, &mut found), Some(()));
            prop_assert_eq!(&found[1..], &expected[..count]);
            prop_assert_eq!(read::<u32>(&bytes, width, expected.len() + 1, &mut Vec::new()), None);
            assert_holds::<u8>(&bytes, width, &expected[..count]);
            assert_holds::<u16>(&bytes, width, &expected[..count]);
        }

        #[test]
        fn any_bytes_end(bytes in proptest::collection::vec(any::<u8>(), 0..40), width in 0..=WIDTH_MAX) {
            let mut found = Vec::<u32>::new();
            if read(&bytes, width, 1_000, &mut found).is_some() {
                prop_assert_eq!(found.len(), 1_000);
            }
        }
    }
}
