//! A login from the page: user and password, or a name alone where there are no passwords.

use std::sync::Arc;
use std::time::Instant;

use serde::Deserialize;
use tokio::sync::Semaphore;

use crate::access::{PlainPassword, Refused};
use crate::blocking::blocking;
use crate::shared::Shared;
use crate::wire::SqlError;

use super::origin::Came;
use super::sessions::{LIFE, Who};

/// Number of passwords whose keys are derived at once.
const DERIVED_AT_ONCE: usize = 2;

/// Number of letters of a name.
const NAME_MAX: usize = 128;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Login {
    user: String,
    #[serde(default)]
    password: String,
}

/// Checks passwords.
#[derive(Debug)]
pub(super) struct Passwords {
    places: Semaphore,
}

impl Passwords {
    pub(super) fn new() -> Self {
        Self {
            places: Semaphore::new(DERIVED_AT_ONCE),
        }
    }

    /// Says who a login is.
    ///
    /// # Errors
    ///
    /// If the password is wrong, or the address has tried too often.
    pub(super) async fn check(&self, shared: &Shared, came: Came, login: Login) -> Result<Who, SqlError> {
        let Login { user, password } = login;
        let is_name =
            !user.is_empty() && user.chars().count() <= NAME_MAX && !user.contains(char::is_control);
        if !is_name {
            return Err(SqlError::new(
                "28000",
                format!("a user's name has 1 to {NAME_MAX} letters"),
            ));
        }
        let who = |kept| Who {
            user: Arc::from(user.as_str()),
            kept,
        };
        let Some(users) = shared.access.users() else {
            return Ok(who(None));
        };
        let (address, attempts) = (came.peer.ip(), shared.access.attempts());
        let too_many = |refused: &dyn std::fmt::Display| SqlError::new("28P01", refused.to_string());
        attempts
            .look(address, Instant::now())
            .map_err(|refused| too_many(&refused))?;
        let _place = self.places.acquire().await;
        let (users, name) = (users.current().logged("users"), user.clone());
        let derived = blocking(move || PlainPassword::derive(&users, &name, password.as_bytes())).await;
        let derived = derived.map_err(|_| SqlError::shutting_down())?;
        // A password that is too long counts as a wrong one.
        let checked = attempts.attempt(address, Instant::now(), || {
            derived.and_then(|derived| derived.check())
        });
        match checked {
            Ok(kept) => Ok(who(Some(kept))),
            Err(Refused::TooMany(refused)) => Err(too_many(&refused)),
            Err(Refused::Failed(denied)) => {
                let what = format!("{denied} for user \"{user}\"");
                Err(SqlError::new(denied.sqlstate(), what))
            }
        }
    }
}

/// Name of the cookie. Cookies are not kept apart by port, so the name has it; over TLS a browser
/// takes this name from this host alone.
pub(super) fn cookie_name(came: Came) -> String {
    let prefix = if came.is_tls { "__Host-" } else { "" };
    format!("{prefix}windlass-{}", came.local.port())
}

pub(super) fn cookie(came: Came, token: &str) -> String {
    let (name, life) = (cookie_name(came), LIFE.as_secs());
    let secure = if came.is_tls { "; Secure" } else { "" };
    format!("{name}={token}; Path=/; Max-Age={life}; HttpOnly; SameSite=Strict{secure}")
}

/// Makes the browser forget the cookie.
pub(super) fn no_cookie(came: Came) -> String {
    let secure = if came.is_tls { "; Secure" } else { "" };
    let name = cookie_name(came);
    format!("{name}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict{secure}")
}
