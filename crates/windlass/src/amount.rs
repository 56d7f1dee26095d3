//! Sizes and times as people write them: `256MiB`, `30s`.
//!
//! Whole numbers alone, so that none is rounded. The server's options and settings take fractions,
//! and read them in `windlass-datafusion`, which this program does not have below it.

use std::num::NonZeroUsize;
use std::time::Duration;

/// Units in lower case, and their bytes.
const SIZES: [(&str, u64); 8] = [
    ("", 1),
    ("b", 1),
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
];

/// Units of `rg --max-filesize`, besides [`SIZES`].
const SHORT_SIZES: [(&str, u64); 3] = [("k", 1 << 10), ("m", 1 << 20), ("g", 1 << 30)];

/// Units in lower case, and their milliseconds.
const TIMES: [(&str, u64); 4] = [("ms", 1), ("s", 1_000), ("min", 60_000), ("h", 3_600_000)];

/// Returns bytes, at least 1.
pub(crate) fn size(text: &str) -> Result<usize, String> {
    let wrong = "a size is a whole number of B, KiB, MiB or GiB, for example 256MiB";
    let bytes = amount(text, &SIZES, wrong)?.and_then(|bytes| usize::try_from(bytes).ok());
    match bytes {
        None => Err("the size is larger than any machine's memory".to_owned()),
        Some(0) => Err("a query needs some memory".to_owned()),
        Some(bytes) => Ok(bytes),
    }
}

/// Returns bytes of a file; a single letter is a unit of 1,024.
pub(crate) fn file_size(text: &str) -> Result<u64, String> {
    let wrong = "a size is a whole number of K, M or G, for example 10M";
    let units: Vec<_> = SIZES.into_iter().chain(SHORT_SIZES).collect();
    amount(text, &units, wrong)?.ok_or_else(|| "the size is larger than 2^64 bytes".to_owned())
}

pub(crate) fn threads(text: &str) -> Result<NonZeroUsize, String> {
    match text.parse::<usize>().map(NonZeroUsize::new) {
        Ok(Some(threads)) => Ok(threads),
        Ok(None) => Err("at least one thread has to work".to_owned()),
        Err(_) => Err("the number of threads is a whole number, at least 1".to_owned()),
    }
}

/// Returns at least a millisecond.
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    let wrong = "a time is a whole number of ms, s, min or h, for example 30s";
    match amount(text, &TIMES, wrong)? {
        None => Err("the time is larger than 2^64 ms".to_owned()),
        Some(0) => Err("a query needs some time".to_owned()),
        Some(milliseconds) => Ok(Duration::from_millis(milliseconds)),
    }
}

/// Counts in the smallest of `units`; `None` if it does not fit, `wrong` if it is no number.
fn amount(text: &str, units: &[(&str, u64)], wrong: &str) -> Result<Option<u64>, String> {
    let (number, unit) = split(text);
    let (_, factor) = units.iter().find(|(name, _)| *name == unit).ok_or(wrong)?;
    let number: u64 = number.parse().map_err(|_| wrong)?;
    Ok(number.checked_mul(*factor))
}

fn split(text: &str) -> (&str, String) {
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    (number, unit.trim_start().to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units_of_1024_and_of_1000() {
        assert_eq!(size("4096"), Ok(4_096));
        assert_eq!(size("1B"), Ok(1));
        assert_eq!(size("256MiB"), Ok(256 << 20));
        assert_eq!(size(" 3 gib "), Ok(3 << 30));
        assert_eq!(size("2kB"), Ok(2_000));
        for wrong in [
            "",
            "MiB",
            "-1",
            "1.5GiB",
            "1 M",
            "1e3",
            "many",
            "99999999999999999999",
        ] {
            assert!(
                size(wrong).is_err_and(|text| text.contains("for example 256MiB")),
                "{wrong}"
            );
        }
        assert!(size("0KiB").is_err_and(|text| text.contains("some memory")));
        assert!(size("18446744073709551615KiB").is_err_and(|text| text.contains("any machine")));
    }

    #[test]
    fn sizes_of_files_may_be_short() {
        assert_eq!(file_size("0"), Ok(0));
        assert_eq!(file_size("10k"), Ok(10 << 10));
        assert_eq!(file_size("5M"), Ok(5 << 20));
        assert_eq!(file_size("1G"), Ok(1 << 30));
        assert_eq!(file_size("256MiB"), Ok(256 << 20));
        for wrong in ["", "M", "-1", "1.5G", "2 X"] {
            assert!(
                file_size(wrong).is_err_and(|text| text.contains("for example 10M")),
                "{wrong}"
            );
        }
        assert!(file_size("99999999999G").is_err_and(|text| text.contains("larger than")));
    }

    #[test]
    fn at_least_one_thread_works() {
        assert_eq!(threads("3").map(NonZeroUsize::get), Ok(3));
        assert!(threads("0").is_err_and(|text| text.contains("at least one thread")));
        assert!(threads("-1").is_err_and(|text| text.contains("whole number")));
    }

    #[test]
    fn times_need_a_unit() {
        assert_eq!(time("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(time("30 s"), Ok(Duration::from_secs(30)));
        assert_eq!(time("2min"), Ok(Duration::from_secs(120)));
        assert_eq!(time("1H"), Ok(Duration::from_secs(3_600)));
        for wrong in ["", "30", "s", "-1s", "0.5s", "1d", "soon"] {
            assert!(
                time(wrong).is_err_and(|text| text.contains("for example 30s")),
                "{wrong}"
            );
        }
        assert!(time("0s").is_err_and(|text| text.contains("some time")));
        assert!(time("18446744073709551615h").is_err_and(|text| text.contains("larger than")));
    }
}
