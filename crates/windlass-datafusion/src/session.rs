//! One line on a session's builder.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::common::Result;
use datafusion::execution::SessionStateBuilder;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner};
use datafusion_session::{QueryPlanner, Session};

#[cfg(feature = "operators")]
use crate::operators::OperatorsRule;
use crate::plan::{WindlassOptions, WindlassPlanner, one_batch_a_file};
use crate::windlass::Windlass;

/// Makes the queries of a session jobs.
pub trait WindlassExt {
    /// Makes this session's queries jobs in the pools of `windlass`, configured by
    /// [`WindlassOptions`]. Call it after setting the session's configuration or query planner: it
    /// keeps the one and wraps the other.
    ///
    /// ```
    /// use datafusion::execution::SessionStateBuilder;
    /// use datafusion::prelude::SessionContext;
    /// use pools::Pools;
    /// use windlass_datafusion::{Windlass, WindlassExt};
    ///
    /// let windlass = Windlass::install(Pools::builder().cpu_threads(2).build()?)?;
    /// let state = SessionStateBuilder::new()
    ///     .with_default_features()
    ///     .with_windlass(&windlass)
    ///     .build();
    /// let session = SessionContext::new_with_state(state);
    /// let rows = windlass.pools().mixed().block_on(async {
    ///     session.sql("SET windlass.class = 'interactive'").await?.collect().await?;
    ///     session.sql("SELECT 6 * 7 AS answer").await?.collect().await
    /// })??;
    /// assert_eq!(rows[0].num_rows(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    fn with_windlass(self, windlass: &Windlass) -> Self;
}

impl WindlassExt for SessionStateBuilder {
    fn with_windlass(mut self, windlass: &Windlass) -> Self {
        let options = self.config().get_or_insert_default().options_mut();
        if options.extensions.get::<WindlassOptions>().is_none() {
            options.extensions.insert(WindlassOptions::default());
        }
        // Otherwise each query would need a configuration of its own.
        one_batch_a_file(options);
        let planner = self
            .query_planner()
            .take()
            .unwrap_or_else(|| Arc::new(DefaultPlanner));
        let builder = self.with_query_planner(Arc::new(WindlassPlanner::new(planner, windlass)));
        #[cfg(feature = "operators")]
        let builder = builder.with_physical_optimizer_rule(Arc::new(OperatorsRule::new(windlass)));
        builder
    }
}

/// DataFusion's own planner is not public.
#[derive(Debug)]
struct DefaultPlanner;

#[async_trait]
impl QueryPlanner for DefaultPlanner {
    async fn create_physical_plan(
        &self,
        logical_plan: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let planner = DefaultPhysicalPlanner::default();
        planner.create_physical_plan(logical_plan, session).await
    }
}
