#![doc = include_str!("../README.md")]
#![doc = include_str!("order.md")]
#![forbid(unsafe_code)]

mod check;
mod event;
mod handle;
mod log;
mod ports;
mod record;
mod recording;
mod run;
mod word;
mod worker;

pub use check::{Checked, Rejection, check_record, order_record};
pub use event::{Event, Events, PARTIES_MAX, TaskId};
pub use handle::RecordedHandle;
pub use record::Record;
pub use recording::Recording;
pub use run::{RecordedRun, record};
pub use worker::RecordedCtx;

// Named by the ports of `RecordedCtx`.
#[doc(hidden)]
pub use {
    log::Log,
    ports::{Numbered, Recorded},
    word::{Versioned, VersionedWord},
};
