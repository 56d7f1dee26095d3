//! Sizes and times as people write them in settings and options: `1.5GiB`, `30s`.

use std::time::Duration;

/// The largest whole number up to which all are floats.
const EXACT_MAX: f64 = (1_u64 << 53) as f64;

/// Reads a number of bytes from 1, with or without a unit: `4096`, `64MiB`, `1.5 GB`, `2g`. Units
/// of one letter are those of 1024. Returns `None` for anything else.
///
/// ```
/// use windlass_datafusion::amount;
///
/// assert_eq!(amount::size("64MiB"), Some(64 << 20));
/// assert_eq!(amount::size("1.5 GB"), Some(1_500_000_000));
/// assert_eq!(amount::size("lots"), None);
/// ```
#[must_use]
pub fn size(text: &str) -> Option<usize> {
    let (number, unit) = number_and_unit(text)?;
    let factor: u64 = match unit.as_str() {
        "" | "b" => 1,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        "kib" | "k" => 1 << 10,
        "mib" | "m" => 1 << 20,
        "gib" | "g" => 1 << 30,
        "tib" | "t" => 1 << 40,
        _ => return None,
    };
    let bytes = number * factor as f64;
    (1.0..=EXACT_MAX).contains(&bytes).then_some(bytes as usize)
}

/// Reads a time with its unit, 0 as well: `250ms`, `1.5 s`, `2m`. Returns `None` for anything else.
///
/// ```
/// use std::time::Duration;
/// use windlass_datafusion::amount;
///
/// assert_eq!(amount::time("250ms"), Some(Duration::from_millis(250)));
/// assert_eq!(amount::time("2 min"), Some(Duration::from_secs(120)));
/// assert_eq!(amount::time("30"), None);
/// ```
#[must_use]
pub fn time(text: &str) -> Option<Duration> {
    let (number, unit) = number_and_unit(text)?;
    let seconds = match unit.as_str() {
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3_600.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(number * seconds).ok()
}

/// The unit is in lower case.
fn number_and_unit(text: &str) -> Option<(f64, String)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_');
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let number: f64 = number.replace('_', "").parse().ok()?;
    Some((number, unit.trim().to_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units_of_1024_and_of_1000() {
        for (text, bytes) in [
            ("4096", 4_096),
            ("1_000", 1_000),
            ("1B", 1),
            ("64MiB", 64 << 20),
            (" 3 gib ", 3 << 30),
            ("2g", 2 << 30),
            ("1.5kb", 1_500),
            ("1TB", 1_000_000_000_000),
        ] {
            assert_eq!(size(text), Some(bytes), "{text}");
        }
        for text in ["", "MiB", "0", "0.5", "-1", "1e3", "64 apples", "99999999TiB"] {
            assert_eq!(size(text), None, "{text}");
        }
    }

    #[test]
    fn times_need_a_unit() {
        for (text, millis) in [
            ("250ms", 250),
            ("250 MS", 250),
            ("1.5s", 1_500),
            ("2m", 120_000),
            ("2min", 120_000),
            ("1h", 3_600_000),
            ("0s", 0),
        ] {
            assert_eq!(time(text), Some(Duration::from_millis(millis)), "{text}");
        }
        assert_eq!(time("5us"), time("5µs"));
        for text in ["", "30", "s", "-1s", "soon", "1d", "1e300h"] {
            assert_eq!(time(text), None, "{text}");
        }
    }
}
