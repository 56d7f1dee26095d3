//! Names that stand for several addresses, such as `localhost`.

use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};

use super::cluster::{Process, tpch};

const AT_LOCALHOST: [&str; 5] = ["--listen", "localhost:0", "--operator", "localhost:0", "--tables"];

/// The addresses of `localhost` that this machine has.
fn here() -> Vec<IpAddr> {
    let named = ("localhost", 0).to_socket_addrs().unwrap();
    let here = named.filter(|address| TcpListener::bind(address).is_ok());
    here.map(|address| address.ip()).collect()
}

#[test]
fn every_address_of_a_name_is_listened_on() {
    for command in [&["worker"][..], &[]] {
        let process = Process::start(&[command, &AT_LOCALHOST].concat(), &[&tpch()]);
        let listens_on = process.listens_on.trim_start_matches("http://");
        let listens_on: SocketAddr = listens_on.parse().unwrap();
        for ip in here() {
            for port in [listens_on.port(), process.operators.unwrap().port()] {
                let connected = TcpStream::connect((ip, port));
                assert!(connected.is_ok(), "{command:?} {ip} {port}: {connected:?}");
            }
        }
    }
}
