//! An error as a client of PostgreSQL sees it.

use std::fmt;

use datafusion::arrow::error::ArrowError;
use datafusion::common::SchemaError;
use datafusion::error::DataFusionError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SqlError {
    pub(crate) severity: Severity,
    /// SQLSTATE: PostgreSQL's appendix A.
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Severity {
    Error,
    /// The connection ends.
    Fatal,
}

impl SqlError {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            code,
            message: message.into(),
        }
    }

    pub(crate) fn fatal(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Fatal,
            ..Self::new(code, message)
        }
    }

    /// The connection ends.
    pub(crate) fn protocol(message: impl Into<String>) -> Self {
        Self::fatal("08P01", message)
    }

    /// The connection goes on.
    pub(crate) fn protocol_in_statement(message: impl Into<String>) -> Self {
        Self::new("08P01", message)
    }

    pub(crate) fn not_supported(message: impl Into<String>) -> Self {
        Self::new("0A000", message)
    }

    pub(crate) fn cancelled_by_user() -> Self {
        Self::new("57014", "canceling statement due to user request")
    }

    pub(crate) fn timed_out() -> Self {
        Self::new("57014", "canceling statement due to statement timeout")
    }

    pub(crate) fn shutting_down() -> Self {
        Self::fatal("57P01", "terminating connection because the server shuts down")
    }

    pub(crate) fn is_fatal(&self) -> bool {
        self.severity == Severity::Fatal
    }
}

impl Severity {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Error => "ERROR",
            Self::Fatal => "FATAL",
        }
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

impl std::error::Error for SqlError {}

impl From<DataFusionError> for SqlError {
    fn from(error: DataFusionError) -> Self {
        let text = error.strip_backtrace();
        let root = error.find_root();
        if let DataFusionError::External(cause) = root
            && let Some(ours) = cause.downcast_ref::<Self>()
        {
            return ours.clone();
        }
        let code = match code(root, &text) {
            // Readers of files put errors of stores into their own.
            "XX000" if is_of_store(&error) => "58030",
            code => code,
        };
        Self::new(code, text)
    }
}

fn is_of_store(error: &(dyn std::error::Error + 'static)) -> bool {
    std::iter::successors(Some(error), |error| error.source()).any(|error| error.is::<object_store::Error>())
}

fn code(error: &DataFusionError, text: &str) -> &'static str {
    match error {
        DataFusionError::SQL(..) => "42601",
        DataFusionError::SchemaError(cause, _) => match cause.as_ref() {
            SchemaError::FieldNotFound { .. } => "42703",
            SchemaError::AmbiguousReference { .. } => "42702",
            _ => "42701",
        },
        DataFusionError::Plan(_) if text.contains("table '") && text.contains("not found") => "42P01",
        DataFusionError::Plan(_) if text.contains("Invalid function") => "42883",
        DataFusionError::Plan(_) => "42000",
        DataFusionError::Configuration(_) => "22023",
        DataFusionError::NotImplemented(_) => "0A000",
        DataFusionError::ResourcesExhausted(_) => "53200",
        DataFusionError::ObjectStore(_) | DataFusionError::IoError(_) => "58030",
        // What is in a worker's error has come as text.
        DataFusionError::ParquetError(_) if text.contains("Object Store error") => "58030",
        DataFusionError::ArrowError(cause, _) => match cause.as_ref() {
            ArrowError::DivideByZero => "22012",
            ArrowError::ArithmeticOverflow(_) => "22003",
            ArrowError::CastError(_) | ArrowError::ParseError(_) => "22P02",
            ArrowError::IoError(..) => "58030",
            _ => "XX000",
        },
        DataFusionError::Execution(_) => "22000",
        _ => "XX000",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_a_store_is_found_in_those_of_readers() {
        let gone = object_store::Error::NotImplemented {
            operation: "read".to_owned(),
            implementer: "a store".to_owned(),
        };
        let read = datafusion::parquet::errors::ParquetError::External(Box::new(gone));
        let error = DataFusionError::ParquetError(Box::new(read)).context("in a scan");
        assert_eq!(SqlError::from(error).code, "58030");
    }

    #[test]
    fn errors_of_datafusion_have_the_codes_that_clients_know() {
        let divided = DataFusionError::from(ArrowError::DivideByZero).context("in a projection");
        assert_eq!(SqlError::from(divided).code, "22012");
        let unknown = DataFusionError::Plan("table 'windlass.public.t' not found".to_owned());
        assert_eq!(SqlError::from(unknown).code, "42P01");
        let full = DataFusionError::ResourcesExhausted("no memory".to_owned());
        assert_eq!(SqlError::from(full).code, "53200");
        let ours = DataFusionError::External(Box::new(SqlError::new("25006", "reads only")));
        assert_eq!(SqlError::from(ours), SqlError::new("25006", "reads only"));
    }
}
