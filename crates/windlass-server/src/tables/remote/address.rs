//! The URL of a table, as the command line gives it.

use std::fmt;

use url::{Host, Url};

use crate::tables::listing::Format;

/// What the command line may name.
const SUPPORTED: &str = "a table is a path, a file:/// URL, or the https:// or http:// URL of one file";

/// The URL of one Parquet or CSV file. Its query may be a secret, so neither `Display` nor `Debug`
/// shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct TableUrl {
    url: Url,
    format: Format,
}

impl TableUrl {
    /// # Errors
    ///
    /// A reason that shows nothing of the URL but its scheme.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let url = Url::parse(text).map_err(|error| format!("it is no URL ({error})"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("{}:// is not supported; {SUPPORTED}", url.scheme()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(
                "a URL with a user or a password is refused, since the list of processes shows it".to_owned(),
            );
        }
        if url.fragment().is_some() {
            return Err("a URL of a table has no #".to_owned());
        }
        let format = Format::of(url.path().as_ref());
        let format = format.ok_or("the URL's path ends neither in .parquet nor in .csv")?;
        Ok(Self { url, format })
    }

    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    pub(crate) fn format(&self) -> Format {
        self.format
    }

    /// Whether rows come by a network that others may listen to.
    pub(crate) fn is_open(&self) -> bool {
        let is_here = match self.url.host() {
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(ip)) => ip.is_loopback(),
            Some(Host::Ipv6(ip)) => ip.to_canonical().is_loopback(),
            None => false,
        };
        self.url.scheme() == "http" && !is_here
    }

    /// As folders of an object's path, in which only plain characters are.
    pub(crate) fn folders(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        let port = self.url.port().map(|port| format!(":{port}"));
        let place = format!(
            "{}/{host}{}{}",
            self.url.scheme(),
            port.unwrap_or_default(),
            self.url.path()
        );
        let parts = place.split('/').filter(|part| !part.is_empty());
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.=:+,@".contains(c);
        let plain = |part: &str| -> String {
            let plain = |c: char| if is_plain(c) { c } else { '_' };
            part.chars().map(plain).collect()
        };
        parts.map(plain).collect::<Vec<_>>().join("/")
    }
}

impl fmt::Display for TableUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&redacted(self.url.as_str()))
    }
}

impl fmt::Debug for TableUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

pub(crate) fn has_scheme(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, _)| {
        let rest = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
        scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.chars().all(rest)
    })
}

/// Leaves out what may be a secret in text with a URL, however wrong: what is before `@` and after
/// `?`.
#[must_use]
pub fn redacted(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else {
        return text.to_owned();
    };
    let (place, query) = match rest.find(['?', '#']) {
        Some(end) => (&rest[..end], "?…"),
        None => (rest, ""),
    };
    // A password may have a `/`, so this looks further than a URL's user reaches.
    let (user, place) = match rest.rfind('@') {
        Some(at) if at < place.len() => ("…@", &place[at + 1..]),
        Some(_) if query.is_empty() => ("", place),
        Some(at) => ("…@", rest[at + 1..].split(['?', '#']).next().unwrap_or_default()),
        None => ("", place),
    };
    format!("{scheme}://{user}{place}{query}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        TableUrl::parse(text).unwrap_err()
    }

    #[test]
    fn a_url_is_one_file_of_a_known_form() {
        let url = TableUrl::parse("https://host.example/a/T.Parquet?key=secret").unwrap();
        assert_eq!(url.format(), Format::Parquet);
        assert_eq!(url.to_string(), "https://host.example/a/T.Parquet?…");
        assert_eq!(format!("{url:?}"), url.to_string());
        assert!(refused("https://host/folder/").contains(".parquet"));
        assert!(refused("https://host/a.csv#x").contains("no #"));
        assert!(refused("https://").contains("no URL"));
        for scheme in ["s3", "gs", "az", "ftp"] {
            let error = refused(&format!("{scheme}://bucket/a.parquet"));
            assert!(error.starts_with(&format!("{scheme}://")), "{error}");
            assert!(
                error.contains("the https:// or http:// URL of one file"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_user_is_refused_and_no_text_has_it() {
        for text in [
            "https://alice:secret@host/a.csv",
            "https://secret@host/a.csv",
            "https://alice:sec/secret@host/a.csv",
            "https://alice:sec?secret@host/a.csv",
            "https://host/a.csv?secret",
            "https://host/a.csv#secret",
            "x=https://alice:secret@host/a.csv?secret",
            "https://[secret@host",
        ] {
            assert!(!redacted(text).contains("sec"), "{}", redacted(text));
            if let Err(reason) = TableUrl::parse(text) {
                assert!(!reason.contains("sec"), "{reason}");
            }
        }
        assert!(refused("https://alice:secret@host/a.csv").contains("list of processes"));
        assert_eq!(redacted("https://a:b@host/x.csv?q"), "https://…@host/x.csv?…");
        assert_eq!(redacted("a.csv"), "a.csv");
    }

    #[test]
    fn http_beyond_this_machine_is_open() {
        let is_open = |text| TableUrl::parse(text).unwrap().is_open();
        assert!(is_open("http://host/a.csv") && is_open("http://10.0.0.1/a.csv"));
        for text in [
            "http://localhost/a.csv",
            "http://127.0.0.1:8/a.csv",
            "http://[::1]/a.csv",
            "https://host/a.csv",
        ] {
            assert!(!is_open(text), "{text}");
        }
    }

    #[test]
    fn folders_of_a_url_are_plain() {
        let folders = |text| TableUrl::parse(text).unwrap().folders();
        assert_eq!(folders("http://[::1]:80/a.csv"), "http/_::1_/a.csv");
        assert_eq!(
            folders("https://host:8443//a%20b/c*d.csv?k=secret"),
            "https/host:8443/a_20b/c_d.csv"
        );
    }
}
