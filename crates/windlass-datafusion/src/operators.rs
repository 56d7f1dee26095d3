//! Scans and aggregates of DataFusion's plans by windlass's own stages.
//!
//! ```text
//!   AggregateExec: Final               RepartitionExec            the partitions that the plan had
//!     RepartitionExec                    WindlassAggregateExec    one job: filters, groups, states
//!       AggregateExec: Partial    ──►      └╌ AggregateExec: Final …
//!         ProjectionExec                      runs if the job cannot end
//!           FilterExec
//!             DataSourceExec
//!
//!   HashJoinExec                       HashJoinExec
//!     …                                  …
//!     FilterExec                  ──►    WindlassScanExec         slots, in the polls of partitions
//!       DataSourceExec                     └╌ FilterExec …        runs if a file has other columns
//! ```
//!
//! [`OperatorsRule`] looks for what `columnar` has too: an aggregate over filters and projections of
//! Parquet files or batches in memory, and elsewhere columns of the rows that pass a filter. The stages
//! give an aggregate's states as columns, and DataFusion's accumulators compute the values from them.
//! The plan that was replaced stays below the new node. If an aggregate fails, be it by an overflow, a
//! file that has other columns, or a limit of memory, that plan runs instead, and rows and errors are
//! DataFusion's. A scan gives rows while it reads, so all that can fail later is a read.

mod aggregate;
mod batches;
mod expression;
mod grouping;
mod input;
mod memory;
mod outside;
mod replaced;
mod rule;
mod scan;
mod selection;
mod source;

pub use aggregate::WindlassAggregateExec;
pub(crate) use rule::OperatorsRule;
pub use scan::WindlassScanExec;
