//! Reports as pictures: bars for one table, lines for a row of sizes. Always to a log axis where values spread.

use benches::chart::{Axis, Drawn, FONT, INK, LINES, PALE, canvas};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{Report, Row};
use crate::contender::Role;
use crate::target::short;

const BAR_HEIGHT: u32 = 26;
/// Left of the bars, for names.
const NAMES_WIDTH: u32 = 230;
/// Between two names at the ends of lines.
const NAME_HEIGHT: i32 = 17;
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
}
