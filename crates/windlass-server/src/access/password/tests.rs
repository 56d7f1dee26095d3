//! Files of users before and after the command.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::thread;

use tempfile::TempDir;

use super::super::scram::{Exchange, SCRAM_SHA_256};
use super::*;

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn users(&self) -> PathBuf {
        self.0.path().join("users")
    }

    fn with(text: &str) -> Self {
        let folder = Self::new();
        fs::write(folder.users(), text).unwrap();
        fs::set_permissions(folder.users(), fs::Permissions::from_mode(0o600)).unwrap();
        folder
    }

    fn text(&self) -> String {
        fs::read_to_string(self.users()).unwrap()
    }

    fn set(&self, name: &str, input: &[u8]) -> anyhow::Result<Edited> {
        passwd(&self.users(), name, Source::FirstLine(&mut &*input))
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }
}

fn fits(path: &Path, name: &str, password: &[u8]) -> bool {
    let users = Users::read(path).unwrap();
    let kept = users.verifier(name).unwrap();
    let iterations = kept.iterations().try_into().unwrap();
    *kept == Verifier::derived(password, kept.salt().to_vec(), iterations)
}

fn line(name: &str) -> String {
    format!("{name}:{}\n", Verifier::of_password(b"other").unwrap().to_text())
}

fn complaint(result: anyhow::Result<Edited>) -> String {
    format!("{:#}", result.unwrap_err())
}

#[test]
fn the_first_user_makes_the_file_for_its_owner_alone() {
    let folder = Folder::new();
    assert_eq!(folder.set("alice", b"secret\nignored\n").unwrap(), Edited::Added);
    let metadata = fs::metadata(folder.users()).unwrap();
    assert_eq!(metadata.mode() & 0o7777, 0o600);
    assert!(fits(&folder.users(), "alice", b"secret"));
    assert!(folder.text().starts_with("alice:SCRAM-SHA-256$4096:"));
    assert_eq!(folder.names(), ["users"], "nothing else is left");
}

#[test]
fn a_new_password_replaces_the_users_line_and_no_other() {
    let before = format!(
        "# team\r\n\n{}  # alice: gone\n{}",
        line("alice"),
        line("bob").trim_end()
    );
    let folder = Folder::with(&before);
    assert_eq!(folder.set("alice", b"secret").unwrap(), Edited::Changed);
    let after = folder.text();
    for (index, (was, is)) in before.split('\n').zip(after.split('\n')).enumerate() {
        assert_eq!(was == is, index != 2, "line {index}");
    }
    assert!(fits(&folder.users(), "alice", b"secret"));
    assert!(fits(&folder.users(), "bob", b"other"));
    assert_eq!(folder.set("carol", b"secret").unwrap(), Edited::Added);
    assert!(
        folder.text().starts_with(&format!("{after}\ncarol:")),
        "after a line without an end"
    );
}

#[test]
fn a_removed_user_is_gone_and_the_last_one_leaves_an_empty_file() {
    let folder = Folder::with(&format!("# team\n{}{}", line("alice"), line("bob")));
    assert_eq!(remove_user(&folder.users(), "alice").unwrap(), Edited::Removed);
    let users = Users::read(&folder.users()).unwrap();
    assert!(users.verifier("alice").is_none() && users.verifier("bob").is_some());
    let error = complaint(remove_user(&folder.users(), "alice"));
    assert!(error.ends_with("users: there is no user \"alice\""), "{error}");
    remove_user(&folder.users(), "bob").unwrap();
    assert_eq!(folder.text(), "# team\n");
    let error = complaint(remove_user(&Folder::new().users(), "bob"));
    assert!(error.ends_with("there is no user \"bob\""), "{error}");
}

#[test]
fn a_bad_line_of_the_user_is_mended_and_another_ones_is_an_error() {
    let folder = Folder::with(&format!("alice:x\n{}alice:y\n", line("bob")));
    assert_eq!(folder.set("alice", b"secret").unwrap(), Edited::Changed);
    assert_eq!(folder.text().matches("alice").count(), 1);
    let before = format!("{}alice:x\n", line("bob"));
    let folder = Folder::with(&before);
    let error = complaint(folder.set("bob", b"secret"));
    assert!(
        error.contains("users:2: user \"alice\": the verifier is not"),
        "{error}"
    );
    assert_eq!(
        (folder.text(), folder.names()),
        (before, vec!["users".to_owned()])
    );
}

#[test]
fn the_password_is_asked_for_twice() {
    let folder = Folder::new();
    let (mut prompts, mut answers) = (Vec::new(), vec!["secret", "secret", "Secret", "secret"]);
    let mut ask = |prompt: &str| {
        prompts.push(prompt.to_owned());
        Ok(answers.pop().unwrap().as_bytes().to_vec())
    };
    let error = complaint(passwd(&folder.users(), "alice", Source::Asked(&mut ask)));
    assert_eq!(error, "the two passwords differ");
    assert!(folder.names().is_empty());
    passwd(&folder.users(), "alice", Source::Asked(&mut ask)).unwrap();
    assert_eq!(prompts, ["New password: ", "Again: "].repeat(2));
    assert!(fits(&folder.users(), "alice", b"secret"));
}

#[test]
fn nothing_is_asked_for_a_bad_name_or_a_file_that_cannot_be_used() {
    let mut ask = |_: &str| -> io::Result<Vec<u8>> { panic!("asked") };
    let folder = Folder::new();
    for name in ["", "a:b", "a\nb", "#a", " a"] {
        assert!(passwd(&folder.users(), name, Source::Asked(&mut ask)).is_err());
    }
    let folder = Folder::with("");
    fs::set_permissions(folder.users(), fs::Permissions::from_mode(0o640)).unwrap();
    let error = complaint(passwd(&folder.users(), "alice", Source::Asked(&mut ask)));
    assert!(error.contains("chmod 600"), "{error}");
    let error = complaint(passwd(folder.0.path(), "alice", Source::Asked(&mut ask)));
    assert!(error.ends_with("not a file"), "{error}");
}

#[test]
fn passwords_are_the_first_line_of_any_bytes() {
    let folder = Folder::new();
    for (input, password) in [
        (&b"secret"[..], &b"secret"[..]),
        (b"secret\r\n", b"secret"),
        (b" se cret \n", b" se cret "),
        (b"\xff\xfe\n", b"\xff\xfe"),
        (&[b'x'; 1024], &[b'x'; 1024]),
    ] {
        folder.set("alice", input).unwrap();
        assert!(fits(&folder.users(), "alice", password), "{input:?}");
    }
    for (input, expected) in [
        (&b""[..], "empty"),
        (b"\n", "empty"),
        (b"\r\nsecret", "empty"),
        (&[b'x'; 1025], "more than 1024"),
        (&[b'x'; 2000], "more than 1024"),
        (b"se\0cret", "zero byte"),
    ] {
        let error = complaint(folder.set("alice", input));
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_link_stays_one_and_its_file_is_replaced() {
    let folder = Folder::with(&line("alice"));
    let link = folder.0.path().join("link");
    symlink("users", &link).unwrap();
    passwd(&link, "bob", Source::FirstLine(&mut &b"secret"[..])).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fits(&folder.users(), "bob", b"secret"));
}

#[test]
fn commands_at_once_lose_no_user() {
    let folder = Folder::new();
    thread::scope(|scope| {
        for number in 0..8 {
            let folder = &folder;
            scope.spawn(move || folder.set(&format!("user{number}"), b"secret").unwrap());
        }
    });
    assert_eq!(Users::read(&folder.users()).unwrap().len(), 8);
}

#[test]
fn a_reader_sees_whole_files_only() {
    let folder = Folder::new();
    folder.set("alice", b"secret").unwrap();
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for number in 0..20 {
                folder.set(&format!("user{number}"), b"secret").unwrap();
            }
        });
        let mut seen = 0;
        while !writer.is_finished() {
            let users = Users::read(&folder.users()).unwrap();
            assert!(users.len() >= seen);
            seen = users.len();
        }
    });
}

#[test]
fn the_verifier_lets_its_user_in() {
    let folder = Folder::new();
    folder.set("alice", b"secret").unwrap();
    let users = Users::read(&folder.users()).unwrap();
    let mut exchange = Exchange::begin(&users, "alice", None).unwrap();
    assert!(exchange.first(SCRAM_SHA_256, b"n,,n=,r=abc").is_ok());
}
