//! Directories: a reader that is put back, batch by batch.
//!
//! A turn takes up to 64 names. It puts the cursor back first and then the objects, so that its own
//! worker goes on with these, while a thief takes the cursor. An object for which there is no permit
//! is searched at once.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use executor_core::TaskCtx;
use executor_core::ports::Access;

use super::batch::{Ancestor, Batch, BatchOf, Dir, Discovered};
use super::order::{Position, Tree};
use super::run::{TaskOf, Types, Walk, Worker};
use super::scratch::Decided;
use super::source::SourceCursor;
use super::task::Task;
use crate::files::{FileSystem, Kind, Names};
use crate::report::{Report, Skipped, Trouble};
use crate::rules::{Chain, Place};

/// Names that a turn takes.
pub(crate) const TURN: usize = 64;

/// Turns after which a directory's first batch is full.
const FIRST: usize = 8;

/// Turns at once where names alone are put out: while one worker does that, another reads the
/// directory on.
const TURNS_OF_NAMES: usize = 8;

/// The rest of a directory.
pub struct Cursor<F: FileSystem> {
    batch: Arc<Batch<F>>,
    next: usize,
    /// Whether the reader may have more names.
    more: bool,
}

impl<T: Types> Worker<'_, '_, T> {
    /// Opens a directory whose path is in hand, and begins with it.
    pub(crate) fn enter(&mut self, found: Discovered<T::Files>) {
        let machine = self.machine;
        let Some(walk) = machine.tree.as_ref().filter(|_| !self.is_cancelled()) else {
            return;
        };
        let (dir, more, names) = match self.opened(walk, &found) {
            Ok(opened) => opened,
            Err(trouble) => {
                self.discovered(1);
                return self.end_without_output(found, &Report::error(trouble));
            }
        };
        drop(found);
        let first_id = machine.ids(names.len());
        let batch = Batch {
            of: BatchOf::Dir {
                dir: Arc::new(dir),
                names,
            },
            first_id,
            first_index: 0,
            counters: Arc::clone(&machine.counters),
        };
        self.go_on(Cursor {
            batch: Arc::new(batch),
            next: 0,
            more,
        });
    }

    /// Takes the next names.
    pub(crate) fn go_on(&mut self, mut cursor: Cursor<T::Files>) {
        if self.is_cancelled() {
            return;
        }
        if cursor.next == cursor.batch.len() && !self.refill(&mut cursor) {
            return;
        }
        let batch = Arc::clone(&cursor.batch);
        let machine = self.machine;
        let (turn, from) = (machine.turn, cursor.next);
        let turns = if machine.config.names_only {
            TURNS_OF_NAMES
        } else {
            1
        };
        let to = batch.len().min(from + turns * turn);
        cursor.next = to;
        let has_rest = to < batch.len() || cursor.more;
        let mut rest = has_rest.then(|| Task::Cursor(Box::new(cursor)));
        if machine.config.names_only && has_rest {
            self.spawn(rest.take().into_iter());
            self.cx.publish();
        }
        let mut decided = std::mem::take(&mut self.parts.decided);
        for begin in (from..to).step_by(turn) {
            self.decide(&batch, begin..to.min(begin + turn), &mut decided);
            self.hand_on(&batch, &decided, rest.take());
            decided.clear();
        }
        self.parts.decided = decided;
    }

    /// Takes a caller's next files.
    pub(crate) fn source(&mut self, source: Arc<SourceCursor>) {
        if self.is_cancelled() {
            return;
        }
        let machine = self.machine;
        let taken = self
            .cx
            .access("take from the source", || source.take(machine.turn));
        let count = taken.files.len();
        if taken.ended && machine.window.is_sorted {
            let total = taken.first_index + count;
            let closed = self.cx.access("end of the source", || {
                machine.window.close_root(&machine.sink, total)
            });
            machine.check(closed);
        }
        let batch = Arc::new(Batch {
            of: BatchOf::Named {
                files: taken.files,
                node: Tree::root(),
            },
            first_id: 0,
            first_index: taken.first_index,
            counters: Arc::clone(&machine.counters),
        });
        let all: Vec<Decided> = (0..count as u32)
            .map(|index| Decided { index, is_dir: false })
            .collect();
        self.hand_on(&batch, &all, (!taken.ended).then_some(Task::Source(source)));
    }

    /// What an object is, by its own directory or by a look.
    pub(crate) fn kind(&mut self, found: &Discovered<T::Files>) -> io::Result<Kind> {
        match found.kind() {
            Kind::Unknown | Kind::Link => {
                let Self {
                    machine, cx, parts, ..
                } = self;
                let follow = machine.follows();
                let status = cx.access("look at a name", || {
                    found.at(&parts.object.path, follow, |at| machine.files.status(at))
                })?;
                Ok(status.kind)
            }
            kind => Ok(kind),
        }
    }

    fn opened(
        &mut self,
        walk: &Walk,
        found: &Discovered<T::Files>,
    ) -> Result<(Dir<T::Files>, bool, Names), Trouble> {
        let Self {
            machine, cx, parts, ..
        } = self;
        let machine = *machine;
        let path = &parts.object.path;
        let dir = cx.access("open a directory", || {
            found.at(path, walk.follow, |at| machine.files.open_dir(at))
        });
        let dir = dir.map_err(Trouble::Open)?;
        let ancestors = match (walk.follow, &found.batch.of) {
            (false, _) => None,
            (true, of) => {
                let status = cx.access("look at a directory", || machine.files.dir_status(&dir));
                let id = status.map_err(Trouble::Open)?.id;
                let above = match of {
                    BatchOf::Dir { dir, .. } => dir.ancestors.clone(),
                    BatchOf::Named { .. } => None,
                };
                // Only a link closes a loop.
                if found.kind() != Kind::Dir && Ancestor::is_in(id, &above) {
                    return Err(Trouble::Loop);
                }
                Some(Arc::new(Ancestor { id, above }))
            }
        };
        let slot = machine.counters.slot();
        let whole = slot.is_none() || machine.window.is_sorted;
        let mut names = Names::default();
        let mut more = true;
        let mut failed = None;
        while more && (whole || names.len() < FIRST * machine.turn) && !machine.cancel.is_cancelled() {
            let read = cx.access("read a directory", || machine.files.read_dir(&dir, &mut names));
            more = match read {
                Ok(more) => more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => true,
                Err(error) => {
                    failed = Some(error);
                    false
                }
            };
        }
        let (depth, above) = match &found.batch.of {
            BatchOf::Dir { dir, .. } => (dir.depth + 1, dir.chain.clone()),
            BatchOf::Named { .. } => (0, Chain::above(&machine.files, &walk.rules, path)),
        };
        let chain = cx.access("read ignore files", || {
            let place = Place {
                files: &machine.files,
                handle: Some(&dir),
                path,
                names: (!more).then_some(&names),
            };
            above.below(&walk.rules, &place)
        });
        let node = if machine.window.is_sorted {
            names.sort();
            let position = found.position();
            cx.access("a directory's place", || {
                machine.window.open_dir(position, names.len())
            })
        } else {
            Tree::root()
        };
        let dir = Dir {
            path: path.clone(),
            open: slot.map(|slot| (dir, slot)),
            chain,
            depth,
            ancestors,
            node,
        };
        if let Some(error) = failed {
            self.unreadable(&dir, error);
        }
        Ok((dir, more, names))
    }

    /// Reads the next batch. Returns whether there are names in it.
    fn refill(&mut self, cursor: &mut Cursor<T::Files>) -> bool {
        let machine = self.machine;
        let BatchOf::Dir { dir, .. } = &cursor.batch.of else {
            return false;
        };
        let Some((open, _)) = &dir.open else {
            return false;
        };
        let mut names = Names::default();
        while cursor.more && names.is_empty() {
            let read = self
                .cx
                .access("read a directory", || machine.files.read_dir(open, &mut names));
            cursor.more = match read {
                Ok(more) => more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => true,
                Err(error) => {
                    self.unreadable(dir, error);
                    false
                }
            };
        }
        let of = BatchOf::Dir {
            dir: Arc::clone(dir),
            names,
        };
        let batch = Batch {
            of,
            first_id: 0,
            first_index: 0,
            counters: Arc::clone(&machine.counters),
        };
        let first_id = machine.ids(batch.len());
        cursor.next = 0;
        cursor.batch = Arc::new(Batch { first_id, ..batch });
        cursor.batch.len() > 0
    }

    /// A directory that could be opened, and not be read to its end.
    fn unreadable(&mut self, dir: &Dir<T::Files>, error: io::Error) {
        let machine = self.machine;
        self.discovered(1);
        let mut object = std::mem::take(&mut self.parts.object);
        object.path.clone_from(&dir.path);
        object.named = false;
        object.id = machine.ids(1);
        self.report_of(&object, &Report::error(Trouble::Read { offset: 0, error }));
        self.parts.object = object;
    }

    /// Which names are not left out. What is neither file nor directory is reported here.
    fn decide(
        &mut self,
        batch: &Arc<Batch<T::Files>>,
        range: std::ops::Range<usize>,
        decided: &mut Vec<Decided>,
    ) {
        let machine = self.machine;
        let (BatchOf::Dir { dir, names }, Some(walk)) = (&batch.of, &machine.tree) else {
            return;
        };
        let mut gone = 0_u64;
        let max_depth = walk.rules.config.max_depth;
        // Most trees have no rule, and then a name is enough.
        let needs_path = dir.open.is_none() || walk.rules.look_at_paths(&dir.chain);
        for index in range.clone() {
            if needs_path {
                batch.describe(index, &mut self.parts.object);
            }
            let found = Discovered {
                batch: Arc::clone(batch),
                index: index as u32,
                has_permit: false,
            };
            let kind = if walk.follow || names.kind(index) == Kind::Unknown {
                self.kind(&found)
            } else {
                Ok(names.kind(index))
            };
            let is_dir = matches!(kind, Ok(Kind::Dir));
            let is_deep = is_dir && max_depth.is_some_and(|max| dir.depth + 1 >= max);
            let name = names.name(index);
            let is_left_out = if needs_path {
                let path = &self.parts.object.path;
                walk.rules.leave_out(&dir.chain, path, name, is_dir)
            } else {
                walk.rules.leave_out_name(name)
            };
            if is_deep || is_left_out {
                gone |= 1 << (index - range.start);
                continue;
            }
            match kind {
                Ok(Kind::File | Kind::Dir) => {
                    self.discovered(usize::from(!is_dir));
                    let index = index as u32;
                    decided.push(Decided { index, is_dir });
                }
                other => {
                    self.discovered(1);
                    batch.describe(index, &mut self.parts.object);
                    let report = match other {
                        Ok(Kind::Link) => Report::skipped(Skipped::Link),
                        Ok(_) => Report::skipped(Skipped::Special),
                        Err(error) => Report::error(Trouble::Open(error)),
                    };
                    self.end_without_output(found, &report);
                }
            }
        }
        if gone != 0 && machine.window.is_sorted {
            let positions = range
                .clone()
                .filter(|index| gone >> (index - range.start) & 1 == 1);
            let node = dir.node;
            let positions = positions.map(|index| Position { node, index });
            let done = self.cx.access("nothing to put out", || {
                machine.window.gone(&machine.sink, positions)
            });
            machine.check(done);
        }
    }

    /// Spawns the rest of a directory and its next objects, so that the first of these runs next.
    /// Objects without a permit are searched here.
    fn hand_on(&mut self, batch: &Arc<Batch<T::Files>>, decided: &[Decided], rest: Option<TaskOf<T>>) {
        self.tell();
        let machine = self.machine;
        let wanted = decided.iter().filter(|object| !object.is_dir).count();
        // A name alone is put out sooner than it is handed on.
        let mut permits = if wanted == 0 || machine.config.names_only {
            0
        } else {
            self.cx
                .access("take permits", || machine.counters.permits.take(wanted))
        };
        let mut alone = wanted - permits;
        // A worker that has no tasks of its own finds the next chunk of a long file before it looks
        // for tasks of others. So small files stand in the same queue, where chunks go to the end.
        // Ordering: Relaxed. As in `share`.
        let has_rest = rest.is_some();
        let in_turn = !machine.window.is_sorted && machine.long_files.load(Ordering::Relaxed) > 0;
        let tasks = decided.iter().rev().filter_map(|object| {
            let has_permit = !object.is_dir && permits > 0;
            permits -= usize::from(has_permit);
            (object.is_dir || has_permit).then(|| {
                let found = Discovered {
                    batch: Arc::clone(batch),
                    index: object.index,
                    has_permit,
                };
                (object.is_dir, Task::Object(found))
            })
        });
        if in_turn {
            self.spawn(rest.into_iter());
            for (is_dir, task) in tasks {
                if is_dir {
                    self.cx.spawn_local(task);
                } else {
                    self.cx.spawn_global(task);
                }
            }
        } else {
            self.spawn(rest.into_iter().chain(tasks.map(|(_, task)| task)));
        }
        if has_rest || decided.len() > alone {
            self.cx.publish();
        }
        for object in decided {
            if alone == 0 {
                break;
            }
            if object.is_dir {
                // Its output comes between.
                if machine.window.is_sorted {
                    self.put_ended();
                }
                continue;
            }
            alone -= 1;
            let found = Discovered {
                batch: Arc::clone(batch),
                index: object.index,
                has_permit: false,
            };
            self.object(found, false);
        }
    }
}

impl<F: FileSystem> fmt::Debug for Cursor<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cursor")
            .field("next", &self.next)
            .finish_non_exhaustive()
    }
}
