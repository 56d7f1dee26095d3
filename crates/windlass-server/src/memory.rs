//! Memory of statements: each has a pool, within its user's, within the server's.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, Weak};

use datafusion::execution::memory_pool::{MemoryLimit, MemoryPool};
use datafusion::execution::runtime_env::RuntimeEnv;
use pipeline_exec::lock;
use windlass_datafusion::QueryMemory;

/// Bounds of memory, in bytes; `None` is no bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryLimits {
    /// Of one statement.
    pub statement: Option<usize>,
    /// Of one user's statements.
    pub user: Option<usize>,
}

/// The pools of users with running statements.
pub(crate) struct UsersMemory {
    server: Arc<dyn MemoryPool>,
    limits: MemoryLimits,
    users: Mutex<HashMap<Arc<str>, Weak<dyn MemoryPool>>>,
}

#[derive(Clone)]
pub(crate) struct StatementMemory(Arc<dyn MemoryPool>);

impl UsersMemory {
    pub(crate) fn new(server: Arc<dyn MemoryPool>, limits: MemoryLimits) -> Self {
        Self {
            server,
            limits,
            users: Mutex::default(),
        }
    }

    /// `own` is a limit that the user has set.
    pub(crate) fn statement(&self, user: &Arc<str>, own: Option<usize>) -> StatementMemory {
        let outside = self.user(user);
        let limit = [self.limits.statement, own].into_iter().flatten().min();
        StatementMemory(match limit {
            Some(limit) => Arc::new(QueryMemory::new(limit, outside)),
            // No limit, but the pool counts.
            None => Arc::new(QueryMemory::new(usize::MAX, outside)),
        })
    }

    /// Bytes of all statements.
    pub(crate) fn reserved(&self) -> usize {
        self.server.reserved()
    }

    /// Bytes that all statements may hold, if limited.
    pub(crate) fn limit(&self) -> Option<usize> {
        match self.server.memory_limit() {
            MemoryLimit::Finite(bytes) => Some(bytes),
            _ => None,
        }
    }

    fn user(&self, user: &Arc<str>) -> Arc<dyn MemoryPool> {
        let Some(limit) = self.limits.user else {
            return Arc::clone(&self.server);
        };
        let mut users = lock(&self.users);
        if let Some(pool) = users.get(user).and_then(Weak::upgrade) {
            return pool;
        }
        users.retain(|_, pool| pool.strong_count() > 0);
        let pool: Arc<dyn MemoryPool> = Arc::new(QueryMemory::new(limit, Arc::clone(&self.server)));
        users.insert(Arc::clone(user), Arc::downgrade(&pool));
        pool
    }
}

impl StatementMemory {
    pub(crate) fn pool(&self) -> Arc<dyn MemoryPool> {
        Arc::clone(&self.0)
    }

    pub(crate) fn runtime(&self, server: &RuntimeEnv) -> Arc<RuntimeEnv> {
        Arc::new(RuntimeEnv {
            memory_pool: self.pool(),
            ..server.clone()
        })
    }
}

impl fmt::Debug for UsersMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UsersMemory")
            .field("limits", &self.limits)
            .field("reserved", &self.reserved())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for StatementMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StatementMemory")
            .field(&self.0.reserved())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use datafusion::execution::memory_pool::{GreedyMemoryPool, MemoryConsumer};

    use super::*;

    #[test]
    fn a_users_statements_share_one_limit_and_leave_others_alone() {
        let server: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(1_000));
        let limits = MemoryLimits {
            statement: Some(300),
            user: Some(400),
        };
        let users = UsersMemory::new(server, limits);
        let (alice, bob) = (Arc::from("alice"), Arc::from("bob"));
        let reserve = |user, own| {
            let memory = users.statement(user, own);
            let reservation = MemoryConsumer::new("rows").register(&memory.pool());
            (memory, reservation)
        };
        let (_first, one) = reserve(&alice, None);
        let (_second, two) = reserve(&alice, None);
        let (_third, three) = reserve(&bob, Some(100));
        assert!(one.try_grow(301).is_err(), "a statement has 300");
        one.try_grow(300).unwrap();
        assert!(two.try_grow(101).is_err(), "alice has 400");
        two.try_grow(100).unwrap();
        assert!(three.try_grow(101).is_err(), "bob asked for 100");
        three.try_grow(100).unwrap();
        assert_eq!(users.reserved(), 500);
    }
}
