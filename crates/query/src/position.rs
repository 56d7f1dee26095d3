//! A place in the text of a query, and the mark under it.

use std::fmt;

use unicode_width::UnicodeWidthChar;

/// A place in the text of a query, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line.
    pub line: u64,
    /// The column, in characters.
    pub column: u64,
}

impl Position {
    /// The line of `sql` with this place, shortened, and a mark under it; `None` if `sql` has no
    /// such line.
    ///
    /// ```
    /// use query::Position;
    ///
    /// let place = Position { line: 2, column: 6 };
    /// let marked = place.mark("select town\nfrom citys").expect("there is a second line");
    /// assert_eq!(marked, "from citys\n     ^");
    /// assert_eq!(Position { line: 3, column: 1 }.mark("select 1"), None);
    /// ```
    pub fn mark(&self, sql: &str) -> Option<String> {
        const NEAR: usize = 80;
        let line: Vec<char> = sql
            .lines()
            .nth(usize::try_from(self.line).ok()?.checked_sub(1)?)?
            .chars()
            .collect();
        let at = usize::try_from(self.column).ok()?.checked_sub(1)?.min(line.len());
        // A cut must save more characters than its dots take.
        let start = at.checked_sub(NEAR).filter(|&cut| cut > 3).unwrap_or(0);
        let end = (at + NEAR < line.len())
            .then_some(at + NEAR)
            .filter(|end| end + 3 < line.len());
        let (before, after) = (&line[start..at], &line[at..end.unwrap_or(line.len())]);
        let dots = |cut: bool| if cut { "..." } else { "" };
        let mut text = String::from(dots(start > 0));
        text.extend(before.iter().chain(after));
        text.push_str(dots(end.is_some()));
        text.push('\n');
        text.extend(dots(start > 0).chars().map(|_| ' '));
        for &character in before {
            // A tab stays a tab, so that both lines align.
            let width = if character == '\t' {
                0
            } else {
                character.width().unwrap_or(0)
            };
            text.push_str(if character == '\t' { "\t" } else { &"  "[..width] });
        }
        text.push('^');
        Some(text)
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(sql: &str, column: u64) -> String {
        let place = Position { line: 1, column };
        place.mark(sql).expect("there is a first line")
    }

    #[test]
    fn of_a_long_line_only_what_is_near_is_shown() {
        let line = format!("{}!{}", "a".repeat(500), "b".repeat(500));
        let (a, b) = ("a".repeat(80), "b".repeat(79));
        let spaces = " ".repeat(83);
        assert_eq!(mark(&line, 501), format!("...{a}!{b}...\n{spaces}^"));
        assert!(mark(&line, 1).starts_with("aaa") && mark(&line, 1).ends_with("a...\n^"));
        assert!(mark(&line, 1_001).starts_with("...b") && !mark(&line, 1_001).contains("b..."));
    }

    #[test]
    fn a_line_that_the_dots_would_not_shorten_is_shown_whole() {
        let line = "c".repeat(166);
        assert_eq!(mark(&line, 84), format!("{line}\n{}^", " ".repeat(83)));
    }

    #[test]
    fn wide_and_tabbed_characters_keep_the_mark_below_its_place() {
        assert_eq!(mark("\t\u{4e2d}x", 3), "\t\u{4e2d}x\n\t  ^");
    }
}
