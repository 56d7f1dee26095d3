//! What our pictures have in common: a white canvas, colours that are told apart by everybody, an axis that knows when to be logarithmic.
//!
//! Lines and shapes only, drawn to SVG.

use std::error::Error;
use std::ops::Range;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

use crate::number::short;

/// A picture as SVG, or why it could not be drawn.
pub type Drawn = Result<String, Box<dyn Error + Send + Sync>>;

/// Where things are drawn.
pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Width of every picture.
pub const WIDTH: u32 = 800;

/// The font of all text, and its size.
pub const FONT: (&str, u32) = ("sans-serif", 14);

/// Text and thin lines.
pub const INK: RGBColor = RGBColor(40, 40, 40);

/// The grid.
pub const PALE: RGBColor = RGBColor(225, 225, 225);

/// Colours that are told apart by everybody (Okabe and Ito); ours is the first.
pub const LINES: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    INK,
];

/// A white picture, [`WIDTH`] wide.
///
/// # Errors
///
/// Whatever drawing fails with.
pub fn canvas(svg: &mut String, height: u32) -> Result<Area<'_>, Box<dyn Error + Send + Sync>> {
    let area = SVGBackend::with_string(svg, (WIDTH, height)).into_drawing_area();
    // GitHub shows pictures on white or on black.
    area.fill(&WHITE)?;
    Ok(area)
}

/// An axis for values as they are, or for their logarithms if the largest is many times the smallest.
#[derive(Clone, Debug)]
pub struct Axis {
    log: bool,
    range: Range<f64>,
}

impl Axis {
    /// The largest is so many times the smallest: then small ones are no longer told apart.
    const SPREAD: f64 = 12.0;

    /// An axis on which all these values have their place.
    pub fn over(values: impl Iterator<Item = f64>) -> Self {
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

    /// An axis of logarithms whose ends are these.
    #[must_use]
    pub fn log(range: Range<f64>) -> Self {
        Self { log: true, range }
    }

    /// Where it begins.
    #[must_use]
    pub fn start(&self) -> f64 {
        self.range.start
    }

    /// Where a value lies between the axis' ends, which are 0 and 1; one that is outside lies at the end.
    fn place(&self, value: f64) -> f64 {
        let Range { start, end } = self.range;
        let part = if self.log {
            (value / start).log10() / (end / start).log10()
        } else {
            (value - start) / (end - start)
        };
        part.clamp(0.0, 1.0)
    }

    /// What to say about it in a caption.
    #[must_use]
    pub fn note(&self) -> &'static str {
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
            // Marks are round numbers.
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
