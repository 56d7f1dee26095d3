//! A password that a browser sent as it is, inside TLS or on loopback, held against what is kept.

use std::fmt;
use std::num::NonZeroU32;

use super::scram::{Denied, is_equal, made_up};
use super::users::Users;
use super::verifier::{Key, Verifier, keys, sha256};

/// Longest password that is looked at.
const PASSWORD_BYTES_MAX: usize = 1_024;

/// A password's key beside that of its user.
pub(crate) struct PlainPassword {
    verifier: Verifier,
    /// Whether the user exists; if not, `verifier` is made up.
    known: bool,
    stored_key: Key,
}

/// What a user's verifier was at a login.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Kept(Key);

impl PlainPassword {
    /// Derives the key: some milliseconds of computation, also for a user that does not exist.
    ///
    /// # Errors
    ///
    /// If the password is too long, or the system gives no random bytes.
    pub(crate) fn derive(users: &Users, name: &str, password: &[u8]) -> Result<Self, Denied> {
        if password.len() > PASSWORD_BYTES_MAX {
            return Err(Denied::WrongPassword);
        }
        let made_up = made_up(users, name)?;
        let known = users.verifier(name);
        let verifier = known.cloned().unwrap_or(made_up);
        let iterations = NonZeroU32::new(verifier.iterations()).ok_or(Denied::WrongPassword)?;
        let (client_key, _) = keys(password, verifier.salt(), iterations);
        Ok(Self {
            known: known.is_some(),
            stored_key: sha256(&client_key),
            verifier,
        })
    }

    /// Compares the keys, which is short.
    ///
    /// # Errors
    ///
    /// If the password is wrong, or there is no such user.
    pub(crate) fn check(&self) -> Result<Kept, Denied> {
        let fits = is_equal(&self.stored_key, self.verifier.stored_key())?;
        if fits & self.known {
            Ok(Kept(*self.verifier.stored_key()))
        } else {
            Err(Denied::WrongPassword)
        }
    }
}

impl Kept {
    /// Returns whether the user is there and has the password of that login.
    pub(crate) fn still_holds(&self, users: &Users, name: &str) -> bool {
        users
            .verifier(name)
            .is_some_and(|verifier| *verifier.stored_key() == self.0)
    }
}

impl fmt::Debug for PlainPassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlainPassword").finish_non_exhaustive()
    }
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kept").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn users(passwords: &[(&str, &str)]) -> Users {
        let lines = passwords.iter().map(|(name, password)| {
            let verifier = Verifier::of_password(password.as_bytes()).unwrap();
            format!("{name}:{}\n", verifier.to_text())
        });
        Users::parse(lines.collect::<String>().as_bytes(), Path::new("users")).unwrap()
    }

    #[test]
    fn a_password_fits_its_user_alone() {
        let users = users(&[("alice", "wonderland"), ("bob", "builder")]);
        let check = |name, password: &str| {
            let derived = PlainPassword::derive(&users, name, password.as_bytes())?;
            derived.check().map(|_| ())
        };
        assert_eq!(check("alice", "wonderland"), Ok(()));
        let too_long = "x".repeat(PASSWORD_BYTES_MAX + 1);
        for (name, password) in [
            ("alice", "builder"),
            ("bob", "wonderland"),
            ("eve", "wonderland"),
            ("alice", ""),
            ("alice", &too_long),
        ] {
            assert_eq!(check(name, password), Err(Denied::WrongPassword), "{name}");
        }
    }

    #[test]
    fn a_login_holds_until_the_password_is_another() {
        let before = users(&[("alice", "wonderland")]);
        let derived = PlainPassword::derive(&before, "alice", b"wonderland").unwrap();
        let kept = derived.check().unwrap();
        assert!(kept.still_holds(&before, "alice"));
        assert!(
            !kept.still_holds(&users(&[("alice", "wonderland")]), "alice"),
            "set again"
        );
        assert!(
            !kept.still_holds(&users(&[("bob", "builder")]), "alice"),
            "removed"
        );
    }
}
