//! The program in a process of its own: what it writes, what it holds, how it ends.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;
use tokio_postgres::{Client, Config, NoTls};

use super::served::CITIES;

/// So that a hang fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A server over the folder `tables` of `folder`. Its end checks that it did not panic.
pub(crate) struct Program {
    pub(crate) address: SocketAddr,
    folder: TempDir,
    child: Child,
}

impl Program {
    /// A server over `cities.csv`, with further arguments, after `prepare` was given the folder.
    pub(crate) fn start(arguments: &[&str], prepare: impl FnOnce(&Path)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let tables = folder.path().join("tables");
        fs::create_dir(&tables).unwrap();
        fs::write(tables.join("cities.csv"), CITIES).unwrap();
        prepare(folder.path());
        let log = folder.path().join("log");
        // As many systems start a service: few files may be open until the program asks for more.
        let mut child = Command::new("sh")
            .args(["-c", "ulimit -S -n 256; exec \"$0\" \"$@\""])
            .arg(env!("CARGO_BIN_EXE_windlass-server"))
            .arg("--tables")
            .arg(&tables)
            .args(["--listen", "127.0.0.1:0", "--threads", "2"])
            .args(arguments)
            .current_dir(&tables)
            .env("RUST_LOG", "warn")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let until = Instant::now() + PATIENCE;
        let address = loop {
            let text = fs::read_to_string(&log).unwrap();
            let told = text
                .split_once("listens on ")
                .and_then(|(_, rest)| rest.split_once(": "));
            if let Some((address, _)) = told {
                break address.parse().unwrap();
            }
            assert!(child.try_wait().unwrap().is_none(), "{text}");
            assert!(Instant::now() < until, "it does not listen: {text}");
            std::thread::sleep(Duration::from_millis(1));
        };
        Self {
            address,
            folder,
            child,
        }
    }

    pub(crate) fn tables(&self) -> PathBuf {
        self.folder.path().join("tables")
    }

    pub(crate) fn config(&self) -> Config {
        let mut config = Config::new();
        config
            .host("127.0.0.1")
            .port(self.address.port())
            .user("eve")
            .dbname("windlass");
        config
    }

    pub(crate) async fn connect(&self) -> Client {
        let (client, connection) = self.config().connect(NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    }

    /// The most memory that it has held, in MiB; `None` where the system does not tell.
    pub(crate) fn peak_mib(&self) -> Option<usize> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kib: usize = line.split_whitespace().next()?.parse().ok()?;
        Some(kib / 1024)
    }

    /// Ends it by SIGTERM.
    ///
    /// # Panics
    ///
    /// If it has panicked anywhere, or does not end well.
    pub(crate) fn end(mut self) {
        kill(Pid::from_raw(self.child.id() as i32), Signal::SIGTERM).unwrap();
        let until = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < until, "it does not end");
            std::thread::sleep(Duration::from_millis(1));
        };
        let log = fs::read_to_string(self.folder.path().join("log")).unwrap();
        assert!(status.success(), "{status}: {log}");
        assert!(!log.contains("panicked at"), "{log}");
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether the long forms of hostile tests run: `WINDLASS_HOSTILE=all`. CI runs a part of them.
pub(crate) fn is_all() -> bool {
    std::env::var_os("WINDLASS_HOSTILE").is_some_and(|value| value == "all")
}
