//! Clients that break the protocol, by mistake or on purpose.
//!
//! The generated sessions have 10,000 messages; with `WINDLASS_HOSTILE=all` 100,000. Then
//! statements of nearly the greatest length are planned as well.

use futures_util::StreamExt;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, TestRunner};
use proptest::{collection, prop_oneof, sample};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::program::{PATIENCE, Program, is_all};
use super::raw::{TLS_REQUEST, exchange, has_error, message, startup};
use super::served::{Served, block_on, error_of};

#[test]
fn a_message_that_is_too_long_is_refused_before_it_is_read() {
    let server = Served::with(|config| config.message_bytes_max = 1_000);
    block_on(async {
        let mut bytes = startup("eve");
        bytes.extend(b"Q\x3f\xff\xff\xff");
        let answer = exchange(server.address, &bytes).await;
        assert!(has_error(&answer, "54000"));
        // PostgreSQL's bound before a login.
        let answer = exchange(server.address, b"\0\x0f\xff\xff\0\x03\0\0").await;
        assert!(has_error(&answer, "54000"));
        server.connect().await.simple_query("select 1").await.unwrap();
    });
}

#[test]
fn clear_text_behind_a_request_to_encrypt_is_refused() {
    let server = Served::start();
    block_on(async {
        let bytes = [TLS_REQUEST, &startup("eve")].concat();
        assert!(has_error(&exchange(server.address, &bytes).await, "08P01"));
        let twice = exchange(server.address, &TLS_REQUEST.repeat(2)).await;
        assert!(has_error(&twice, "08P01"));
    });
}

#[test]
fn a_login_that_does_not_go_on_ends() {
    let server = Served::with(|config| config.login_timeout = std::time::Duration::from_millis(50));
    block_on(async {
        let mut slow = TcpStream::connect(server.address).await.unwrap();
        slow.write_all(&startup("eve")[..10]).await.unwrap();
        let mut nothing = Vec::new();
        tokio::io::AsyncReadExt::read_to_end(&mut slow, &mut nothing)
            .await
            .unwrap();
        assert!(nothing.is_empty());
    });
}

/// Messages that are valid, broken or out of order, and other bytes, with their number.
fn sessions() -> impl Strategy<Value = (usize, Vec<u8>)> {
    let kinds = sample::select(b"QPBDECHSXpdcf!\0".to_vec());
    let texts = sample::select(vec![
        "select 1\0",
        "\0",
        "select * from cities\0",
        "s\0select $1::int\0\0\0",
        "s\0",
        "\0s\0\0\0\0\0\0\0",
        "Ss\0",
        "P\0",
        "begin\0",
        "\0\0\0\0\x05",
        "declare c cursor for select 1\0",
        "fetch 1 from c\0",
    ]);
    let whole = (kinds, texts).prop_map(|(kind, text)| message(kind, text.as_bytes()));
    let noise = collection::vec(proptest::num::u8::ANY, 0..40);
    let broken = (
        sample::select(b"QPBDEC".to_vec()),
        collection::vec(proptest::num::u8::ANY, 0..40),
    )
        .prop_map(|(kind, body)| message(kind, &body));
    let wrong_length = (sample::select(b"QPBS".to_vec()), 0_u32..12, noise.clone())
        .prop_map(|(kind, length, body)| [&[kind][..], &length.to_be_bytes(), &body].concat());
    let part = prop_oneof![6 => whole, 2 => broken, 1 => wrong_length, 1 => noise];
    let logged_in = collection::vec(part.clone(), 0..40).prop_map(|parts| (parts.len(), parts.concat()));
    let stranger = collection::vec(part, 0..3).prop_map(|parts| (parts.len(), parts.concat()));
    let after_login = prop_oneof![2 => logged_in, 1 => bent()]
        .prop_map(|(number, bytes)| (number + 1, [startup("eve"), bytes].concat()));
    prop_oneof![9 => after_login, 1 => stranger]
}

/// A session without a fault.
fn conversation() -> Vec<Vec<u8>> {
    [
        (b'P', &b"s\0select city from cities where people > $1\0\0\0"[..]),
        (b'D', b"Ss\0"),
        (b'B', b"p\0s\0\0\0\0\x01\0\0\0\x05100000\0"),
        (b'D', b"Pp\0"),
        (b'E', b"p\0\0\0\0\x01"),
        (b'H', b""),
        (b'E', b"p\0\0\0\0\0"),
        (b'C', b"Pp\0"),
        (b'S', b""),
        (b'Q', b"begin; declare c cursor for select * from cities\0"),
        (b'Q', b"fetch 2 from c\0"),
        (b'Q', b"commit\0"),
        (b'C', b"Ss\0"),
        (b'S', b""),
        (b'Q', b"select count(*) from cities\0"),
        (b'X', b""),
    ]
    .map(|(kind, body)| message(kind, body))
    .to_vec()
}

/// The conversation with one fault: messages in another order, twice, or not at all; a length or a
/// byte that is wrong; an end too early; a message that is too large.
fn bent() -> impl Strategy<Value = (usize, Vec<u8>)> {
    let at = || proptest::num::usize::ANY;
    (0_u8..7, at(), at(), proptest::num::u32::ANY).prop_map(|(fault, first, second, number)| {
        let mut messages = conversation();
        let (first, second) = (first % messages.len(), second % messages.len());
        match fault {
            0 => messages.swap(first, second),
            1 => drop(messages.remove(first)),
            2 => messages.insert(second, messages[first].clone()),
            3 => {
                let length = if number % 2 == 0 { number } else { number % 64 };
                messages[first][1..5].copy_from_slice(&length.to_be_bytes());
            }
            4 => {
                let byte = number as usize % messages[first].len();
                messages[first][byte] ^= 1 << (number % 8);
            }
            5 => {
                messages.truncate(first + 1);
                let length = number as usize % messages[first].len();
                messages[first].truncate(length);
            }
            _ => messages[first] = message(b"QPBDEpd"[first % 7], &vec![b'x'; number as usize % 100_000]),
        }
        (messages.len(), messages.concat())
    })
}

#[test]
fn a_statement_of_any_depth_and_length_is_answered_and_the_server_goes_on() {
    let program = Program::start(&[], |_| {});
    block_on(async {
        let client = program.connect().await;
        for (begin, link, end) in [
            ("select 1", "+1", ""),
            ("select true", " and true", ""),
            ("delete from cities where true", " or city='x'", ""),
            ("explain select people", "::int", " from cities"),
            ("select 1", " union all select 1", ""),
            ("select 1 from cities", ",cities", ""),
            ("with a as (select 1)", ", a as (select 1)", " select 1"),
            ("select ", "(", "1"),
            ("select ", "- ", "1"),
            ("select ", "not ", "true"),
            ("select ", "case when true then ", "1"),
            ("select ", "cast(", "1"),
            ("select ", "interval ", "1"),
            ("select 1::", "array<", "int"),
            ("select 1::", "struct<a ", "int"),
            ("select * from ", "json_table('', '' columns (nested path '' ", ""),
            ("select * from ", "(select * from ", "cities"),
            ("select 1", ",1", ""),
            ("select count(*) from cities where people in (1", ",1", ")"),
            ("", "select 1;", ""),
        ] {
            for bytes in [500, 900, 3_900, 8_900, 30_000, 900_000, 1_100_000] {
                if bytes == 900_000 && !is_all() {
                    continue;
                }
                let sql = format!("{begin}{}{end}", link.repeat(bytes / link.len()));
                // Some have thousands of answers.
                if link.ends_with(';') && bytes > 100_000 {
                    continue;
                }
                for answer in [
                    timeout(PATIENCE, client.simple_query(&sql))
                        .await
                        .map(|done| done.err()),
                    timeout(PATIENCE, client.prepare(&sql))
                        .await
                        .map(|done| done.err()),
                ] {
                    let error = answer.unwrap_or_else(|_| panic!("{begin}{link}… is not answered"));
                    let ends = error.is_some_and(|error| error.as_db_error().is_none());
                    assert!(!ends, "{begin}{link}… of {bytes} bytes ends the connection");
                }
            }
        }
        let doubles = (1..40).map(|level| format!(", a{level} as (select 1 from a{0} x, a{0} y)", level - 1));
        let sql = format!(
            "with a0 as (select 1){} select * from a39",
            doubles.collect::<String>()
        );
        let error = timeout(PATIENCE, client.simple_query(&sql))
            .await
            .expect("an answer")
            .unwrap_err();
        assert_eq!(error_of(&error).0, "54001");
        client.simple_query("select * from cities").await.unwrap();
    });
    program.end();
}

#[test]
fn any_session_ends_or_is_answered_and_the_server_goes_on() {
    let program = Program::start(&[], |_| {});
    let mut runner = TestRunner::new(Config::default());
    let mut left: usize = if is_all() { 100_000 } else { 10_000 };
    let generated = std::iter::from_fn(|| {
        let (number, bytes) = sessions().new_tree(&mut runner).expect("a session").current();
        let goes_on = left > 0;
        left = left.saturating_sub(number.max(1));
        goes_on.then_some(bytes)
    });
    block_on(async {
        let client = program.connect().await;
        let mut sessions = futures_util::stream::iter(generated)
            .map(async |session: Vec<u8>| timeout(PATIENCE, exchange(program.address, &session)).await)
            .buffer_unordered(8);
        while let Some(ended) = sessions.next().await {
            ended.expect("a session ends");
            // The others are half done.
            let asked = client.query_one("select count(*) from cities", &[]);
            let row = timeout(PATIENCE, asked).await.expect("a statement is answered");
            assert_eq!(row.unwrap().get::<_, i64>(0), 3);
        }
        let open = async || {
            let sql = "select count(*), sum(memory_bytes) from windlass.queries";
            let row = client.query_one(sql, &[]).await.unwrap();
            (row.get::<_, i64>(0), row.get::<_, i64>(1))
        };
        while open().await != (1, 0) {
            tokio::task::yield_now().await;
        }
        if let Some(peak) = program.peak_mib() {
            assert!(peak < 1_024, "{peak} MiB");
        }
    });
    program.end();
}
