//! Who has logged in from a page: a token in a cookie for each.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pipeline_exec::lock;
use ring::digest;
use ring::rand::{SecureRandom, SystemRandom};

use crate::access::Kept;
use crate::wire::SqlError;

/// Longest time of a session.
pub(super) const LIFE: Duration = Duration::from_secs(12 * 3_600);

/// Time after its last request at which a session ends.
const IDLE: Duration = Duration::from_secs(30 * 60);

/// Number of sessions of one user. A further one ends the one that is idle the longest.
const OF_USER: usize = 16;

/// Number of sessions. A further one is refused.
const ALL: usize = 1_024;

const TOKEN_BYTES: usize = 32;

/// The sessions, by a hash of their tokens: the time to find one says nothing about the others.
pub(super) struct Sessions {
    random: SystemRandom,
    open: Mutex<HashMap<Hash, Open>>,
}

type Hash = [u8; digest::SHA256_OUTPUT_LEN];

struct Open {
    who: Who,
    since: Instant,
    last: Instant,
}

/// A user that has logged in.
#[derive(Clone, Debug)]
pub(super) struct Who {
    pub(super) user: Arc<str>,
    /// The verifier of the login, if there are passwords.
    pub(super) kept: Option<Kept>,
}

impl Sessions {
    pub(super) fn new() -> Self {
        Self {
            random: SystemRandom::new(),
            open: Mutex::default(),
        }
    }

    /// Begins a session, and gives its token.
    ///
    /// # Errors
    ///
    /// If there are too many, or the system has no random numbers.
    pub(super) fn enter(&self, who: Who, now: Instant) -> Result<String, SqlError> {
        let mut token = [0; TOKEN_BYTES];
        let drawn = self.random.fill(&mut token);
        drawn.map_err(|_| SqlError::new("58000", "the system has no random numbers"))?;
        let token = URL_SAFE_NO_PAD.encode(token);
        let mut open = lock(&self.open);
        open.retain(|_, session| session.is_alive(now));
        let of_user = open.iter().filter(|(_, session)| session.who.user == who.user);
        if of_user.clone().count() >= OF_USER {
            let idle = of_user.min_by_key(|(_, session)| session.last);
            if let Some(hash) = idle.map(|(hash, _)| *hash) {
                open.remove(&hash);
            }
        }
        if open.len() >= ALL {
            let what = format!("{ALL} sessions are open, and there may be no more");
            return Err(SqlError::new("53300", what));
        }
        let session = Open {
            who,
            since: now,
            last: now,
        };
        open.insert(hash(&token), session);
        Ok(token)
    }

    /// Who a token is of, if it is one.
    pub(super) fn find(&self, token: &str, now: Instant) -> Option<Who> {
        let mut open = lock(&self.open);
        let session = open
            .get_mut(&hash(token))
            .filter(|session| session.is_alive(now))?;
        session.last = now;
        Some(session.who.clone())
    }

    pub(super) fn leave(&self, token: &str) {
        lock(&self.open).remove(&hash(token));
    }
}

impl Open {
    fn is_alive(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.since) < LIFE && now.saturating_duration_since(self.last) < IDLE
    }
}

fn hash(token: &str) -> Hash {
    let digest = digest::digest(&digest::SHA256, token.as_bytes());
    let mut hash = Hash::default();
    // Does not panic: a digest of SHA-256 has this length.
    hash.copy_from_slice(digest.as_ref());
    hash
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions")
            .field("open", &lock(&self.open).len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(user: &str) -> Who {
        Who {
            user: Arc::from(user),
            kept: None,
        }
    }

    #[test]
    fn a_session_ends_after_its_time_when_it_is_idle_and_by_a_logout() {
        let (sessions, began) = (Sessions::new(), Instant::now());
        let token = sessions.enter(who("alice"), began).unwrap();
        assert!(sessions.find("", began).is_none());
        let mut now = began;
        while now + IDLE / 2 < began + LIFE {
            now += IDLE / 2;
            assert_eq!(&*sessions.find(&token, now).unwrap().user, "alice");
        }
        assert!(sessions.find(&token, began + LIFE).is_none());
        let token = sessions.enter(who("alice"), began).unwrap();
        assert!(sessions.find(&token, began + IDLE).is_none());
        let token = sessions.enter(who("alice"), began).unwrap();
        sessions.leave(&token);
        assert!(sessions.find(&token, began).is_none());
    }

    #[test]
    fn sessions_of_a_user_and_of_all_are_bounded() {
        let (sessions, began) = (Sessions::new(), Instant::now());
        let first = sessions.enter(who("alice"), began).unwrap();
        let later = began + Duration::from_secs(1);
        let others: Vec<_> = (0..OF_USER)
            .map(|_| sessions.enter(who("alice"), later).unwrap())
            .collect();
        assert!(sessions.find(&first, later).is_none(), "the idlest has ended");
        assert!(others.iter().all(|token| sessions.find(token, later).is_some()));
        for number in OF_USER..ALL {
            sessions.enter(who(&format!("user {number}")), later).unwrap();
        }
        let error = sessions.enter(who("bob"), later).unwrap_err();
        assert_eq!(error.code, "53300");
        sessions
            .enter(who("alice"), later)
            .expect("one of hers gives way");
        sessions
            .enter(who("bob"), later + IDLE)
            .expect("old ones have ended");
    }
}
