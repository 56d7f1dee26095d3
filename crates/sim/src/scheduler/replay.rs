//! A list of choices, made again.
//!
//! On the code that it was recorded on it leads the same way. On other code a choice may no longer be open: then
//! the next party by number goes, and a number is reduced to its new bound. After the list
//! everybody goes in turn, so that a run comes to its end.

use std::vec;

use crate::schedule::{Choices, Moment, Strategy};

/// Picks as the list says.
#[derive(Clone, Debug)]
pub struct Replay {
    picks: vec::IntoIter<u32>,
    numbers: vec::IntoIter<u64>,
}

impl Replay {
    /// Makes `choices` again.
    #[must_use]
    pub fn new(choices: Choices) -> Self {
        Self {
            picks: choices.picks.into_iter(),
            numbers: choices.numbers.into_iter(),
        }
    }
}

impl Strategy for Replay {
    fn pick(&mut self, moment: &Moment<'_>) -> usize {
        match self.picks.next() {
            Some(party) => moment.next_from(party as usize),
            None => moment.next_from(moment.last().map_or(0, |last| last + 1)),
        }
    }

    fn below(&mut self, bound: usize) -> usize {
        self.numbers
            .next()
            .map_or(0, |number| (number % bound as u64) as usize)
    }
}
