//! The one plot module: lines for a family, percentile curves for many samples.
//!
//! A table of a few rows has no plot, which would only repeat it.

mod axis;
mod lines;

use std::error::Error;

use plotters::coord::Shift;
use plotters::prelude::*;

use crate::report::Report;

pub(crate) type Drawn = Result<String, Box<dyn Error + Send + Sync>>;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

const WIDTH: u32 = 800;

const FONT: (&str, u32) = ("sans-serif", 14);

const INK: RGBColor = RGBColor(40, 40, 40);

const PALE: RGBColor = RGBColor(225, 225, 225);

/// Colours that colour-blind readers can distinguish (Okabe and Ito); ours is the first.
const LINES: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    INK,
];

/// A plot and its name, of a report or of a family; `None` if there is nothing to draw.
pub(crate) fn of(reports: &[Report]) -> Option<(&str, Drawn)> {
    let first = reports.first()?;
    match &first.family {
        Some(family) => Some((&family.name, lines::family(reports, family.plot?))),
        None => Some((&first.name, lines::percentiles(first)?)),
    }
}

/// White, for white and black pages.
fn canvas(svg: &mut String, height: u32) -> Result<Area<'_>, Box<dyn Error + Send + Sync>> {
    let area = SVGBackend::with_string(svg, (WIDTH, height)).into_drawing_area();
    area.fill(&WHITE)?;
    Ok(area)
}
