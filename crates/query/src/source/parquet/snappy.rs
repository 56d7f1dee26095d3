//! Pages that Snappy compressed.
//!
//! A [stream] is its length and elements: a literal brings bytes, and a copy repeats some of the
//! last 64 KiB. Where an element begins is known once the tag of the one before it was read. The
//! `snap` crate takes an element at a time, and a load of the tag, a look into a table and a guess
//! of the next element's kind are what it waits for. On long pages [`window`] waits less: it has a
//! loop for numbers and one for texts, both without a guess that is often wrong and without a check
//! of bounds. [Two kinds](rare) of elements that are rare are decompressed here.
//!
//! What is damaged is `None`, and is left to the `parquet` crate, which reads the page again and
//! says what it found.
//!
//! [stream]: https://github.com/google/snappy/blob/main/format_description.txt

mod window;

use super::hybrid::varint;
use window::Place;

/// Bytes of a page from which on a window over it pays.
const LONG: usize = 1 << 15;

/// What a page's values were compressed to.
pub(super) struct Stream<'a> {
    stored: &'a [u8],
    elements: &'a [u8],
    len: usize,
}

impl<'a> Stream<'a> {
    pub(super) fn new(stored: &'a [u8]) -> Option<Self> {
        let mut elements = stored;
        let len = usize::try_from(u32::try_from(varint(&mut elements)?).ok()?).ok()?;
        Some(Self {
            stored,
            elements,
            len,
        })
    }

    /// Bytes of the values.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Bytes that [`decompress`](Self::decompress) needs, which are at least as many.
    pub(super) fn room(&self) -> usize {
        match self.has_windows() {
            true => (self.len + window::MARGIN).max(window::LEN),
            false => self.len,
        }
    }

    /// A page that became hardly shorter is a few long literals, which `snap` copies as fast.
    fn has_windows(&self) -> bool {
        self.len >= LONG && self.elements.len() < self.len - self.len / 8
    }

    /// Fills the first [`len`](Self::len) bytes of `room`, and may write to the others. `None` if
    /// the stream is damaged.
    pub(super) fn decompress(&self, room: &mut [u8]) -> Option<()> {
        if !self.has_windows() {
            let mut decoder = snap::raw::Decoder::new();
            let len = decoder.decompress(self.stored, &mut room[..self.len]).ok()?;
            return (len == self.len).then_some(());
        }
        let mut last = [0; window::INPUT_LEN];
        let (mut at, mut filled) = (0, 0_usize);
        while at < self.elements.len() {
            let base = filled
                .saturating_sub(window::HISTORY)
                .min(room.len() - window::LEN);
            let window = room[base..].first_chunk_mut()?;
            let left = &self.elements[at..];
            let input = left.first_chunk().unwrap_or_else(|| {
                let (begin, end) = last.split_at_mut(left.len());
                begin.copy_from_slice(left);
                end.fill(window::NO_ELEMENT);
                &last
            });
            let place = Place {
                at: 0,
                filled: filled - base,
            };
            let place = window::decompress(input, window, place, self.len - base);
            (at, filled) = match place.at {
                0 => rare(self.elements, at, &mut room[..self.len], filled)?,
                read => (at + read, base + place.filled),
            };
        }
        (at == self.elements.len() && filled == self.len).then_some(())
    }
}

/// Takes the element at `at`, if it is a literal of more than 60 bytes or a copy with a distance of
/// four bytes. Its bytes belong behind the first `filled` of `values`. Returns where the next
/// element begins, and how many bytes are filled then.
fn rare(elements: &[u8], at: usize, values: &mut [u8], filled: usize) -> Option<(usize, usize)> {
    let tag = usize::from(elements[at]);
    let behind = &elements[at + 1..];
    let number = |bytes: usize| {
        let mut wide = [0; 4];
        wide[..bytes].copy_from_slice(behind.get(..bytes)?);
        usize::try_from(u32::from_le_bytes(wide)).ok()
    };
    match (tag % 4, tag / 4) {
        (0, bytes @ 60..) => {
            let bytes = bytes - 59;
            let len = number(bytes)?.checked_add(1)?;
            let literal = behind[bytes..].get(..len)?;
            values.get_mut(filled..)?.get_mut(..len)?.copy_from_slice(literal);
            Some((at + 1 + bytes + len, filled + len))
        }
        (3, others) => {
            let from = filled.checked_sub(number(4)?).filter(|from| *from < filled)?;
            let end = filled + others + 1;
            let values = values.get_mut(..end)?;
            // A copy may repeat bytes of its own.
            for (from, to) in (from..).zip(filled..end) {
                values[to] = values[from];
            }
            Some((at + 5, end))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::hybrid::put_varint;
    use super::*;

    fn decompressed(stored: &[u8]) -> Option<Vec<u8>> {
        let stream = Stream::new(stored)?;
        // What an earlier page left must not be in the next one.
        let mut room = vec![0xaa; stream.room()];
        stream.decompress(&mut room)?;
        room.truncate(stream.len());
        Some(room)
    }

    fn by_snap(stored: &[u8]) -> Option<Vec<u8>> {
        snap::raw::Decoder::new().decompress_vec(stored).ok()
    }

    fn header(len: usize) -> Vec<u8> {
        let mut header = Vec::new();
        put_varint(len as u64, &mut header);
        header
    }

    /// Values as pages have them.
    #[derive(Debug, Clone)]
    enum Values {
        /// Numbers of eight bytes, whose lower bytes differ.
        Numbers {
            count: usize,
            differ: u32,
            seed: u64,
        },
        Texts {
            count: usize,
            words: u64,
            seed: u64,
        },
        /// One text of a few bytes again and again.
        Run {
            len: usize,
            period: usize,
        },
        Noise {
            len: usize,
            seed: u64,
        },
    }

    fn mixed(seed: u64, at: usize) -> u64 {
        let number = (seed ^ at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (number ^ number >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 8
    }

    impl Values {
        fn append(&self, to: &mut Vec<u8>) {
            match *self {
                Self::Numbers { count, differ, seed } => to.extend((0..count).flat_map(|at| {
                    let number = (seed & !0xff_ffff) | (mixed(seed, at) % (1 << differ));
                    number.to_le_bytes()
                })),
                Self::Texts { count, words, seed } => to.extend((0..count).flat_map(|at| {
                    let word = mixed(seed, at) % words;
                    format!(
                        "{}{word:x} ",
                        ["the", "a/", "index.html?n=", ""][word as usize % 4]
                    )
                    .into_bytes()
                })),
                Self::Run { len, period } => to.extend((0..len).map(|at| (at % period) as u8)),
                Self::Noise { len, seed } => to.extend((0..len).map(|at| mixed(seed, at) as u8)),
            }
        }
    }

    fn values() -> impl Strategy<Value = Vec<u8>> {
        let part = prop_oneof![
            (1_usize..6_000, 1_u32..32, any::<u64>()).prop_map(|(count, differ, seed)| Values::Numbers {
                count,
                differ,
                seed
            }),
            (1_usize..6_000, 1_u64..3_000, any::<u64>()).prop_map(|(count, words, seed)| Values::Texts {
                count,
                words,
                seed
            }),
            (1_usize..9_000, 1_usize..40).prop_map(|(len, period)| Values::Run { len, period }),
            (1_usize..3_000, any::<u64>()).prop_map(|(len, seed)| Values::Noise { len, seed }),
        ];
        proptest::collection::vec(part, 1..8).prop_map(|parts| {
            let mut bytes = Vec::new();
            parts.iter().for_each(|part| part.append(&mut bytes));
            bytes
        })
    }

    /// An element and its bytes, also such as no encoder writes. A copy is from `distance` of what
    /// is there.
    #[derive(Debug, Clone)]
    enum Drawn {
        Literal { len: usize, len_bytes: usize },
        Copy { kind: u8, len: usize, distance: f64 },
    }

    impl Drawn {
        fn append(&self, stored: &mut Vec<u8>, expected: &mut Vec<u8>) {
            match *self {
                Self::Literal { len, len_bytes } => {
                    let len = match len_bytes {
                        0 => len % 60 + 1,
                        _ => len % (1 << (8 * len_bytes).min(13)) + 1,
                    };
                    match len_bytes {
                        0 => stored.push(4 * (len - 1) as u8),
                        _ => stored.push(4 * (59 + len_bytes as u8)),
                    }
                    stored.extend(&(len as u32 - 1).to_le_bytes()[..len_bytes]);
                    let bytes = (0..len).map(|at| mixed(len as u64, expected.len() + at) as u8);
                    let bytes: Vec<u8> = bytes.collect();
                    stored.extend(&bytes);
                    expected.extend(bytes);
                }
                Self::Copy { kind, len, distance } => {
                    let (reach, len) = match kind {
                        1 => ((1 << 11) - 1, len % 8 + 4),
                        2 => ((1 << 16) - 1, len % 64 + 1),
                        _ => (usize::MAX, len % 64 + 1),
                    };
                    // Near ones are as frequent as those of each further power of two.
                    let there = expected.len().min(reach) as f64;
                    let distance = there.powf(distance).max(1.0) as usize;
                    match kind {
                        1 => stored.extend([
                            ((distance >> 8) << 5 | (len - 4) << 2 | 1) as u8,
                            (distance & 0xff) as u8,
                        ]),
                        _ => {
                            let bytes = 2 * usize::from(kind - 1);
                            stored.push(((len - 1) << 2) as u8 | kind);
                            stored.extend(&(distance as u32).to_le_bytes()[..bytes]);
                        }
                    }
                    for _byte in 0..len {
                        expected.push(expected[expected.len() - distance]);
                    }
                }
            }
        }
    }

    /// A stream and what it stands for.
    fn stream() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
        let element = || {
            prop_oneof![
                2 => (0_usize..60, Just(0_usize)).prop_map(|(len, len_bytes)| Drawn::Literal { len, len_bytes }),
                2 => (0_usize..4, Just(0_usize)).prop_map(|(len, len_bytes)| Drawn::Literal { len, len_bytes }),
                12 => (1_u8..3, 0_usize..64, 0.0..=1.0)
                    .prop_map(|(kind, len, distance)| Drawn::Copy { kind, len, distance }),
            ]
        };
        let rare = prop_oneof![
            (0_usize..1 << 13, 1_usize..=4).prop_map(|(len, len_bytes)| Drawn::Literal { len, len_bytes }),
            (Just(3_u8), 0_usize..64, 0.0..=1.0).prop_map(|(kind, len, distance)| Drawn::Copy {
                kind,
                len,
                distance
            }),
        ];
        let part = (proptest::collection::vec(element(), 1..40), rare, 1_usize..40);
        proptest::collection::vec(part, 1..12).prop_map(|parts| {
            let (mut stored, mut expected) = (Vec::new(), Vec::new());
            Drawn::Literal { len: 9, len_bytes: 0 }.append(&mut stored, &mut expected);
            for (elements, rare, times) in parts {
                for element in (0..times).flat_map(|_| &elements).chain([&rare]) {
                    element.append(&mut stored, &mut expected);
                }
            }
            ([header(expected.len()), stored].concat(), expected)
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn what_snap_compresses_is_decompressed(values in values()) {
            let stored = snap::raw::Encoder::new().compress_vec(&values).expect("room");
            prop_assert!(decompressed(&stored).is_some_and(|found| found == values));
        }

        #[test]
        fn elements_of_all_kinds_are_decompressed((stored, expected) in stream()) {
            prop_assert!(by_snap(&stored).is_some_and(|found| found == expected), "the test is wrong");
            prop_assert!(decompressed(&stored).is_some_and(|found| found == expected));
        }

        #[test]
        fn a_damaged_stream_is_what_snap_says(
            (stored, _) in stream(),
            damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
            cut in prop_oneof![Just(None), any::<prop::sample::Index>().prop_map(Some)],
        ) {
            let mut stored = stored;
            for (at, byte) in damage {
                // Behind the length, which would take memory.
                let at = at.index(stored.len() - 5) + 5;
                stored[at] = byte;
            }
            if let Some(at) = cut {
                stored.truncate(at.index(stored.len() - 5) + 5);
            }
            prop_assert!(decompressed(&stored) == by_snap(&stored));
        }
    }

    /// More than half of its elements are copies.
    fn with_windows() -> Vec<u8> {
        let mut values = Vec::new();
        let seed = 1;
        Values::Texts {
            count: 9_000,
            words: 500,
            seed,
        }
        .append(&mut values);
        Values::Noise { len: 9, seed }.append(&mut values);
        snap::raw::Encoder::new().compress_vec(&values).expect("room")
    }

    #[test]
    fn a_stream_that_ends_within_an_element_is_damaged() {
        let stored = with_windows();
        assert!(decompressed(&stored).is_some());
        for less in 1..20 {
            assert!(
                decompressed(&stored[..stored.len() - less]).is_none(),
                "{less} bytes less"
            );
        }
    }

    #[test]
    fn a_copy_of_itself_or_from_before_the_values_is_damaged() {
        let stored = with_windows();
        let Stream { elements, len, .. } = Stream::new(&stored).expect("a length");
        let literal = |len: u8| [&[4 * (len - 1)], &[7; 40][..usize::from(len)]].concat();
        let copy_of_ten = vec![1 | (10 - 4) << 2, 10];
        let first = [
            (vec![literal(2)], 2),
            (vec![literal(10)], 10),
            (vec![literal(10), literal(2)], 12),
            (vec![literal(10), copy_of_ten], 20),
            (vec![literal(40), literal(2)], 42),
        ];
        for (first, there) in first {
            for distance in 0..there + 3 {
                for copy in [&[1, distance][..], &[2, distance, 0], &[3, distance, 0, 0, 0]] {
                    let copied = if copy[0] == 1 { 4 } else { 1 };
                    let begin = [&first.concat(), copy].concat();
                    let values = usize::from(there) + copied + len;
                    let stream = [header(values), begin.clone(), elements.to_vec()].concat();
                    let is_whole = (1..=there).contains(&distance);
                    assert_eq!(decompressed(&stream).is_some(), is_whole, "{begin:?}");
                    assert!(decompressed(&stream) == by_snap(&stream), "{begin:?}");
                }
            }
        }
    }

    #[test]
    fn a_stream_without_a_length_is_damaged() {
        for stored in [&[][..], &[0x80], &[0xff; 10]] {
            assert!(Stream::new(stored).is_none());
        }
        assert_eq!(decompressed(&[0]), Some(Vec::new()));
    }
}
