//! Wrong passwords, counted by the address that they come from.
//!
//! Each address has a bucket of ten tokens, and gets one back every six seconds: 600 an hour. A
//! wrong password takes one. Without tokens nothing is checked, so a million guesses do not find
//! the right password. A right password takes none and gives none back.
//!
//! IPv6 addresses count by their /64, which is one customer's; IPv4 inside of IPv6 counts as IPv4.
//!
//! A bucket is the instant when it will be full again. Full buckets need no memory. Beyond
//! `REMEMBERED` addresses the one that is full the soonest is forgotten.

use std::collections::{BTreeSet, HashMap};
use std::error::Error;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use pipeline_exec::lock;

const TOKENS: u32 = 10;

const REFILL: Duration = Duration::from_secs(6);

const REMEMBERED: usize = 10_000;

/// Failed logins by address. `now` is an argument, so that tests have their own time.
#[derive(Debug)]
pub struct Attempts {
    remembered: usize,
    buckets: Mutex<Buckets>,
}

#[derive(Debug, Default)]
struct Buckets {
    full_at: HashMap<Network, Instant>,
    /// The same, the soonest first.
    soonest: BTreeSet<(Instant, Network)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Network {
    V4(Ipv4Addr),
    /// The upper 64 bits.
    V6(u64),
}

/// Why an attempt failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused<E> {
    /// The address has failed too often. Nothing was checked.
    TooMany(TooMany),
    /// The check failed, which takes a token.
    Failed(E),
}

/// An address has failed too often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooMany {
    /// The time until its next attempt is checked.
    pub wait: Duration,
}

impl Attempts {
    /// Begins with full buckets.
    #[must_use]
    pub fn new() -> Self {
        Self::remembering(REMEMBERED)
    }

    fn remembering(remembered: usize) -> Self {
        Self {
            remembered,
            buckets: Mutex::default(),
        }
    }

    /// Looks, before a login, whether an attempt would be checked. Takes no token.
    ///
    /// # Errors
    ///
    /// If the address has failed too often.
    pub fn look(&self, address: IpAddr, now: Instant) -> Result<(), TooMany> {
        lock(&self.buckets).look(Network::of(address), now)
    }

    /// Runs a check of a password, and counts it if it fails. Checks run one at a time, so one
    /// token allows one guess. `check` must be short.
    ///
    /// # Errors
    ///
    /// If the address has failed too often, or if `check` fails.
    pub fn attempt<T, E>(
        &self,
        address: IpAddr,
        now: Instant,
        check: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, Refused<E>> {
        let network = Network::of(address);
        let mut buckets = lock(&self.buckets);
        buckets.look(network, now).map_err(Refused::TooMany)?;
        check().map_err(|error| {
            buckets.take(network, now, self.remembered);
            Refused::Failed(error)
        })
    }
}

impl Default for Attempts {
    fn default() -> Self {
        Self::new()
    }
}

impl Buckets {
    fn look(&self, network: Network, now: Instant) -> Result<(), TooMany> {
        let full_at = self.full_at.get(&network).copied();
        let until_full = full_at.map_or(Duration::ZERO, |at| at.saturating_duration_since(now));
        let wait = (until_full + REFILL).saturating_sub(REFILL * TOKENS);
        if wait.is_zero() {
            Ok(())
        } else {
            Err(TooMany { wait })
        }
    }

    fn take(&mut self, network: Network, now: Instant, remembered: usize) {
        let before = self.full_at.remove(&network);
        if let Some(before) = before {
            self.soonest.remove(&(before, network));
        }
        while let Some((at, soonest)) = self.soonest.first().copied()
            && (at <= now || self.full_at.len() >= remembered)
        {
            self.soonest.pop_first();
            self.full_at.remove(&soonest);
        }
        let full_at = before.map_or(now, |before| before.max(now)) + REFILL;
        self.full_at.insert(network, full_at);
        self.soonest.insert((full_at, network));
    }
}

impl Network {
    fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self::V4(address),
            IpAddr::V6(address) => Self::V6(upper(address)),
        }
    }
}

fn upper(address: Ipv6Addr) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = address.octets();
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

impl fmt::Display for TooMany {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.wait.as_millis().div_ceil(1000);
        write!(
            f,
            "too many failed logins from this address; the next attempt is possible in {seconds} s"
        )
    }
}

impl Error for TooMany {}

impl<E: fmt::Display> fmt::Display for Refused<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany(too_many) => too_many.fmt(f),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl<E: Error> Error for Refused<E> {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ADDRESS: &str = "192.0.2.1";

    fn after(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    fn ip(address: &str) -> IpAddr {
        address.parse().unwrap()
    }

    fn fail(attempts: &Attempts, address: &str, now: Instant) -> Result<(), Refused<()>> {
        attempts.attempt(ip(address), now, || Err(()))
    }

    fn succeed(attempts: &Attempts, address: &str, now: Instant) -> Result<(), Refused<()>> {
        attempts.attempt(ip(address), now, || Ok(()))
    }

    fn too_many(seconds: f64) -> Refused<()> {
        let wait = after(seconds);
        Refused::TooMany(TooMany { wait })
    }

    #[test]
    fn ten_failures_at_once_then_one_every_six_seconds() {
        let (attempts, start) = (Attempts::new(), Instant::now());
        for _ in 0..10 {
            assert_eq!(fail(&attempts, ADDRESS, start), Err(Refused::Failed(())));
        }
        assert_eq!(fail(&attempts, ADDRESS, start), Err(too_many(6.0)));
        assert_eq!(fail(&attempts, ADDRESS, start + after(5.5)), Err(too_many(0.5)));
        for round in 1..4 {
            let now = start + REFILL * round;
            assert_eq!(fail(&attempts, ADDRESS, now), Err(Refused::Failed(())));
            assert_eq!(fail(&attempts, ADDRESS, now), Err(too_many(6.0)));
        }
    }

    #[test]
    fn the_right_password_is_not_checked_without_a_token_and_costs_none() {
        let (attempts, start) = (Attempts::new(), Instant::now());
        for _ in 0..9 {
            assert_eq!(fail(&attempts, ADDRESS, start), Err(Refused::Failed(())));
            assert_eq!(succeed(&attempts, ADDRESS, start), Ok(()));
        }
        for _ in 0..100 {
            assert_eq!(succeed(&attempts, ADDRESS, start), Ok(()), "one token is left");
        }
        assert_eq!(fail(&attempts, ADDRESS, start), Err(Refused::Failed(())));
        let checked = attempts.attempt(ip(ADDRESS), start, || -> Result<(), ()> { panic!("checked") });
        assert_eq!(checked, Err(too_many(6.0)));
        assert_eq!(attempts.look(ip(ADDRESS), start), Err(TooMany { wait: REFILL }));
        assert_eq!(succeed(&attempts, ADDRESS, start + REFILL), Ok(()));
        assert_eq!(attempts.look(ip(ADDRESS), start + REFILL), Ok(()));
    }

    #[test]
    fn a_bucket_fills_up_to_ten_and_no_further() {
        let (attempts, start) = (Attempts::new(), Instant::now());
        for _ in 0..10 {
            assert_eq!(fail(&attempts, ADDRESS, start), Err(Refused::Failed(())));
        }
        let now = start + after(86_400.0);
        for _ in 0..10 {
            assert_eq!(fail(&attempts, ADDRESS, now), Err(Refused::Failed(())));
        }
        assert_eq!(fail(&attempts, ADDRESS, now), Err(too_many(6.0)));
    }

    #[test]
    fn addresses_of_one_network_share_a_bucket_and_others_do_not() {
        let same = [
            ("192.0.2.1", "::ffff:192.0.2.1"),
            ("2001:db8:0:1::1", "2001:db8:0:1:ffff:ffff:ffff:ffff"),
        ];
        let different = [
            ("192.0.2.1", "192.0.2.2"),
            ("::ffff:192.0.2.1", "::ffff:192.0.2.2"),
            ("2001:db8:0:1::1", "2001:db8:0:2::1"),
            ("0.0.0.0", "::"),
        ];
        let now = Instant::now();
        let shared = |one, other| {
            let attempts = Attempts::new();
            for _ in 0..10 {
                assert_eq!(fail(&attempts, one, now), Err(Refused::Failed(())));
            }
            attempts.look(ip(other), now).is_err()
        };
        for (one, other) in same {
            assert!(shared(one, other), "{one} {other}");
        }
        for (one, other) in different {
            assert!(!shared(one, other), "{one} {other}");
        }
    }

    #[test]
    fn memory_is_bounded_and_the_worst_addresses_are_remembered() {
        let (attempts, start) = (Attempts::remembering(100), Instant::now());
        for _ in 0..10 {
            assert_eq!(fail(&attempts, ADDRESS, start), Err(Refused::Failed(())));
        }
        for number in 0..1000 {
            let address = format!("10.0.{}.{}", number / 256, number % 256);
            assert_eq!(fail(&attempts, &address, start), Err(Refused::Failed(())));
        }
        assert_eq!(lock(&attempts.buckets).full_at.len(), 100);
        assert_eq!(fail(&attempts, ADDRESS, start), Err(too_many(6.0)));
        // One failure forgets the full buckets.
        assert_eq!(
            fail(&attempts, "10.1.0.0", start + REFILL),
            Err(Refused::Failed(()))
        );
        assert_eq!(lock(&attempts.buckets).full_at.len(), 2);
    }

    #[test]
    fn a_new_address_is_remembered_among_worse_ones() {
        let (attempts, start) = (Attempts::remembering(3), Instant::now());
        for address in ["10.0.0.1", "10.0.0.2", "10.0.0.3"] {
            for _ in 0..5 {
                assert_eq!(fail(&attempts, address, start), Err(Refused::Failed(())));
            }
        }
        for _ in 0..10 {
            assert_eq!(fail(&attempts, ADDRESS, start), Err(Refused::Failed(())));
        }
        assert_eq!(fail(&attempts, ADDRESS, start), Err(too_many(6.0)));
    }

    #[test]
    fn the_error_says_when_to_come_back() {
        let wait = after(5.2);
        let text = TooMany { wait }.to_string();
        assert!(text.ends_with("possible in 6 s"), "{text}");
    }

    proptest! {
        /// In a time t no more than 10 + t / 6 s guesses are checked.
        #[test]
        fn guesses_are_bounded_by_time(steps in prop::collection::vec((0_u64..10_000, 0_u8..4), 1..200)) {
            let (attempts, start) = (Attempts::remembering(3), Instant::now());
            let (mut passed, mut checked) = (Duration::ZERO, 0);
            for (millis, address) in steps {
                passed += Duration::from_millis(millis);
                let address = format!("10.0.0.{}", address % 3);
                let failed = fail(&attempts, &address, start + passed);
                if address == "10.0.0.0" && failed == Err(Refused::Failed(())) {
                    checked += 1;
                }
            }
            prop_assert!(u128::from(10 + passed.as_secs() / 6) >= checked);
            let buckets = lock(&attempts.buckets);
            prop_assert_eq!(buckets.full_at.len(), buckets.soonest.len());
            prop_assert!(buckets.full_at.iter().all(|(network, at)| buckets.soonest.contains(&(*at, *network))));
        }
    }
}
