//! `windlass-server passwd`: sets a user's password in a file of users, or removes a user.
//!
//! A new file in the same folder is flushed and renamed over the old one, so a server sees old
//! users or new ones, also after a crash. Comments and other users' lines stay. The new file is
//! readable by the old one's owner alone: root may edit the file of a server that runs as another
//! user.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufRead, ErrorKind, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};

use super::file::{self, Readers};
use super::users::{Users, check_name, name_in};
use super::verifier::Verifier;

const PASSWORD_BYTES_MAX: usize = 1024;

/// Where a password comes from.
pub enum Source<'a> {
    /// A person types it, twice: the function shows a prompt and returns a line.
    Asked(&'a mut dyn FnMut(&str) -> io::Result<Vec<u8>>),
    /// The first line of a stream.
    FirstLine(&'a mut dyn BufRead),
}

impl fmt::Debug for Source<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Asked(_) => "Asked",
            Self::FirstLine(_) => "FirstLine",
        })
    }
}

/// What `passwd` did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edited {
    /// The user is new.
    Added,
    /// The user has a new password.
    Changed,
    /// The user is gone.
    Removed,
}

/// Runs the command, and says on standard error what it did. With `remove`, removes user `name`;
/// else sets the password, which is typed on the terminal or is standard input's first line.
///
/// # Errors
///
/// As [`passwd`] and [`remove_user`].
pub fn run_passwd(path: &Path, name: &str, remove: bool) -> anyhow::Result<()> {
    let edited = if remove {
        remove_user(path, name)?
    } else if io::stdin().is_terminal() {
        passwd(path, name, Source::Asked(&mut ask))?
    } else {
        passwd(path, name, Source::FirstLine(&mut io::stdin().lock()))?
    };
    let what = match edited {
        Edited::Added => "added",
        Edited::Changed => "has a new password",
        Edited::Removed => "removed",
    };
    writeln!(io::stderr(), "{}: user {name:?} {what}", path.display())?;
    Ok(())
}

/// Sets the password of user `name` in the file at `path`, which is made if missing.
///
/// # Errors
///
/// If the name or the password is unfit, if the file cannot be read, has a bad line of another user
/// or is readable by others, or if it cannot be replaced.
pub fn passwd(path: &Path, name: &str, source: Source<'_>) -> anyhow::Result<Edited> {
    check_name(name)?;
    // Without a usable file no password is asked for.
    read(path)?;
    let verifier = Verifier::of_password(&read_password(source)?)?;
    edit(path, |text| {
        let (mut lines, mut edited) = (String::new(), Edited::Added);
        for line in text.split_inclusive('\n') {
            if name_in(line) != Some(name) {
                lines.push_str(line);
            } else if edited == Edited::Added {
                push_user(&mut lines, name, &verifier);
                edited = Edited::Changed;
            }
        }
        if edited == Edited::Added {
            if !lines.is_empty() && !lines.ends_with('\n') {
                lines.push('\n');
            }
            push_user(&mut lines, name, &verifier);
        }
        Ok((lines, edited))
    })
}

/// Removes user `name` from the file at `path`.
///
/// # Errors
///
/// If there is no such user, and as [`passwd`].
pub fn remove_user(path: &Path, name: &str) -> anyhow::Result<Edited> {
    edit(path, |text| {
        let others = text
            .split_inclusive('\n')
            .filter(|line| name_in(line) != Some(name));
        let others: String = others.collect();
        ensure!(others != text, "there is no user {name:?}");
        Ok((others, Edited::Removed))
    })
}

fn push_user(lines: &mut String, name: &str, verifier: &Verifier) {
    lines.push_str(name);
    lines.push(':');
    lines.push_str(&verifier.to_text());
    lines.push('\n');
}

fn read_password(source: Source<'_>) -> anyhow::Result<Vec<u8>> {
    let password = match source {
        Source::Asked(ask) => {
            let password = ask("New password: ")?;
            ensure!(ask("Again: ")? == password, "the two passwords differ");
            password
        }
        Source::FirstLine(input) => {
            let mut line = Vec::new();
            // With room for CR and LF, so that a longer password is seen.
            input
                .take(PASSWORD_BYTES_MAX as u64 + 2)
                .read_until(b'\n', &mut line)
                .context("standard input")?;
            if line.last() == Some(&b'\n') {
                line.pop();
                if line.last() == Some(&b'\r') {
                    line.pop();
                }
            }
            line
        }
    };
    ensure!(!password.is_empty(), "the password is empty");
    ensure!(
        password.len() <= PASSWORD_BYTES_MAX,
        "the password has more than {PASSWORD_BYTES_MAX} bytes"
    );
    ensure!(
        !password.contains(&0),
        "the password has a zero byte in it, which clients cannot send"
    );
    Ok(password)
}

#[cfg(unix)]
fn ask(prompt: &str) -> io::Result<Vec<u8>> {
    use std::os::fd::AsFd;

    super::terminal::read_hidden(io::stdin().as_fd(), &mut io::stderr(), prompt)
}

#[cfg(not(unix))]
fn ask(_: &str) -> io::Result<Vec<u8>> {
    let what = "a terminal that hides what is typed is known on Unix only; pipe the password in";
    Err(io::Error::new(ErrorKind::Unsupported, what))
}

/// `None` if the file is missing.
fn read(path: &Path) -> anyhow::Result<Option<String>> {
    let bytes = match file::read(path, Readers::Owner) {
        Ok(bytes) => bytes,
        Err(error) if is_missing(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let text = String::from_utf8(bytes).ok();
    let text = text.with_context(|| format!("{}: not UTF-8", path.display()))?;
    Ok(Some(text))
}

fn is_missing(error: &anyhow::Error) -> bool {
    let cause = error.root_cause().downcast_ref::<io::Error>();
    cause.is_some_and(|cause| cause.kind() == ErrorKind::NotFound)
}

fn edit(
    path: &Path,
    change: impl FnOnce(&str) -> anyhow::Result<(String, Edited)>,
) -> anyhow::Result<Edited> {
    // The link's target is replaced, so the link stays.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    let _turn = Turn::take(&folder).with_context(|| folder.display().to_string())?;
    let old = read(&target)?;
    let name = || target.display().to_string();
    let (new, edited) = change(old.as_deref().unwrap_or_default()).with_context(name)?;
    // The server refuses a bad file.
    Users::parse(new.as_bytes(), &target)?;
    replace(&target, &folder, new.as_bytes()).with_context(name)?;
    Ok(edited)
}

/// Serialises commands that edit files of one folder, so that none undoes another.
struct Turn {
    /// Some file systems cannot lock folders; commands there run unlocked.
    #[cfg(unix)]
    _folder: File,
}

impl Turn {
    #[cfg(unix)]
    fn take(folder: &Path) -> io::Result<Self> {
        let folder = File::open(folder)?;
        let _ = folder.lock();
        Ok(Self { _folder: folder })
    }

    #[cfg(not(unix))]
    fn take(_: &Path) -> io::Result<Self> {
        Ok(Self {})
    }
}

fn replace(path: &Path, folder: &Path, content: &[u8]) -> anyhow::Result<()> {
    // tempfile's mode is 0600.
    let mut new = tempfile::Builder::new()
        .prefix(".windlass-passwd-")
        .tempfile_in(folder)?;
    new.write_all(content)?;
    keep_owner(path, new.as_file())?;
    new.as_file().sync_all()?;
    new.persist(path)?;
    // Makes the rename durable.
    #[cfg(unix)]
    File::open(folder)?.sync_all()?;
    Ok(())
}

#[cfg(unix)]
fn keep_owner(path: &Path, new: &File) -> anyhow::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};

    let old = match fs::metadata(path) {
        Ok(old) => old,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => bail!(error),
    };
    let metadata = new.metadata()?;
    if (old.uid(), old.gid()) != (metadata.uid(), metadata.gid()) {
        fchown(new, Some(old.uid()), Some(old.gid()))
            .with_context(|| format!("cannot give the new file to the old one's owner, {}", old.uid()))?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn keep_owner(_: &Path, _: &File) -> anyhow::Result<()> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests;
