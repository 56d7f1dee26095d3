//! The plots: latency over the number of heavy clients, and speed-up over the number of workers.

use benches::chart::{Axis, Drawn, FONT, INK, LINES, PALE, canvas};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::table::{Beside, SpeedUp};

const HEIGHT: u32 = 420;

/// A line with its name.
struct Line {
    name: String,
    points: Vec<(f64, f64)>,
}

/// The 99th percentile over the number of heavy clients, a line for each number of workers.
pub(crate) fn beside(rows: &[Beside]) -> Drawn {
    let mut lines: Vec<Line> = Vec::new();
    for row in rows {
        let name = format!("{} workers", row.workers);
        let point = (f64::from(row.heavies), row.figures.short.p99_ns as f64 / 1e6);
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.points.push(point),
            None => lines.push(Line {
                name,
                points: vec![point],
            }),
        }
    }
    let most = rows.iter().map(|row| row.heavies).max().unwrap_or(1);
    let highest = lines
        .iter()
        .flat_map(|line| &line.points)
        .map(|point| point.1)
        .fold(1.0, f64::max);
    draw(
        "p99 of short jobs (1 ms), milliseconds",
        "heavy clients",
        0.0..f64::from(most) * 1.05,
        0.0..highest * 1.1,
        &lines,
    )
}

/// Speed-up over the number of workers, a line for each length of a slot, and what is possible.
pub(crate) fn speed_up(rows: &[SpeedUp]) -> Drawn {
    let mut lines = vec![Line {
        name: "at most".to_owned(),
        points: Vec::new(),
    }];
    for row in rows {
        let name = format!("slots of {} µs", row.slot_us);
        let point = (row.workers as f64, row.speed_up());
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.points.push(point),
            None => lines.push(Line {
                name,
                points: vec![point],
            }),
        }
        let at_most = (row.workers as f64, row.at_most());
        if !lines[0].points.contains(&at_most) {
            lines[0].points.push(at_most);
        }
    }
    let most = rows.iter().map(|row| row.workers).max().unwrap_or(1) as f64;
    let axis = || Axis::log(0.9..most * 1.2);
    draw(
        "speed-up of a job of 1,000 slots",
        "workers",
        axis(),
        axis(),
        &lines,
    )
}

fn draw<X, Y>(title: &str, about: &str, x: X, y: Y, lines: &[Line]) -> Drawn
where
    X: plotters::coord::ranged1d::AsRangedCoord<Value = f64>,
    Y: plotters::coord::ranged1d::AsRangedCoord<Value = f64>,
    X::CoordDescType: plotters::coord::ranged1d::ValueFormatter<f64>,
    Y::CoordDescType: plotters::coord::ranged1d::ValueFormatter<f64>,
{
    let mut svg = String::new();
    {
        let area = canvas(&mut svg, HEIGHT)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(title, FONT)
            .margin(10)
            .margin_right(130)
            .y_label_area_size(55)
            .x_label_area_size(45)
            .build_cartesian_2d(x, y)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(PALE)
            .x_desc(about)
            .axis_desc_style(FONT.into_font().color(&INK))
            .label_style(FONT.into_font().color(&INK))
            .draw()?;
        for (place, line) in lines.iter().enumerate() {
            let colour = LINES[place % LINES.len()];
            chart.draw_series(LineSeries::new(line.points.clone(), colour.stroke_width(2)))?;
            chart.draw_series(
                line.points
                    .iter()
                    .map(|point| Circle::new(*point, 3, colour.filled())),
            )?;
            let style = FONT.into_font().color(&colour);
            let style = style.pos(Pos::new(HPos::Left, VPos::Top));
            area.draw(&Text::new(
                line.name.clone(),
                (680, 40 + 18 * place as i32),
                style,
            ))?;
        }
        area.present()?;
    }
    Ok(svg)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_of_workers_and_each_slot_has_its_line() {
        let rows = [(2, 0), (2, 2)].map(|(workers, heavies)| Beside::simulated(workers, heavies).unwrap());
        let svg = beside(&rows).unwrap();
        assert!(
            svg.contains("2 workers") && svg.contains("heavy clients"),
            "{svg}"
        );
        let rows = [1, 4].map(|workers| SpeedUp::simulated(workers, 1_000).unwrap());
        let svg = speed_up(&rows).unwrap();
        assert!(svg.contains("at most") && svg.contains("slots of 1000"), "{svg}");
    }
}
