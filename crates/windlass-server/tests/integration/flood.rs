//! Many clients at once, and clients that hold a login up.

use std::net::SocketAddr;
use std::time::Duration;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_postgres::NoTls;

use super::program::{PATIENCE, Program};
use super::raw::startup;
use super::served::{Served, block_on, error_of};

/// Memory of the program with a thousand connections, far above what it takes and far below what it
/// would take if a connection held a buffer of a message's size.
const MIB_MAX: usize = 1_024;

#[test]
fn a_thousand_connections_at_once_are_served_and_one_more_is_told_so() {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, most, most).unwrap();
    let program = Program::start(&[], |_| {});
    block_on(async {
        let connecting = (0..1_000).map(|_| program.connect());
        let clients = futures_util::future::join_all(connecting).await;
        let asked = clients.iter().step_by(10).map(async |client| {
            let row = client
                .query_one("select count(*) from cities", &[])
                .await
                .unwrap();
            assert_eq!(row.get::<_, i64>(0), 3);
        });
        timeout(PATIENCE, futures_util::future::join_all(asked))
            .await
            .expect("a statement beside 1,000 connections");
        let Err(error) = program.config().connect(NoTls).await else {
            panic!("one too many");
        };
        assert_eq!(error_of(&error).0, "53300");
        if let Some(peak) = program.peak_mib() {
            assert!(peak < MIB_MAX, "{peak} MiB");
        }
        drop(clients);
        // They are gone once their connections' tasks have run.
        while program.config().connect(NoTls).await.is_err() {
            tokio::task::yield_now().await;
        }
    });
    program.end();
}

/// Sends a startup message byte by byte, each once the last was taken, until the server ends it.
async fn dribble(address: SocketAddr) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let (mut reads, mut writes) = stream.split();
    let mut answer = Vec::new();
    let sends = async {
        // The length promises more than comes.
        let mut message = startup("eve");
        message[3] = 255;
        for byte in message.iter().cycle().take(250) {
            if writes.write_all(&[*byte]).await.is_err() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        std::future::pending().await
    };
    tokio::select! {
        () = sends => {}
        read = reads.read_to_end(&mut answer) => drop(read),
    }
    answer
}

#[test]
fn logins_that_dribble_end_and_hold_nothing_up() {
    let server = Served::with(|config| config.login_timeout = Duration::from_millis(500));
    block_on(async {
        let client = server.connect().await;
        let dribbling = (0..300).map(|_| dribble(server.address));
        let asks = async {
            for _ in 0..10 {
                let row = client.query_one("select count(*) from cities", &[]).await;
                assert_eq!(row.unwrap().get::<_, i64>(0), 3);
            }
        };
        let both = futures_util::future::join(futures_util::future::join_all(dribbling), asks);
        let (answers, ()) = timeout(PATIENCE, both).await.expect("logins and statements end");
        for answer in answers {
            let told = String::from_utf8_lossy(&answer);
            assert_eq!(told, "", "strangers are told nothing");
        }
        assert_eq!(server.watch.load().connections, 1);
    });
}
