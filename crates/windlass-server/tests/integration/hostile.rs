//! Clients that break the protocol, by mistake or on purpose.

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, TestRunner};
use proptest::{collection, prop_oneof, sample};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::raw::{TLS_REQUEST, exchange, has_error, message, startup};
use super::served::{Served, block_on};

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

/// Messages that are valid, broken or out of order, and other bytes.
fn sessions() -> impl Strategy<Value = Vec<u8>> {
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
    let logged_in =
        collection::vec(part.clone(), 0..12).prop_map(|parts| [startup("eve"), parts.concat()].concat());
    let stranger = collection::vec(part, 0..3).prop_map(|parts| parts.concat());
    prop_oneof![9 => logged_in, 1 => stranger]
}

#[test]
fn any_session_ends_or_is_answered_and_the_server_goes_on() {
    let server = Served::start();
    let mut runner = TestRunner::new(Config::default());
    let all: Vec<_> = (0..400)
        .map(|_| sessions().new_tree(&mut runner).expect("a session").current())
        .collect();
    block_on(async {
        for session in all {
            exchange(server.address, &session).await;
        }
        let client = server.connect().await;
        client.simple_query("select * from cities").await.unwrap();
        while server.watch.load().connections > 1 {
            tokio::task::yield_now().await;
        }
        assert_eq!(server.watch.load().memory_bytes, 0);
    });
}
