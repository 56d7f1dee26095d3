//! Aggregates of DataFusion's plans by windlass's own stages.
//!
//! ```text
//!   AggregateExec: Final               RepartitionExec            the partitions that the plan had
//!     RepartitionExec                    WindlassAggregateExec    one job: filters, groups, states
//!       AggregateExec: Partial    ──►      └╌ AggregateExec: Final …
//!         ProjectionExec                      runs if the job cannot end
//!           FilterExec
//!             DataSourceExec
//! ```
//!
//! [`OperatorsRule`] looks for an aggregate over filters and projections of Parquet files or batches
//! in memory, whose types, functions and expressions `columnar` has too. The stages give the
//! aggregate's states as columns, and DataFusion's accumulators compute the values from them. The
//! plan that was replaced stays below the new node: if a stage fails, be it by an overflow, a file that has other
//! columns, or a limit of memory, that plan runs instead, and rows and errors are DataFusion's.

mod aggregate;
mod batches;
mod expression;
mod grouping;
mod input;
mod memory;
mod outside;
mod rule;
mod scan;
mod selection;
mod source;

pub use aggregate::WindlassAggregateExec;
pub(crate) use rule::OperatorsRule;
pub use scan::WindlassScanExec;
