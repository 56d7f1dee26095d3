//! A client that sends bytes, for what libraries refuse to send.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub(crate) const TLS_REQUEST: &[u8] = b"\0\0\0\x08\x04\xd2\x16\x2f";

pub(crate) fn startup(user: &str) -> Vec<u8> {
    let body = format!("user\0{user}\0database\0windlass\0\0");
    let mut message = ((body.len() + 8) as u32).to_be_bytes().to_vec();
    message.extend(196_608_u32.to_be_bytes());
    message.extend(body.bytes());
    message
}

pub(crate) fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut message = vec![kind];
    message.extend(((body.len() + 4) as u32).to_be_bytes());
    message.extend(body);
    message
}

/// Sends bytes, closes the sending side, and returns all that the server sends up to its end.
pub(crate) async fn exchange(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let mut answer = Vec::new();
    // The server may close before it has read all.
    if stream.write_all(bytes).await.is_ok() && stream.shutdown().await.is_ok() {
        let _ = stream.read_to_end(&mut answer).await;
    }
    answer
}

pub(crate) fn has_error(answer: &[u8], code: &str) -> bool {
    let field = format!("\0C{code}\0");
    answer
        .windows(field.len())
        .any(|window| window == field.as_bytes())
}
