//! Speed-up over the number of workers: a table, and a picture with its bounds.

use std::fmt::Write as _;

use benches::chart::{Axis, Drawn, FONT, INK, LINES, PALE, canvas};
use benches::number::short;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use sim::{Costs, Profile};

use crate::load::Load;
use crate::virtual_time::predict;

/// One load on many numbers of workers.
pub(crate) struct Curve {
    name: &'static str,
    points: Vec<Point>,
}

struct Point {
    workers: usize,
    profile: Profile,
    /// Time on one worker, costs included, in nanoseconds.
    one_ns: u64,
}

impl Point {
    /// How many times as fast as the work on one worker for nothing.
    fn speed_up(&self) -> f64 {
        self.over(self.profile.elapsed_ns)
    }

    /// No more is possible.
    fn bound(&self) -> f64 {
        self.over(self.profile.lower_bound_ns(self.workers))
    }

    /// Of a greedy scheduler whose tasks each wait to be brought to a worker that has to be woken for them.
    fn burdened_ns(&self) -> u64 {
        self.profile.burdened_span_ns + self.one_ns.div_ceil(self.workers as u64)
    }

    fn burdened(&self) -> f64 {
        self.over(self.burdened_ns())
    }

    fn over(&self, ns: u64) -> f64 {
        self.profile.work_ns as f64 / ns.max(1) as f64
    }
}

impl Curve {
    pub(crate) fn predicted(load: &Load, workers: &[usize], costs: &Costs) -> Self {
        let one_ns = predict(load, 1, costs, 1).elapsed_ns;
        let point = |&workers| Point {
            workers,
            profile: predict(load, workers, costs, 1),
            one_ns,
        };
        Self {
            name: load.name,
            points: workers.iter().map(point).collect(),
        }
    }

    /// A table in Markdown.
    pub(crate) fn table(&self) -> String {
        let Some(Point { profile, .. }) = self.points.first() else {
            return String::new();
        };
        let ms = |ns: u64| short(ns as f64 / 1e6);
        let mut text = format!(
            "**{}**: {} tasks, T₁ {} ms, T∞ {} ms, parallelism {}, burdened T∞ {} ms\n\n\
             | workers | at least, ms | predicted, ms | greedy and burdened, ms | speed-up | of at most |\n\
             |--:|--:|--:|--:|--:|--:|\n",
            self.name,
            short(profile.tasks as f64),
            ms(profile.work_ns),
            ms(profile.span_ns),
            short(profile.parallelism()),
            ms(profile.burdened_span_ns),
        );
        for point in &self.points {
            writeln!(
                text,
                "| {} | {} | {} | {} | {} | {} |",
                point.workers,
                ms(point.profile.lower_bound_ns(point.workers)),
                ms(point.profile.elapsed_ns),
                ms(point.burdened_ns()),
                short(point.speed_up()),
                short(point.bound()),
            )
            .expect("a string takes all");
        }
        text
    }
}

const HEIGHT: u32 = 780;

/// What a line shows.
type Line = (&'static str, fn(&Point) -> f64, RGBColor);

const SHOWN: [Line; 3] = [
    ("at most", Point::bound, INK),
    ("greedy, burdened", Point::burdened, LINES[4]),
    ("predicted", Point::speed_up, LINES[0]),
];

/// All curves in one picture, a panel each.
pub(crate) fn picture(curves: &[Curve]) -> Drawn {
    let mut svg = String::new();
    {
        let area = canvas(&mut svg, HEIGHT)?;
        let all = || curves.iter().flat_map(|curve| &curve.points);
        let most = all()
            .map(|point| point.workers)
            .max()
            .ok_or("there is no curve")? as f64;
        let least = all()
            .flat_map(|point| SHOWN.map(|(_, of, _)| of(point)))
            .fold(1.0, f64::min);
        let panels = area.split_evenly((curves.len().div_ceil(2), 2));
        for (curve, panel) in curves.iter().zip(&panels) {
            let mut chart = ChartBuilder::on(panel)
                .caption(curve.name, FONT)
                .margin(8)
                .margin_right(16)
                .y_label_area_size(48)
                .x_label_area_size(40)
                .build_cartesian_2d(Axis::log(1.0..most * 1.1), Axis::log(least..most * 1.3))?;
            chart
                .configure_mesh()
                .light_line_style(TRANSPARENT)
                .bold_line_style(PALE)
                .x_desc("workers")
                .y_desc("speed-up")
                .axis_desc_style(FONT.into_font().color(&INK))
                .label_style(("sans-serif", 11).into_font().color(&INK))
                .draw()?;
            for (place, (name, of, colour)) in SHOWN.into_iter().enumerate() {
                let points: Vec<(f64, f64)> =
                    (curve.points.iter().map(|point| (point.workers as f64, of(point)))).collect();
                chart.draw_series(LineSeries::new(points.clone(), colour.stroke_width(2)))?;
                if name == "predicted" {
                    chart.draw_series(points.iter().map(|point| Circle::new(*point, 3, colour.filled())))?;
                }
                let style = FONT.into_font().color(&colour);
                let style = style.pos(Pos::new(HPos::Left, VPos::Top));
                panel.draw(&Text::new(name, (68, 38 + 18 * place as i32), style))?;
            }
        }
        area.present()?;
    }
    Ok(svg)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::COARSE;

    #[test]
    fn a_curve_has_its_points_its_bounds_and_its_picture() {
        let curve = Curve::predicted(&COARSE[0], &[1, 2, 4], &Costs::default());
        let speed_ups: Vec<f64> = curve.points.iter().map(Point::speed_up).collect();
        for (point, speed_up) in curve.points.iter().zip(&speed_ups) {
            assert!(*speed_up <= point.bound() && *speed_up > point.burdened() / 2.0);
        }
        assert!(
            speed_ups[0] < speed_ups[1] && speed_ups[1] < speed_ups[2],
            "{speed_ups:?}"
        );
        assert_eq!(curve.table().lines().count(), 2 + 2 + 3);
        let svg = picture(&[curve]).unwrap();
        for text in ["tree", "predicted", "at most", "workers"] {
            assert!(svg.contains(text), "{text} is not in {svg}");
        }
    }
}
