//! Who is connected, and whose statement a cancel request ends.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use pipeline_exec::lock;
use ring::rand::{SecureRandom, SystemRandom};
use tokio_util::sync::CancellationToken;

use crate::wire::{CancelKey, SqlError};

/// Bytes of a secret: what protocol 3.0 has room for.
const SECRET: usize = 4;

/// All connections that are logged in.
pub(crate) struct Connections {
    random: SystemRandom,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    last: u32,
    open: BTreeMap<u32, Open>,
}

struct Open {
    secret: Bytes,
    /// Ends what the connection does now; `None` between statements.
    statement: Option<CancellationToken>,
}

/// One connection's place in the table, until it is dropped.
pub(crate) struct Connected {
    all: Arc<Connections>,
    key: CancelKey,
}

impl Connections {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            random: SystemRandom::new(),
            table: Mutex::default(),
        })
    }

    /// Gives a new connection its key.
    ///
    /// # Errors
    ///
    /// If the system has no random numbers.
    pub(crate) fn enter(self: &Arc<Self>) -> Result<Connected, SqlError> {
        let mut secret = [0; SECRET];
        let drawn = self.random.fill(&mut secret);
        drawn.map_err(|_| SqlError::fatal("58000", "the system has no random numbers"))?;
        let secret = Bytes::copy_from_slice(&secret);
        let mut table = lock(&self.table);
        // Clients read the number as one with a sign.
        let after = table.last % (i32::MAX as u32);
        let free = (after + 1..=i32::MAX as u32).chain(1..=after);
        let process = free.into_iter().find(|number| !table.open.contains_key(number));
        let process = process.ok_or_else(|| SqlError::fatal("53300", "too many connections"))?;
        table.last = process;
        let open = Open {
            secret: secret.clone(),
            statement: None,
        };
        table.open.insert(process, open);
        drop(table);
        Ok(Connected {
            all: Arc::clone(self),
            key: CancelKey { process, secret },
        })
    }

    /// Ends the statement of the connection with `key`. A wrong key, or a connection between two
    /// statements, is not affected, and the asker is not told which.
    pub(crate) fn cancel(&self, key: &CancelKey) {
        let table = lock(&self.table);
        if let Some(open) = table.open.get(&key.process)
            && is_equal(&open.secret, &key.secret)
            && let Some(statement) = &open.statement
        {
            statement.cancel();
        }
    }

    pub(crate) fn len(&self) -> usize {
        lock(&self.table).open.len()
    }

    fn set(&self, process: u32, statement: Option<CancellationToken>) {
        if let Some(open) = lock(&self.table).open.get_mut(&process) {
            open.statement = statement;
        }
    }
}

/// Compares in a time that does not tell where the two differ.
fn is_equal(ours: &[u8], theirs: &[u8]) -> bool {
    let differ = ours
        .iter()
        .zip(theirs)
        .fold(0, |differ, (ours, theirs)| differ | (ours ^ theirs));
    ours.len() == theirs.len() && differ == 0
}

impl Connected {
    pub(crate) fn key(&self) -> &CancelKey {
        &self.key
    }

    /// Begins a statement, which the token ends. Up to [`end`](Self::end) no request is lost.
    pub(crate) fn begin(&self) -> CancellationToken {
        let token = CancellationToken::new();
        self.all.set(self.key.process, Some(token.clone()));
        token
    }

    /// The token of the statement that has begun; one that nothing cancels, if none has.
    pub(crate) fn statement(&self) -> CancellationToken {
        let table = lock(&self.all.table);
        let open = table.open.get(&self.key.process);
        open.and_then(|open| open.statement.clone()).unwrap_or_default()
    }

    /// Ends the statement: a request that comes now ends nothing.
    pub(crate) fn end(&self) {
        self.all.set(self.key.process, None);
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        lock(&self.all.table).open.remove(&self.key.process);
    }
}

impl fmt::Debug for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connections")
            .field("open", &self.len())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Connected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Connected").field(&self.key).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cancel_request_ends_the_statement_of_its_key_alone() {
        let all = Connections::new();
        let (first, second) = (all.enter().unwrap(), all.enter().unwrap());
        let (one, other) = (first.begin(), second.begin());
        all.cancel(&CancelKey {
            process: first.key().process,
            secret: second.key().secret.clone(),
        });
        assert!(!one.is_cancelled(), "the secret is another's");
        all.cancel(first.key());
        assert!(one.is_cancelled() && !other.is_cancelled());
    }

    #[test]
    fn a_request_between_two_statements_ends_neither() {
        let all = Connections::new();
        let connected = all.enter().unwrap();
        let before = connected.begin();
        connected.end();
        all.cancel(connected.key());
        assert!(!before.is_cancelled() && !connected.begin().is_cancelled());
        let key = connected.key().clone();
        drop(connected);
        all.cancel(&key);
        assert_eq!(all.len(), 0);
    }
}
