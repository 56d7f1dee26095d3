//! The tables as a connection sees them.

mod changes;
mod refusals;
mod safety;
mod serving;

use std::fs;

use super::testing::{Client, Folders, integers, lines, texts, write_parquet};
use super::*;
