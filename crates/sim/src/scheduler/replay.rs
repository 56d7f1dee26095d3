//! A list of choices, made again.
//!
//! On other code than the recording's, or in a smaller scenario, a choice may not be open: then the
//! rest of its segment is left out, and a number is reduced to its new bound. After the list each
//! actor goes until it must wait, for a bounded number of steps; random numbers are 0.

use std::vec;

use crate::choices::Choices;
use crate::schedule::{Moment, Strategy};

/// Steps of an actor in a row after the list.
const PATIENCE: usize = 512;

/// Picks from a list.
#[derive(Clone, Debug)]
pub struct Replay {
    segments: vec::IntoIter<(u32, usize)>,
    segment: Option<(u32, usize)>,
    numbers: vec::IntoIter<u64>,
    stayed: usize,
}

impl Replay {
    /// Makes `choices` again.
    #[must_use]
    pub fn new(choices: Choices) -> Self {
        let segments: Vec<_> = choices.segments().collect();
        let mut segments = segments.into_iter();
        Self {
            segment: segments.next(),
            segments,
            numbers: choices.numbers.into_iter(),
            stayed: 0,
        }
    }
}

impl Strategy for Replay {
    fn pick(&mut self, moment: &Moment<'_>) -> usize {
        while let Some((actor, left)) = &mut self.segment {
            let actor = *actor as usize;
            if *left > 0 && moment.is_runnable(actor) {
                *left -= 1;
                return actor;
            }
            self.segment = self.segments.next();
        }
        self.stayed += 1;
        if let Some(last) = moment.last()
            && moment.is_runnable(last)
            && self.stayed <= PATIENCE
        {
            return last;
        }
        self.stayed = 0;
        moment.next_from(moment.last().map_or(0, |last| last + 1))
    }

    fn below(&mut self, bound: usize) -> usize {
        self.numbers
            .next()
            .map_or(0, |number| (number % bound as u64) as usize)
    }
}
