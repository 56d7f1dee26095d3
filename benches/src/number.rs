//! Figures as text, with few digits.

/// Three significant digits.
pub(crate) fn short(value: f64) -> String {
    let digits = match value.abs() {
        v if !v.is_finite() => return "–".to_owned(),
        v if v == 0.0 || v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        v if v >= 0.0995 => 2,
        _ => 5,
    };
    let text = format!("{value:.digits$}");
    match text.split_once('.') {
        None if text.len() > 4 => grouped(&text),
        _ => text,
    }
}

fn grouped(digits: &str) -> String {
    let first = digits.len() % 3;
    let (head, tail) = digits.split_at(first);
    let groups: Vec<&str> = std::iter::once(head)
        .filter(|head| !head.is_empty())
        .chain((0..tail.len()).step_by(3).map(|at| &tail[at..at + 3]))
        .collect();
    groups.join(",")
}
