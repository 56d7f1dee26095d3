//! Both sides of SCRAM: RFC 7677's example, the tests' own client, and broken clients.

use std::path::Path;

use proptest::prelude::*;

use super::super::verifier::{self, ITERATIONS_DEFAULT};
use super::*;

const HASH: &[u8] = &[7; 32];
const OTHER_HASH: &[u8] = &[8; 32];

fn users() -> Users {
    let verifier = |password: &[u8]| Verifier::of_password(password).unwrap().to_text();
    let (alice, bob) = (verifier(b"secret"), verifier("pa\u{df}wort".as_bytes()));
    Users::parse(
        format!("alice:{alice}\nbob:{bob}\n").as_bytes(),
        Path::new("users"),
    )
    .unwrap()
}

fn mechanism(flag: &str) -> &'static str {
    if flag.starts_with('p') {
        SCRAM_SHA_256_PLUS
    } else {
        SCRAM_SHA_256
    }
}

struct Client<'a> {
    password: &'a [u8],
    /// `n`, `y` or `p=<type>`.
    flag: &'a str,
    binding: &'a [u8],
    nonce: &'a str,
}

impl<'a> Client<'a> {
    fn new(password: &'a [u8]) -> Self {
        let (flag, binding, nonce) = ("n", &[][..], "rOprNGfwEbeRWgbNEkqO");
        Self {
            password,
            flag,
            binding,
            nonce,
        }
    }

    fn bound(password: &'a [u8], binding: &'a [u8]) -> Self {
        Self {
            flag: END_POINT,
            binding,
            ..Self::new(password)
        }
    }

    fn bare(&self) -> String {
        format!("n=,r={}", self.nonce)
    }

    fn first(&self) -> String {
        format!("{},,{}", self.flag, self.bare())
    }

    /// And the answer it requires.
    fn last(&self, challenge: &str) -> (String, String) {
        let parts: Vec<_> = challenge.split(',').collect();
        let [nonce, salt, iterations] = parts[..] else {
            panic!("{challenge}")
        };
        assert!(nonce.starts_with(&format!("r={}", self.nonce)));
        let salt = STANDARD.decode(salt.strip_prefix("s=").unwrap()).unwrap();
        let iterations = iterations.strip_prefix("i=").unwrap().parse().unwrap();
        let (client_key, server_key) = verifier::keys(self.password, &salt, iterations);
        let bound = [format!("{},,", self.flag).as_bytes(), self.binding].concat();
        let without_proof = format!("c={},{nonce}", STANDARD.encode(bound));
        let signed = format!("{},{challenge},{without_proof}", self.bare());
        let signature = hmac_sha256(&sha256(&client_key), signed.as_bytes());
        let proof: Vec<u8> = client_key
            .iter()
            .zip(signature)
            .map(|(key, mask)| key ^ mask)
            .collect();
        let answer = hmac_sha256(&server_key, signed.as_bytes());
        (
            format!("{without_proof},p={}", STANDARD.encode(proof)),
            format!("v={}", STANDARD.encode(answer)),
        )
    }
}

/// The client is in, and the server proved itself.
fn login(name: &str, offered: Option<&[u8]>, client: &Client<'_>) -> Result<(), Denied> {
    let mut exchange = Exchange::begin(&users(), name, offered)?;
    let challenge = exchange.first(mechanism(client.flag), client.first().as_bytes())?;
    let (last, expected) = client.last(&String::from_utf8(challenge).unwrap());
    let answer = exchange.last(last.as_bytes())?;
    assert_eq!(String::from_utf8(answer).unwrap(), expected);
    Ok(())
}

#[test]
fn the_example_of_rfc_7677() {
    let salt = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
    let verifier = Verifier::derived(b"pencil", salt, ITERATIONS_DEFAULT);
    let users = format!("user:{}", verifier.to_text());
    let users = Users::parse(users.as_bytes(), Path::new("users")).unwrap();
    let mut exchange = Exchange::begin(&users, "user", None).unwrap();
    let challenge = exchange.first_with(
        SCRAM_SHA_256,
        b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO",
        "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0",
    );
    let expected = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
    assert_eq!(String::from_utf8(challenge.unwrap()).unwrap(), expected);
    let answer = exchange.last(
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
          p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
    );
    assert_eq!(answer.unwrap(), b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
}

#[test]
fn the_password_lets_in_by_either_mechanism() {
    let y = Client {
        flag: "y",
        ..Client::new(b"secret")
    };
    assert_eq!(login("alice", None, &Client::new(b"secret")), Ok(()));
    assert_eq!(login("alice", None, &y), Ok(()));
    assert_eq!(login("alice", Some(HASH), &Client::new(b"secret")), Ok(()));
    assert_eq!(
        login("alice", Some(HASH), &Client::bound(b"secret", HASH)),
        Ok(())
    );
    assert_eq!(
        login("bob", None, &Client::new("pa\u{df}wort".as_bytes())),
        Ok(())
    );
}

#[test]
fn a_wrong_password_and_an_unknown_user_fail_alike() {
    for offered in [None, Some(HASH)] {
        for name in ["alice", "mallory", "", "alice ", "Alice"] {
            let denied = login(name, offered, &Client::new(b"Secret"));
            assert_eq!(denied, Err(Denied::WrongPassword), "{name:?}");
        }
        let denied = login("mallory", offered, &Client::new(b"secret"));
        assert_eq!(denied, Err(Denied::WrongPassword));
    }
    let denied = login("mallory", Some(HASH), &Client::bound(b"secret", HASH));
    assert_eq!(denied, Err(Denied::WrongPassword));
}

#[test]
fn an_unknown_user_has_a_challenge_of_its_own_that_stays() {
    let challenge = |name: &str| {
        let mut exchange = Exchange::begin(&users(), name, None).unwrap();
        let challenge = exchange.first_with(SCRAM_SHA_256, b"n,,n=,r=abc", "def").unwrap();
        String::from_utf8(challenge).unwrap()
    };
    let mallory = challenge("mallory");
    assert_eq!(mallory, challenge("mallory"));
    assert_ne!(mallory, challenge("trent"));
    let salt = mallory
        .strip_prefix("r=abcdef,s=")
        .and_then(|rest| rest.strip_suffix(",i=4096"));
    let salt = STANDARD.decode(salt.unwrap()).unwrap();
    assert_eq!(salt.len(), 16);
    assert_ne!(salt, [0; 16]);
}

#[test]
fn made_up_users_look_like_most_users() {
    let salt: Vec<u8> = (0..50).collect();
    let verifier = Verifier::of_parts(9000, salt, [1; 32], [2; 32]).to_text();
    let users = Users::parse(format!("alice:{verifier}").as_bytes(), Path::new("users")).unwrap();
    let mut exchange = Exchange::begin(&users, "mallory", None).unwrap();
    let challenge = exchange.first(SCRAM_SHA_256, b"n,,n=,r=abc").unwrap();
    let challenge = String::from_utf8(challenge).unwrap();
    let salt = challenge
        .split_once(",s=")
        .and_then(|(_, rest)| rest.strip_suffix(",i=9000"));
    let salt = STANDARD.decode(salt.unwrap()).unwrap();
    assert_eq!(salt.len(), 50);
    assert_ne!(salt[..18], salt[32..]);
}

#[test]
fn a_proof_bound_to_another_certificate_is_refused() {
    for name in ["alice", "mallory"] {
        for binding in [OTHER_HASH, &HASH[..31], &[]] {
            let denied = login(name, Some(HASH), &Client::bound(b"secret", binding));
            assert_eq!(denied, Err(Denied::WrongBinding));
        }
    }
    // The header was changed on its way.
    let client = Client::bound(b"secret", HASH);
    let mut exchange = Exchange::begin(&users(), "alice", None).unwrap();
    let first = client.first().replacen(END_POINT, "n", 1);
    let challenge = exchange.first(SCRAM_SHA_256, first.as_bytes()).unwrap();
    let (last, _) = client.last(&String::from_utf8(challenge).unwrap());
    assert_eq!(exchange.last(last.as_bytes()), Err(Denied::WrongBinding));
}

#[test]
fn the_header_has_to_fit_the_mechanism_and_the_offer() {
    let denied = |offered, mechanism, flag: &str| {
        let mut exchange = Exchange::begin(&users(), "alice", offered).unwrap();
        let first = format!("{flag},,n=,r=abc");
        exchange.first(mechanism, first.as_bytes()).unwrap_err()
    };
    assert_eq!(denied(Some(HASH), SCRAM_SHA_256, "y"), Denied::Downgrade);
    let malformed = [
        (None, SCRAM_SHA_256_PLUS, END_POINT, "was not offered"),
        (None, "SCRAM-SHA-1", "n", "was not offered"),
        (Some(HASH), "", "n", "was not offered"),
        (Some(HASH), SCRAM_SHA_256_PLUS, "n", "without channel binding"),
        (Some(HASH), SCRAM_SHA_256_PLUS, "y", "without channel binding"),
        (Some(HASH), SCRAM_SHA_256_PLUS, "p=tls-unique", "another type"),
        (Some(HASH), SCRAM_SHA_256_PLUS, "", "another type"),
        (Some(HASH), SCRAM_SHA_256, END_POINT, "without PLUS"),
        (None, SCRAM_SHA_256, END_POINT, "without PLUS"),
    ];
    for (offered, mechanism, flag, expected) in malformed {
        let denied = denied(offered, mechanism, flag);
        assert!(
            denied.to_string().contains(expected),
            "{mechanism} {flag}: {denied}"
        );
    }
}

#[test]
fn plus_is_offered_first_and_only_with_a_certificate() {
    let offered = |binding| Exchange::begin(&users(), "alice", binding).unwrap().mechanisms();
    assert_eq!(offered(None), [SCRAM_SHA_256]);
    assert_eq!(offered(Some(HASH)), [SCRAM_SHA_256_PLUS, SCRAM_SHA_256]);
}

#[test]
fn a_malformed_first_message_is_refused_with_what_is_wrong() {
    let messages: &[(&[u8], &str)] = &[
        (b"", "no header"),
        (b"n", "no header"),
        (b"n,", "no header"),
        (b"n,a=root,n=,r=abc", "authorization identity"),
        (b"n,x,n=,r=abc", "authorization identity"),
        (b"n,,", "no name"),
        (b"n,,r=abc", "no name"),
        (b"n,,m=x,n=,r=abc", "mandatory extension"),
        (b"n,,n=", "no nonce"),
        (b"n,,n=,s=abc", "no nonce"),
        (b"n,,n=,r=", "not printable"),
        (b"n,,n=,r=a b", "not printable"),
        ("n,,n=,r=\u{e9}".as_bytes(), "not printable"),
        (b"n,,n=,r=abc,", "extension"),
        (b"n,,n=,r=abc,1=x", "extension"),
        (b"n,,n=\xff,r=abc", "not UTF-8"),
        (b"n,,n=\0,r=abc", "zero byte"),
    ];
    for (message, expected) in messages {
        let mut exchange = Exchange::begin(&users(), "alice", None).unwrap();
        let denied = exchange.first(SCRAM_SHA_256, message).unwrap_err();
        let text = String::from_utf8_lossy(message);
        assert!(denied.to_string().contains(expected), "{text}: {denied}");
        assert_eq!(denied.sqlstate(), "08P01");
    }
    let long = |nonce: usize| {
        let mut exchange = Exchange::begin(&users(), "alice", None).unwrap();
        let message = format!("n,,n=,r={}", "x".repeat(nonce));
        exchange.first(SCRAM_SHA_256, message.as_bytes())
    };
    assert!(long(MESSAGE_BYTES_MAX - 8).is_ok());
    assert_eq!(
        long(MESSAGE_BYTES_MAX - 7),
        Err(Denied::Malformed("it is too long"))
    );
}

#[test]
fn extensions_that_need_not_be_understood_are_signed_and_read_over() {
    let users = users();
    let mut exchange = Exchange::begin(&users, "alice", None).unwrap();
    let challenge = exchange.first(SCRAM_SHA_256, b"n,,n=,r=abc,x=1,y=").unwrap();
    let challenge = String::from_utf8(challenge).unwrap();
    let client = Client {
        nonce: "abc",
        ..Client::new(b"secret")
    };
    let (last, _) = client.last(&challenge);
    // The client did not sign its extensions.
    assert_eq!(exchange.last(last.as_bytes()), Err(Denied::WrongPassword));
    let client = Client {
        nonce: "abc,x=1,y=",
        ..Client::new(b"secret")
    };
    let mut exchange = Exchange::begin(&users, "alice", None).unwrap();
    let challenge = exchange.first(SCRAM_SHA_256, client.first().as_bytes()).unwrap();
    let challenge = String::from_utf8(challenge).unwrap();
    let salt = users.verifier("alice").unwrap().salt();
    let (client_key, _) = verifier::keys(b"secret", salt, ITERATIONS_DEFAULT);
    let nonce = challenge.split(',').next().unwrap();
    let without_proof = format!("c=biws,{nonce},z=2");
    let signed = format!("{},{challenge},{without_proof}", client.bare());
    let signature = hmac_sha256(&sha256(&client_key), signed.as_bytes());
    let proof: Vec<u8> = client_key
        .iter()
        .zip(signature)
        .map(|(key, mask)| key ^ mask)
        .collect();
    let last = format!("{without_proof},p={}", STANDARD.encode(proof));
    assert!(exchange.last(last.as_bytes()).is_ok());
}

#[test]
fn a_changed_last_message_is_refused() {
    type Change = fn(&str) -> String;

    let denied = |change: Change| {
        let client = Client::new(b"secret");
        let mut exchange = Exchange::begin(&users(), "alice", None).unwrap();
        let challenge = exchange.first(SCRAM_SHA_256, client.first().as_bytes()).unwrap();
        let (last, _) = client.last(&String::from_utf8(challenge).unwrap());
        exchange.last(change(&last).as_bytes()).map(drop)
    };
    assert_eq!(denied(str::to_owned), Ok(()));
    let malformed: &[(Change, &str)] = &[
        (|last| last.replacen(",r=r", ",r=s", 1), "nonce does not match"),
        (|last| last.replacen(",p=", "x,p=", 1), "nonce does not match"),
        (|last| last.replacen("c=biws,", "", 1), "no channel binding"),
        (|last| last.replacen(",r=", ",s=", 1), "no nonce"),
        (|last| last.replacen(",p=", ",q=", 1), "no proof"),
        (|last| last.replacen(",p=", ",p=AAAA,p=", 1), "extension"),
        (|last| format!("{last},x=y"), "the proof is not"),
        (|last| format!("{last}="), "the proof is not"),
        (|last| last[..last.len() - 4].to_owned(), "the proof is not"),
        (|_| String::new(), "no proof"),
        (
            |last| last.replacen(",p=", &format!(",x={},p=", "y".repeat(1024)), 1),
            "too long",
        ),
    ];
    for (change, expected) in malformed {
        let denied = denied(*change).unwrap_err();
        assert!(denied.to_string().contains(expected), "{expected}: {denied}");
    }
    assert_eq!(
        denied(|last| last.replacen("c=biws", "c=eSws", 1)),
        Err(Denied::WrongBinding)
    );
    assert_eq!(
        denied(|last| last.replacen(",p=", ",x=y,p=", 1)),
        Err(Denied::WrongPassword)
    );
    let proof = |last: &str| {
        let zeros = STANDARD.encode([0; 32]);
        format!("{}{zeros}", &last[..last.len() - zeros.len()])
    };
    assert_eq!(denied(proof), Err(Denied::WrongPassword));
}

#[test]
fn an_exchange_goes_one_way_once() {
    let client = Client::new(b"secret");
    let mut exchange = Exchange::begin(&users(), "alice", None).unwrap();
    assert!(matches!(
        exchange.last(b"c=biws,r=,p="),
        Err(Denied::Malformed("no challenge is open"))
    ));
    assert!(
        exchange.first(SCRAM_SHA_256, client.first().as_bytes()).is_err(),
        "over"
    );

    let mut exchange = Exchange::begin(&users(), "alice", None).unwrap();
    let challenge = exchange.first(SCRAM_SHA_256, client.first().as_bytes()).unwrap();
    let (last, _) = client.last(&String::from_utf8(challenge).unwrap());
    assert_eq!(
        exchange.last(b"c=biws"),
        Err(Denied::Malformed("no proof at its end"))
    );
    assert!(exchange.last(last.as_bytes()).is_err(), "no second try");

    let mut exchange = Exchange::begin(&users(), "alice", None).unwrap();
    let challenge = exchange.first(SCRAM_SHA_256, client.first().as_bytes()).unwrap();
    let (last, _) = client.last(&String::from_utf8(challenge).unwrap());
    assert!(exchange.last(last.as_bytes()).is_ok());
    assert!(exchange.last(last.as_bytes()).is_err(), "a proof is good once");
}

#[test]
fn a_proof_does_not_fit_another_exchange() {
    let client = Client::new(b"secret");
    let challenge = |exchange: &mut Exchange| {
        let challenge = exchange.first(SCRAM_SHA_256, client.first().as_bytes());
        String::from_utf8(challenge.unwrap()).unwrap()
    };
    let mut seen = Exchange::begin(&users(), "alice", None).unwrap();
    let (last, _) = client.last(&challenge(&mut seen));
    let mut other = Exchange::begin(&users(), "alice", None).unwrap();
    challenge(&mut other);
    assert_eq!(
        other.last(last.as_bytes()),
        Err(Denied::Malformed("the nonce does not match"))
    );
}

#[test]
fn debug_shows_no_secret() {
    let exchange = Exchange::begin(&users(), "alice", Some(HASH)).unwrap();
    assert_eq!(format!("{exchange:?}"), "Exchange { state: \"begun\", .. }");
}

/// Pieces of the grammar in any order.
fn near() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        "n",
        "y",
        "p=",
        END_POINT,
        ",",
        ",,",
        "n=",
        "r=",
        "c=",
        "biws",
        "abcdef",
        "a=",
        "m=",
        "x=",
        "=",
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
        "\0",
        "\u{e9}",
    ]);
    let pieces = prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat().into_bytes());
    prop_oneof![pieces, any::<Vec<u8>>()]
}

proptest! {
    #[test]
    fn no_message_panics_and_none_lets_in(
        plus: bool,
        bound: bool,
        known: bool,
        first in near(),
        last in near(),
    ) {
        let users = Users::parse(
            format!("alice:{}", Verifier::of_parts(4096, vec![1; 16], [1; 32], [2; 32]).to_text()).as_bytes(),
            Path::new("users"),
        ).unwrap();
        let name = if known { "alice" } else { "mallory" };
        let mechanism = if plus { SCRAM_SHA_256_PLUS } else { SCRAM_SHA_256 };
        let mut exchange = Exchange::begin(&users, name, bound.then_some(HASH)).unwrap();
        let _ = exchange.first_with(mechanism, &first, "def");
        prop_assert!(exchange.last(&last).is_err());
        let mut exchange = Exchange::begin(&users, name, bound.then_some(HASH)).unwrap();
        exchange.first_with(SCRAM_SHA_256, b"n,,n=,r=abc", "def").unwrap();
        prop_assert!(exchange.last(&last).is_err());
    }

    #[test]
    fn no_part_of_a_login_lets_in(first_to: prop::sample::Index, last_to: prop::sample::Index) {
        let client = Client::bound(b"secret", HASH);
        let (users, first) = (users(), client.first());
        let mut exchange = Exchange::begin(&users, "alice", Some(HASH)).unwrap();
        let cut = exchange.first(SCRAM_SHA_256_PLUS, &first.as_bytes()[..first_to.index(first.len())]);
        prop_assert!(cut.is_err() || first_to.index(first.len()) > first.len() - client.nonce.len());
        let mut exchange = Exchange::begin(&users, "alice", Some(HASH)).unwrap();
        let challenge = exchange.first(SCRAM_SHA_256_PLUS, first.as_bytes()).unwrap();
        let (last, _) = client.last(&String::from_utf8(challenge).unwrap());
        prop_assert!(exchange.last(&last.as_bytes()[..last_to.index(last.len())]).is_err());
    }

    #[test]
    fn no_changed_byte_lets_in(at: prop::sample::Index, mask in 1_u8..) {
        let client = Client::new(b"secret");
        let mut exchange = Exchange::begin(&users(), "alice", None).unwrap();
        let challenge = exchange.first(SCRAM_SHA_256, client.first().as_bytes()).unwrap();
        let (last, _) = client.last(&String::from_utf8(challenge).unwrap());
        let mut last = last.into_bytes();
        let at = at.index(last.len());
        last[at] ^= mask;
        prop_assert!(exchange.last(&last).is_err());
    }
}
