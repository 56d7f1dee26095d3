//! The number of workers for this machine.

use std::env;
use std::ffi::OsStr;
use std::fmt;

use executor_core::ExecutorConfig;
use executor_core::sleep::WORKERS_MAX;

/// The environment variable that overrides the number of workers.
pub const WORKERS_VARIABLE: &str = "WINDLASS_WORKERS";

/// A default configuration with a worker for each core that this process may use by its affinity
/// mask and its container's share, or with `WINDLASS_WORKERS` of them.
///
/// ```
/// let config = executor_threaded::for_host()?;
/// assert!(config.workers >= 1);
/// # Ok::<(), executor_threaded::HostError>(())
/// ```
///
/// # Errors
///
/// If `WINDLASS_WORKERS` is set to anything but a number of workers.
pub fn for_host() -> Result<ExecutorConfig, HostError> {
    let workers = workers(env::var_os(WORKERS_VARIABLE).as_deref(), num_cpus::get())?;
    Ok(ExecutorConfig::new(workers))
}

/// An environment variable does not hold a number of workers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostError {
    /// Name of the variable.
    pub variable: &'static str,
    /// Its value, with replacement characters for bytes that are not text.
    pub value: String,
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { variable, value } = self;
        write!(
            f,
            "the environment variable {variable} is {value:?}, but must be a number of workers from 1 to {WORKERS_MAX}"
        )
    }
}

impl std::error::Error for HostError {}

fn workers(variable: Option<&OsStr>, host: usize) -> Result<usize, HostError> {
    let Some(value) = variable else {
        return Ok(host.clamp(1, WORKERS_MAX));
    };
    value
        .to_str()
        .and_then(|text| text.trim().parse().ok())
        .filter(|workers| (1..=WORKERS_MAX).contains(workers))
        .ok_or_else(|| HostError {
            variable: WORKERS_VARIABLE,
            value: value.to_string_lossy().into_owned(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(value: &str) -> Result<usize, HostError> {
        workers(Some(OsStr::new(value)), 8)
    }

    #[test]
    fn without_the_variable_the_host_decides_within_the_limits() {
        assert_eq!(workers(None, 8), Ok(8));
        assert_eq!(workers(None, 0), Ok(1));
        assert_eq!(workers(None, usize::MAX), Ok(WORKERS_MAX));
    }

    #[test]
    fn the_variable_overrides_the_host() {
        assert_eq!(given("3"), Ok(3));
        assert_eq!(given(" 65\n"), Ok(65));
    }

    #[test]
    fn nonsense_is_an_error_that_names_variable_and_value() {
        for nonsense in ["", "0", "-1", "two", "1.5", "32768", "99999999999999999999999"] {
            let error = given(nonsense).expect_err(nonsense);
            let text = error.to_string();
            assert!(text.contains("WINDLASS_WORKERS"), "{text}");
            assert!(text.contains(&format!("{nonsense:?}")), "{text}");
        }
    }
}
