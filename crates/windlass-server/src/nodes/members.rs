//! The workers of a system: named on the command line, or in a file that is looked at for each
//! query.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, ensure};
use datafusion::error::{DataFusionError, Result};
use datafusion_distributed::WorkerResolver;
use url::Url;

use super::failure::Failure;
use super::health::Health;
use crate::access::{Change, Readers, Reread, read};

/// Where the names of workers are.
#[derive(Clone, Debug)]
pub enum WorkerList {
    /// `--workers`.
    Fixed(Vec<Url>),
    /// `--workers-file`: one address a line; what follows `#` is a comment.
    File(PathBuf),
}

/// The workers that queries are planned for.
#[derive(Clone, Debug)]
pub(crate) struct Members {
    listed: Arc<Listed>,
    health: Arc<Health>,
}

#[derive(Debug)]
enum Listed {
    Fixed(Vec<Url>),
    File(Reread<Vec<Url>, 1>),
}

impl Members {
    pub(crate) fn open(list: WorkerList, health: Arc<Health>) -> anyhow::Result<Self> {
        let listed = match list {
            WorkerList::Fixed(workers) => {
                ensure!(!workers.is_empty(), "--workers names no worker");
                Listed::Fixed(workers)
            }
            WorkerList::File(path) => Listed::File(Reread::open([path], read_list)?),
        };
        Ok(Self {
            listed: Arc::new(listed),
            health,
        })
    }

    /// All workers, whether they answer or not. Asks for the file's metadata, and reads it if that
    /// changed.
    pub(crate) fn all(&self) -> Vec<Url> {
        let file = match self.listed.as_ref() {
            Listed::Fixed(workers) => return workers.clone(),
            Listed::File(file) => file.current(),
        };
        match file.change {
            Change::None => {}
            Change::ReadAgain => {
                tracing::info!(workers = file.value.len(), "the file of workers was read again");
                self.health.retain(|worker| file.value.contains(worker));
            }
            Change::Refused(error) => tracing::warn!(%error, "the new file of workers is not used"),
        }
        file.value.to_vec()
    }

    /// Leaves out a worker that another one has reported as failed. Returns whether a good one is
    /// left.
    pub(crate) fn leave_out(&self, failure: &Failure) -> bool {
        let all = self.all();
        if let Some(worker) = all.iter().find(|worker| failure.is_of(worker)) {
            self.health.fail(worker, failure);
        }
        all.iter().any(|worker| self.health.is_good(worker))
    }
}

impl WorkerResolver for Members {
    /// The workers that have not failed. If all have, then all: so the error says which and why,
    /// and one that is back is found at once.
    fn get_urls(&self) -> Result<Vec<Url>, DataFusionError> {
        let all = self.all();
        let good = all.iter().filter(|worker| self.health.is_good(worker));
        let good: Vec<_> = good.cloned().collect();
        let mut asked = if good.is_empty() { all } else { good };
        // A plan for one part has no stages and would run here, so one worker counts as two.
        if let [worker] = &*asked {
            asked.push(worker.clone());
        }
        Ok(asked)
    }
}

fn read_list([path]: &[PathBuf; 1]) -> anyhow::Result<Vec<Url>> {
    let bytes = read(path, Readers::Anybody)?;
    let workers = String::from_utf8(bytes)
        .map_err(anyhow::Error::from)
        .and_then(|text| parse_list(&text));
    workers.with_context(|| path.display().to_string())
}

fn parse_list(text: &str) -> anyhow::Result<Vec<Url>> {
    let mut workers = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let worker = Url::parse(line).with_context(|| format!("line {}: {line}", at + 1))?;
        ensure!(
            !workers.contains(&worker),
            "line {}: {line} is there twice",
            at + 1
        );
        workers.push(worker);
    }
    ensure!(!workers.is_empty(), "no worker in it: one address a line");
    Ok(workers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_a_worker_a_line_and_comments() {
        let text = "# ours\n\nhttp://127.0.0.1:1 # the first\n  https://b.example.org:2\n";
        let workers = parse_list(text).unwrap();
        let shown: Vec<_> = workers.iter().map(Url::as_str).collect();
        assert_eq!(shown, ["http://127.0.0.1:1/", "https://b.example.org:2/"]);
    }

    #[test]
    fn a_list_that_is_wrong_says_where() {
        for (text, why) in [
            ("# none\n", "no worker in it"),
            ("http://127.0.0.1:1\nnowhere\n", "line 2: nowhere"),
            (
                "http://127.0.0.1:1\nhttp://127.0.0.1:1/\n",
                "line 2: http://127.0.0.1:1/ is there twice",
            ),
        ] {
            let error = format!("{:#}", parse_list(text).unwrap_err());
            assert!(error.contains(why), "{error}");
        }
    }
}
