//! Writes the generated part of the README, and the plots beside it. What people wrote stays as it is.

use std::fs;
use std::io;
use std::path::Path;

use benches::generated;

use super::{Report, machine, markdown, plot};

/// As the marks of the page have it.
const COMMAND: &str = "cargo xtask bench";
const PLOTS: &str = "plots";

/// Replaces the generated part of the README in `folder`, and all plots.
///
/// # Errors
///
/// When a file cannot be read or written, or when the README has no place for it.
pub(crate) fn write(folder: &Path, reports: &[Report], command: &str) -> io::Result<()> {
    let plots = folder.join(PLOTS);
    if plots.exists() {
        fs::remove_dir_all(&plots)?;
    }
    fs::create_dir(&plots)?;

    let mut text = format!("{}\n\n{}", machine::sentences(command)?, summary(reports));
    for (index, report) in reports.iter().enumerate() {
        let family = report.family.as_ref().map(|family| family.name);
        let siblings = || reports.iter().filter(move |one| family_name(one) == family);
        // A family's plot stands under its last table.
        let is_last = reports[index + 1..]
            .iter()
            .all(|later| family_name(later) != family);
        let plot = match family {
            None => plot::percentiles(report)
                .or_else(|| plot::bars(report))
                .map(|drawn| (report.name.as_str(), drawn)),
            Some(name) if is_last => Some((name, plot::lines(&siblings().collect::<Vec<_>>()))),
            Some(_) => None,
        };
        let mut path = None;
        if let Some((name, drawn)) = plot {
            let file = format!("{}.svg", name.replace(' ', "-").replace(',', ""));
            fs::write(plots.join(&file), drawn.map_err(io::Error::other)?)?;
            path = Some(format!("{PLOTS}/{file}"));
        }
        text.push('\n');
        text.push_str(&markdown::section(report, path.as_deref()));
    }

    generated::write(&folder.join("README.md"), COMMAND, &text)
}

fn family_name(report: &Report) -> Option<&'static str> {
    report.family.as_ref().map(|family| family.name)
}

/// How many aims were met, and which were not.
fn summary(reports: &[Report]) -> String {
    let verdicts = || {
        reports
            .iter()
            .flat_map(|report| report.verdicts.iter().map(move |verdict| (report, verdict)))
    };
    let aims = verdicts().filter(|(_, verdict)| verdict.met.is_some()).count();
    let met = verdicts()
        .filter(|(_, verdict)| verdict.met == Some(true))
        .count();
    let mut text = format!("{met} of {aims} aims are met.");
    if met < aims {
        text.push_str(" These are not:\n\n");
        for (report, verdict) in verdicts().filter(|(_, verdict)| verdict.met == Some(false)) {
            text.push_str(&format!("- {}: {}\n", report.name, verdict.text));
        }
    } else {
        text.push('\n');
    }
    text
}
