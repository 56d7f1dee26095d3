//! Reports as pictures: bars for one table, lines for a row of sizes. Always to a log axis where values spread.

use std::error::Error;

use plotters::coord::Shift;
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

/// One bar per contender: the median of the first column, with its spread as a thin line.
pub(super) fn bars(report: &Report) -> Drawn {
    let rows: Vec<&Row> = report.rows.iter().collect();
    let height = BAR_HEIGHT * u32::try_from(rows.len())? + 90;
    let mut svg = String::new();
    {
        let area = canvas(&mut svg, height)?;
        let values = rows.iter().map(|row| row.figures[0].median);
        let axis = Axis::over(values);
        let title = format!(
            "{}: {}, less is better{}",
            report.name,
            report.heads[0],
            axis.note()
        );
        let mut chart = ChartBuilder::on(&area)
            .caption(title, FONT)
            .margin(10)
            .margin_right(70)
            .y_label_area_size(NAMES_WIDTH)
            .x_label_area_size(30)
            .build_cartesian_2d(axis.from..axis.to, 0.0..rows.len() as f64)?;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .disable_y_axis()
            .light_line_style(TRANSPARENT)
            .bold_line_style(PALE)
            .x_labels(8)
            .x_label_style(FONT.into_font().color(&INK))
            .x_label_formatter(&|x| axis.label(*x))
            .draw()?;
        for (index, row) in rows.iter().enumerate() {
            let stats = row.figures[0];
            // The first row is at the top.
            let y = (rows.len() - 1 - index) as f64;
            let colour = match row.role {
                Role::Ours => OURS,
                Role::Peer => PEER,
                Role::Baseline => BASELINE,
            };
            let at = |value: f64| axis.place(value);
            chart.draw_series([Rectangle::new(
                [(axis.from, y + 0.15), (at(stats.median), y + 0.85)],
                colour.filled(),
            )])?;
            chart.draw_series([PathElement::new(
                [(at(stats.min), y + 0.5), (at(stats.max), y + 0.5)],
                INK,
            )])?;
            let label = FONT.into_font().color(&INK);
            let beside = label.pos(Pos::new(HPos::Left, VPos::Center));
            chart.draw_series([Text::new(
                short(stats.median),
                (at(stats.max.max(stats.median)) + axis.span() * 0.008, y + 0.5),
                beside,
            )])?;
            let (x, y) = chart.backend_coord(&(axis.from, y + 0.5));
            let before = label.pos(Pos::new(HPos::Right, VPos::Center));
            area.draw(&Text::new(row.name.clone(), (x - 8, y), before))?;
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
            .build_cartesian_2d(x_axis.from..x_axis.to, y_axis.from..y_axis.to)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(PALE)
            .x_desc(about.axis)
            .axis_desc_style(FONT.into_font().color(&INK))
            .label_style(FONT.into_font().color(&INK))
            .x_label_formatter(&|x| x_axis.label(*x))
            .y_label_formatter(&|y| y_axis.label(*y))
            .draw()?;
        let mut names = Vec::new();
        for (index, row) in first.rows.iter().enumerate() {
            let points: Vec<(f64, f64)> = family
                .iter()
                .zip(&sizes)
                .filter_map(|(report, size)| {
                    let row = report.rows.iter().find(|other| other.name == row.name)?;
                    Some((x_axis.place(*size), y_axis.place(row.figures[0].median)))
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
        // Names at the ends of the lines, moved apart where they would cover each other.
        names.sort_by_key(|((_, y), ..)| *y);
        let mut free = 0;
        for ((x, y), name, colour) in names {
            let y = y.max(free);
            free = y + 17;
            let style = FONT.into_font().color(&colour);
            let style = style.pos(Pos::new(HPos::Left, VPos::Center));
            area.draw(&Text::new(name, (x + 10, y), style))?;
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

/// Where values lie: as they are, or their logarithms to the base ten if the largest is many times the smallest.
struct Axis {
    log: bool,
    from: f64,
    to: f64,
}

impl Axis {
    /// The largest is so many times the smallest: then small ones are no longer told apart.
    const SPREAD: f64 = 12.0;

    fn over(values: impl Iterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.filter(|value| *value > 0.0).collect();
        let min = values.iter().copied().fold(f64::INFINITY, f64::min);
        let max = values.iter().copied().fold(0.0, f64::max);
        if values.is_empty() {
            return Self {
                log: false,
                from: 0.0,
                to: 1.0,
            };
        }
        if max / min > Self::SPREAD {
            return Self {
                log: true,
                from: (min / 2.0).log10(),
                to: (max * 1.3).log10(),
            };
        }
        Self {
            log: false,
            from: 0.0,
            to: max * 1.15,
        }
    }

    fn span(&self) -> f64 {
        self.to - self.from
    }

    /// Where a value lies, kept inside.
    fn place(&self, value: f64) -> f64 {
        let at = if self.log { value.log10() } else { value };
        at.clamp(self.from, self.to)
    }

    fn label(&self, at: f64) -> String {
        short(if self.log { 10_f64.powf(at) } else { at })
    }

    fn note(&self) -> &'static str {
        if self.log { ", log axis" } else { "" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_is_logarithmic_where_values_spread() {
        let near = Axis::over([1.0, 3.0, 10.0].into_iter());
        assert!(!near.log && near.place(1.0) < near.place(3.0) && near.place(10.0) < near.to);
        let wide = Axis::over([0.0, 1.0, 1_000.0].into_iter());
        assert!(wide.log);
        assert_eq!(wide.place(0.0), wide.from, "what has no logarithm is at the edge");
        assert_eq!(wide.label(2.0), "100");
    }
}
