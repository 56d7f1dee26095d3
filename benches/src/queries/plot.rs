//! The percentiles as a picture: a line for each engine and load, from its median to its greatest latency.

use benches::chart::{Axis, Drawn, FONT, INK, LINES, PALE, canvas};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::figures::Figures;
use super::report::OURS;

const ROW_HEIGHT: u32 = 26;
/// Left of the lines, for names.
const NAMES_WIDTH: u32 = 290;
const PEER: RGBColor = RGBColor(130, 130, 130);

/// Latencies to a log axis, sorted by load.
pub(super) fn percentiles(figures: &[Figures]) -> Drawn {
    let mut rows: Vec<&Figures> = figures.iter().collect();
    rows.sort_by_key(|row| row.clients);
    let height = ROW_HEIGHT * u32::try_from(rows.len())? + 100;
    let least = rows
        .iter()
        .map(|row| row.latency.p50)
        .fold(f64::INFINITY, f64::min);
    let most = rows.iter().map(|row| row.latency.max).fold(0.0, f64::max);
    let axis = Axis::log(least / 1.5..most * 1.3);
    let mut svg = String::new();
    {
        let area = canvas(&mut svg, height)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(
                "a short query beside H heavy clients: ms at p50 ●, p95, p99 ●, max; log axis",
                FONT,
            )
            .margin(10)
            .margin_right(30)
            .y_label_area_size(NAMES_WIDTH)
            .x_label_area_size(30)
            .build_cartesian_2d(axis.clone(), 0.0..rows.len() as f64)?;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .disable_y_axis()
            .light_line_style(TRANSPARENT)
            .bold_line_style(PALE)
            .x_labels(10)
            .x_label_style(FONT.into_font().color(&INK))
            .draw()?;
        for (index, row) in rows.iter().enumerate() {
            // The first row is at the top.
            let y = (rows.len() - 1 - index) as f64 + 0.5;
            let colour = if row.engine == OURS { LINES[0] } else { PEER };
            let at = row.latency;
            chart.draw_series([PathElement::new(
                [(at.p50, y), (at.max, y)],
                colour.stroke_width(2),
            )])?;
            chart.draw_series([at.p50, at.p99].map(|value| Circle::new((value, y), 5, colour.filled())))?;
            let tick = |value: f64| PathElement::new([(value, y - 0.2), (value, y + 0.2)], colour);
            chart.draw_series([at.p95, at.max].map(tick))?;
            let behind = if row.keeps_up() { "" } else { " (never catches up)" };
            let (start, middle) = chart.backend_coord(&(axis.start(), y));
            let before = FONT
                .into_font()
                .color(&INK)
                .pos(Pos::new(HPos::Right, VPos::Center));
            let name = format!("H = {}: {}{behind}", row.clients, row.engine);
            area.draw(&Text::new(name, (start - 8, middle), before))?;
        }
        area.present()?;
    }
    Ok(svg)
}

#[cfg(test)]
mod tests {
    use super::super::report::sample;
    use super::*;

    #[test]
    fn each_engine_has_a_line_under_each_load() {
        let mut lost = sample("Polars", 8, 900.0, None);
        lost.unasked = 1;
        let svg = percentiles(&[sample(OURS, 0, 3.0, None), lost]).unwrap();
        for text in ["H = 0: windlass", "H = 8: Polars (never catches up)"] {
            assert!(svg.contains(text), "{text} is not in {svg}");
        }
        // Two circles each.
        assert_eq!(svg.matches("<circle").count(), 4);
    }
}
