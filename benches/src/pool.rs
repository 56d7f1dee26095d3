//! The trait that all pools stand behind who take tasks from outside.
//!
//! A pool is started with the work that it does on a task. Work may spawn more tasks, from inside, and gives a
//! number; the numbers are added up. Each pool is used the way its own documentation advises: typed tasks where it has them,
//! closures that capture as little as possible where it wants closures, and threads that know their slot of the tally.

mod async_executor;
mod channel;
mod rayon;
mod tokio;
mod windlass;

pub(crate) use self::rayon::rayon_pool;
pub(crate) use self::tokio::tokio_runtime;
pub(crate) use self::windlass::{Ours, Windlass};

use crate::contender::Role;

/// Threads that run what they are given.
pub(crate) trait Pool<T>: Sync {
    /// Hands over a task from outside.
    fn spawn(&self, task: T);

    /// Hands over many tasks, at once where the pool knows how.
    fn spawn_batch(&self, tasks: Vec<T>) {
        tasks.into_iter().for_each(|task| self.spawn(task));
    }

    /// Blocks until all `tasks` tasks since the last call have run, wherever they were spawned; the sum of their results.
    fn wait(&mut self, tasks: u64) -> u64;
}

/// What a pool does with a task: a function of the task, and of a way to spawn more, to a result.
pub(crate) trait Work<T>: Fn(T, &mut dyn FnMut(T)) -> u64 + Clone + Send + Sync + 'static {}

impl<T, W: Fn(T, &mut dyn FnMut(T)) -> u64 + Clone + Send + Sync + 'static> Work<T> for W {}

/// A pool that is not running yet.
pub(crate) struct Start<T> {
    /// Name in the table.
    pub(crate) name: String,
    /// Whose it is.
    pub(crate) role: Role,
    /// Starts the threads; they stop when the pool is dropped.
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

/// Ours, with these settings, and all peers, with `work` to do.
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
    let of = work.clone();
    pools.push(Start::new("tokio spawn", Role::Peer, move || {
        tokio::Tokio::start(of.clone())
    }));
    pools.push(Start::new("async-executor", Role::Peer, move || {
        async_executor::Async::start(work.clone())
    }));
    pools
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A task `n` spawns `n` tasks `n - 1`: `n` of it are one, `n`, `n (n - 1)`, ... tasks.
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
                // 1 of 4, 4 of 3, 12 of 2, 24 of 1, 24 of 0, and what the batch makes.
                assert_eq!(running.wait(65 + 3), 4 + 12 + 24 + 24 + 1, "{}", pool.name);
            }
        }
    }
}
