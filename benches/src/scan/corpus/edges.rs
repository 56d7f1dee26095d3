//! Edge cases of texts, names, kinds of files, permissions, links and repositories.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufWriter, Seek as _, SeekFrom, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::Path;

use anyhow::Result;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use super::text::RARE;
use super::trees;

const BLOCK: usize = 1 << 20;

/// All small cases. The word `needle` is in most of the texts.
pub(super) fn make(into: &Path) -> Result<()> {
    texts(&into.join("texts"))?;
    binary(&into.join("binary"))?;
    names(&into.join("names"))?;
    kinds(&into.join("kinds"))?;
    links(&into.join("links"))?;
    repositories(&into.join("repository"))
}

fn put(folder: &Path, files: &[(&str, &[u8])]) -> Result<()> {
    for (name, bytes) in files {
        let path = folder.join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, bytes)?;
    }
    Ok(())
}

const TEXT: &str = "first line\nthe needle is here\nNeedle in another case\n\nlast of all: needles, needle\n";

fn texts(folder: &Path) -> Result<()> {
    let crlf = TEXT.replace('\n', "\r\n");
    let utf16 = |bytes: fn(u16) -> [u8; 2]| {
        let units = format!("\u{feff}{TEXT}Grüße, needle, 𝄞\n");
        units.encode_utf16().flat_map(bytes).collect::<Vec<u8>>()
    };
    let bom = format!("\u{feff}{TEXT}");
    let long = format!("{}needle{}\nneedle\n", "x".repeat(100_000), "y".repeat(100_000));
    let latin = b"caf\xe9 needle\nna\xefve\n";
    let half = utf16(u16::to_le_bytes);
    put(
        folder,
        &[
            ("plain.txt", TEXT.as_bytes()),
            ("no-newline.txt", TEXT.trim_end().as_bytes()),
            ("crlf.txt", crlf.as_bytes()),
            ("mixed-ends.txt", b"needle\r\nneedle\nneedle\r\rneedle"),
            ("utf16-le.txt", &utf16(u16::to_le_bytes)),
            ("utf16-be.txt", &utf16(u16::to_be_bytes)),
            ("utf16-cut.txt", &half[..half.len() - 1]),
            ("utf8-bom.txt", bom.as_bytes()),
            ("latin1.txt", latin),
            (
                "unicode.txt",
                "STRASSE straße needlé ｎｅｅｄｌｅ Ⅷ\nпоиск ПОИСК\n".as_bytes(),
            ),
            ("long-lines.txt", long.as_bytes()),
            ("empty.txt", b""),
            ("only-newlines.txt", b"\n\n\n\n"),
            ("one-newline.txt", b"\n"),
            ("tabs.rs", b"\tlet needle = 1;\n\t\tneedle += 1; // needle\n"),
            ("same.txt", "needle\n".repeat(1_000).as_bytes()),
        ],
    )
}

fn binary(folder: &Path) -> Result<()> {
    let filler = "a line without it\n".repeat(20_000);
    let late = format!("needle\n{filler}needle \0 here\nneedle\n");
    let later = format!("{filler}\0{filler}needle\n");
    put(
        folder,
        &[
            ("nul-first", b"\0needle\nneedle\n"),
            ("nul-early", b"needle\nneedle\0\nneedle\n"),
            ("nul-late", late.as_bytes()),
            ("nul-before-match", later.as_bytes()),
            ("nul-last", b"needle\nanother\n\0"),
            ("only-nuls", &[0; 5_000]),
            ("all-bytes", &(0..=255).collect::<Vec<u8>>()),
        ],
    )
}

fn names(folder: &Path) -> Result<()> {
    let names = [
        "space in name.txt",
        "-dash.txt",
        "quote\".txt",
        "new\nline.txt",
        "ünïcode.txt",
        ".hidden.txt",
    ];
    names
        .iter()
        .try_for_each(|name| put(folder, &[(name, TEXT.as_bytes())]))?;
    fs::write(folder.join(OsStr::from_bytes(b"not-utf8-\xff\xfe.txt")), TEXT)?;
    put(folder, &[(".hidden-folder/file.txt", TEXT.as_bytes())])?;
    put(
        folder,
        &[
            ("a/b.txt", TEXT.as_bytes()),
            ("a.txt", TEXT.as_bytes()),
            ("a-b/c.txt", TEXT.as_bytes()),
        ],
    )
}

/// A user who may read everything reads the two without any permission.
fn kinds(folder: &Path) -> Result<()> {
    put(
        folder,
        &[
            ("closed.txt", TEXT.as_bytes()),
            ("closed/file.txt", TEXT.as_bytes()),
        ],
    )?;
    mkfifo(&folder.join("fifo"), Mode::from_bits_truncate(0o644))?;
    drop(UnixListener::bind(folder.join("socket"))?);
    fs::set_permissions(folder.join("closed.txt"), fs::Permissions::from_mode(0o0))?;
    Ok(fs::set_permissions(
        folder.join("closed"),
        fs::Permissions::from_mode(0o0),
    )?)
}

fn links(folder: &Path) -> Result<()> {
    trees::links(folder)?;
    put(folder, &[("folder/needle.txt", TEXT.as_bytes())])
}

/// Repositories in one another, with ignore files at every level.
fn repositories(folder: &Path) -> Result<()> {
    let text = TEXT.as_bytes();
    put(
        folder,
        &[
            (".git/HEAD", b"ref: refs/heads/main\n"),
            (".git/info/exclude", b"excluded.txt\n"),
            (
                ".gitignore",
                b"*.log\n!kept.log\n/build/\nsub/**/deep.txt\n# comment\n\\#name\n",
            ),
            (".ignore", b"ignored-by-ignore.txt\n"),
            (".rgignore", b"ignored-by-rgignore.txt\n!excluded-but-kept.txt\n"),
            ("kept.log", text),
            ("dropped.log", text),
            ("excluded.txt", text),
            ("excluded-but-kept.txt", text),
            ("ignored-by-ignore.txt", text),
            ("ignored-by-rgignore.txt", text),
            ("#name", text),
            ("build/made.txt", text),
            ("sub/build/made.txt", text),
            ("sub/.gitignore", b"!dropped.log\n*.tmp\n"),
            ("sub/dropped.log", text),
            ("sub/one.tmp", text),
            ("sub/a/b/deep.txt", text),
            ("nested/.git/HEAD", b"ref: refs/heads/main\n"),
            ("nested/.gitignore", b"*.txt\n!read.txt\n"),
            ("nested/read.txt", text),
            ("nested/not-read.txt", text),
            ("nested/outer-rules-do-not-count.log", text),
            ("nested/.ignore", b"also-not-read.md\n"),
            ("nested/also-not-read.md", text),
            ("nested/code.rs", b"fn needle() {}\n"),
        ],
    )
}

/// One line of `bytes` with the rare literal in its middle.
pub(super) fn long_line(path: &Path, bytes: u64) -> Result<()> {
    let mut out = BufWriter::with_capacity(BLOCK, File::create_new(path)?);
    let block = b"0123456789abcdef".repeat(BLOCK / 16);
    let half = |out: &mut BufWriter<File>| -> Result<()> {
        let mut left = bytes / 2;
        while left > 0 {
            let part = left.min(BLOCK as u64) as usize;
            out.write_all(&block[..part])?;
            left -= part as u64;
        }
        Ok(())
    };
    half(&mut out)?;
    out.write_all(RARE.as_bytes())?;
    half(&mut out)?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}

/// `bytes` that take no place on the disk, and a last line with the rare literal.
pub(super) fn sparse(path: &Path, bytes: u64) -> Result<()> {
    let mut file = File::create_new(path)?;
    file.seek(SeekFrom::Start(bytes))?;
    Ok(writeln!(file, "\n{RARE}")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_cases_are_there() {
        let folder = tempfile::tempdir().unwrap();
        make(folder.path()).unwrap();
        let kinds = folder.path().join("kinds");
        let mut names: Vec<_> = fs::read_dir(&kinds)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        assert_eq!(names, ["closed", "closed.txt", "fifo", "socket"]);
        assert!(fs::metadata(folder.path().join("links/dangling")).is_err());
        assert!(fs::metadata(folder.path().join("links/itself")).is_err());
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(kinds.join("closed"), mode).unwrap();
    }

    #[test]
    fn large_files_have_their_size() {
        let folder = tempfile::tempdir().unwrap();
        let [line, hole] = ["line", "sparse"].map(|name| folder.path().join(name));
        long_line(&line, 3_000_000).unwrap();
        sparse(&hole, 3_000_000).unwrap();
        let text = fs::read_to_string(&line).unwrap();
        assert_eq!(text.lines().count(), 1);
        assert_eq!(text.find(RARE), Some(1_500_000));
        assert_eq!(
            fs::metadata(&hole).unwrap().len(),
            3_000_000 + 2 + RARE.len() as u64
        );
    }
}
