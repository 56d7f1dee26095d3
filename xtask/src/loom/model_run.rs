//! The line of a loom model that has run every execution within its bound.

/// `loom-model name=<name> bound=<none|N> executions=<N> seconds=<S>`
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ModelRun {
    pub(crate) name: String,
    pub(crate) bound: String,
    pub(crate) executions: u64,
    pub(crate) seconds: f64,
}

impl ModelRun {
    /// The test runner may have printed the test's name before it on the line.
    pub(crate) fn parse(line: &str) -> Option<ModelRun> {
        let (_, fields) = line.split_once("loom-model ")?;
        let field = |key: &str| {
            fields
                .split_whitespace()
                .find_map(|field| field.strip_prefix(key)?.strip_prefix('='))
                .map(str::to_owned)
        };
        Some(ModelRun {
            name: field("name")?,
            bound: field("bound")?,
            executions: field("executions")?.parse().ok()?,
            seconds: field("seconds")?.parse().ok()?,
        })
    }

    pub(crate) fn row(&self) -> [String; 4] {
        [
            self.name.clone(),
            self.bound.clone(),
            self.executions.to_string(),
            format!("{:.2}", self.seconds),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_read_also_behind_the_name_of_its_test() {
        let run =
            ModelRun::parse("test a::push ... loom-model name=push bound=3 executions=120 seconds=0.25")
                .unwrap();
        assert_eq!(run.row(), ["push", "3", "120", "0.25"]);
        assert_eq!(
            ModelRun::parse("loom-model name=a bound=none executions=1 seconds=0")
                .unwrap()
                .bound,
            "none"
        );
    }

    #[test]
    fn other_lines_and_broken_ones_are_not_runs() {
        assert_eq!(ModelRun::parse("test result: ok."), None);
        assert_eq!(
            ModelRun::parse("loom-model name=a bound=none executions=many seconds=0"),
            None
        );
    }
}
