//! The filter of a query as steps, over one column each where possible.
//!
//! ```text
//!   a > 1 and b < a and c = 'x' and 10 / d > 2 and a < 9
//!   ───────────┬───────────────     ────┬─────     ──┬──
//!   a > 1 │ c = 'x' │ b < a         10 / d > 2       a < 9
//!   may change places among         sees only what   stays behind it
//!   themselves                      the rest let in
//! ```
//!
//! An OR is one step, in three-valued logic. Parts over the same single column are one step. Steps
//! are ordered by rows discarded per unit of cost, first estimated, then measured.

mod estimate;
mod hint;
mod measure;
mod plan;
mod prune;
mod selection;

pub(crate) use estimate::{cost as cost_per_row, span};
pub(crate) use hint::Hint;
pub(crate) use plan::FilterPlan;
pub(crate) use prune::may_hold;
pub(crate) use selection::Selection;
