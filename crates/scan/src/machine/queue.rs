//! The tasks of a scan by path, in the order of what they put out.
//!
//! A worker's own queue is depth first, but a thief takes its oldest task, the one whose output is
//! wanted last: of two workers one would keep half of all output until its turn. So the tasks of a
//! scan by path wait here, and those in the workers' queues, one for each worker, say to take the
//! first ones from here. Workers are then as far apart as their tasks are long.
//!
//! ```text
//!   first ─► running ─► file ─► file ─► rest of the directory ─► running ─► directory ─► last
//!               └ what it spawns comes here
//! ```

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::task::Task;
use crate::files::FileSystem;
use crate::output::Output;

/// Files that are taken at once, at most.
const RUN: usize = 8;

/// A task's place in the order. It stays until the task has ended, as what it spawns comes there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(u32);

/// Tasks that were taken: one, or files that follow each other.
pub(crate) type Run<F, O> = Vec<(Place, Task<F, O>)>;

pub(crate) struct Queue<F: FileSystem, O: Output> {
    state: Mutex<State<Task<F, O>>>,
    workers: usize,
}

struct State<T> {
    list: List<T>,
    /// Tasks in the list that do not run.
    waiting: usize,
    /// Workers that take tasks from here, or are asked to.
    takers: usize,
}

impl<F: FileSystem, O: Output> Queue<F, O> {
    pub(crate) fn new(workers: usize) -> Self {
        let state = State {
            list: List::new(),
            waiting: 0,
            takers: 0,
        };
        Self {
            state: Mutex::new(state),
            workers,
        }
    }

    /// Puts each of `tasks` right behind the one that runs at `place`, so that the last is the next;
    /// without a place, in front of all. Returns how many workers are to be asked.
    pub(crate) fn put(&self, place: Option<Place>, tasks: impl Iterator<Item = Task<F, O>>) -> usize {
        let mut state = self.lock();
        let before = state.waiting;
        for task in tasks {
            state.list.put(place, task);
            state.waiting += 1;
        }
        let asked = (state.waiting - before).min(self.workers - state.takers);
        state.takers += asked;
        asked
    }

    /// Takes the first task that does not run into `run`, and if it is a file the next ones of its
    /// directory; `ended` are those that were taken before. Takes none if none waits, and then this
    /// worker asks no more.
    ///
    /// Files of one batch were put at once, so none between those of a run was taken before.
    pub(crate) fn take(&self, ended: &mut Vec<Place>, run: &mut Run<F, O>) {
        let mut state = self.lock();
        let state = &mut *state;
        ended.drain(..).for_each(|place| state.list.remove(place));
        // Of the last ones each worker has its share.
        let most = state.waiting.div_ceil(self.workers).min(RUN);
        let mut next = state.list.first();
        while let Some(place) = next
            && let Some(task) = state.list.take(place)
        {
            run.push((place, task));
            next = state.list.behind(place).filter(|next| {
                let task = state.list.task(*next);
                run.len() < most && task.is_some_and(|task| task.is_beside(&run[0].1))
            });
        }
        state.waiting -= run.len();
        if run.is_empty() {
            state.takers -= 1;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<Task<F, O>>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<F: FileSystem, O: Output> fmt::Debug for Queue<F, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").finish_non_exhaustive()
    }
}

/// A list whose two ends are the node 0.
struct List<T> {
    nodes: Vec<Node<T>>,
    free: Vec<u32>,
}

struct Node<T> {
    before: u32,
    behind: u32,
    /// Absent while it runs.
    task: Option<T>,
}

impl<T> List<T> {
    fn new() -> Self {
        let ends = Node {
            before: 0,
            behind: 0,
            task: None,
        };
        Self {
            nodes: vec![ends],
            free: Vec::new(),
        }
    }

    /// Puts `task` right behind `place`.
    fn put(&mut self, place: Option<Place>, task: T) {
        let before = place.map_or(0, |place| place.0);
        let behind = self.nodes[before as usize].behind;
        let node = Node {
            before,
            behind,
            task: Some(task),
        };
        let index = match self.free.pop() {
            Some(index) => {
                self.nodes[index as usize] = node;
                index
            }
            None => {
                self.nodes.push(node);
                u32::try_from(self.nodes.len() - 1).expect("fewer tasks than 2^32 wait")
            }
        };
        self.nodes[before as usize].behind = index;
        self.nodes[behind as usize].before = index;
    }

    /// The first task that does not run. Before it are at most a run's tasks for each worker.
    fn first(&self) -> Option<Place> {
        let mut place = self.behind(Place(0));
        while let Some(running) = place.filter(|place| self.task(*place).is_none()) {
            place = self.behind(running);
        }
        place
    }

    fn behind(&self, place: Place) -> Option<Place> {
        let behind = self.nodes[place.0 as usize].behind;
        (behind != 0).then_some(Place(behind))
    }

    fn task(&self, place: Place) -> Option<&T> {
        self.nodes[place.0 as usize].task.as_ref()
    }

    fn take(&mut self, place: Place) -> Option<T> {
        self.nodes[place.0 as usize].task.take()
    }

    fn remove(&mut self, place: Place) {
        let Node { before, behind, .. } = self.nodes[place.0 as usize];
        self.nodes[before as usize].behind = behind;
        self.nodes[behind as usize].before = before;
        self.free.push(place.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(list: &mut List<&'static str>, expected: &str) -> Place {
        let place = list.first().expect("a task waits");
        assert_eq!(list.take(place), Some(expected));
        place
    }

    #[test]
    fn what_a_task_spawns_comes_at_its_place() {
        let mut list = List::new();
        list.put(None, "root");
        let root = taken(&mut list, "root");
        for name in ["c", "b", "a"] {
            list.put(Some(root), name);
        }
        let a = taken(&mut list, "a");
        let b = taken(&mut list, "b");
        list.remove(root);
        list.put(Some(b), "b/2");
        list.put(Some(b), "b/1");
        list.put(Some(a), "a/1");
        list.remove(b);
        let below = taken(&mut list, "a/1");
        list.remove(a);
        list.remove(below);
        for name in ["b/1", "b/2", "c"] {
            let place = taken(&mut list, name);
            list.remove(place);
        }
        assert_eq!(list.first(), None);
        assert_eq!(list.nodes.len() - 1, list.free.len());
    }
}
