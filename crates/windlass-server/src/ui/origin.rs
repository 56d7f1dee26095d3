//! By which names a browser may call the page, and from which page it may ask.
//!
//! A name that an attacker's DNS points at this address (rebinding) is none of these names, and
//! the attacker's page has another origin.

use std::net::{IpAddr, SocketAddr};

use hyper::Method;
use hyper::header::{HOST, HeaderMap, HeaderName, ORIGIN};
use hyper::http::request::Parts;

/// Names beside the address and `localhost`.
#[derive(Clone, Debug)]
pub(super) struct Hosts {
    names: Vec<String>,
}

/// How a connection came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Came {
    pub(super) peer: SocketAddr,
    /// The server's end of the connection.
    pub(super) local: SocketAddr,
    pub(super) is_tls: bool,
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Foreign {
    /// It asks for another server.
    Host,
    /// It comes from another page, or does not say from which.
    Origin,
}

impl Hosts {
    pub(super) fn new(names: &[String]) -> Self {
        Self {
            names: names.to_vec(),
        }
    }

    /// Checks `Host` and `Origin` of a request.
    pub(super) fn check(&self, request: &Parts, came: Came) -> Result<(), Foreign> {
        // A request to a proxy names its server elsewhere.
        if request.uri.authority().is_some() {
            return Err(Foreign::Host);
        }
        let host = only(&request.headers, HOST).ok_or(Foreign::Host)?;
        let place = Place::parse(host, came).ok_or(Foreign::Host)?;
        if !self.is_ours(&place, came) {
            return Err(Foreign::Host);
        }
        if !request.headers.contains_key(ORIGIN) {
            return if request.method == Method::POST {
                Err(Foreign::Origin)
            } else {
                Ok(())
            };
        }
        let origin = only(&request.headers, ORIGIN);
        let origin = origin.and_then(|origin| origin.strip_prefix(came.scheme()));
        let origin = origin.and_then(|authority| Place::parse(authority, came));
        if origin.is_some_and(|origin| origin.is(&place)) {
            Ok(())
        } else {
            Err(Foreign::Origin)
        }
    }

    fn is_ours(&self, place: &Place<'_>, came: Came) -> bool {
        let address = came.local.ip().to_canonical();
        let is_named = match place.name.parse::<IpAddr>() {
            Ok(named) => named.to_canonical() == address,
            Err(_) if place.name.eq_ignore_ascii_case("localhost") => address.is_loopback(),
            Err(_) => self
                .names
                .iter()
                .any(|name| name.eq_ignore_ascii_case(place.name)),
        };
        is_named && place.port == came.local.port()
    }
}

impl Came {
    fn scheme(self) -> &'static str {
        if self.is_tls { "https://" } else { "http://" }
    }

    fn port_default(self) -> u16 {
        if self.is_tls { 443 } else { 80 }
    }
}

/// A name, or an address without its brackets, and a port.
struct Place<'a> {
    name: &'a str,
    port: u16,
}

impl<'a> Place<'a> {
    fn parse(authority: &'a str, came: Came) -> Option<Self> {
        let (name, port) = match authority.rsplit_once(':') {
            Some((name, port)) if !port.contains(']') => (name, port.parse().ok()?),
            _ => (authority, came.port_default()),
        };
        let name = match name.strip_prefix('[') {
            Some(rest) => rest.strip_suffix(']')?,
            None if name.contains(':') => return None,
            None => name,
        };
        Some(Self { name, port })
    }

    fn is(&self, other: &Self) -> bool {
        self.name.eq_ignore_ascii_case(other.name) && self.port == other.port
    }
}

/// The value of a header that is there once.
fn only(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    fn came(local: &str, is_tls: bool) -> Came {
        Came {
            peer: "127.0.0.1:40000".parse().unwrap(),
            local: local.parse().unwrap(),
            is_tls,
        }
    }

    fn check(came: Came, method: Method, headers: &[(HeaderName, &str)]) -> Result<(), Foreign> {
        let mut request = Request::builder().method(method).uri("/");
        for (name, value) in headers {
            request = request.header(name, *value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        Hosts::new(&["db.example.org".to_owned()]).check(&parts, came)
    }

    #[test]
    fn a_host_is_the_address_or_a_name_that_was_given() {
        let v4 = came("127.0.0.1:8080", false);
        let v6 = came("[::1]:8080", false);
        let open = came("192.0.2.7:443", true);
        let get = |came, host| check(came, Method::GET, &[(HOST, host)]);
        for (came, host) in [
            (v4, "127.0.0.1:8080"),
            (v4, "localhost:8080"),
            (v4, "LOCALHOST:8080"),
            (v6, "[::1]:8080"),
            (v6, "localhost:8080"),
            (open, "192.0.2.7"),
            (open, "192.0.2.7:443"),
            (open, "db.example.org"),
        ] {
            assert_eq!(get(came, host), Ok(()), "{host}");
        }
        for (came, host) in [
            (v4, "evil.example.org:8080"),
            (v4, "127.0.0.1"),
            (v4, "127.0.0.1:8081"),
            (v4, "127.0.0.2:8080"),
            (v4, "localhost.evil.example.org:8080"),
            (v4, "evil@127.0.0.1:8080"),
            (v4, ""),
            (v6, "::1:8080"),
            (v6, "[::1:8080"),
            (open, "localhost:443"),
            (open, "db.example.org:8080"),
        ] {
            assert_eq!(get(came, host), Err(Foreign::Host), "{host}");
        }
        assert_eq!(check(v4, Method::GET, &[]), Err(Foreign::Host));
        let twice = [(HOST, "127.0.0.1:8080"), (HOST, "127.0.0.1:8080")];
        assert_eq!(check(v4, Method::GET, &twice), Err(Foreign::Host));
    }

    #[test]
    fn an_origin_is_that_of_the_host_and_a_post_has_one() {
        let came = came("127.0.0.1:8080", false);
        let from = |method, origin| check(came, method, &[(HOST, "localhost:8080"), (ORIGIN, origin)]);
        for method in [Method::GET, Method::POST] {
            assert_eq!(from(method.clone(), "http://localhost:8080"), Ok(()));
            for foreign in [
                "http://127.0.0.1:8080",
                "http://localhost:9090",
                "http://localhost",
                "https://localhost:8080",
                "http://evil.example.org:8080",
                "null",
                "",
            ] {
                assert_eq!(from(method.clone(), foreign), Err(Foreign::Origin), "{foreign}");
            }
        }
        let host = [(HOST, "localhost:8080")];
        assert_eq!(check(came, Method::POST, &host), Err(Foreign::Origin));
    }
}
