//! PostgreSQL's protocol 3: bytes to messages, and messages to bytes.
//!
//! Messages are read and written here and not by a library, because a server reads them from
//! strangers: a message has a bound before its body is read, a body is never read past its end,
//! and no clear text from before TLS is kept (`docs/decisions/0051-a-message-loop-of-our-own.md`).

mod backend;
mod frames;
mod frontend;
mod sql_error;
mod startup;

pub(crate) use backend::{Backend, Column, TransactionStatus};
pub(crate) use frames::{FrameError, Frames};
pub(crate) use frontend::{Bind, Format, Message, Target};
pub(crate) use sql_error::{Severity, SqlError};
pub(crate) use startup::{CancelKey, Opening, Parameters};
