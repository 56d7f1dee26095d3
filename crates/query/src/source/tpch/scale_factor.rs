//! The checked TPC-H scale factor.

use std::fmt;
use std::str::FromStr;

/// TPC-H data size: at 1, `lineitem` has 6,001,215 rows.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct ScaleFactor(f64);

impl ScaleFactor {
    /// The smallest factor: 15 customers. With fewer, no customer orders.
    pub const MIN: f64 = 0.0001;
    /// The largest factor: 600 million line items, up to 10 GB per column.
    pub const MAX: f64 = 100.0;

    /// Checks the range.
    ///
    /// # Errors
    ///
    /// `factor` is outside [`MIN`](Self::MIN)`..=`[`MAX`](Self::MAX).
    pub fn new(factor: f64) -> Result<Self, ScaleFactorError> {
        if (Self::MIN..=Self::MAX).contains(&factor) {
            Ok(Self(factor))
        } else {
            Err(ScaleFactorError(factor.to_string()))
        }
    }

    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl FromStr for ScaleFactor {
    type Err = ScaleFactorError;

    fn from_str(text: &str) -> Result<Self, ScaleFactorError> {
        text.trim()
            .parse()
            .map_err(|_| ScaleFactorError(text.to_owned()))
            .and_then(Self::new)
    }
}

/// An invalid scale factor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScaleFactorError(String);

impl fmt::Display for ScaleFactorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a TPC-H scale factor is a number from {} to {} (1 is about 6 million line items), not `{}`",
            ScaleFactor::MIN,
            ScaleFactor::MAX,
            self.0
        )
    }
}

impl std::error::Error for ScaleFactorError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sensible_numbers_are_scale_factors() {
        assert_eq!("0.1".parse(), Ok(ScaleFactor(0.1)));
        for text in ["0", "-1", "NaN", "inf", "1e9", "many", ""] {
            let error = text.parse::<ScaleFactor>().expect_err(text);
            assert!(error.to_string().contains("from 0.0001 to 100"), "{error}");
        }
    }
}
