//! The savepoints of a transaction.
//!
//! Nothing is written, so going back to one only ends what the transaction has opened since, and
//! its failure.

use crate::wire::SqlError;

/// Number of savepoints that a transaction keeps.
const KEPT_MAX: usize = 10_000;

/// Names, the oldest first. A name may stand there twice; the last one counts.
#[derive(Debug, Default)]
pub(crate) struct Savepoints(Vec<String>);

impl Savepoints {
    /// Number of savepoints: what is opened now ends when a transaction goes back to any of them.
    pub(crate) fn depth(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn set(&mut self, name: String) -> Result<(), SqlError> {
        if self.depth() >= KEPT_MAX {
            let what = format!("a transaction keeps at most {KEPT_MAX} savepoints");
            return Err(SqlError::new("53400", what));
        }
        self.0.push(name);
        Ok(())
    }

    /// Goes back to a savepoint, which stays. Returns the depth that it was set in.
    pub(crate) fn back_to(&mut self, name: &str) -> Result<usize, SqlError> {
        let at = self.find(name)?;
        self.0.truncate(at + 1);
        Ok(at)
    }

    /// Forgets a savepoint and those after it. Returns the depth that it was set in.
    pub(crate) fn release(&mut self, name: &str) -> Result<usize, SqlError> {
        let at = self.find(name)?;
        self.0.truncate(at);
        Ok(at)
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    fn find(&self, name: &str) -> Result<usize, SqlError> {
        let found = self.0.iter().rposition(|savepoint| savepoint == name);
        found.ok_or_else(|| SqlError::new("3B001", format!("savepoint \"{name}\" does not exist")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_savepoint_of_a_name_counts() {
        let mut savepoints = Savepoints::default();
        for name in ["a", "b", "a"] {
            savepoints.set(name.to_owned()).unwrap();
        }
        assert_eq!(savepoints.back_to("a"), Ok(2));
        assert_eq!(savepoints.release("a"), Ok(2));
        assert_eq!(savepoints.back_to("a"), Ok(0));
        assert_eq!(savepoints.depth(), 1);
        assert_eq!(savepoints.release("b").unwrap_err().code, "3B001");
    }
}
