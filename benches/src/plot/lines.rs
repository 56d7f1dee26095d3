//! Lines over the sizes of a family, and percentile curves, each with its name at its end.

use plotters::coord::ranged1d::ValueFormatter;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::axis::Axis;
use super::{Drawn, FONT, INK, LINES, PALE, canvas};
use crate::contender::Role;
use crate::report::{Report, Row};
use crate::workload::Column;

/// Ratio below which two points of a percentile curve are drawn as one.
const CLOSE: f64 = 1.01;

/// A line for each row over the sizes of a family.
pub(super) fn family(reports: &[Report], column: usize) -> Drawn {
    let first = reports.first().ok_or("a family has members")?;
    let about = first.family.as_ref().ok_or("a family has a name")?;
    let sizes = || {
        reports
            .iter()
            .filter_map(|report| Some(report.family.as_ref()?.size))
    };
    let rows = || reports.iter().flat_map(|report| &report.rows);
    let (x_axis, y_axis) = (
        Axis::over(sizes()),
        Axis::over(rows().map(|row| row.figures[column].median)),
    );
    let curve = |row: &Row| {
        let point = |(report, size): (&Report, f64)| {
            let row = report.rows.iter().find(|other| other.name == row.name)?;
            Some((size, row.figures[column].median))
        };
        Curve {
            name: row.name.clone(),
            role: row.role,
            points: reports.iter().zip(sizes()).filter_map(point).collect(),
        }
    };
    let sense = match first.columns[column] {
        Column::Gained { .. } => ", more is better",
        Column::Told { .. } => "",
        _ => ", less is better",
    };
    Picture {
        title: format!(
            "{}: {}{sense}{}",
            about.name,
            first.columns[column].head(),
            y_axis.note()
        ),
        x_axis,
        y_axis,
        about: about.axis.to_owned(),
        x_label: Axis::format,
        has_dots: true,
        curves: first.rows.iter().map(curve).collect(),
    }
    .draw()
}

/// The value below which each part of a row's samples lies, in logarithms, so that slow ones have
/// as much room as the others. `None` without samples.
pub(super) fn percentiles(report: &Report) -> Option<Drawn> {
    let rows = || report.rows.iter().filter(|row| !row.samples.is_empty());
    let most = rows().map(|row| row.samples.len()).max()? as f64;
    let curve = |row: &Row| {
        let count = row.samples.len();
        let mut points: Vec<(f64, f64)> = Vec::new();
        for (below, sample) in row.samples.iter().enumerate() {
            // One in this many is slower, this one included.
            let rarity = count as f64 / (count - below) as f64;
            let is_apart = |(last, _): &(f64, f64)| rarity / last > CLOSE || below + 1 == count;
            if points.last().is_none_or(is_apart) {
                points.push((rarity, *sample));
            }
        }
        Curve {
            name: row.name.clone(),
            role: row.role,
            points,
        }
    };
    let unit = report.columns[0].head().rsplit(", ").next().unwrap_or_default();
    let y_axis = Axis::over(rows().flat_map(|row| row.samples.iter().copied()));
    let picture = Picture {
        title: format!("{}: {unit} by percentile{}", report.name, y_axis.note()),
        x_axis: Axis::log(1.0..most * 1.3),
        y_axis,
        about: "percent that take no longer".to_owned(),
        x_label: |rarity| (((1.0 - 1.0 / rarity) * 1e5).round() / 1e3).to_string(),
        has_dots: false,
        curves: rows().map(curve).collect(),
    };
    Some(picture.draw())
}

/// Pixels between two names at the ends of curves.
const NAME_HEIGHT: i32 = 17;

struct Picture {
    title: String,
    x_axis: Axis,
    y_axis: Axis,
    /// What the x axis counts.
    about: String,
    x_label: fn(&f64) -> String,
    has_dots: bool,
    /// The first one is drawn last, on top of the others.
    curves: Vec<Curve>,
}

struct Curve {
    name: String,
    role: Role,
    points: Vec<(f64, f64)>,
}

impl Picture {
    fn draw(self) -> Drawn {
        let mut svg = String::new();
        {
            let area = canvas(&mut svg, 420)?;
            let mut chart = ChartBuilder::on(&area)
                .caption(self.title, FONT)
                .margin(10)
                .margin_right(200)
                .y_label_area_size(60)
                .x_label_area_size(45)
                .build_cartesian_2d(self.x_axis, self.y_axis)?;
            chart
                .configure_mesh()
                .light_line_style(TRANSPARENT)
                .bold_line_style(PALE)
                .x_desc(self.about)
                .x_label_formatter(&self.x_label)
                .axis_desc_style(FONT.into_font().color(&INK))
                .label_style(FONT.into_font().color(&INK))
                .draw()?;
            let mut names = Vec::new();
            // Ours comes last, on top.
            for (index, curve) in self.curves.into_iter().enumerate().rev() {
                let points = curve.points;
                let colour = LINES[index % LINES.len()];
                let width = if curve.role == Role::Ours { 3 } else { 2 };
                chart.draw_series(LineSeries::new(points.clone(), colour.stroke_width(width)))?;
                if self.has_dots {
                    chart.draw_series(points.iter().map(|point| Circle::new(*point, 3, colour.filled())))?;
                }
                if let Some(last) = points.last() {
                    names.push((chart.backend_coord(last), curve.name, colour));
                }
            }
            // Moved apart where they would overlap, and together off the axis.
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn a_row_with_samples_has_a_curve_that_ends_with_the_slowest() {
        let mut report = sample([2.0, 4.0]);
        assert!(percentiles(&report).is_none());
        report.rows[0].samples = (1..=1_000).map(f64::from).collect();
        let svg = percentiles(&report).unwrap().unwrap();
        for text in ["windlass", "sample: ns by percentile, log axis", "99.9"] {
            assert!(svg.contains(text), "{text} is not in {svg}");
        }
        assert!(!svg.contains("rayon"), "it has no samples");
    }

    #[test]
    fn each_row_of_a_family_has_a_line_over_its_sizes() {
        let reports = [8.0, 32.0].map(|size| {
            let mut report = sample([size, 4.0]);
            report.family = crate::workload::Workload::new("", "")
                .family("samples", "tasks", size)
                .family;
            report
        });
        let svg = family(&reports, 0).unwrap();
        for text in ["windlass", "rayon", "samples: ns, less is better", "tasks"] {
            assert!(svg.contains(text), "{text} is not in {svg}");
        }
    }
}
