//! A part of the bench: a name to choose it by, and what makes it when it is chosen.

use anyhow::Result;

use super::Setup;
use super::corpus::Corpus;
use super::table::Table;
use crate::report::Report;
use crate::workload::Workload;

type Make = Box<dyn Fn(&Setup) -> Result<Option<Made>>>;

pub(super) struct Part {
    pub(super) name: String,
    /// Makes its corpus as well; `None` if the machine does not have it.
    pub(super) make: Make,
}

pub(super) enum Made {
    /// To be verified and measured.
    Table(Table),
    /// To be measured; its rows verify themselves.
    Workload(Workload),
    Report(Report),
}

impl Part {
    pub(super) fn new(
        what: &str,
        corpus: Corpus,
        make: impl Fn(&Setup) -> Result<Option<Made>> + 'static,
    ) -> Self {
        Self {
            name: format!("{what}, {}", corpus.letter()),
            make: Box::new(make),
        }
    }
}
