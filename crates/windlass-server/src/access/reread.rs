//! A value read from files. Each look reads them again if one changed, without a timer or a
//! watcher. While the new content is bad, the last good value stays.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use pipeline_exec::lock;

use super::file::Stamp;

/// The last good value, and what the look found.
#[derive(Debug)]
pub struct Current<T> {
    /// The last good value.
    pub value: Arc<T>,
    /// For the log.
    pub change: Change,
}

impl<T> Current<T> {
    /// The value; a change of the files goes into the log as one of `what`.
    pub(crate) fn logged(self, what: &str) -> Arc<T> {
        match self.change {
            Change::None => {}
            Change::ReadAgain => tracing::info!("{what} were read again"),
            Change::Refused(error) => {
                tracing::error!("{what} are as before, the new ones cannot be used: {error:#}")
            }
        }
        self.value
    }
}

/// What a look at files found.
#[derive(Debug)]
pub enum Change {
    /// No file changed since the last look.
    None,
    /// `value` is new.
    ReadAgain,
    /// The new content is bad, so `value` stays. Returned once for each change.
    Refused(anyhow::Error),
}

pub(crate) struct Reread<T, const FILES: usize> {
    paths: [PathBuf; FILES],
    read: fn(&[PathBuf; FILES]) -> anyhow::Result<T>,
    state: Mutex<State<T, FILES>>,
}

struct State<T, const FILES: usize> {
    value: Arc<T>,
    /// Of the last attempt to read, good or bad.
    seen: [Option<Stamp>; FILES],
}

impl<T, const FILES: usize> Reread<T, FILES> {
    pub(crate) fn open(
        paths: [PathBuf; FILES],
        read: fn(&[PathBuf; FILES]) -> anyhow::Result<T>,
    ) -> anyhow::Result<Self> {
        // A write during the read is then seen at the next look.
        let seen = stamps(&paths);
        let value = Arc::new(read(&paths)?);
        let state = Mutex::new(State { value, seen });
        Ok(Self { paths, read, state })
    }

    pub(crate) fn current(&self) -> Current<T> {
        let mut state = lock(&self.state);
        let found = stamps(&self.paths);
        let change = if found == state.seen {
            Change::None
        } else {
            state.seen = found;
            match (self.read)(&self.paths) {
                Ok(value) => {
                    state.value = Arc::new(value);
                    Change::ReadAgain
                }
                Err(error) => Change::Refused(error),
            }
        };
        Current {
            value: Arc::clone(&state.value),
            change,
        }
    }
}

impl<T, const FILES: usize> fmt::Debug for Reread<T, FILES> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reread")
            .field("paths", &self.paths)
            .finish_non_exhaustive()
    }
}

fn stamps<const FILES: usize>(paths: &[PathBuf; FILES]) -> [Option<Stamp>; FILES] {
    paths.each_ref().map(|path| Stamp::of(path))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use anyhow::Context;

    use super::*;

    fn number<const FILES: usize>(paths: &[PathBuf; FILES]) -> anyhow::Result<u32> {
        let texts: Result<Vec<_>, _> = paths.iter().map(fs::read_to_string).collect();
        let text = texts?.concat();
        text.parse().with_context(|| format!("{text}: not a number"))
    }

    /// Renames: the file has another stamp whatever the clock says.
    fn replace(path: &Path, text: &str) {
        let new = path.with_extension("new");
        fs::write(&new, text).unwrap();
        fs::rename(&new, path).unwrap();
    }

    fn told(change: &Change) -> String {
        match change {
            Change::None => "none".to_owned(),
            Change::ReadAgain => "read again".to_owned(),
            Change::Refused(error) => error.to_string(),
        }
    }

    #[test]
    fn files_are_read_again_when_they_changed_and_bad_content_leaves_the_old_value() {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["a", "b"].map(|name| folder.path().join(name));
        fs::write(&paths[0], "1").unwrap();
        fs::write(&paths[1], "2").unwrap();
        let reread = Reread::open(paths.clone(), number).unwrap();
        let look = || {
            let Current { value, change } = reread.current();
            (*value, told(&change))
        };
        assert_eq!(look(), (12, "none".to_owned()));
        replace(&paths[1], "3");
        assert_eq!(look(), (13, "read again".to_owned()));
        assert_eq!(look(), (13, "none".to_owned()));
        replace(&paths[0], "x");
        assert_eq!(look(), (13, "x3: not a number".to_owned()));
        assert_eq!(look(), (13, "none".to_owned()), "an error is told once");
        fs::remove_file(&paths[0]).unwrap();
        assert!(look().1.contains("(os error 2)"));
        assert_eq!(look(), (13, "none".to_owned()));
        replace(&paths[0], "4");
        assert_eq!(look(), (43, "read again".to_owned()));
    }

    #[test]
    fn files_that_are_bad_at_first_are_an_error() {
        let error = Reread::open([PathBuf::from("no such file")], number).unwrap_err();
        assert!(error.to_string().contains("(os error 2)"), "{error}");
    }
}
