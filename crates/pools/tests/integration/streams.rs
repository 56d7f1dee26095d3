//! Streams: what they give, how they end, how far they read ahead; and that at each point of it either side may go wrong.

mod case;
mod ends;
mod faults;
mod script;
mod slices;
