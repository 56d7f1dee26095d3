//! A run as one self-contained page: the replay line, a picture by virtual time, the operations.
//!
//! ```text
//!   what went wrong · replay line · figures
//!   ┌ picture: a lane an actor, on its virtual clock ─────────────────────┐
//!   │ worker 0    ▇▇▇ task 0 ▇▇▇   ╱╱ parked ╱╱╱╱▇▇▇ task 2 ▇▇           │
//!   │ worker 1          ▲ steals      │ wakes                             │
//!   │ injector    ▁▁▃▃▁▁                                                  │
//!   └─────────────────────────────────────────────────────────────────────┘
//!   table: a row an operation, a column an actor
//! ```
//!
//! The page has no script and loads nothing, so it can stay beside a bug report. Actors have their
//! own clocks; the table shows the order.

mod picture;
mod svg;

use std::fmt;
use std::io::{self, Write};

use crate::report::{Course, Failure};
use crate::trace::{Bracket, Interleaving};

use picture::Picture;
use svg::Svg;

/// Rows of the table; a longer run shows its last ones.
const ROWS_MAX: usize = 4_000;

/// Writes a page about a run, passed or failed. Without
/// [`Simulation::keep_events`](crate::Simulation::keep_events) it shows the last operations only.
///
/// # Errors
///
/// Any error of writing to `out`.
pub fn write_html(mut out: impl Write, outcome: Result<&Course, &Failure>) -> io::Result<()> {
    let (course, failure) = match outcome {
        Ok(course) => (course, None),
        Err(failure) => (&*failure.course, Some(failure)),
    };
    let picture = Picture::of(
        &course.events,
        course.actors.len(),
        failure.map(Failure::sentence),
    );
    let page = Page {
        course,
        failure,
        picture: &picture,
    };
    write!(out, "{page}")
}

struct Page<'a> {
    course: &'a Course,
    failure: Option<&'a Failure>,
    picture: &'a Picture,
}

impl fmt::Display for Page<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let title = match self.failure {
            Some(failure) => failure.sentence(),
            None => "A run without a fault".to_owned(),
        };
        let title = Escaped(&title);
        write!(
            f,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n\
             <style>\n{STYLE}</style>\n</head>\n<body>\n<h1 class=\"{}\">{title}</h1>\n",
            if self.failure.is_some() { "bad" } else { "good" },
        )?;
        self.write_lines(f)?;
        self.write_figures(f)?;
        self.write_legend(f)?;
        let svg = Svg {
            picture: self.picture,
            actors: &self.course.actors,
        };
        writeln!(f, "<div class=\"wide\">\n{svg}</div>")?;
        self.write_details(f)?;
        self.write_table(f)?;
        f.write_str("</body>\n</html>\n")
    }
}

impl Page<'_> {
    fn write_lines(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = |f: &mut fmt::Formatter<'_>, name, line: &dyn fmt::Display| {
            let line = line.to_string();
            writeln!(
                f,
                "<p class=\"line\"><b>{name}</b><code>{}</code></p>",
                Escaped(&line)
            )
        };
        line(f, "replay", &self.course.line)?;
        match self.failure.and_then(|failure| failure.found.as_deref()) {
            Some(found) => line(f, "found", &found.line),
            None => Ok(()),
        }
    }

    fn write_figures(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { course, picture, .. } = self;
        let (steps, switches) = course.size();
        let makespan = format!("{} ns", Thousands(picture.last_ns));
        let figures: [(&str, &dyn fmt::Display); 9] = [
            ("steps", &Thousands(steps)),
            ("switches", &Thousands(switches as u64)),
            ("virtual time", &makespan),
            ("tasks", &picture.tasks.len()),
            ("parks", &picture.parks.len()),
            ("wakes", &picture.wakes.len()),
            ("steals", &picture.steals.len()),
            ("faults", &picture.faults.len()),
            ("trace hash", &format!("{:016x}", course.trace_hash)),
        ];
        f.write_str("<dl>\n")?;
        for (name, figure) in figures {
            writeln!(f, "<div><dt>{name}</dt><dd>{figure}</dd></div>")?;
        }
        f.write_str("</dl>\n")
    }

    fn write_legend(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = [
            ("activity", "operations"),
            ("task", "a task runs"),
            ("await", "a task waits"),
            ("park", "parked"),
            ("steal", "stolen from there to here"),
            ("wake", "woken from there"),
            ("access", "a task touches what others do"),
            ("fault", "fault or panic"),
            ("failure", "the failure"),
        ];
        f.write_str("<ul class=\"legend\">\n")?;
        for (class, text) in entries {
            writeln!(f, "<li><i class=\"{class}\"></i>{text}</li>")?;
        }
        f.write_str("</ul>\n")
    }

    fn write_details(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.failure {
            Some(failure) => writeln!(
                f,
                "<h2>The state when <q>{}</q> failed the run</h2>\n<pre>{}</pre>",
                failure.oracle,
                Escaped(&failure.message)
            ),
            None => Ok(()),
        }
    }

    fn write_table(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Course {
            events,
            actors,
            is_complete,
            ..
        } = self.course;
        let shown = &events[events.len().saturating_sub(ROWS_MAX)..];
        let table = Interleaving {
            events: shown,
            actors,
        };
        writeln!(f, "<h2>Operations in their order</h2>")?;
        if shown.len() < events.len() || !is_complete {
            writeln!(f, "<p>The last {} of them.</p>", shown.len())?;
        }
        let acting = table.acting();
        f.write_str("<div class=\"wide\"><table>\n<thead><tr><th>step</th>")?;
        for &actor in &acting {
            write!(f, "<th>{}</th>", Escaped(table.name(actor)))?;
        }
        f.write_str("</tr></thead>\n<tbody>\n")?;
        for (at, event) in shown.iter().enumerate() {
            let starts = matches!(table.bracket(at), Bracket::First | Bracket::Alone);
            let class = if starts { " class=\"first\"" } else { "" };
            write!(f, "<tr{class}><td>{}</td>", event.step)?;
            for &actor in &acting {
                if event.actor as usize == actor {
                    write!(f, "<td class=\"op\">{}</td>", Escaped(&event.to_string()))?;
                } else {
                    f.write_str("<td></td>")?;
                }
            }
            f.write_str("</tr>\n")?;
        }
        f.write_str("</tbody>\n</table></div>\n")
    }
}

struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for symbol in self.0.chars() {
            match symbol {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                // XML forbids these characters.
                control if control.is_control() && !matches!(control, '\n' | '\t') => {
                    f.write_str("\u{fffd}")?;
                }
                other => write!(f, "{other}")?,
            }
        }
        Ok(())
    }
}

struct Thousands(u64);

impl fmt::Display for Thousands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (place, digit) in digits.chars().enumerate() {
            if place > 0 && (digits.len() - place).is_multiple_of(3) {
                f.write_str(",")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

const STYLE: &str = include_str!("page/style.css");
