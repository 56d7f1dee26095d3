//! Iteration over a list, chunk by chunk, from either end.

use std::fmt;
use std::iter::FusedIterator;
use std::mem;
use std::{slice, vec};

use crate::memory::Reservation;

/// The values of a list, by reference.
pub type Iter<'a, T> = Values<slice::Iter<'a, Vec<T>>, slice::Iter<'a, T>>;

/// The values of a list, by mutable reference.
pub type IterMut<'a, T> = Values<slice::IterMut<'a, Vec<T>>, slice::IterMut<'a, T>>;

/// The values in chunks `C`, each iterated by an `I`.
#[derive(Clone, Debug)]
pub struct Values<C, I> {
    front: I,
    chunks: C,
    between: usize,
    back: I,
}

impl<C, I: Default> Values<C, I> {
    /// No chunk is empty. `between` is the number of their values.
    pub(super) fn new(chunks: C, between: usize, back: I) -> Self {
        Self {
            front: I::default(),
            chunks,
            between,
            back,
        }
    }
}

impl<C, I> Values<C, I>
where
    C: Iterator<Item: IntoIterator<IntoIter = I, Item = I::Item>>,
    I: ExactSizeIterator + Default,
{
    #[cold]
    fn next_of_another_chunk(&mut self) -> Option<I::Item> {
        self.front = match self.chunks.next() {
            Some(chunk) => {
                let chunk = chunk.into_iter();
                self.between -= chunk.len();
                chunk
            }
            None => mem::take(&mut self.back),
        };
        self.front.next()
    }
}

impl<C, I> Iterator for Values<C, I>
where
    C: Iterator<Item: IntoIterator<IntoIter = I, Item = I::Item>>,
    I: ExactSizeIterator + Default,
{
    type Item = I::Item;

    #[inline]
    fn next(&mut self) -> Option<I::Item> {
        match self.front.next() {
            None => self.next_of_another_chunk(),
            value => value,
        }
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = self.front.len() + self.between + self.back.len();
        (len, Some(len))
    }

    #[inline]
    fn fold<A, F: FnMut(A, I::Item) -> A>(self, start: A, mut f: F) -> A {
        let so_far = self.front.fold(start, &mut f);
        let so_far = self
            .chunks
            .fold(so_far, |so_far, chunk| chunk.into_iter().fold(so_far, &mut f));
        self.back.fold(so_far, f)
    }
}

impl<C, I> DoubleEndedIterator for Values<C, I>
where
    C: DoubleEndedIterator<Item: IntoIterator<IntoIter = I, Item = I::Item>>,
    I: ExactSizeIterator + DoubleEndedIterator + Default,
{
    #[inline]
    fn next_back(&mut self) -> Option<I::Item> {
        if let Some(value) = self.back.next_back() {
            return Some(value);
        }
        self.back = match self.chunks.next_back() {
            Some(chunk) => {
                let chunk = chunk.into_iter();
                self.between -= chunk.len();
                chunk
            }
            None => mem::take(&mut self.front),
        };
        self.back.next_back()
    }
}

impl<C, I> ExactSizeIterator for Values<C, I>
where
    C: Iterator<Item: IntoIterator<IntoIter = I, Item = I::Item>>,
    I: ExactSizeIterator + Default,
{
}

impl<C, I> FusedIterator for Values<C, I>
where
    C: FusedIterator<Item: IntoIterator<IntoIter = I, Item = I::Item>>,
    I: ExactSizeIterator + FusedIterator + Default,
{
}

/// The values of a list, by value. A chunk is freed when its last value is taken; the reservation
/// is given back on drop.
pub struct IntoIter<T> {
    // Dropped first: memory is freed before its reservation is given back.
    values: Values<vec::IntoIter<Vec<T>>, vec::IntoIter<T>>,
    reservation: Reservation,
}

impl<T> IntoIter<T> {
    pub(super) fn new(
        values: Values<vec::IntoIter<Vec<T>>, vec::IntoIter<T>>,
        reservation: Reservation,
    ) -> Self {
        Self { values, reservation }
    }
}

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        self.values.next()
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.values.size_hint()
    }

    #[inline]
    fn fold<A, F: FnMut(A, T) -> A>(self, start: A, f: F) -> A {
        // Held until the values are consumed.
        let _reservation = self.reservation;
        self.values.fold(start, f)
    }
}

impl<T> DoubleEndedIterator for IntoIter<T> {
    #[inline]
    fn next_back(&mut self) -> Option<T> {
        self.values.next_back()
    }
}

impl<T> ExactSizeIterator for IntoIter<T> {}

impl<T> FusedIterator for IntoIter<T> {}

impl<T: fmt::Debug> fmt::Debug for IntoIter<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("IntoIter").field(&self.values).finish()
    }
}
