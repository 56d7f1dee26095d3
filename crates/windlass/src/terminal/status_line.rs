//! The line of a terminal that the bar is drawn on.
//!
//! indicatif alone fills the line behind the bar with spaces. Then the echo of Ctrl-C, `^C`, lands
//! below, and clearing the bar starts one line too low.

use std::io;

use console::Term;
use indicatif::TermLike;

#[derive(Debug)]
pub(super) struct StatusLine(Term);

impl StatusLine {
    pub(super) fn on_stderr() -> Self {
        Self(Term::buffered_stderr())
    }
}

impl TermLike for StatusLine {
    fn width(&self) -> u16 {
        TermLike::width(&self.0)
    }

    fn height(&self) -> u16 {
        TermLike::height(&self.0)
    }

    fn move_cursor_up(&self, lines: usize) -> io::Result<()> {
        self.0.move_cursor_up(lines)
    }

    fn move_cursor_down(&self, lines: usize) -> io::Result<()> {
        self.0.move_cursor_down(lines)
    }

    fn move_cursor_right(&self, columns: usize) -> io::Result<()> {
        self.0.move_cursor_right(columns)
    }

    fn move_cursor_left(&self, columns: usize) -> io::Result<()> {
        self.0.move_cursor_left(columns)
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.0.write_line(text)
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        // Only the fill is all spaces; a line is cleared before it is drawn again.
        if text.bytes().all(|byte| byte == b' ') {
            return Ok(());
        }
        self.0.write_str(text)
    }

    fn clear_line(&self) -> io::Result<()> {
        self.0.clear_line()
    }

    fn flush(&self) -> io::Result<()> {
        self.0.flush()
    }
}
