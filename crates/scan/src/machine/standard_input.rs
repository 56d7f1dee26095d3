//! The standard input as an object of a scan.

use std::path::Path;

use executor_core::TaskCtx;
use executor_core::ports::Access;

use super::batch::{BatchOf, Discovered};
use super::run::{Types, Worker};
use crate::files::{FileSystem, Kind};
use crate::output::Output;
use crate::report::{Report, Skipped, Trouble};
use crate::sink::Sink;

/// As the caller names it.
const DASH: &str = "-";

/// As it is reported.
const NAME: &str = "<stdin>";

impl<T: Types> Worker<'_, '_, T> {
    /// Whether the object in hand is the standard input.
    pub(crate) fn is_standard_input(&self, found: &Discovered<T::Files>) -> bool {
        self.machine.config.dash_is_stdin
            && matches!(found.batch.of, BatchOf::Named { .. })
            && self.parts.object.path == Path::new(DASH)
    }

    /// Searches the standard input.
    pub(crate) fn standard_input(&mut self, found: Discovered<T::Files>, may_share: bool) {
        self.parts.object.path = NAME.into();
        self.discovered(1);
        if self.is_cancelled() {
            return self.end_without_output(found, &Report::skipped(Skipped::Cancelled));
        }
        if self.machine.config.names_only {
            return self.name(found);
        }
        // It may be long until something comes.
        self.cx.publish();
        let machine = self.machine;
        let folder = machine.config.temporary.clone();
        let folder = folder.unwrap_or_else(std::env::temp_dir);
        let again = machine.sink.output().reads_again().then_some(&*folder);
        let opened = self.cx.access("open the standard input", || {
            let file = machine.files.open_stdin(again)?;
            let status = machine.files.file_status(&file, Kind::Unknown)?;
            Ok((file, status))
        });
        match opened {
            Ok((file, status)) => self.opened_file(found, file, status.len, may_share),
            Err(error) => self.end_without_output(found, &Report::error(Trouble::Open(error))),
        }
    }
}
