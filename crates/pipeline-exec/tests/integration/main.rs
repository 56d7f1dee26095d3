//! How the pipeline executor behaves, as sentences, from outside.

mod running;
mod support;
