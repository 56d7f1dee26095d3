//! A worker with work of its own still polls the injector.

use executor_core::ExecutorConfig;

use super::{Oracle, Violation};

/// Tasks that each worker took from its own queue since its last poll of the injector.
#[derive(Debug, Default)]
pub struct FairnessOracle {
    bypassed: Vec<u32>,
    interval: u32,
}

impl FairnessOracle {
    pub(crate) fn begin(&mut self, config: &ExecutorConfig) {
        self.interval = config.tuning.fairness_interval;
        self.bypassed = vec![0; config.workers];
    }

    /// Ends the row of bypasses of `worker`.
    pub fn looked_at_injector(&mut self, worker: usize) {
        self.bypassed[worker] = 0;
    }

    /// Fails if `worker` bypassed the injector for too long.
    pub fn took_own(&mut self, worker: usize) -> Result<(), Violation> {
        let bypassed = &mut self.bypassed[worker];
        *bypassed += 1;
        if *bypassed > self.interval {
            return Err(Violation::new(
                Oracle::InjectorBypass,
                format!(
                    "worker {worker} ran {bypassed} tasks of its own without a look at the injector; the interval is {}",
                    self.interval
                ),
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_that_forgets_the_injector_is_noticed() {
        let mut oracle = FairnessOracle::default();
        oracle.begin(&ExecutorConfig::default().tune(|tuning| tuning.fairness_interval = 2));
        assert_eq!([oracle.took_own(0), oracle.took_own(0)], [Ok(()), Ok(())]);
        oracle.looked_at_injector(0);
        assert_eq!([oracle.took_own(0), oracle.took_own(0)], [Ok(()), Ok(())]);
        assert!(oracle.took_own(0).is_err());
    }
}
