//! Starts the program in a folder of the test's own.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use arrow::array::RecordBatch;
use parquet::arrow::ArrowWriter;

#[derive(Debug)]
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, content).expect("the folder can be written to");
        path
    }

    pub(crate) fn write_parquet(&self, name: &str, batch: &RecordBatch) -> PathBuf {
        let path = self.path().join(name);
        let file = File::create(&path).expect("the folder can be written to");
        let mut writer = ArrowWriter::try_new(file, batch.schema(), None).expect("a writer");
        writer.write(batch).expect("a batch");
        writer.close().expect("a footer");
        path
    }

    pub(crate) fn query<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Outcome {
        self.run("query", arguments)
    }

    pub(crate) fn scan<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Outcome {
        self.run("scan", arguments)
    }

    /// A scan whose standard input is a pipe with these bytes.
    pub(crate) fn scan_of<'a>(&self, input: &[u8], arguments: impl IntoIterator<Item = &'a str>) -> Outcome {
        let mut child = program()
            .arg("scan")
            .args(arguments)
            .current_dir(self.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut stdin = child.stdin.take().expect("it is a pipe");
        let input = input.to_vec();
        // The program may end before it has read everything.
        let writer = std::thread::spawn(move || stdin.write_all(&input));
        let outcome = Outcome::of(&child.wait_with_output().expect("it ends"));
        drop(writer.join());
        outcome
    }

    /// Runs in the folder, so that paths are relative to it.
    fn run<'a>(&self, command: &str, arguments: impl IntoIterator<Item = &'a str>) -> Outcome {
        let output = program()
            .arg(command)
            .args(arguments)
            .current_dir(self.path())
            .output();
        Outcome::of(&output.expect("the program starts"))
    }
}

pub(crate) fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_windlass"))
}

#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Outcome {
    pub(crate) fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
        Self {
            code: output.status.code(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }

    pub(crate) fn answer(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.stdout
    }

    pub(crate) fn assert_error(&self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert_eq!(self.stdout, "", "{self:?}");
        assert!(self.stderr.starts_with("error: "), "{self:?}");
        assert!(!self.stderr.contains("panicked"), "{self:?}");
        for part in parts {
            assert!(self.stderr.contains(part), "no `{part}` in {}", self.stderr);
        }
    }
}
