//! What a swarm prints at its end: a table of names and numbers, and a line that says how it went.

/// The lines that go into the table of `cargo xtask ci`.
#[derive(Debug, Default)]
pub(crate) struct SwarmReport {
    counted: Vec<(String, String)>,
    last: String,
}

/// The rows of the swarm's table that are worth a place in ours.
const ROWS: &[&str] = &["schedules", "micro-steps", "coverage marks hit / total"];

impl SwarmReport {
    /// Reads a line; of those that are no row of interest, the last one stays.
    pub(crate) fn read(&mut self, line: &str) {
        let line = line.trim();
        let row = line
            .rsplit_once("  ")
            .map(|(name, value)| (name.trim(), value.trim()));
        match row.filter(|(name, _)| ROWS.contains(name)) {
            Some((name, value)) => self.counted.push((name.to_owned(), value.replace(' ', ""))),
            None if !line.is_empty() => line.clone_into(&mut self.last),
            None => {}
        }
    }

    /// One line: how it went, and how much of it there was.
    pub(crate) fn summary(&self) -> String {
        let counted = self
            .counted
            .iter()
            .map(|(name, value)| format!("; {value} {name}"));
        std::iter::once(self.last.clone()).chain(counted).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_it_went_and_how_much_of_it_there_was() {
        let mut report = SwarmReport::default();
        for line in [
            "  seeds                                      2000",
            "  schedules                                  4000",
            "  schedules / s                             18000",
            "  micro-steps                              170000",
            "  coverage marks hit / total              20 / 21",
            "swarm ok: 2000 seeds, no failure",
            "",
        ] {
            report.read(line);
        }
        assert_eq!(
            report.summary(),
            "swarm ok: 2000 seeds, no failure; 4000 schedules; 170000 micro-steps; 20/21 coverage marks hit / total"
        );
    }
}
