//! What all connections of a server share.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use datafusion_pg_catalog::sql::PostgresCompatibilityParser;
use tokio_util::sync::CancellationToken;
use windlass_datafusion::Windlass;

use crate::access::Access;
use crate::admission::Admission;
use crate::connections::Connections;
use crate::engine::Engine;
use crate::logins::Logins;
use crate::memory::UsersMemory;
use crate::nodes::Nodes;
use crate::queries::Queries;
use crate::turns::Turns;

pub(crate) struct Shared {
    pub(crate) windlass: Windlass,
    pub(crate) engine: Engine,
    /// Other machines that compute, if there are.
    pub(crate) nodes: Option<Nodes>,
    pub(crate) parser: PostgresCompatibilityParser,
    pub(crate) access: Access,
    pub(crate) admission: Arc<Admission>,
    pub(crate) memory: UsersMemory,
    pub(crate) queries: Arc<Queries>,
    pub(crate) connections: Arc<Connections>,
    pub(crate) logins: Logins,
    /// What workers run, if the server has a page.
    pub(crate) turns: Option<Arc<Turns>>,
    pub(crate) message_bytes_max: usize,
    pub(crate) login_timeout: Duration,
    pub(crate) statement_time_max: Option<Duration>,
    /// No new statement begins.
    pub(crate) draining: CancellationToken,
    /// No statement goes on.
    pub(crate) killed: CancellationToken,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("connections", &self.connections)
            .field("admission", &self.admission)
            .finish_non_exhaustive()
    }
}
