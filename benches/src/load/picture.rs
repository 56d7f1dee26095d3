//! The plots: latency over the number of heavy clients, and what part of the possible speed-up a job has over the number of workers.

use std::ops::Range;

use benches::chart::{Axis, Drawn, FONT, INK, LINES, PALE, canvas};
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::table::{Beside, SpeedUp};

const HEIGHT: u32 = 420;

/// What lines are held against.
const GREY: RGBColor = RGBColor(150, 150, 150);

/// The work of a short job and a slot of the heavy jobs, in milliseconds.
const WORK_AND_SLOT_MS: f64 = 2.0;

/// The part of the possible speed-up that is aimed at.
const AIM: f64 = 0.95;

/// The 99th percentile over the number of heavy clients, a line for each number of workers.
pub(crate) fn beside(rows: &[Beside]) -> Drawn {
    let mut clients: Vec<u32> = rows.iter().map(|row| row.heavies).collect();
    clients.sort_unstable();
    clients.dedup();
    let mut lines = Lines::default();
    let mut highest = WORK_AND_SLOT_MS;
    for row in rows {
        let p99_ms = row.figures.short.p99_ns as f64 / 1e6;
        // One place after the other: what happens, happens between none and one.
        let place = clients.partition_point(|&heavies| heavies < row.heavies) as f64;
        lines.add(count(row.workers, "worker"), (place, p99_ms));
        highest = p99_ms.max(highest);
    }
    let most = clients.len().saturating_sub(1) as f64;
    let label = |place: &f64| {
        let heavies = clients.get(place.round() as usize);
        heavies.map_or_else(String::new, ToString::to_string)
    };
    draw(
        &lines,
        &Frame {
            title: "99th percentile of short jobs (1 ms), ms",
            about: "heavy clients",
            held_against: (WORK_AND_SLOT_MS, "work + slot"),
            ends: (0.0, most),
            marks: clients.len(),
            label: &label,
        },
        -0.15..most + 0.15,
        0.0..highest * 1.1,
    )
}

/// What part of the most that is possible a job reaches, over the number of workers.
pub(crate) fn speed_up(rows: &[SpeedUp]) -> Drawn {
    let mut lines = Lines::default();
    let mut lowest = AIM;
    for row in rows {
        let mut add = |name: String, ns| {
            let part = row.part(ns);
            lines.add(name, (row.workers as f64, part));
            lowest = part.min(lowest);
        };
        add(format!("{} µs", row.slot_us), row.takes_ns);
        if row.slot_us < 1_000 {
            add(format!("{} µs, free wakes", row.slot_us), row.without_wakes_ns);
        }
    }
    let most = rows.iter().map(|row| row.workers).max().unwrap_or(1) as f64;
    draw(
        &lines,
        &Frame {
            title: "1,000 slots: speed-up, as part of what is possible",
            about: "workers",
            held_against: (AIM, "0.95"),
            ends: (1.0, most),
            marks: rows.len(),
            label: &Axis::format,
        },
        Axis::log(0.9..most * 1.2),
        (lowest - 0.05).max(0.0)..1.01,
    )
}

/// Lines by name, in the order in which they came.
#[derive(Default)]
struct Lines(Vec<(String, Vec<(f64, f64)>)>);

impl Lines {
    fn add(&mut self, name: String, point: (f64, f64)) {
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, points)) => points.push(point),
            None => self.0.push((name, vec![point])),
        }
    }
}

/// What stands around the lines.
struct Frame<'a> {
    title: &'a str,
    about: &'a str,
    /// A height, and its name.
    held_against: (f64, &'a str),
    /// From where to where lines may go.
    ends: (f64, f64),
    /// How many marks the axis below has, and what stands there.
    marks: usize,
    label: &'a dyn Fn(&f64) -> String,
}

fn draw<X>(lines: &Lines, frame: &Frame<'_>, x: X, y: Range<f64>) -> Drawn
where
    X: AsRangedCoord<Value = f64>,
    X::CoordDescType: ValueFormatter<f64>,
{
    let mut svg = String::new();
    {
        let area = canvas(&mut svg, HEIGHT)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(frame.title, FONT)
            .margin(10)
            .margin_right(150)
            .y_label_area_size(55)
            .x_label_area_size(45)
            .build_cartesian_2d(x, y)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(PALE)
            .x_desc(frame.about)
            .x_labels(frame.marks)
            .x_label_formatter(frame.label)
            .axis_desc_style(FONT.into_font().color(&INK))
            .label_style(FONT.into_font().color(&INK))
            .draw()?;
        let (height, name) = frame.held_against;
        let (from, to) = frame.ends;
        chart.draw_series(DashedLineSeries::new(
            [(from, height), (to, height)],
            6,
            4,
            GREY.stroke_width(2),
        ))?;
        let mut names = vec![(name, GREY)];
        for (place, (name, points)) in lines.0.iter().enumerate() {
            let colour = LINES[place % LINES.len()];
            names.push((name, colour));
            chart.draw_series(LineSeries::new(points.clone(), colour.stroke_width(2)))?;
            chart.draw_series(points.iter().map(|point| Circle::new(*point, 3, colour.filled())))?;
        }
        for (place, (name, colour)) in names.into_iter().enumerate() {
            let style = FONT.into_font().color(&colour);
            let style = style.pos(Pos::new(HPos::Left, VPos::Top));
            area.draw(&Text::new(name.to_owned(), (662, 40 + 18 * place as i32), style))?;
        }
        area.present()?;
    }
    Ok(svg)
}

fn count(number: usize, of: &str) -> String {
    format!("{number} {of}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_of_workers_and_each_slot_has_its_line() {
        let loads = [(1, 0), (1, 2), (2, 0), (2, 2)];
        let rows = loads.map(|(workers, heavies)| Beside::simulated(workers, heavies).unwrap());
        let svg = beside(&rows).unwrap();
        for text in ["1 worker\n", "2 workers", "heavy clients", "work + slot"] {
            assert!(svg.contains(text), "{text} is not in {svg}");
        }
        let rows = [1, 4].map(|workers| SpeedUp::simulated(workers, 100).unwrap());
        let svg = speed_up(&rows).unwrap();
        for text in ["100 µs\n", "100 µs, free wakes", "0.95", "workers"] {
            assert!(svg.contains(text), "{text} is not in {svg}");
        }
    }
}
