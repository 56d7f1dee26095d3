//! A run in the Chrome trace format, which Perfetto and `chrome://tracing` open.
//!
//! Source: "Trace Event Format", Google, JSON object format, phases M, B, E, i, s and f.

use std::fmt::{self, Display, Write};

/// An event in a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChromeRow<N> {
    /// Index of the lane's name.
    pub lane: usize,
    /// Nanoseconds since a fixed moment.
    pub at_ns: u64,
    /// What the row does.
    pub phase: ChromePhase,
    /// The name of the bar, instant or arrow.
    pub name: N,
    /// Named values.
    pub args: Vec<(&'static str, ChromeArg)>,
}

/// What a row does in its lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChromePhase {
    /// A bar begins. Bars of a lane are nested.
    Begin,
    /// The bar that began last ends.
    End,
    /// An event without length.
    Instant,
    /// The arrow of this number begins at the open bar.
    ArrowFrom(u64),
    /// The arrow of this number ends at the open bar.
    ArrowTo(u64),
}

/// A value in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChromeArg {
    /// A number.
    Number(u64),
    /// Any text.
    Text(String),
}

/// The whole file, as its `Display`.
///
/// ```
/// use executor_core::{ChromeFile, ChromePhase, ChromeRow};
///
/// let row = |at_ns, phase| ChromeRow { lane: 0, at_ns, phase, name: "say \"hello\"", args: Vec::new() };
/// let file = ChromeFile {
///     lanes: ["worker 0"],
///     rows: [row(1_500, ChromePhase::Begin), row(2_000, ChromePhase::End)],
/// };
/// let text = file.to_string();
/// assert!(text.contains(r#""ts":1.500,"name":"say \"hello\"""#), "{text}");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ChromeFile<L, R> {
    /// The lanes' names.
    pub lanes: L,
    /// The rows.
    pub rows: R,
}

impl<L, R, N> Display for ChromeFile<L, R>
where
    L: IntoIterator<Item: Display> + Clone,
    R: IntoIterator<Item = ChromeRow<N>> + Clone,
    N: Display,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
        let mut separator = "\n";
        for (lane, name) in self.lanes.clone().into_iter().enumerate() {
            let name = Quoted(name);
            write!(
                f,
                "{separator}{{\"ph\":\"M\",\"pid\":1,\"tid\":{lane},\"name\":\"thread_name\",\"args\":{{\"name\":{name}}}}}"
            )?;
            separator = ",\n";
        }
        for row in self.rows.clone() {
            write!(f, "{separator}{row}")?;
            separator = ",\n";
        }
        f.write_str("\n]}\n")
    }
}

impl<N: Display> Display for ChromeRow<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let phase = match self.phase {
            ChromePhase::Begin => "B",
            ChromePhase::End => "E",
            ChromePhase::Instant => "i",
            ChromePhase::ArrowFrom(_) => "s",
            ChromePhase::ArrowTo(_) => "f",
        };
        write!(f, "{{\"ph\":\"{phase}\"")?;
        match self.phase {
            ChromePhase::Begin | ChromePhase::End => {}
            ChromePhase::Instant => f.write_str(",\"s\":\"t\"")?,
            ChromePhase::ArrowFrom(arrow) => write!(f, ",\"cat\":\"arrow\",\"id\":{arrow}")?,
            ChromePhase::ArrowTo(arrow) => write!(f, ",\"bp\":\"e\",\"cat\":\"arrow\",\"id\":{arrow}")?,
        }
        let (us, ns) = (self.at_ns / 1_000, self.at_ns % 1_000);
        let (lane, name) = (self.lane, Quoted(&self.name));
        write!(f, ",\"pid\":1,\"tid\":{lane},\"ts\":{us}.{ns:03},\"name\":{name}")?;
        let mut before = ",\"args\":{";
        for (name, arg) in &self.args {
            write!(f, "{before}{}:{arg}", Quoted(name))?;
            before = ",";
        }
        f.write_str(if self.args.is_empty() { "}" } else { "}}" })
    }
}

impl Display for ChromeArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => write!(f, "{}", Quoted(text)),
        }
    }
}

struct Quoted<N>(N);

impl<N: Display> Display for Quoted<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        write!(Escaping(f), "{}", self.0)?;
        f.write_char('"')
    }
}

struct Escaping<'a, 'f>(&'a mut fmt::Formatter<'f>);

impl Write for Escaping<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for char in text.chars() {
            match char {
                '"' | '\\' => write!(self.0, "\\{char}")?,
                '\0'..=' ' if char != ' ' => write!(self.0, "\\u{:04x}", u32::from(char))?,
                _ => self.0.write_char(char)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_any_characters_is_quoted() {
        assert_eq!(Quoted("plain text").to_string(), "\"plain text\"");
        assert_eq!(
            Quoted("a\"b\\c\nd\u{1}é").to_string(),
            "\"a\\\"b\\\\c\\u000ad\\u0001é\""
        );
    }

    #[test]
    fn a_file_names_its_lanes_and_then_tells_what_happened_in_them() {
        let row = |lane, phase| ChromeRow {
            lane,
            at_ns: 7,
            phase,
            name: "task",
            args: Vec::new(),
        };
        let file = ChromeFile {
            lanes: ["worker 0", "worker 1"],
            rows: [row(1, ChromePhase::Begin), row(1, ChromePhase::End)],
        };
        assert_eq!(
            file.to_string(),
            r#"{"displayTimeUnit":"ns","traceEvents":[
{"ph":"M","pid":1,"tid":0,"name":"thread_name","args":{"name":"worker 0"}},
{"ph":"M","pid":1,"tid":1,"name":"thread_name","args":{"name":"worker 1"}},
{"ph":"B","pid":1,"tid":1,"ts":0.007,"name":"task"},
{"ph":"E","pid":1,"tid":1,"ts":0.007,"name":"task"}
]}
"#
        );
    }

    #[test]
    fn an_arrow_leads_from_one_open_bar_to_another() {
        let row = |lane, phase| ChromeRow {
            lane,
            at_ns: 2_000,
            phase,
            name: "submitted",
            args: Vec::new(),
        };
        assert_eq!(
            [row(0, ChromePhase::ArrowFrom(7)), row(1, ChromePhase::ArrowTo(7))].map(|row| row.to_string()),
            [
                r#"{"ph":"s","cat":"arrow","id":7,"pid":1,"tid":0,"ts":2.000,"name":"submitted"}"#,
                r#"{"ph":"f","bp":"e","cat":"arrow","id":7,"pid":1,"tid":1,"ts":2.000,"name":"submitted"}"#,
            ]
        );
    }

    #[test]
    fn a_row_says_its_args() {
        let row = ChromeRow {
            lane: 2,
            at_ns: 1_002_003,
            phase: ChromePhase::Instant,
            name: 7,
            args: vec![
                ("n", ChromeArg::Number(5)),
                ("what", ChromeArg::Text("so".to_owned())),
            ],
        };
        assert_eq!(
            row.to_string(),
            r#"{"ph":"i","s":"t","pid":1,"tid":2,"ts":1002.003,"name":"7","args":{"n":5,"what":"so"}}"#
        );
    }
}
