//! On what and when something was measured.

use chrono::Utc;

/// Today's date, as `2026-11-21`.
#[must_use]
pub fn date() -> String {
    Utc::now().format("%Y-%m-%d").to_string()
}

/// The processor's name, where the system tells it.
#[must_use]
pub fn processor() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let value = |key: &str| {
        let line = info.lines().find(|line| line.starts_with(key))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    match (value("model name"), value("cpu family"), value("model\t")) {
        (Some(name), Some(family), Some(model)) => format!("{name} (family {family}, model {model})"),
        (Some(name), ..) => name,
        _ => "a processor that the system does not name".to_owned(),
    }
}
