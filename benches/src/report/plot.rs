//! Reports as pictures: bars for one table, lines for a row of sizes. Always to a log axis where values spread.

use std::error::Error;
use std::ops::Range;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{Report, Row};
use crate::contender::Role;
use crate::target::short;

type Drawn = Result<String, Box<dyn Error + Send + Sync>>;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

const WIDTH: u32 = 800;
const BAR_HEIGHT: u32 = 26;
/// Left of the bars, for names.
const NAMES_WIDTH: u32 = 230;
/// Between two names at the ends of lines.
const NAME_HEIGHT: i32 = 17;
const FONT: (&str, u32) = ("sans-serif", 14);

const INK: RGBColor = RGBColor(40, 40, 40);
const PALE: RGBColor = RGBColor(225, 225, 225);
const OURS: RGBColor = RGBColor(0, 114, 178);
const PEER: RGBColor = RGBColor(160, 160, 160);
const BASELINE: RGBColor = RGBColor(215, 190, 120);
/// Colours that are told apart by everybody (Okabe and Ito); ours is the first.
const LINES: [RGBColor; 7] = [
    OURS,
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    INK,
];

/// One bar per contender: the median of the first column that is not all zeros, with its spread as a thin line.
/// `None` if nothing is above zero.
pub(super) fn bars(report: &Report) -> Option<Drawn> {
    let column = (0..report.heads.len())
        .find(|column| report.rows.iter().any(|row| row.figures[*column].median > 0.0))?;
    Some(bars_of(report, column))
}

fn bars_of(report: &Report, column: usize) -> Drawn {
    let rows: Vec<&Row> = report.rows.iter().collect();
    let height = BAR_HEIGHT * u32::try_from(rows.len())? + 90;
    let mut svg = String::new();
    {
        let area = canvas(&mut svg, height)?;
        let values = rows.iter().map(|row| row.figures[column].median);
        let axis = Axis::over(values);
        let title = format!(
            "{}: {}, less is better{}",
            report.name,
            report.heads[column],
            axis.note()
        );
        let mut chart = ChartBuilder::on(&area)
            .caption(title, FONT)
            .margin(10)
            .margin_right(70)
            .y_label_area_size(NAMES_WIDTH)
            .x_label_area_size(30)
            .build_cartesian_2d(axis.clone(), 0.0..rows.len() as f64)?;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .disable_y_axis()
            .light_line_style(TRANSPARENT)
            .bold_line_style(PALE)
            .x_labels(8)
            .x_label_style(FONT.into_font().color(&INK))
            .draw()?;
        for (index, row) in rows.iter().enumerate() {
            let stats = row.figures[column];
            // The first row is at the top.
            let y = (rows.len() - 1 - index) as f64;
            let colour = match row.role {
                Role::Ours => OURS,
                Role::Peer => PEER,
                Role::Baseline => BASELINE,
            };
            let left = axis.range.start;
            chart.draw_series([Rectangle::new(
                [(left, y + 0.15), (stats.median, y + 0.85)],
                colour.filled(),
            )])?;
            chart.draw_series([PathElement::new(
                [(stats.min, y + 0.5), (stats.max, y + 0.5)],
                INK,
            )])?;
            let label = FONT.into_font().color(&INK);
            let (end, middle) = chart.backend_coord(&(stats.max, y + 0.5));
            let beside = label.pos(Pos::new(HPos::Left, VPos::Center));
            area.draw(&Text::new(short(stats.median), (end + 6, middle), beside))?;
            let (start, middle) = chart.backend_coord(&(left, y + 0.5));
            let before = label.pos(Pos::new(HPos::Right, VPos::Center));
            area.draw(&Text::new(row.name.clone(), (start - 8, middle), before))?;
        }
        area.present()?;
    }
    Ok(svg)
}

/// One line per contender over the sizes of a family.
pub(super) fn lines(family: &[&Report]) -> Drawn {
    let sizes: Vec<f64> = family
        .iter()
        .filter_map(|report| report.family.as_ref().map(|family| family.size))
        .collect();
    let first = family.first().ok_or("a family has members")?;
    let about = first.family.as_ref().ok_or("a family has a name")?;
    let mut svg = String::new();
    {
        let area = canvas(&mut svg, 420)?;
        let all = family
            .iter()
            .flat_map(|report| report.rows.iter().map(|row| row.figures[0].median));
        let (x_axis, y_axis) = (Axis::over(sizes.iter().copied()), Axis::over(all));
        let mut chart = ChartBuilder::on(&area)
            .caption(
                format!(
                    "{}: {}, less is better{}",
                    about.name,
                    first.heads[0],
                    y_axis.note()
                ),
                FONT,
            )
            .margin(10)
            .margin_right(200)
            .y_label_area_size(60)
            .x_label_area_size(45)
            .build_cartesian_2d(x_axis, y_axis)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(PALE)
            .x_desc(about.axis)
            .axis_desc_style(FONT.into_font().color(&INK))
            .label_style(FONT.into_font().color(&INK))
            .draw()?;
        let mut names = Vec::new();
        // The last one drawn is on top, so ours comes last.
        for (index, row) in first.rows.iter().enumerate().rev() {
            let points: Vec<(f64, f64)> = family
                .iter()
                .zip(&sizes)
                .filter_map(|(report, size)| {
                    let row = report.rows.iter().find(|other| other.name == row.name)?;
                    Some((*size, row.figures[0].median))
                })
                .collect();
            let colour = LINES[index % LINES.len()];
            let width = if row.role == Role::Ours { 3 } else { 2 };
            chart.draw_series(LineSeries::new(points.clone(), colour.stroke_width(width)))?;
            chart.draw_series(points.iter().map(|point| Circle::new(*point, 3, colour.filled())))?;
            if let Some(last) = points.last() {
                names.push((chart.backend_coord(last), row.name.clone(), colour));
            }
        }
        // Names at the ends of the lines, moved apart where they would cover each other, and all together off the axis.
        names.sort_by_key(|((_, y), ..)| *y);
        let mut free = 0;
        for ((_, y), ..) in &mut names {
            *y = (*y).max(free);
            free = *y + NAME_HEIGHT;
        }
        let (_, bottom) = chart.plotting_area().get_pixel_range();
        let below = (free - bottom.end).max(0);
        for ((x, y), name, colour) in names {
            let style = FONT.into_font().color(&colour);
            let style = style.pos(Pos::new(HPos::Left, VPos::Center));
            area.draw(&Text::new(name, (x + 22, y - below), style))?;
        }
        area.present()?;
    }
    Ok(svg)
}

fn canvas(svg: &mut String, height: u32) -> Result<Area<'_>, Box<dyn Error + Send + Sync>> {
    let area = SVGBackend::with_string(svg, (WIDTH, height)).into_drawing_area();
    // GitHub shows pictures on white or on black.
    area.fill(&WHITE)?;
    Ok(area)
}

/// An axis for values as they are, or for their logarithms if the largest is many times the smallest.
#[derive(Clone)]
struct Axis {
    log: bool,
    range: Range<f64>,
}

impl Axis {
    /// The largest is so many times the smallest: then small ones are no longer told apart.
    const SPREAD: f64 = 12.0;

    fn over(values: impl Iterator<Item = f64>) -> Self {
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

    fn note(&self) -> &'static str {
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

    use super::super::sample;
    use super::*;

    #[test]
    fn each_contender_has_its_bar_and_its_figure() {
        let svg = bars(&sample([2.0, 4.0])).unwrap().unwrap();
        for text in ["windlass", "rayon", "2.00", "4.00", "sample: ns, less is better"] {
            assert!(svg.contains(text), "{text} is not in {svg}");
        }
        assert!(bars(&sample([0.0, 0.0])).is_none());
    }

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
