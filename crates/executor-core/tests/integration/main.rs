//! The policy from outside, one step at a time.
