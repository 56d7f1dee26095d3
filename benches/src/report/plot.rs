//! Reports as pictures: bars for one table, lines for a row of sizes, curves of percentiles where many samples were taken. Always
//! to a log axis where values spread.

mod curves;

use benches::chart::{Axis, Drawn, FONT, INK, LINES, PALE, canvas};
use plotters::coord::ranged1d::ValueFormatter;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use self::curves::{Curve, Picture};
use super::{Report, Row};
use crate::contender::Role;
use crate::target::short;

const BAR_HEIGHT: u32 = 26;
/// Left of the bars, for names.
const NAMES_WIDTH: u32 = 230;
const OURS: RGBColor = LINES[0];
const PEER: RGBColor = RGBColor(160, 160, 160);
const BASELINE: RGBColor = RGBColor(215, 190, 120);

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
            let left = axis.start();
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
    let all = family
        .iter()
        .flat_map(|report| report.rows.iter().map(|row| row.figures[0].median));
    let (x_axis, y_axis) = (Axis::over(sizes.iter().copied()), Axis::over(all));
    let curve = |row: &Row| {
        let point = |(report, size): (&&Report, &f64)| {
            let row = report.rows.iter().find(|other| other.name == row.name)?;
            Some((*size, row.figures[0].median))
        };
        Curve {
            name: row.name.clone(),
            role: row.role,
            points: family.iter().zip(&sizes).filter_map(point).collect(),
        }
    };
    Picture {
        title: format!(
            "{}: {}, less is better{}",
            about.name,
            first.heads[0],
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

/// Where two points of a percentile curve are no longer told apart.
const CLOSE: f64 = 1.01;

/// One curve per contender that has samples: the value below which each part of them lies, in logarithms, so that the slow
/// ones have as much room as the others. `None` if nobody has samples.
pub(super) fn percentiles(report: &Report) -> Option<Drawn> {
    let rows = || report.rows.iter().filter(|row| !row.samples.is_empty());
    let most = rows().map(|row| row.samples.len()).max()? as f64;
    let curve = |row: &Row| {
        let count = row.samples.len();
        let mut points: Vec<(f64, f64)> = Vec::new();
        for (below, sample) in row.samples.iter().enumerate() {
            // One in so many is slower, this one included.
            let rarity = count as f64 / (count - below) as f64;
            if points
                .last()
                .is_none_or(|(last, _)| rarity / last > CLOSE || below + 1 == count)
            {
                points.push((rarity, *sample));
            }
        }
        Curve {
            name: row.name.clone(),
            role: row.role,
            points,
        }
    };
    let unit = report.heads[0].rsplit(", ").next().unwrap_or_default();
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

#[cfg(test)]
mod tests {
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
    fn who_has_samples_has_a_curve_that_ends_with_the_slowest() {
        let mut report = sample([2.0, 4.0]);
        assert!(percentiles(&report).is_none());
        report.rows[0].samples = (1..=1_000).map(f64::from).collect();
        let svg = percentiles(&report).unwrap().unwrap();
        for text in ["windlass", "sample: ns by percentile, log axis", "99.9"] {
            assert!(svg.contains(text), "{text} is not in {svg}");
        }
        assert!(!svg.contains("rayon"), "it has no samples");
    }
}
