//! The shape and the values of one field.
//!
//! [`Shape::of`] sees only characters; [`infer`](super::infer) derives the column's type. The
//! parsers are strict: `1,5`, `2024-02-30`, `+7`, `007` and `1e999` are text.

use chrono::{NaiveDate, NaiveDateTime, NaiveTime};

use super::record::Field;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Bare nothing or spaces.
    Empty,
    QuotedEmpty,
    /// Bare `NA`, `N/A`, `NULL`, `null` or `\N`.
    Missing,
    Boolean,
    /// Digits with an optional minus sign.
    Integer {
        digits: u32,
    },
    Decimal {
        /// Digits before the point.
        digits: u32,
        /// Digits after it.
        scale: u32,
    },
    /// A number with an exponent.
    Float,
    /// `NaN`, `inf`, `-inf` and other spellings: numbers among numbers, else words.
    NotFinite,
    /// `YYYY-MM-DD`.
    Date,
    Timestamp {
        /// It ends in `Z` or a UTC offset.
        zoned: bool,
    },
    Text,
}

impl Shape {
    pub(crate) fn of(field: &Field<'_>) -> Self {
        let bytes = field.raw.trim_ascii();
        let Some(&first) = bytes.first() else {
            return if field.quoted {
                Self::QuotedEmpty
            } else {
                Self::Empty
            };
        };
        if !field.quoted && is_missing(bytes) {
            return Self::Missing;
        }
        match first {
            b'0'..=b'9' if bytes.len() >= 10 && bytes[4] == b'-' => temporal(bytes),
            b'0'..=b'9' | b'-' | b'.' => number(bytes),
            _ if boolean(bytes).is_some() => Self::Boolean,
            _ if not_finite(bytes).is_some() => Self::NotFinite,
            _ => Self::Text,
        }
    }
}

pub(crate) fn is_missing(bytes: &[u8]) -> bool {
    matches!(bytes, b"NA" | b"N/A" | b"NULL" | b"null" | b"\\N")
}

/// `true` or `false`, in lower or upper case or capitalised.
pub(crate) fn boolean(bytes: &[u8]) -> Option<bool> {
    match bytes {
        b"true" | b"True" | b"TRUE" => Some(true),
        b"false" | b"False" | b"FALSE" => Some(false),
        _ => None,
    }
}

/// The value times 10^`scale`; `None` if it has more decimals, or does not fit.
pub(crate) fn decimal(bytes: &[u8], scale: u32) -> Option<i128> {
    let (negative, digits) = match bytes {
        [b'-', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let mut value: i128 = 0;
    let mut after_point: Option<u32> = None;
    for &byte in digits {
        match byte {
            b'0'..=b'9' => {
                value = value.checked_mul(10)?.checked_add(i128::from(byte - b'0'))?;
                if let Some(count) = &mut after_point {
                    *count += 1;
                }
            }
            b'.' if after_point.is_none() => after_point = Some(0),
            _ => return None,
        }
    }
    if digits.is_empty() || digits == b"." {
        return None;
    }
    let missing = scale.checked_sub(after_point.unwrap_or(0))?;
    let value = value.checked_mul(10i128.checked_pow(missing)?)?;
    Some(if negative { -value } else { value })
}

pub(crate) fn integer(bytes: &[u8]) -> Option<i64> {
    decimal(bytes, 0).and_then(|value| i64::try_from(value).ok())
}

/// The nearest double.
pub(crate) fn float(bytes: &[u8]) -> Option<f64> {
    not_finite(bytes).or_else(|| std::str::from_utf8(bytes).ok()?.parse().ok())
}

/// Days since 1970-01-01.
pub(crate) fn date(bytes: &[u8]) -> Option<i32> {
    let days = calendar_date(bytes)?
        .signed_duration_since(NaiveDate::default())
        .num_days();
    i32::try_from(days).ok()
}

/// Microseconds since 1970-01-01 00:00, in UTC if the value has an offset.
pub(crate) fn timestamp(bytes: &[u8]) -> Option<i64> {
    let date = calendar_date(bytes.get(..10)?)?;
    let Some(rest) = bytes.get(10..).filter(|rest| !rest.is_empty()) else {
        return Some(NaiveDateTime::from(date).and_utc().timestamp_micros());
    };
    let [b' ' | b'T', rest @ ..] = rest else {
        return None;
    };
    let (time, offset_seconds) = split_offset(rest)?;
    let local = date.and_time(time_of_day(time)?).and_utc().timestamp_micros();
    local.checked_sub(offset_seconds.unwrap_or(0) * 1_000_000)
}

/// Digits before the point that certainly fit a double.
const FLOAT_DIGITS_MAX: u32 = f64::MAX_10_EXP as u32;

fn number(bytes: &[u8]) -> Shape {
    let unsigned = bytes.strip_prefix(b"-").unwrap_or(bytes);
    let mut digits = 0u32;
    let mut scale: Option<u32> = None;
    for (at, &byte) in unsigned.iter().enumerate() {
        match (byte, scale) {
            (b'0'..=b'9', None) => digits += 1,
            (b'0'..=b'9', Some(count)) => scale = Some(count + 1),
            (b'.', None) => scale = Some(0),
            (b'e' | b'E', _) if digits + scale.unwrap_or(0) > 0 => {
                let exponent = &unsigned[at + 1..];
                let exponent = exponent
                    .strip_prefix(b"+")
                    .or(exponent.strip_prefix(b"-"))
                    .unwrap_or(exponent);
                let all_digits = !exponent.is_empty() && exponent.iter().all(u8::is_ascii_digit);
                let in_range = || float(bytes).is_some_and(f64::is_finite);
                return if all_digits && in_range() {
                    Shape::Float
                } else {
                    Shape::Text
                };
            }
            _ if not_finite(bytes).is_some() => return Shape::NotFinite,
            _ => return Shape::Text,
        }
    }
    // `007` is an identifier; a number would lose its zeros.
    if digits > 1 && unsigned[0] == b'0' {
        return Shape::Text;
    }
    match scale {
        _ if digits > FLOAT_DIGITS_MAX => Shape::Text,
        None if digits > 0 => Shape::Integer { digits },
        Some(scale) if digits + scale > 0 => Shape::Decimal { digits, scale },
        _ => Shape::Text,
    }
}

fn not_finite(bytes: &[u8]) -> Option<f64> {
    let (negative, word) = match bytes {
        [b'-', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let value = match word {
        b"NaN" | b"nan" if !negative => return Some(f64::NAN),
        b"inf" | b"Inf" | b"Infinity" => f64::INFINITY,
        _ => return None,
    };
    Some(if negative { -value } else { value })
}

fn temporal(bytes: &[u8]) -> Shape {
    if bytes.len() == 10 {
        return if date(bytes).is_some() {
            Shape::Date
        } else {
            Shape::Text
        };
    }
    if timestamp(bytes).is_none() {
        return Shape::Text;
    }
    let zoned = split_offset(&bytes[11..]).is_some_and(|(_, offset)| offset.is_some());
    Shape::Timestamp { zoned }
}

fn digits(bytes: &[u8]) -> Option<u32> {
    if bytes.is_empty() || !bytes.iter().all(u8::is_ascii_digit) {
        return None;
    }
    bytes.iter().try_fold(0u32, |value, byte| {
        value.checked_mul(10)?.checked_add(u32::from(byte - b'0'))
    })
}

fn calendar_date(bytes: &[u8]) -> Option<NaiveDate> {
    if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
        return None;
    }
    let year = digits(&bytes[..4])?;
    NaiveDate::from_ymd_opt(
        i32::try_from(year).ok()?,
        digits(&bytes[5..7])?,
        digits(&bytes[8..])?,
    )
}

/// `HH:MM`, `HH:MM:SS` or `HH:MM:SS.f` with one to six fraction digits.
fn time_of_day(bytes: &[u8]) -> Option<NaiveTime> {
    if bytes.len() < 5 || bytes[2] != b':' {
        return None;
    }
    let (hour, minute) = (digits(&bytes[..2])?, digits(&bytes[3..5])?);
    let (second, micros) = match &bytes[5..] {
        [] => (0, 0),
        [b':', seconds @ ..] if seconds.len() >= 2 => {
            let micros = match &seconds[2..] {
                [] => 0,
                [b'.', fraction @ ..] if fraction.len() <= 6 => {
                    digits(fraction)? * 10u32.pow(6 - fraction.len() as u32)
                }
                _ => return None,
            };
            (digits(&seconds[..2])?, micros)
        }
        _ => return None,
    };
    NaiveTime::from_hms_micro_opt(hour, minute, second, micros)
}

/// Splits `Z`, `+HH:MM`, `+HHMM` or `+HH` off a time, as seconds east of UTC.
fn split_offset(bytes: &[u8]) -> Option<(&[u8], Option<i64>)> {
    if let Some(time) = bytes.strip_suffix(b"Z") {
        return Some((time, Some(0)));
    }
    let Some(at) = bytes.iter().rposition(|byte| matches!(byte, b'+' | b'-')) else {
        return Some((bytes, None));
    };
    let (hours, minutes) = match &bytes[at + 1..] {
        [h1, h2] => ([*h1, *h2], [b'0', b'0']),
        [h1, h2, m1, m2] | [h1, h2, b':', m1, m2] => ([*h1, *h2], [*m1, *m2]),
        _ => return None,
    };
    let (hours, minutes) = (digits(&hours)?, digits(&minutes)?);
    if hours > 18 || minutes > 59 {
        return None;
    }
    let seconds = i64::from(hours) * 3600 + i64::from(minutes) * 60;
    Some((
        &bytes[..at],
        Some(if bytes[at] == b'-' { -seconds } else { seconds }),
    ))
}

#[cfg(test)]
mod tests {
    use super::super::record::RecordReader;
    use super::*;

    fn shape(text: &str) -> Shape {
        let mut fields = Vec::new();
        RecordReader::new(text.as_bytes(), b',', usize::MAX)
            .next_record(&mut fields)
            .expect("well formed");
        Shape::of(&fields[0])
    }

    #[test]
    fn numbers_have_the_shape_that_keeps_every_digit() {
        assert_eq!(shape("0"), Shape::Integer { digits: 1 });
        assert_eq!(shape(" -123 "), Shape::Integer { digits: 3 });
        assert_eq!(shape("12.50"), Shape::Decimal { digits: 2, scale: 2 });
        assert_eq!(shape("0.5"), Shape::Decimal { digits: 1, scale: 1 });
        assert_eq!(shape("-.5"), Shape::Decimal { digits: 0, scale: 1 });
        assert_eq!(shape("5."), Shape::Decimal { digits: 1, scale: 0 });
        assert_eq!(shape("1e-3"), Shape::Float);
        assert_eq!(shape("-inf"), Shape::NotFinite);
        for text in [
            "007", "+7", "1 000", "1.2.3", "-", ".", "1e", "e5", "12-05", "0x10", "00.5", "1e309",
        ] {
            assert_eq!(shape(text), Shape::Text, "{text}");
        }
    }

    #[test]
    fn missing_values_are_bare_words() {
        for text in ["NA", "N/A", "NULL", "null", "\\N", " NA "] {
            assert_eq!(shape(text), Shape::Missing, "{text}");
        }
        assert_eq!(shape("\"NA\""), Shape::Text);
        assert_eq!(shape("  "), Shape::Empty);
        assert_eq!(shape("\"\""), Shape::QuotedEmpty);
    }

    #[test]
    fn dates_and_timestamps_exist_in_the_calendar() {
        assert_eq!(shape("2024-02-29"), Shape::Date);
        assert_eq!(shape("2024-02-29 12:30"), Shape::Timestamp { zoned: false });
        assert_eq!(shape("2024-02-29T12:30:01.5Z"), Shape::Timestamp { zoned: true });
        assert_eq!(
            shape("2024-02-29T12:30:01+01:00"),
            Shape::Timestamp { zoned: true }
        );
        for text in [
            "2023-02-29",
            "2024-13-01",
            "2024-01-01 25:00",
            "2024-01-01x",
            "2024-01-01 12:00:00.1234567",
        ] {
            assert_eq!(shape(text), Shape::Text, "{text}");
        }
    }

    #[test]
    fn values_are_read_exactly() {
        assert_eq!(decimal(b"-17954.5", 2), Some(-1_795_450));
        assert_eq!(decimal(b"1.234", 2), None);
        assert_eq!(integer(b"9223372036854775807"), Some(i64::MAX));
        assert_eq!(integer(b"9223372036854775808"), None);
        assert_eq!(integer(b"-9223372036854775808"), Some(i64::MIN));
        assert_eq!(date(b"1970-01-02"), Some(1));
        assert_eq!(date(b"1969-12-31"), Some(-1));
        assert_eq!(timestamp(b"1970-01-01 00:00:01.25"), Some(1_250_000));
        assert_eq!(timestamp(b"1970-01-01T01:00:00+01:00"), Some(0));
        assert_eq!(timestamp(b"1970-01-02"), Some(86_400_000_000));
        assert_eq!(float(b"1e3"), Some(1000.0));
    }
}
