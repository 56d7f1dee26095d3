//! Streams: items, ends, reading ahead, and faults at each point on both sides.

mod case;
mod ends;
mod faults;
mod script;
mod slices;
