//! The page's requests, as a browser sends them and as it would never.

mod door;
mod seen;
mod statements;
mod tab;

pub(crate) use tab::served;
