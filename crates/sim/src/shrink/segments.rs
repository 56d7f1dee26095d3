//! A shorter schedule of one scenario: segments taken out in ever smaller chunks, joined, and cut;
//! numbers set to 0.
//!
//! The choices that a candidate really made replace the best if their measure is better, so
//! shrinking ends.

use super::{Failing, Shrinker, Subject};
use crate::choices::Choices;

pub(super) struct Segments<'s, 'a, S> {
    shrinker: &'s mut Shrinker<'a, S>,
    best: Failing,
}

impl<'s, 'a, S: Subject> Segments<'s, 'a, S> {
    pub(super) fn new(shrinker: &'s mut Shrinker<'a, S>, best: Failing) -> Self {
        Self { shrinker, best }
    }

    pub(super) fn shortest(mut self) -> Failing {
        loop {
            let before = self.best.measure;
            self.lower_numbers();
            self.take_out();
            self.join();
            self.cut();
            if self.best.measure == before || !self.shrinker.is_left() {
                return self.best;
            }
        }
    }

    fn segments(&self) -> Vec<(u32, usize)> {
        self.best.choices().segments().collect()
    }

    fn accept(&mut self, segments: &[(u32, usize)]) -> bool {
        let numbers = self.best.choices().numbers.clone();
        self.accept_all(segments, numbers)
    }

    fn accept_all(&mut self, segments: &[(u32, usize)], numbers: Vec<u64>) -> bool {
        let choices = Choices::of_segments(segments, numbers);
        let line = self.best.line.clone();
        let found = self.shrinker.attempt_with(&line, choices);
        match found.filter(|found| found.measure < self.best.measure) {
            Some(better) => {
                self.best = better;
                true
            }
            None => false,
        }
    }

    fn lower_numbers(&mut self) {
        let segments = self.segments();
        if self.best.choices().numbers.is_empty() || self.accept_all(&segments, Vec::new()) {
            return;
        }
        let mut at = 0;
        while let Some(&number) = self.best.choices().numbers.get(at) {
            for lower in [0, number / 2, number.saturating_sub(1)] {
                let mut numbers = self.best.choices().numbers.clone();
                numbers[at] = lower;
                if lower < number && self.accept_all(&self.segments(), numbers) {
                    break;
                }
            }
            at += 1;
        }
    }

    fn take_out(&mut self) {
        let mut chunk = self.segments().len();
        while chunk > 0 {
            let mut at = 0;
            loop {
                let mut segments = self.segments();
                if at >= segments.len() {
                    break;
                }
                let end = (at + chunk).min(segments.len());
                segments.drain(at..end);
                if !self.accept(&segments) {
                    at += chunk;
                }
            }
            chunk /= 2;
        }
    }

    fn join(&mut self) {
        let mut at = 0;
        loop {
            let segments = self.segments();
            let Some(&(actor, _)) = segments.get(at) else {
                return;
            };
            let next = segments[at + 1..].iter().position(|&(other, _)| other == actor);
            let joined = next.is_some_and(|between| {
                let (mut before, mut after) = (segments.clone(), segments.clone());
                before[at..=at + between].rotate_left(1);
                after[at + 1..=at + 1 + between].rotate_right(1);
                self.accept(&before) || self.accept(&after)
            });
            if !joined {
                at += 1;
            }
        }
    }

    fn cut(&mut self) {
        let mut at = 0;
        while at < self.segments().len() {
            let mut shorter = false;
            let (_, steps) = self.segments()[at];
            for less in [steps / 2, steps - 1] {
                let mut segments = self.segments();
                segments[at].1 = less;
                if less > 0 && self.accept(&segments) {
                    shorter = true;
                    break;
                }
            }
            if !shorter {
                at += 1;
            }
        }
    }
}
