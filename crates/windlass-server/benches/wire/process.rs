//! A process of an engine: its end, and what it and its children use.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Clock ticks a second in `/proc`, on every Linux.
const TICKS: f64 = 100.0;

/// Time that a process has to end.
const ENDS_WITHIN: Duration = Duration::from_secs(60);

/// Columns behind the command's name in `/proc/PID/stat`.
const PARENT: usize = 1;
const TIMES: std::ops::RangeInclusive<usize> = 11..=14;

pub(crate) struct Process {
    child: Child,
    command: Command,
    name: &'static str,
    /// The signal that asks it to end.
    ends_by: Signal,
}

/// What a process holds at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Held {
    pub(crate) resident_mib: f64,
    pub(crate) threads: usize,
    pub(crate) files: usize,
}

impl Process {
    pub(crate) fn start(name: &'static str, mut command: Command, ends_by: Signal) -> anyhow::Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let child = command.spawn();
        let child = child.with_context(|| format!("{name} cannot be started: {command:?}"))?;
        Ok(Self {
            child,
            command,
            name,
            ends_by,
        })
    }

    pub(crate) fn ensure_runs(&mut self) -> anyhow::Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => bail!("{} has ended: {status}", self.name),
        }
    }

    /// CPU time of the process, its children, and theirs, ended ones included.
    pub(crate) fn cpu(&self) -> anyhow::Result<Duration> {
        let mut ticks: BTreeMap<u32, (u32, u64)> = BTreeMap::new();
        for entry in fs::read_dir("/proc")? {
            let name = entry?.file_name();
            let Some(id) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else {
                continue;
            };
            // It may have ended.
            let Ok(stat) = fs::read_to_string(format!("/proc/{id}/stat")) else {
                continue;
            };
            let columns = stat.rsplit_once(')').map_or("", |(_, columns)| columns);
            let columns: Vec<_> = columns.split_whitespace().collect();
            let number = |column: usize| columns.get(column).and_then(|text| text.parse::<u64>().ok());
            let parent = number(PARENT).and_then(|id| u32::try_from(id).ok());
            ticks.insert(id, (parent.unwrap_or_default(), TIMES.filter_map(number).sum()));
        }
        let root = self.child.id();
        let is_ours = |mut id: u32| {
            while id != root && id != 0 {
                id = ticks.get(&id).map_or(0, |(parent, _)| *parent);
            }
            id == root
        };
        let all: u64 = ticks
            .iter()
            .filter(|(id, _)| is_ours(**id))
            .map(|(_, (_, ticks))| ticks)
            .sum();
        Ok(Duration::from_secs_f64(all as f64 / TICKS))
    }

    pub(crate) fn held(&self) -> anyhow::Result<Held> {
        let id = self.child.id();
        let status = fs::read_to_string(format!("/proc/{id}/status"))?;
        let number = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name));
            let word = line.and_then(|line| line.split_whitespace().nth(1));
            word.and_then(|word| word.parse::<usize>().ok())
                .with_context(|| format!("{name} is not in the status of {}", self.name))
        };
        Ok(Held {
            resident_mib: number("VmRSS:")? as f64 / 1024.0,
            threads: number("Threads:")?,
            files: fs::read_dir(format!("/proc/{id}/fd"))?.count(),
        })
    }

    pub(crate) fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        let id = i32::try_from(self.child.id())?;
        Ok(kill(Pid::from_raw(id), signal)?)
    }

    /// Kills it, and waits for its end.
    pub(crate) fn kill(&mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Starts it again after its end.
    pub(crate) fn restart(&mut self) -> anyhow::Result<()> {
        self.child = self.command.spawn()?;
        Ok(())
    }

    /// Asks it to end, and waits for its end.
    pub(crate) fn stop(&mut self) -> anyhow::Result<()> {
        self.signal(self.ends_by)?;
        let until = Instant::now() + ENDS_WITHIN;
        while Instant::now() < until {
            if let Some(status) = self.child.try_wait()? {
                anyhow::ensure!(status.success(), "{} ended with {status}", self.name);
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        bail!("{} has not ended within {ENDS_WITHIN:?}", self.name)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            // What is left is the system's.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
