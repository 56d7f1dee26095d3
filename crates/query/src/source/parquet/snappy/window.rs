//! Most elements of a stream, decompressed within an array.
//!
//! A window has the last 64 KiB of the values, which a copy may repeat, and room for the next ones.
//! It and the piece of the stream that is read are arrays that end with a margin. So the compiler
//! sees that an element which begins before the margin stays within it, and the loops have no
//! checks of bounds. They write whole words: what is behind an element's bytes is overwritten by
//! the next one.
//!
//! *Numbers* of eight bytes become pairs: a literal of the lower bytes, which differ, and a copy of
//! the upper ones. [`numbers`] takes a pair at a time. The eight bytes that the copy repeats are
//! loaded together with those before them, the literal is put in their place, and they are stored.
//! A load of bytes that one instruction stored need not wait until they are in the cache, and a
//! load of bytes of two stores must. Where the next pair begins depends on the copy's tag: both
//! words that may begin it are loaded before that is known.
//!
//! *Texts* become copies with a short literal here and there. [`texts`] takes two elements at a
//! time, as the tag of the second is in the word of the first. Whether the second is a literal or a
//! copy is no branch, which the processor would often guess wrong.

use std::hint::select_unpredictable;

/// Bytes that a copy with a distance of two bytes can reach.
pub(super) const HISTORY: usize = 1 << 16;
/// Bytes of new values in a window.
const ROOM: usize = 1 << 14;
/// Bytes of a piece of a stream in which the elements that are taken begin.
const AHEAD: usize = 1 << 11;
/// Bytes at an array's end that the last two elements may reach into, and the words written for
/// them.
pub(super) const MARGIN: usize = 512;
/// Bytes of a window that are filled when the last element begins, at most.
const FILLED_MAX: usize = HISTORY + ROOM;
/// Bytes of a window.
pub(super) const LEN: usize = FILLED_MAX + MARGIN;
/// Bytes of a piece of a stream.
pub(super) const INPUT_LEN: usize = AHEAD + MARGIN;
/// A byte that begins an element which is not taken here. It follows the last byte of a stream.
pub(super) const NO_ELEMENT: u8 = !0;

/// Bytes of the longest literal that shares a word with its tag and the copy behind it.
const SHORT: usize = 4;
/// Bytes of the longest literal whose length is in its tag.
const LITERAL: usize = 60;
/// Bytes of the longest copy.
const COPY: usize = 64;
/// Bytes of a stream that are read as texts when it looks like numbers.
const FEW: usize = 16;

type Input = [u8; INPUT_LEN];
type Window = [u8; LEN];

/// Where the next element begins, and where its bytes belong.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) at: usize,
    pub(super) filled: usize,
}

/// Takes elements until one of them is not for a window, or begins behind [`AHEAD`] bytes, or until
/// `end` bytes are filled. Returns where the next one begins.
pub(super) fn decompress(input: &Input, window: &mut Window, mut place: Place, end: usize) -> Place {
    let end = end.min(FILLED_MAX);
    let mut as_texts = FEW;
    while place.at < AHEAD && place.filled < end {
        let before = place;
        // A pair begins with a literal.
        place = copy(input, window, place);
        let begin = place.at;
        place = numbers(input, window, place, end);
        as_texts = match place.at - begin < 4 * FEW {
            true => AHEAD.min(2 * as_texts),
            false => FEW,
        };
        place = texts(input, window, place, end, AHEAD.min(place.at + as_texts));
        if place == before {
            break;
        }
    }
    place
}

/// Takes one copy, if there is one.
fn copy(input: &Input, window: &mut Window, place: Place) -> Place {
    let Place { at, filled } = place;
    let tag = usize::from(input[at]);
    let element = Element::of(word(input, at));
    if tag & 3 == 0 || element.len > COPY || element.distance == 0 || element.distance > filled {
        return place;
    }
    match element.has_words() {
        true => copy_words(window, filled, element),
        false => repeat(window, filled, element),
    }
    Place {
        at: at + (tag & 3) + 1,
        filled: filled + element.len,
    }
}

/// Takes pairs of a literal and a copy that are at most eight bytes together.
#[inline(never)]
fn numbers(input: &Input, window: &mut Window, place: Place, end: usize) -> Place {
    let Place { mut at, mut filled } = place;
    let mut first = word(input, at);
    while at < AHEAD && filled < end {
        let tag = (first & 0xff) as usize;
        // No literal, or a longer one.
        if tag & !(4 * (SHORT - 1)) != 0 {
            break;
        }
        let others = tag / 4;
        let len = others + 1;
        let second = word(input, at + 1 + len);
        let behind_three = word(input, at + 1 + len + 3);
        let copy = Element::of(second);
        let both = len + copy.len;
        if second & 3 == 0 || both > 8 || copy.distance < 8 || copy.distance > filled {
            break;
        }
        let before = get(window, filled - copy.distance);
        let literal = first >> 8;
        put(
            window,
            filled,
            before ^ ((before ^ literal) & LOWER[others & (SHORT - 1)]),
        );
        filled += both;
        // A word of memory and one of a register: of two shifts the compiler would make one that
        // takes longer than both.
        first = select_unpredictable(second & 2 != 0, behind_three, second >> 16);
        at += 1 + len + 1 + (second & 3) as usize;
    }
    Place { at, filled }
}

/// Takes literals, and copies that do not repeat bytes of their own, until one begins at `stop` or
/// behind it.
#[inline(never)]
fn texts(input: &Input, window: &mut Window, place: Place, end: usize, stop: usize) -> Place {
    let Place { mut at, mut filled } = place;
    while at < stop && filled < end {
        let first = word(input, at);
        let tag = (first & 0xff) as usize;
        if tag & 3 == 0 {
            let len = tag / 4 + 1;
            if len > LITERAL {
                break;
            }
            move_from::<16>(input, at + 1, window, filled);
            if len > 16 {
                move_from::<48>(input, at + 17, window, filled + 16);
            }
            at += len + 1;
            filled += len;
            continue;
        }
        let element = Element::of(first);
        if element.len > COPY || element.distance > filled || !element.has_words() {
            break;
        }
        copy_words(window, filled, element);
        filled += element.len;
        let second = select_unpredictable(first & 2 != 0, word(input, at + 3), first >> 16);
        at += (tag & 3) + 1;

        let tag = (second & 0xff) as usize;
        let element = Element::of(second);
        if element.len > COPY {
            continue;
        }
        if element.distance > filled || !element.has_words() {
            break;
        }
        let is_literal = tag & 3 == 0;
        let from = filled - element.distance;
        let words = [get(window, from), get(window, from + 8)];
        put(
            window,
            filled,
            select_unpredictable(is_literal, second >> 8, words[0]),
        );
        put(window, filled + 8, words[1]);
        copy_words_behind(window, filled, element);
        filled += element.len;
        at += select_unpredictable(is_literal, tag / 4 + 2, (tag & 3) + 1);
    }
    Place { at, filled }
}

/// A copy or a short literal.
#[derive(Clone, Copy)]
struct Element {
    /// Of a literal it is any at which there are words.
    distance: usize,
    /// Above [`COPY`] if the element is neither.
    len: usize,
}

impl Element {
    /// The one that `word` begins with.
    #[inline(always)]
    fn of(word: u64) -> Self {
        let known = ELEMENTS[(word & 0xff) as usize];
        let lower = (word >> 8) as u32 & known >> 16;
        Self {
            distance: (lower | known & 0x700) as usize,
            len: (known & 0xff) as usize,
        }
    }

    /// Whether the words at the distance hold all of its bytes before any of them is written.
    #[inline(always)]
    fn has_words(self) -> bool {
        self.distance >= 16 || self.distance >= self.len
    }
}

/// By tag: the length in 8 bits, then the upper bits of the distance, and from bit 16 on a mask of
/// the bits behind the tag that are the lower ones.
const ELEMENTS: [u32; 256] = {
    let mut elements = [u8::MAX as u32; 256];
    let mut tag = 0;
    while tag < 256 {
        let above = tag >> 2;
        match tag & 3 {
            0 if above < SHORT as u32 => elements[tag as usize] = 0x100 | (above + 1),
            1 => elements[tag as usize] = 0xff << 16 | above >> 3 << 8 | ((above & 7) + 4),
            2 => elements[tag as usize] = 0xffff << 16 | (above + 1),
            _ => {}
        }
        tag += 1;
    }
    elements
};

/// Masks of a literal's bits, by its length less one.
const LOWER: [u64; SHORT] = [0xff, 0xffff, 0xff_ffff, 0xffff_ffff];

#[inline(always)]
fn copy_words(window: &mut Window, filled: usize, element: Element) {
    move_within::<16>(window, filled - element.distance, filled);
    copy_words_behind(window, filled, element);
}

/// Copies what is behind the first 16 bytes.
#[inline(always)]
fn copy_words_behind(window: &mut Window, filled: usize, element: Element) {
    let from = filled - element.distance;
    // Many copies of texts are longer than 16 bytes, but hardly any is longer than 32.
    move_within::<16>(window, from + 16, filled + 16);
    if element.len > 32 {
        move_within::<16>(window, from + 32, filled + 32);
        move_within::<16>(window, from + 48, filled + 48);
    }
}

/// Copies what repeats bytes of its own.
fn repeat(window: &mut Window, filled: usize, element: Element) {
    let Element { distance, len } = element;
    let from = filled - distance;
    if distance >= 8 {
        for begin in (0..len).step_by(8) {
            put(window, filled + begin, get(window, from + begin));
        }
        return;
    }
    let mut word = get(window, from) & (u64::MAX >> (64 - 8 * distance));
    let mut known = distance;
    while known < 8 {
        word |= word << (8 * known);
        known *= 2;
    }
    for begin in (0..len).step_by(8 - 8 % distance) {
        put(window, filled + begin, word);
    }
}

#[inline(always)]
fn word(input: &Input, at: usize) -> u64 {
    u64::from_le_bytes(array(input, at))
}

#[inline(always)]
fn get(window: &Window, at: usize) -> u64 {
    u64::from_le_bytes(array(window, at))
}

#[inline(always)]
fn put(window: &mut Window, at: usize, word: u64) {
    window[at..at + 8].copy_from_slice(&word.to_le_bytes());
}

#[inline(always)]
fn move_from<const N: usize>(input: &Input, from: usize, window: &mut Window, to: usize) {
    let bytes: [u8; N] = array(input, from);
    window[to..to + N].copy_from_slice(&bytes);
}

#[inline(always)]
fn move_within<const N: usize>(window: &mut Window, from: usize, to: usize) {
    let bytes: [u8; N] = array(window, from);
    window[to..to + N].copy_from_slice(&bytes);
}

#[inline(always)]
fn array<const N: usize, const M: usize>(bytes: &[u8; M], at: usize) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[at..at + N]);
    array
}
