//! Where a user takes part: what an idle worker does, which events a worker reports, what becomes
//! of a panic.

pub use crate::builder::{DefaultIdle, DefaultTrace};
pub use crate::chrome_trace::ChromeHooks;
pub use crate::panic_handler::{DropPayload, HandleWith, HandlesPanics};

pub use executor_core::{
    ExecTraceEvent, IdleAction, IdleHooks, IdleRound, NoopTrace, Park, ParkAtOnce, PopSource, TieredIdle,
    TraceHooks,
};
