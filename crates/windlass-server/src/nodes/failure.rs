//! A worker that failed, as an error that names it, through other workers as well.
//!
//! An error of a worker reaches the coordinator as text with a context for each step. A failure of
//! a worker is such a context with a fixed form, so that the coordinator can tell it from an error
//! of the query.

use std::fmt;
use std::sync::Arc;

use datafusion::error::DataFusionError;
use tokio::sync::watch;
use tonic::{Code, Status};
use url::Url;

use crate::wire::SqlError;

const BEGIN: &str = "worker ";
const END: &str = " failed";
const ON: &str = "on worker ";

/// Why a worker does not compute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) worker: String,
    pub(crate) why: String,
}

impl Failure {
    pub(crate) fn new(worker: &Url, why: impl Into<String>) -> Self {
        Self {
            worker: shown(worker),
            why: why.into(),
        }
    }

    pub(crate) fn of_status(worker: &Url, status: &Status) -> Self {
        Self::new(worker, why(status))
    }

    pub(crate) fn is_of(&self, worker: &Url) -> bool {
        self.worker == shown(worker)
    }

    /// The failure that an error tells of, if it does.
    pub(crate) fn find(error: &DataFusionError) -> Option<Self> {
        contexts(error).find_map(|(context, cause)| {
            let worker = context.strip_prefix(BEGIN)?.strip_suffix(END)?;
            let why = match cause {
                DataFusionError::Execution(why) => why.clone(),
                other => other.strip_backtrace(),
            };
            Some(Self {
                worker: worker.to_owned(),
                why,
            })
        })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { worker, why } = self;
        write!(f, "{BEGIN}{worker}{END}: {why}")
    }
}

impl From<Failure> for DataFusionError {
    fn from(failure: Failure) -> Self {
        let Failure { worker, why } = failure;
        Self::Context(format!("{BEGIN}{worker}{END}"), Box::new(Self::Execution(why)))
    }
}

impl From<Failure> for SqlError {
    fn from(failure: Failure) -> Self {
        Self::new("58000", failure.to_string())
    }
}

/// Puts the worker's name on an error that came from it. The second value is there if the worker
/// itself failed.
pub(crate) fn named(worker: &Url, error: DataFusionError) -> (DataFusionError, Option<Failure>) {
    if let DataFusionError::External(cause) = &error
        && let Some(status) = cause.downcast_ref::<Status>()
    {
        return match status.code() {
            Code::DeadlineExceeded => (external(SqlError::timed_out()), None),
            // Bounds of the worker, which has not failed.
            Code::ResourceExhausted => {
                let what = format!("{ON}{}: {}", shown(worker), status.message());
                (external(SqlError::new("53300", what)), None)
            }
            _ => {
                let failure = Failure::of_status(worker, status);
                (failure.clone().into(), Some(failure))
            }
        };
    }
    let is_named = contexts(&error).any(|(context, _)| context.starts_with(BEGIN) || context.starts_with(ON));
    let is_of_files = matches!(
        error.find_root(),
        DataFusionError::ObjectStore(_)
            | DataFusionError::IoError(_)
            | DataFusionError::ParquetError(_)
            | DataFusionError::External(_)
    );
    if is_named || !is_of_files {
        return (error, None);
    }
    (error.context(format!("{ON}{}", shown(worker))), None)
}

/// Why a query does not go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failed {
    /// A worker failed.
    Worker(Failure),
    /// Anything else.
    Statement(SqlError),
}

impl Failed {
    pub(crate) fn into_error(self) -> SqlError {
        match self {
            Self::Worker(failure) => failure.into(),
            Self::Statement(error) => error,
        }
    }
}

impl From<DataFusionError> for Failed {
    fn from(error: DataFusionError) -> Self {
        match Failure::find(&error) {
            Some(failure) => Self::Worker(failure),
            None => Self::Statement(error.into()),
        }
    }
}

impl From<SqlError> for Failed {
    fn from(error: SqlError) -> Self {
        Self::Statement(error)
    }
}

/// What went wrong on the way to workers, told to whatever waits for the query's rows.
#[derive(Debug)]
pub(crate) struct Trouble(watch::Sender<Option<Failed>>);

impl Trouble {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(watch::Sender::new(None)))
    }

    pub(crate) fn note(&self, why: Failed) {
        self.0.send_if_modified(|first| {
            let is_first = first.is_none();
            if is_first {
                *first = Some(why);
            }
            is_first
        });
    }

    /// Waits for the first trouble; for ever if there is none.
    pub(crate) async fn failed(&self) -> Failed {
        let mut notes = self.0.subscribe();
        // `self` holds the sender, so the channel is open.
        let first = notes.wait_for(Option::is_some).await;
        let first = first.ok().and_then(|first| first.clone());
        match first {
            Some(why) => why,
            None => std::future::pending().await,
        }
    }

    pub(crate) fn first(&self) -> Option<Failed> {
        self.0.borrow().clone()
    }
}

fn external(error: SqlError) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

fn shown(worker: &Url) -> String {
    worker.as_str().trim_end_matches('/').to_owned()
}

/// The cause at the bottom of a status: what the operating system, TLS or HTTP/2 said.
fn why(status: &Status) -> String {
    let mut cause = std::error::Error::source(status);
    let mut text = status.message().to_owned();
    while let Some(error) = cause {
        text = error.to_string();
        cause = error.source();
    }
    if text.contains("broken pipe") {
        // What HTTP/2 says of a ping without an answer, too.
        return "it does not answer, or its connection broke".to_owned();
    }
    text
}

/// The contexts of an error, from the outside, each with what is inside of it.
fn contexts(error: &DataFusionError) -> impl Iterator<Item = (&str, &DataFusionError)> {
    let mut next = Some(error);
    std::iter::from_fn(move || {
        loop {
            match next? {
                DataFusionError::Context(context, inner) => {
                    next = Some(inner);
                    return Some((context.as_str(), inner.as_ref()));
                }
                DataFusionError::Shared(inner) => next = Some(inner),
                DataFusionError::Diagnostic(_, inner) => next = Some(inner),
                DataFusionError::External(inner) => next = inner.downcast_ref(),
                DataFusionError::ArrowError(inner, _) => match inner.as_ref() {
                    datafusion::arrow::error::ArrowError::ExternalError(inner) => {
                        next = inner.downcast_ref();
                    }
                    _ => next = None,
                },
                _ => next = None,
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker() -> Url {
        Url::parse("http://127.0.0.1:5433").unwrap()
    }

    #[test]
    fn a_failure_is_found_below_what_others_add() {
        let status = Status::unavailable("gone");
        let (error, failure) = named(&worker(), DataFusionError::External(Box::new(status)));
        let failure = failure.unwrap();
        assert_eq!(failure.to_string(), "worker http://127.0.0.1:5433 failed: gone");
        let error = DataFusionError::Shared(Arc::new(error.context("in a join")));
        assert_eq!(Failure::find(&error), Some(failure));
        let (_, again) = named(&Url::parse("http://127.0.0.1:5434").unwrap(), error);
        assert_eq!(again, None, "the first worker's failure is not the second's");
    }

    #[test]
    fn an_error_of_the_query_stays_as_it_is_and_one_of_files_names_the_worker() {
        let (error, failure) = named(&worker(), DataFusionError::Execution("no".to_owned()));
        assert!(failure.is_none() && matches!(error, DataFusionError::Execution(_)));
        let missing = DataFusionError::IoError(std::io::Error::other("t.parquet"));
        let (error, failure) = named(&worker(), missing);
        assert!(failure.is_none());
        let text = error.to_string();
        assert!(
            text.contains("on worker http://127.0.0.1:5433") && text.contains("t.parquet"),
            "{text}"
        );
        let (error, _) = named(&worker(), error);
        assert_eq!(error.to_string(), text, "it is named once");
    }
}
