//! Who may log in: a file with one user a line.
//!
//! ```text
//! # analysts
//! alice:SCRAM-SHA-256$4096:<salt>$<StoredKey>:<ServerKey>
//! ```
//!
//! The verifier is PostgreSQL's text (`rolpassword` of `pg_authid`), so users move here with their
//! passwords. Blank lines and lines that begin with `#` are comments.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::fmt;
use std::path::Path;

use anyhow::{Context, bail, ensure};

use super::file::{self, Readers};
use super::reread::{Current, Reread};
use super::verifier::{ITERATIONS_DEFAULT, SALT_BYTES, Verifier};

/// As in PostgreSQL.
const NAME_BYTES_MAX: usize = 63;

/// Users with their verifiers.
#[derive(Clone, Default)]
pub struct Users {
    verifiers: HashMap<String, Verifier>,
    usual_shape: Shape,
}

/// What a challenge shows of a verifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Shape {
    pub(super) iterations: u32,
    pub(super) salt_bytes: usize,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            iterations: ITERATIONS_DEFAULT.get(),
            salt_bytes: SALT_BYTES,
        }
    }
}

impl Users {
    /// Reads a file of users, which may be empty.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, if others can read or write it (on Unix), if a line is neither a
    /// user nor a comment, or if a name comes twice. The error names file and line, and no
    /// verifier.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let bytes = file::read(path, Readers::Owner)?;
        Self::parse(&bytes, path)
    }

    /// `path` is for errors.
    pub(super) fn parse(bytes: &[u8], path: &Path) -> anyhow::Result<Self> {
        let file = path.display();
        let text = match str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let before = &bytes[..error.valid_up_to()];
                bail!(
                    "{file}:{}: not UTF-8",
                    before.split(|byte| *byte == b'\n').count()
                );
            }
        };
        let mut verifiers = HashMap::new();
        let mut lines: HashMap<&str, usize> = HashMap::new();
        for (line, number) in text.lines().zip(1..) {
            let Some((name, verifier)) = entry(line).with_context(|| format!("{file}:{number}"))? else {
                continue;
            };
            if let Some(first) = lines.insert(name, number) {
                bail!("{file}:{number}: {name:?} is a user in line {first} already");
            }
            verifiers.insert(name.to_owned(), verifier);
        }
        Ok(Self {
            usual_shape: usual_shape(verifiers.values()),
            verifiers,
        })
    }

    /// Returns the number of users.
    #[must_use]
    pub fn len(&self) -> usize {
        self.verifiers.len()
    }

    /// Whether there is no user.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.verifiers.is_empty()
    }

    pub(super) fn verifier(&self, name: &str) -> Option<&Verifier> {
        self.verifiers.get(name)
    }

    /// The most common one, or that of new verifiers.
    pub(super) fn usual_shape(&self) -> Shape {
        self.usual_shape
    }
}

fn usual_shape<'a>(verifiers: impl Iterator<Item = &'a Verifier>) -> Shape {
    let mut counts: BTreeMap<Shape, usize> = BTreeMap::new();
    for verifier in verifiers {
        let shape = Shape {
            iterations: verifier.iterations(),
            salt_bytes: verifier.salt().len(),
        };
        *counts.entry(shape).or_default() += 1;
    }
    let usual = counts.into_iter().max_by_key(|(_, count)| *count);
    usual.map_or_else(Shape::default, |(shape, _)| shape)
}

impl fmt::Debug for Users {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Users")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

/// A file of users, read again when it changed.
#[derive(Debug)]
pub struct UsersFile(Reread<Users, 1>);

impl UsersFile {
    /// Reads the file for the first time.
    ///
    /// # Errors
    ///
    /// As [`Users::read`].
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        Reread::open([path.to_owned()], |[path]| Users::read(path)).map(Self)
    }

    /// Returns the users for a login: reads the file if its metadata changed. While it is bad, the
    /// last good users stay.
    pub fn current(&self) -> Current<Users> {
        self.0.current()
    }
}

/// `None` for a comment.
fn entry(line: &str) -> anyhow::Result<Option<(&str, Verifier)>> {
    if is_comment(line) {
        return Ok(None);
    }
    let (name, verifier) = line
        .split_once(':')
        .context("neither `name:verifier` nor a comment")?;
    check_name(name)?;
    let verifier = Verifier::parse(verifier.trim_end()).with_context(|| format!("user {name:?}"))?;
    Ok(Some((name, verifier)))
}

/// Whether or not the rest of the line is good.
pub(super) fn name_in(line: &str) -> Option<&str> {
    let name = line.split_once(':').map(|(name, _)| name);
    name.filter(|_| !is_comment(line))
}

fn is_comment(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

/// PostgreSQL's names, except those that a line cannot hold.
pub(super) fn check_name(name: &str) -> anyhow::Result<()> {
    ensure!(!name.is_empty(), "the name is empty");
    ensure!(
        name.len() <= NAME_BYTES_MAX,
        "the name has {} bytes, more than {NAME_BYTES_MAX}",
        name.len()
    );
    let refused = name
        .chars()
        .find(|c| *c == ':' || c.is_control() || *c == '\u{feff}');
    if let Some(refused) = refused {
        bail!("the name {name:?} has {refused:?} in it");
    }
    ensure!(
        name.trim() == name,
        "the name {name:?} begins or ends with a space"
    );
    ensure!(
        !name.starts_with('#'),
        "the name {name:?} begins as a comment does"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::super::reread::Change;
    use super::*;

    fn line(name: &str) -> String {
        format!("{name}:{}", Verifier::of_password(b"secret").unwrap().to_text())
    }

    fn parse(text: &str) -> anyhow::Result<Users> {
        Users::parse(text.as_bytes(), Path::new("users"))
    }

    #[test]
    fn users_are_read_with_comments_blank_lines_and_any_line_ends() {
        let names = ["alice", "Bob Müller", "o'neil", "a\\b", "\u{540d}"];
        let lines = names.map(line).join("\r\n");
        let users = parse(&format!("# the team\n\n  # more\r\n \t\n{lines}  ")).unwrap();
        assert_eq!(users.len(), names.len());
        assert!(names.iter().all(|name| users.verifier(name).is_some()));
        assert!(users.verifier("alic").is_none() && users.verifier("# the team").is_none());
        assert!(parse("").unwrap().is_empty());
    }

    #[test]
    fn a_bad_line_is_refused_with_file_and_line() {
        let good = line("alice");
        let (_, verifier) = good.split_once(':').unwrap();
        let texts = [
            ("# one\n\nsecret\n".to_owned(), "users:3: neither"),
            (
                format!("{good}\n{}\n{good}", line("bob")),
                "users:3: \"alice\" is a user in line 1",
            ),
            (
                "bob:secret".to_owned(),
                "users:1: user \"bob\": the verifier is not",
            ),
            (
                good.replace("$4096:", "$1:"),
                "users:1: user \"alice\": the iterations",
            ),
            (format!(":{verifier}"), "users:1: the name is empty"),
            (
                format!(" bob:{verifier}"),
                "users:1: the name \" bob\" begins or ends",
            ),
            (
                format!("b\tob:{verifier}"),
                "users:1: the name \"b\\tob\" has '\\t'",
            ),
            (format!("\u{feff}{good}"), "users:1: the name \"\\u{feff}alice\""),
            (
                format!("{}:{verifier}", "n".repeat(64)),
                "users:1: the name has 64 bytes",
            ),
        ];
        for (text, expected) in texts {
            let error = format!("{:#}", parse(&text).unwrap_err());
            assert!(error.starts_with(expected), "{error}");
            assert!(
                !error.contains("secret") && !error.contains(&verifier[20..]),
                "{error}"
            );
        }
        let error = Users::parse(b"# one\n\n\xff", Path::new("users")).unwrap_err();
        assert_eq!(error.to_string(), "users:3: not UTF-8");
        assert!(parse(&format!("{}:{verifier}", "n".repeat(63))).is_ok());
    }

    #[test]
    fn names_that_a_line_cannot_hold_are_refused() {
        for name in ["", ":", "a:b", "a\nb", "a\0", " a", "a ", "#a", "\u{85}"] {
            assert!(check_name(name).is_err(), "{name:?}");
        }
        for name in ["a", "a b", "a#", "\"", "-a", "é"] {
            check_name(name).unwrap();
        }
    }

    #[test]
    fn debug_shows_no_name_and_no_verifier() {
        let users = parse(&line("alice")).unwrap();
        assert_eq!(format!("{users:?}"), "Users { len: 1, .. }");
    }

    #[test]
    fn the_usual_shape_is_that_of_most_users() {
        let usual = |users: &Users| {
            let Shape {
                iterations,
                salt_bytes,
            } = users.usual_shape();
            (iterations, salt_bytes)
        };
        assert_eq!(usual(&Users::default()), (4096, 16));
        let lines: Vec<_> = ["a", "b", "c"].into_iter().map(line).collect();
        let text = lines.join("\n");
        assert_eq!(usual(&parse(&text).unwrap()), (4096, 16));
        assert_eq!(
            usual(&parse(&text.replacen("$4096:", "$5000:", 2)).unwrap()),
            (5000, 16)
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_file_is_read_at_the_next_login_after_it_changed() {
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("users");
        let write = |text: &str, mode: u32| {
            let new = folder.path().join("new");
            fs::write(&new, text).unwrap();
            fs::set_permissions(&new, fs::Permissions::from_mode(mode)).unwrap();
            fs::rename(&new, &path).unwrap();
        };
        write(&line("alice"), 0o600);
        let file = UsersFile::open(&path).unwrap();
        assert!(file.current().value.verifier("alice").is_some());
        write(&line("bob"), 0o600);
        let Current { value, change } = file.current();
        assert!(value.verifier("alice").is_none() && value.verifier("bob").is_some());
        assert!(matches!(change, Change::ReadAgain));
        write(&line("carol"), 0o644);
        let Current { value, change } = file.current();
        assert!(value.verifier("bob").is_some());
        let Change::Refused(error) = change else {
            panic!("{change:?}")
        };
        assert!(format!("{error:#}").contains("chmod 600"), "{error:#}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(file.current().value.verifier("carol").is_some(), "mended");
        write("", 0o600);
        assert!(file.current().value.is_empty(), "the last user was removed");
    }

    proptest! {
        #[test]
        fn any_content_is_read_or_refused(bytes: Vec<u8>, text in "([a#: \r\n]|SCRAM-SHA-256|\\$|4096)*") {
            let _ = Users::parse(&bytes, Path::new("users"));
            let _ = parse(&text);
        }
    }
}
