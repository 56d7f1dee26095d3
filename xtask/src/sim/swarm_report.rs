//! A swarm's closing output: a table of names and numbers, and a line with the result.

#[derive(Debug, Default)]
pub(crate) struct SwarmReport {
    counted: Vec<(String, String)>,
    last: String,
}

const ROWS: &[&str] = &["schedules", "steps", "coverage points hit / total"];

impl SwarmReport {
    /// Keeps the table's rows, and the last of all other lines.
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
            "  steps                              170000",
            "  coverage points hit / total              20 / 21",
            "swarm ok: 2000 seeds, no failure",
            "",
        ] {
            report.read(line);
        }
        assert_eq!(
            report.summary(),
            "swarm ok: 2000 seeds, no failure; 4000 schedules; 170000 steps; 20/21 coverage points hit / total"
        );
    }
}
