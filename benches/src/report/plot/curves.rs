//! Curves in one picture, each with its name at its end.

use benches::chart::{Axis, Drawn, FONT, INK, LINES, PALE, canvas};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::contender::Role;

/// Between two names at the ends of curves.
const NAME_HEIGHT: i32 = 17;

/// What a picture shows.
pub(super) struct Picture {
    pub(super) title: String,
    pub(super) x_axis: Axis,
    pub(super) y_axis: Axis,
    /// What the x axis counts.
    pub(super) about: String,
    /// How a mark on the x axis is written.
    pub(super) x_label: fn(&f64) -> String,
    /// Whether points are shown, and not only the line through them.
    pub(super) has_dots: bool,
    /// The first one is drawn last, on top of the others.
    pub(super) curves: Vec<Curve>,
}

/// A contender's.
pub(super) struct Curve {
    pub(super) name: String,
    pub(super) role: Role,
    pub(super) points: Vec<(f64, f64)>,
}

impl Picture {
    pub(super) fn draw(self) -> Drawn {
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
            // The last one drawn is on top, so ours comes last.
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
}
