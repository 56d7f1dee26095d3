//! An axis that becomes logarithmic when values spread.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

use crate::number::short;

/// Logarithmic if the largest value is many times the smallest.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    log: bool,
    range: Range<f64>,
}

impl Axis {
    /// Ratio of the largest to the smallest value from which small ones cannot be distinguished.
    const SPREAD: f64 = 12.0;

    pub(super) fn over(values: impl Iterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.filter(|value| *value > 0.0).collect();
        let min = values.iter().copied().fold(f64::INFINITY, f64::min);
        let max = values.iter().copied().fold(0.0, f64::max);
        let log = max / min > Self::SPREAD;
        let range = if log {
            min / 2.0..max * 1.3
        } else {
            0.0..max * 1.15
        };
        Self { log, range }
    }

    pub(super) fn log(range: Range<f64>) -> Self {
        Self { log: true, range }
    }

    /// Between 0 and 1; values outside are at the nearer end.
    fn place(&self, value: f64) -> f64 {
        let Range { start, end } = self.range;
        let part = if self.log {
            (value / start).log10() / (end / start).log10()
        } else {
            (value - start) / (end - start)
        };
        part.clamp(0.0, 1.0)
    }

    /// For a caption.
    pub(super) fn note(&self) -> &'static str {
        if self.log { ", log axis" } else { "" }
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        from + (self.place(*value) * f64::from(to - from)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if !self.log {
            return RangedCoordf64::from(self.range()).key_points(hint);
        }
        let decades = self.range.start.log10().floor() as i32..=self.range.end.log10().ceil() as i32;
        let wide = self.range.end / self.range.start > 1e4;
        let steps: &[f64] = if wide { &[1.0] } else { &[1.0, 2.0, 5.0] };
        decades
            .flat_map(|decade| steps.iter().map(move |step| step * 10_f64.powi(decade)))
            .filter(|value| self.range.contains(value))
            .collect()
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

impl ValueFormatter<f64> for Axis {
    fn format(value: &f64) -> String {
        let text = short(*value);
        match text.split_once('.') {
            Some((whole, part)) => {
                let part = part.trim_end_matches('0');
                if part.is_empty() {
                    whole.to_owned()
                } else {
                    format!("{whole}.{part}")
                }
            }
            None => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use plotters::coord::ranged1d::BoldPoints;

    use super::*;

    #[test]
    fn an_axis_is_logarithmic_where_values_spread() {
        let near = Axis::over([1.0, 3.0, 10.0].into_iter());
        assert!(!near.log && near.place(1.0) < near.place(3.0) && near.place(10.0) < 1.0);
        let wide = Axis::over([0.0, 1.0, 1_000.0].into_iter());
        assert!(wide.log);
        assert_eq!(wide.place(0.0), 0.0, "what has no logarithm is at the edge");
        assert_eq!(wide.map(&0.5, (10, 110)), 10);
        assert_eq!(wide.map(&1_300.0, (10, 110)), 110);
        let marks: Vec<String> = wide.key_points(BoldPoints(10)).iter().map(Axis::format).collect();
        assert_eq!(marks.join(" "), "0.5 1 2 5 10 20 50 100 200 500 1000");
    }
}
