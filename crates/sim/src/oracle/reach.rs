//! A worker that finds no work has looked everywhere.
//!
//! A *searcher* that goes on to spin or sleep has looked into every other worker's queue since its
//! last search. A worker that *parks* has looked there and at the injector since it registered as a
//! sleeper, or since its last park timed out. A contended look does not count.

use executor_core::ExecutorConfig;

use super::{Oracle, Violation};

#[derive(Debug, Default)]
pub(crate) struct ReachOracle {
    workers: Vec<Looks>,
}

#[derive(Clone, Debug)]
struct Looks {
    round: u32,
    at: Vec<u32>,
    others: usize,
    injector: bool,
    registered: bool,
    parked: bool,
}

impl ReachOracle {
    pub(crate) fn begin(&mut self, config: &ExecutorConfig) {
        let looks = Looks {
            round: 1,
            at: vec![0; config.workers],
            others: 0,
            injector: false,
            registered: false,
            parked: false,
        };
        self.workers = vec![looks; config.workers];
    }

    pub(crate) fn looked_at(&mut self, worker: usize, victim: usize) {
        let looks = &mut self.workers[worker];
        if looks.at[victim] != looks.round && victim != worker {
            looks.at[victim] = looks.round;
            looks.others += 1;
        }
    }

    pub(crate) fn looked_at_injector(&mut self, worker: usize) {
        self.workers[worker].injector = true;
    }

    pub(crate) fn registers(&mut self, worker: usize) {
        self.workers[worker].anew(true);
    }

    pub(crate) fn has_work(&mut self, worker: usize) {
        self.workers[worker].anew(false);
    }

    pub(crate) fn timed_out(&mut self, worker: usize) {
        self.workers[worker].anew(true);
    }

    pub(crate) fn is_any_sleepy(&self) -> bool {
        self.workers.iter().any(|looks| looks.registered && !looks.parked)
    }

    pub(crate) fn parks(&mut self, worker: usize) -> Result<(), Violation> {
        let looks = &mut self.workers[worker];
        looks.parked = true;
        let missing = looks.missing();
        if looks.registered && (missing > 0 || !looks.injector) {
            let injector = if looks.injector {
                ""
            } else {
                " and not at the injector"
            };
            return Err(Violation::new(
                Oracle::Reach,
                format!(
                    "worker {worker} parks; since it registered it has not looked at {missing} of the others{injector}"
                ),
            ));
        }
        Ok(())
    }

    pub(crate) fn in_vain(&mut self, worker: usize, searching: bool) -> Result<(), Violation> {
        let looks = &mut self.workers[worker];
        let missing = looks.missing();
        looks.anew(false);
        if searching && missing > 0 {
            return Err(Violation::new(
                Oracle::Reach,
                format!(
                    "worker {worker} has searched in vain, and has not looked at {missing} of the others"
                ),
            ));
        }
        Ok(())
    }
}

impl Looks {
    fn anew(&mut self, registered: bool) {
        self.round += 1;
        self.others = 0;
        self.injector = false;
        self.registered = registered;
        self.parked = false;
    }

    fn missing(&self) -> usize {
        self.at.len() - 1 - self.others
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oracle() -> ReachOracle {
        let mut oracle = ReachOracle::default();
        oracle.begin(&ExecutorConfig::new(3));
        oracle
    }

    #[test]
    fn a_search_that_leaves_a_victim_out_is_noticed() {
        let mut oracle = oracle();
        oracle.looked_at(1, 0);
        oracle.looked_at(1, 2);
        assert_eq!(oracle.in_vain(1, true), Ok(()));
        oracle.looked_at(1, 2);
        oracle.looked_at(1, 2);
        let violation = oracle.in_vain(1, true).expect_err("worker 0 was left out");
        assert_eq!(violation.oracle, Oracle::Reach);
        assert_eq!(oracle.in_vain(1, false), Ok(()), "it may not search");
    }

    #[test]
    fn a_worker_that_parks_without_a_look_everywhere_is_noticed() {
        let mut oracle = oracle();
        oracle.looked_at(0, 1);
        oracle.looked_at(0, 2);
        oracle.looked_at_injector(0);
        oracle.registers(0);
        assert!(oracle.parks(0).is_err(), "all that was before it registered");
        oracle.looked_at(0, 1);
        oracle.looked_at(0, 2);
        assert!(oracle.parks(0).is_err(), "not at the injector");
        oracle.looked_at_injector(0);
        assert_eq!(oracle.parks(0), Ok(()));
        assert_eq!(oracle.parks(0), Ok(()), "a park may end for no reason");
        oracle.timed_out(0);
        assert!(oracle.parks(0).is_err());
    }
}
