//! Writes the picture as SVG, with coordinates.

use std::fmt;

use super::picture::{Arrow, Bar, Curve, Mark, Picture};
use super::{Escaped, Thousands};

/// In pixels, like the constants below: the names' column; right margin and axis.
const LEFT: f64 = 110.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 28.0;
const LANE: f64 = 34.0;
const BAR: f64 = 18.0;
const STRIP: f64 = 56.0;
const SLIVER: f64 = 1.5;
/// The time axis. Long runs scroll.
const WIDTH: std::ops::RangeInclusive<f64> = 1_180.0..=8_000.0;

pub(super) struct Svg<'a> {
    pub(super) picture: &'a Picture,
    pub(super) actors: &'a [String],
}

impl Svg<'_> {
    fn axis_width(&self) -> f64 {
        let busiest = self.picture.tasks.len() + self.picture.parks.len() + self.picture.wakes.len();
        (busiest as f64 * 6.0).clamp(*WIDTH.start(), *WIDTH.end())
    }

    fn x(&self, at_ns: u64) -> f64 {
        LEFT + self.axis_width() * at_ns as f64 / self.picture.end_ns.max(1) as f64
    }

    fn y(lane: usize) -> f64 {
        TOP + (lane as f64 + 0.5) * LANE
    }

    fn lanes_end(&self) -> f64 {
        TOP + self.picture.lanes as f64 * LANE
    }

    fn write_axis(&self, f: &mut fmt::Formatter<'_>, bottom: f64) -> fmt::Result {
        f.write_str("<g class=\"axis\">\n")?;
        let end_ns = self.picture.end_ns;
        let step = tick_ns(end_ns, self.axis_width() / 110.0);
        let ticks = (0..).map(|n| n * step).take_while(|&at_ns| at_ns <= end_ns);
        for at_ns in ticks {
            let x = self.x(at_ns);
            writeln!(
                f,
                "<line x1=\"{x:.1}\" y1=\"{:.1}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\"/>\
                 <text x=\"{x:.1}\" y=\"14\" text-anchor=\"middle\">{}</text>",
                TOP - 8.0,
                Thousands(at_ns)
            )?;
        }
        f.write_str("<text x=\"0\" y=\"14\">virtual time, ns</text>\n</g>\n")
    }

    fn write_lane(&self, f: &mut fmt::Formatter<'_>, lane: usize) -> fmt::Result {
        let name = self.actors.get(lane).map_or("?", String::as_str);
        let y = Self::y(lane);
        f.write_str("<g class=\"lane\">\n")?;
        self.write_activity(f, lane)?;
        writeln!(f, "<text x=\"8\" y=\"{:.1}\">{}</text>", y + 4.0, Escaped(name))?;
        let of_lane =
            |bars: &'_ [Bar]| -> Vec<Bar> { bars.iter().filter(|bar| bar.lane == lane).cloned().collect() };
        for bar in of_lane(&self.picture.tasks) {
            self.write_bar(f, "task", &bar, BAR)?;
            let room = self.x(bar.to_ns) - self.x(bar.from_ns);
            if room > 7.0 * bar.name.len() as f64 {
                writeln!(
                    f,
                    "<text class=\"task-name\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                    self.x(bar.from_ns) + 5.0,
                    y + 4.0,
                    Escaped(&bar.name)
                )?;
            }
        }
        for bar in of_lane(&self.picture.awaits) {
            self.write_bar(f, "await", &bar, BAR)?;
        }
        for bar in of_lane(&self.picture.parks) {
            self.write_bar(f, "park", &bar, BAR / 2.0)?;
        }
        for Mark { spot, name } in self.picture.accesses.iter().filter(|mark| mark.spot.lane == lane) {
            let x = self.x(spot.at_ns);
            writeln!(
                f,
                "<path class=\"access\" d=\"M{x:.1} {:.1}V{:.1}\"><title>{}, {} ns</title></path>",
                y - BAR / 2.0 - 4.0,
                y + BAR / 2.0 + 4.0,
                Escaped(name),
                Thousands(spot.at_ns)
            )?;
        }
        f.write_str("</g>\n")
    }

    fn write_bands(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for lane in (0..self.picture.lanes).step_by(2) {
            writeln!(
                f,
                "<rect class=\"band\" x=\"0\" y=\"{:.1}\" width=\"{:.1}\" height=\"{LANE}\"/>",
                Self::y(lane) - LANE / 2.0,
                LEFT + self.axis_width() + RIGHT
            )?;
        }
        Ok(())
    }

    fn write_activity(&self, f: &mut fmt::Formatter<'_>, lane: usize) -> fmt::Result {
        let mut ticks: Vec<u64> = (self.picture.activity[lane].iter())
            .map(|&at_ns| self.x(at_ns).round() as u64)
            .collect();
        ticks.dedup();
        if ticks.is_empty() {
            return Ok(());
        }
        f.write_str("<path class=\"activity\" d=\"")?;
        let top = Self::y(lane) - 3.0;
        ticks.iter().try_for_each(|x| write!(f, "M{x} {top:.0}v6"))?;
        f.write_str("\"/>\n")
    }

    fn write_bar(&self, f: &mut fmt::Formatter<'_>, class: &str, bar: &Bar, height: f64) -> fmt::Result {
        let Bar {
            lane,
            from_ns,
            to_ns,
            name,
        } = bar;
        let (from, to) = (self.x(*from_ns), self.x(*to_ns));
        writeln!(
            f,
            "<rect class=\"{class}\" x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height}\" rx=\"2\">\
             <title>{}, {} to {} ns</title></rect>",
            Self::y(*lane) - height / 2.0,
            (to - from).max(SLIVER),
            Escaped(name),
            Thousands(*from_ns),
            Thousands(*to_ns)
        )
    }

    /// Bent, to separate arrows of the same lanes.
    fn write_arrow(&self, f: &mut fmt::Formatter<'_>, class: &str, arrow: &Arrow) -> fmt::Result {
        let Arrow { from, to, name } = arrow;
        let down = to.lane > from.lane;
        let edge = if down { BAR / 2.0 } else { -BAR / 2.0 };
        let (x1, y1) = (self.x(from.at_ns), Self::y(from.lane) + edge);
        let (x2, y2) = (self.x(to.at_ns), Self::y(to.lane) - edge);
        let bend = (y2 - y1) * 0.4;
        writeln!(
            f,
            "<path class=\"{class}\" marker-start=\"url(#{class}-tail)\" marker-end=\"url(#{class}-arrow)\" \
             d=\"M{x1:.1} {y1:.1}C{x1:.1} {:.1} {x2:.1} {:.1} {x2:.1} {y2:.1}\">\
             <title>{}, by {}, {} ns</title></path>",
            y1 + bend,
            y2 - bend,
            Escaped(name),
            Escaped(
                self.actors
                    .get(self.doer(class, arrow))
                    .map_or("?", String::as_str)
            ),
            Thousands(from.at_ns)
        )
    }

    /// A waker is at the arrow's beginning, a thief at its end.
    fn doer(&self, class: &str, arrow: &Arrow) -> usize {
        if class == "wake" {
            arrow.from.lane
        } else {
            arrow.to.lane
        }
    }

    fn write_curve(&self, f: &mut fmt::Formatter<'_>, curve: &Curve, top: f64) -> fmt::Result {
        let most = curve
            .points
            .iter()
            .map(|&(_, depth)| depth)
            .max()
            .unwrap_or(0)
            .max(1);
        let bottom = top + STRIP - 12.0;
        let height = STRIP - 20.0;
        let y = |depth: usize| bottom - height * depth as f64 / most as f64;
        let mut path = format!("M{LEFT:.1} {bottom:.1}");
        for &(at_ns, depth) in &curve.points {
            path.push_str(&format!("H{:.1}V{:.1}", self.x(at_ns), y(depth)));
        }
        path.push_str(&format!("H{:.1}", self.x(self.picture.end_ns)));
        writeln!(
            f,
            "<g class=\"depth\">\n<path class=\"under\" d=\"{path}V{bottom:.1}Z\"/>\n\
             <path class=\"curve\" d=\"{path}\"><title>depth of the {}, at most {most}</title></path>\n\
             <text x=\"8\" y=\"{:.1}\">{}</text>\n\
             <g class=\"axis\"><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{most}</text>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">0</text></g>\n</g>",
            curve.name,
            bottom - height / 2.0 + 4.0,
            curve.name,
            LEFT - 6.0,
            y(most) + 8.0,
            LEFT - 6.0,
            bottom,
        )
    }

    fn write_marks(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Mark { spot, name } in &self.picture.faults {
            writeln!(
                f,
                "<circle class=\"fault\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"4.5\"><title>{}, {} ns</title></circle>",
                self.x(spot.at_ns),
                Self::y(spot.lane) - BAR / 2.0,
                Escaped(name),
                Thousands(spot.at_ns)
            )?;
        }
        if let Some(Mark { spot, name }) = &self.picture.failure {
            let (x, y) = (self.x(spot.at_ns), Self::y(spot.lane));
            writeln!(
                f,
                "<path class=\"failed\" d=\"M{x:.1} {TOP:.1}V{:.1}\"/>\n\
                 <path class=\"failure\" d=\"M{:.1} {y:.1}l8 -8l8 8l-8 8z\"><title>{}</title></path>",
                self.lanes_end(),
                x - 8.0,
                Escaped(name)
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for Svg<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = LEFT + self.axis_width() + RIGHT;
        let lanes_end = self.lanes_end();
        let height = lanes_end + self.picture.curves.len() as f64 * STRIP + 8.0;
        write!(
            f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\">\n{DEFS}"
        )?;
        self.write_bands(f)?;
        self.write_axis(f, height - 8.0)?;
        (0..self.picture.lanes).try_for_each(|lane| self.write_lane(f, lane))?;
        for (place, curve) in self.picture.curves.iter().enumerate() {
            self.write_curve(f, curve, lanes_end + place as f64 * STRIP)?;
        }
        for steal in &self.picture.steals {
            self.write_arrow(f, "steal", steal)?;
        }
        for wake in &self.picture.wakes {
            self.write_arrow(f, "wake", wake)?;
        }
        self.write_marks(f)?;
        f.write_str("</svg>\n")
    }
}

const DEFS: &str = "\
<defs>
<pattern id=\"parked\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\"><path d=\"M0 5L5 0\"/></pattern>
<pattern id=\"awaits\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\"><path d=\"M0 5L5 0\"/></pattern>
<marker id=\"steal-arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"5\" markerHeight=\"5\" orient=\"auto\"><path id=\"steal-head\" d=\"M0 0L8 4L0 8z\"/></marker>
<marker id=\"wake-arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"5\" markerHeight=\"5\" orient=\"auto\"><path id=\"wake-head\" d=\"M0 0L8 4L0 8z\"/></marker>
<marker id=\"steal-tail\" viewBox=\"0 0 8 8\" refX=\"4\" refY=\"4\" markerWidth=\"4\" markerHeight=\"4\"><circle class=\"steal-tail\" cx=\"4\" cy=\"4\" r=\"3\"/></marker>
<marker id=\"wake-tail\" viewBox=\"0 0 8 8\" refX=\"4\" refY=\"4\" markerWidth=\"4\" markerHeight=\"4\"><circle class=\"wake-tail\" cx=\"4\" cy=\"4\" r=\"3\"/></marker>
</defs>
";

fn tick_ns(end_ns: u64, most: f64) -> u64 {
    let mut unit: u64 = 1;
    loop {
        for step in [1, 2, 5].map(|digit| unit.saturating_mul(digit)) {
            if end_ns as f64 / step as f64 <= most {
                return step;
            }
        }
        unit = unit.saturating_mul(10);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(tick_ns(0, 10.0), 1);
        assert_eq!(tick_ns(95, 10.0), 10);
        assert_eq!(tick_ns(1_100, 10.0), 200);
        assert_eq!(tick_ns(u64::MAX, 10.0), 2_000_000_000_000_000_000);
    }
}
