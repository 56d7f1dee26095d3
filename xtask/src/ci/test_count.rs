//! Sum of the closing lines of all test binaries.

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TestCount {
    passed: u64,
    failed: u64,
    ignored: u64,
    binaries: u64,
    /// Tests that the runner called slow and that have not ended.
    slow: Vec<String>,
    /// False also if a binary did not build or crashed.
    pub(crate) succeeded: bool,
}

impl TestCount {
    pub(crate) fn none() -> TestCount {
        TestCount {
            succeeded: true,
            ..TestCount::default()
        }
    }

    pub(crate) fn add(&mut self, other: TestCount) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
        self.binaries += other.binaries;
        self.slow.extend(other.slow);
        self.succeeded &= other.succeeded;
    }

    /// Reads a line such as `test result: ok. 3 passed; 0 failed; 1 ignored; ...`.
    pub(crate) fn read(&mut self, line: &str) {
        let Some((_, counts)) = line.split_once("test result: ") else {
            self.read_test(line);
            return;
        };
        self.binaries += 1;
        for part in counts.split(['.', ';']) {
            let mut words = part.split_whitespace();
            if let (Some(number), Some(what)) = (words.next(), words.next()) {
                let number = number.parse().unwrap_or(0);
                match what {
                    "passed" => self.passed += number,
                    "failed" => self.failed += number,
                    "ignored" => self.ignored += number,
                    _ => {}
                }
            }
        }
    }

    /// Reads `test <name> has been running for over 60 seconds` and `test <name> ... ok`.
    fn read_test(&mut self, line: &str) {
        let Some(test) = line.strip_prefix("test ") else {
            return;
        };
        if let Some((name, _)) = test.split_once(" has been running for over ") {
            self.slow.push(name.to_owned());
        } else if let Some((name, _)) = test.split_once(" ... ") {
            self.slow.retain(|slow| slow != name);
        }
    }

    /// Names the slow tests that had not ended when a run was stopped.
    pub(crate) fn unended(&self) -> String {
        if self.slow.is_empty() {
            String::new()
        } else {
            format!("; not ended: {}", self.slow.join(", "))
        }
    }

    pub(crate) fn summary(&self) -> String {
        format!(
            "{} tests in {} binaries, {} ignored",
            self.passed + self.failed,
            self.binaries,
            self.ignored
        )
    }

    pub(crate) fn closing_line(&self) -> String {
        let TestCount {
            passed,
            failed,
            ignored,
            ..
        } = self;
        let result = if self.succeeded { "ok" } else { "FAILED" };
        format!("test result: {result}. {passed} passed; {failed} failed; {ignored} ignored")
    }

    /// Alone on its line, for programs that search for it.
    pub(crate) fn total(&self) -> String {
        format!("{} passed, {} failed", self.passed, self.failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closing_lines_of_all_binaries_add_up() {
        let mut count = TestCount {
            succeeded: true,
            ..TestCount::default()
        };
        for line in [
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s",
            "test a ... ok",
            "test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured; 5 filtered out; finished in 0.01s",
        ] {
            count.read(line);
        }
        assert_eq!(count.total(), "7 passed, 2 failed");
        assert_eq!(count.summary(), "9 tests in 2 binaries, 1 ignored");
        assert_eq!(
            count.closing_line(),
            "test result: ok. 7 passed; 2 failed; 1 ignored"
        );
    }

    #[test]
    fn a_runner_that_never_got_to_its_tests_has_failed() {
        assert_eq!(
            TestCount::default().closing_line(),
            "test result: FAILED. 0 passed; 0 failed; 0 ignored"
        );
    }

    #[test]
    fn runners_add_up_and_one_that_failed_is_enough() {
        let mut all = TestCount::none();
        for succeeded in [true, false, true] {
            let mut one = TestCount {
                succeeded,
                ..TestCount::default()
            };
            one.read("test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured");
            all.add(one);
        }
        assert_eq!(
            all.closing_line(),
            "test result: FAILED. 9 passed; 0 failed; 3 ignored"
        );
    }

    #[test]
    fn a_slow_test_that_has_not_ended_is_named() {
        let mut count = TestCount::default();
        assert_eq!(count.unended(), "");
        for line in [
            "test a::spins has been running for over 60 seconds",
            "test b::is_slow has been running for over 60 seconds",
            "test b::is_slow ... ok",
        ] {
            count.read(line);
        }
        assert_eq!(count.unended(), "; not ended: a::spins");
    }
}
