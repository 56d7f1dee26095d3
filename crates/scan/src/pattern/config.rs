//! What to search for, as plain data, and what can be wrong with it.

use std::error::Error;
use std::fmt;

use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};

/// Patterns, and how lines are compared with them.
///
/// # Examples
///
/// ```
/// use scan::pattern::{Case, PatternConfig};
///
/// let config = PatternConfig {
///     case: Case::Smart,
///     ..PatternConfig::new(["error|warning"])
/// };
/// assert!(config.validate().is_ok());
/// assert!(PatternConfig::new(["("]).validate().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternConfig {
    /// Regular expressions of the crate `regex`. A line is found if one of them matches.
    pub patterns: Vec<String>,
    /// The patterns are plain text.
    pub fixed_strings: bool,
    /// How letters compare.
    pub case: Case,
    /// Where a match must begin and end.
    pub bounds: Bounds,
    /// Lines without a match are found.
    pub invert: bool,
    /// A match may contain ends of lines. Files are then searched whole, if the patterns need it.
    pub multi_line: bool,
    /// A line's end is `\n` or `\r\n`.
    pub crlf: bool,
    /// A NUL is a byte like others. Otherwise it makes a file binary.
    pub text: bool,
    /// How many lines are found in a file at the most.
    pub max_count: Option<u64>,
    /// Bytes of the longest line that is searched whole.
    pub max_line: usize,
    /// Bytes of the longest file that is searched whole.
    pub max_file: usize,
}

/// How letters compare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Case {
    /// Upper and lower case differ.
    #[default]
    Sensitive,
    /// They do not.
    Insensitive,
    /// They differ if a pattern has an upper case letter.
    Smart,
}

/// Where a match must begin and end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bounds {
    /// Anywhere.
    #[default]
    None,
    /// Where a word does.
    Word,
    /// Where the line does.
    Line,
}

impl PatternConfig {
    /// The defaults, for these patterns.
    #[must_use]
    pub fn new<P: Into<String>>(patterns: impl IntoIterator<Item = P>) -> Self {
        Self {
            patterns: patterns.into_iter().map(Into::into).collect(),
            fixed_strings: false,
            case: Case::default(),
            bounds: Bounds::default(),
            invert: false,
            multi_line: false,
            crlf: false,
            text: false,
            max_count: None,
            max_line: 8 << 20,
            max_file: 64 << 20,
        }
    }

    /// Compiles the patterns and forgets them.
    ///
    /// # Errors
    ///
    /// What is wrong with a pattern, or the name of a field that is 0.
    pub fn validate(&self) -> Result<(), PatternError> {
        self.compile().map(drop)
    }

    /// Checks the fields, too. Patterns are not compiled twice: that takes longer than a small search.
    pub(crate) fn compile(&self) -> Result<RegexMatcher, PatternError> {
        for (field, value) in [("max_line", self.max_line), ("max_file", self.max_file)] {
            if value == 0 {
                return Err(PatternError::Zero { field });
            }
        }
        self.matcher()
    }

    fn matcher(&self) -> Result<RegexMatcher, PatternError> {
        let mut builder = RegexMatcherBuilder::new();
        builder
            .multi_line(true)
            .octal(false)
            .fixed_strings(self.fixed_strings)
            .case_insensitive(self.case == Case::Insensitive)
            .case_smart(self.case == Case::Smart)
            .word(self.bounds == Bounds::Word)
            .whole_line(self.bounds == Bounds::Line)
            .dot_matches_new_line(false);
        if !self.multi_line {
            builder.line_terminator(Some(b'\n'));
        }
        if self.crlf {
            builder.crlf(true);
            if self.multi_line {
                builder.line_terminator(None);
            }
        }
        if !self.text {
            builder.ban_byte(Some(0));
        }
        builder
            .build_many(&self.patterns)
            .map_err(|error| PatternError::Pattern(error.to_string()))
    }

    pub(crate) fn line_terminator(&self) -> LineTerminator {
        if self.crlf {
            LineTerminator::crlf()
        } else {
            LineTerminator::byte(b'\n')
        }
    }
}

/// Why there is no engine.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PatternError {
    /// A pattern cannot be compiled, and the compiler's words why.
    Pattern(String),
    /// A field of [`PatternConfig`] must not be 0.
    Zero {
        /// Its name.
        field: &'static str,
    },
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pattern(why) => f.write_str(why),
            Self::Zero { field } => write!(f, "`{field}` must be at least 1"),
        }
    }
}

impl Error for PatternError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_of_zero_is_named() {
        let config = PatternConfig {
            max_line: 0,
            ..PatternConfig::new(["a"])
        };
        assert_eq!(config.validate(), Err(PatternError::Zero { field: "max_line" }));
        let config = PatternConfig {
            max_file: 0,
            ..PatternConfig::new(["a"])
        };
        let error = config.validate().expect_err("no file is that short");
        assert_eq!(error.to_string(), "`max_file` must be at least 1");
    }

    #[test]
    fn a_pattern_that_cannot_be_compiled_is_shown_with_the_reason() {
        let error = PatternConfig::new(["a", "(b"])
            .validate()
            .expect_err("the group is open");
        assert!(error.to_string().contains("unclosed group"), "{error}");
        let error = PatternConfig::new(["a\nb"])
            .validate()
            .expect_err("a line has no newline");
        assert!(error.to_string().contains("not allowed"), "{error}");
        let several = PatternConfig {
            multi_line: true,
            ..PatternConfig::new(["a\nb"])
        };
        assert_eq!(several.validate(), Ok(()));
    }

    #[test]
    fn plain_text_needs_no_escapes() {
        let config = PatternConfig {
            fixed_strings: true,
            ..PatternConfig::new(["("])
        };
        assert_eq!(config.validate(), Ok(()));
    }
}
