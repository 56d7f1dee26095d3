//! The configurations that are closed exhaustively.

use super::Search;
use crate::scenario::Scenario;

/// A configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// Its name.
    pub name: &'static str,
    /// What is run, as in a replay line.
    pub scenario: &'static str,
    /// So many preemptions at most; `None` for any number.
    pub preemptions: Option<u32>,
    /// Whether CI closes it.
    pub in_ci: bool,
}

impl Configuration {
    /// All of them.
    pub const ALL: &[Self] = &[Self {
        name: "x",
        scenario: "scenario=flat,spin=0",
        preemptions: None,
        in_ci: true,
    }];

    /// The search that closes it.
    ///
    /// # Panics
    ///
    /// Never: a test reads all of them.
    #[must_use]
    pub fn search(&self) -> Search {
        let fields = self.scenario.parse().expect("the fields are well formed");
        let scenario = Scenario::from_fields(fields).expect("it is a scenario");
        let mut search = Search::new(scenario).expect("it can be searched");
        search.preemptions = self.preemptions;
        search
    }
}
