//! Names that stand for several addresses, such as `localhost`.

use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};

use windlass_server::UiConfig;

use super::cluster::{Process, tpch};
use crate::served::Served;

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

/// Linux has all of 127.0.0.0/8.
#[cfg(target_os = "linux")]
#[test]
fn a_server_and_its_page_are_at_all_of_their_addresses() {
    let both = || ["127.0.0.1:0", "127.0.0.2:0"].map(|address| address.parse().unwrap());
    let server = Served::with(move |config| {
        config.listen = both().to_vec();
        let mut page = UiConfig::new(both()[0]);
        page.listen = both().to_vec();
        config.ui = Some(page);
    });
    for port in [server.address.port(), server.page.unwrap().port()] {
        for ip in [[127, 0, 0, 1], [127, 0, 0, 2]] {
            TcpStream::connect(SocketAddr::from((ip, port))).unwrap();
        }
    }
}
