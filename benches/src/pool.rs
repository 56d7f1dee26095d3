//! The common trait of all pools that take tasks from outside.
//!
//! Work on a task may spawn more tasks, and returns a number; the numbers are summed. Each pool is
//! used as its documentation advises: typed tasks if it has them, otherwise closures with few
//! captures.

mod channel;
mod rayon;
mod tokio;
mod windlass;

pub(crate) use self::rayon::rayon_pool;
pub(crate) use self::tokio::tokio_runtime;
pub(crate) use self::windlass::{Ours, Windlass};

use crate::contender::{Contender, IntoOutcome, Role};

pub(crate) trait Pool<T>: Sync {
    fn spawn(&self, task: T);

    /// Hands the tasks over at once if the pool can.
    fn spawn_batch(&self, tasks: Vec<T>) {
        tasks.into_iter().for_each(|task| self.spawn(task));
    }

    /// Blocks until `tasks` tasks since the last call have run, wherever they were spawned. Returns
    /// the sum of their results.
    fn wait(&mut self, tasks: u64) -> u64;
}

/// A pool's work: a function of the task, and of a way to spawn more.
pub(crate) trait Work<T>: Fn(T, &mut dyn FnMut(T)) -> u64 + Clone + Send + Sync + 'static {}

impl<T, W: Fn(T, &mut dyn FnMut(T)) -> u64 + Clone + Send + Sync + 'static> Work<T> for W {}

pub(crate) struct Start<T> {
    pub(crate) name: String,
    pub(crate) role: Role,
    /// Dropping the pool stops its threads.
    pub(crate) start: Box<dyn Fn() -> Box<dyn Pool<T>>>,
}

impl<T> Start<T> {
    fn new<P: Pool<T> + 'static>(name: &str, role: Role, start: impl Fn() -> P + 'static) -> Self {
        Self {
            name: name.to_owned(),
            role,
            start: Box::new(move || Box::new(start())),
        }
    }
}

/// Ours, with these settings, and all peers.
pub(crate) fn all<T: Send + 'static>(ours: &[Ours], work: impl Work<T>) -> Vec<Start<T>> {
    let mut pools = Vec::new();
    for one in ours {
        let (config, work) = (one.config(), work.clone());
        pools.push(Start::new(one.name, Role::Ours, move || {
            Windlass::start(config.clone(), work.clone())
        }));
    }
    let of = work.clone();
    pools.push(Start::new("channel and threads", Role::Peer, move || {
        channel::Channel::start(of.clone())
    }));
    let of = work.clone();
    pools.push(Start::new("rayon spawn", Role::Peer, move || {
        rayon::Rayon::start(of.clone())
    }));
    pools.push(Start::new("tokio spawn", Role::Peer, move || {
        tokio::Tokio::start(work.clone())
    }));
    pools
}

/// A row for each pool; each row does `run`.
pub(crate) fn rows<T: Send + 'static, O: IntoOutcome + 'static>(
    ours: &[Ours],
    work: impl Work<T>,
    run: impl Fn(&mut dyn Pool<T>) -> O + Clone + 'static,
) -> Vec<Contender> {
    let row = |pool: Start<T>| {
        let run = run.clone();
        Contender::new(pool.name, pool.role, move || {
            let (mut pool, run) = ((pool.start)(), run.clone());
            move || run(&mut *pool)
        })
    };
    all(ours, work).into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A task `n` spawns `n` tasks `n - 1`.
    fn falling(n: u64, spawn: &mut dyn FnMut(u64)) -> u64 {
        (0..n).for_each(|_| spawn(n - 1));
        n
    }

    #[test]
    fn every_pool_runs_what_it_is_given_and_what_that_spawns() {
        for pool in all(&[Ours::plain()], falling) {
            let mut running = (pool.start)();
            for _ in 0..3 {
                running.spawn(4);
                running.spawn_batch(vec![0, 1]);
                // 1 of 4, 4 of 3, 12 of 2, 24 of 1, 24 of 0, and those of the batch.
                assert_eq!(running.wait(65 + 3), 4 + 12 + 24 + 24 + 1, "{}", pool.name);
            }
        }
    }
}
