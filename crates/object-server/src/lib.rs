//! An HTTP server with one object, for tests and benches: HEAD and GET with a range, an optional
//! fault at one request, and an optional slow line.
//!
//! ```
//! use std::io::{Read, Write};
//! use std::net::TcpStream;
//! use std::time::Duration;
//! use object_server::{Line, ObjectServer};
//!
//! let line = Line { latency: Duration::from_millis(1), bytes_per_second: Some(1_000_000) };
//! let server = ObjectServer::behind(line, "hello.txt", b"hello".to_vec());
//! let mut stream = TcpStream::connect(server.address())?;
//! stream.write_all(b"GET /hello.txt HTTP/1.1\r\nRange: bytes=1-3\r\n\r\n")?;
//! let mut answer = String::new();
//! stream.read_to_string(&mut answer)?;
//! assert!(answer.ends_with("\r\n\r\nell"), "{answer}");
//! assert_eq!(server.take_requests(), 1);
//! # Ok::<(), std::io::Error>(())
//! ```

mod line;

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;

pub use line::Line;
use line::Pace;

/// A planned fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Answers with this status and no body.
    Status(u16),
    /// Closes the connection without an answer.
    Close,
    /// Ends the body in its middle.
    Cut,
    /// Resets the connection in the middle of the head.
    Reset,
    /// Never answers.
    Hang,
    /// Sends half of a body, then nothing.
    HangInBody,
}

/// The server; dropping it ends it.
#[derive(Debug)]
pub struct ObjectServer {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    name: String,
    object: Vec<u8>,
    pace: Pace,
    state: Mutex<State>,
    ended: AtomicBool,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    requests: usize,
    fault: Option<(usize, Fault)>,
}

impl ObjectServer {
    /// Serves `object` as `/name` on a free local port.
    ///
    /// # Panics
    ///
    /// If there is no free port.
    #[must_use]
    pub fn start(name: &str, object: Vec<u8>) -> Self {
        Self::behind(Line::default(), name, object)
    }

    /// As [`start`](Self::start), behind `line`.
    ///
    /// # Panics
    ///
    /// If there is no free port.
    #[must_use]
    pub fn behind(line: Line, name: &str, object: Vec<u8>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("it has one");
        let shared = Arc::new(Shared {
            name: format!("/{name}"),
            object,
            pace: Pace::of(line),
            state: Mutex::default(),
            ended: AtomicBool::new(false),
            changed: Condvar::new(),
        });
        let serving = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming() {
                // Ordering: Relaxed. The drop connects after its store.
                if serving.ended.load(Ordering::Relaxed) {
                    break;
                }
                let serving = Arc::clone(&serving);
                thread::spawn(move || stream.and_then(|stream| serving.answer(stream)));
            }
        });
        Self { address, shared }
    }

    /// Its local address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// URL of the object.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}{}", self.address, self.shared.name)
    }

    /// Counts requests from 0 again, and plans `fault` for request number `request`.
    pub fn plan(&self, request: usize, fault: Fault) {
        let mut state = self.shared.state();
        state.requests = 0;
        state.fault = Some((request, fault));
    }

    /// Blocks until `requests` requests have arrived since the count began.
    pub fn wait_for_requests(&self, requests: usize) {
        let mut state = self.shared.state();
        while state.requests < requests {
            state = self.shared.changed.wait(state).expect("nobody panics with it");
        }
    }

    /// Requests since the last call; removes the fault.
    pub fn take_requests(&self) -> usize {
        let mut state = self.shared.state();
        state.fault = None;
        std::mem::take(&mut state.requests)
    }
}

impl Drop for ObjectServer {
    fn drop(&mut self) {
        let state = self.shared.state();
        // Ordering: Relaxed. Hanging answers read it under the lock; the listener is connected to
        // below.
        self.shared.ended.store(true, Ordering::Relaxed);
        drop(state);
        self.shared.changed.notify_all();
        // Wakes the listener.
        drop(TcpStream::connect(self.address));
    }
}

struct Request {
    method: String,
    path: String,
    range: Option<String>,
}

impl Request {
    /// `None` if the client disconnected.
    fn read(stream: &TcpStream) -> std::io::Result<Option<Self>> {
        let mut lines = BufReader::new(stream.try_clone()?).lines();
        let first = lines.next().transpose()?.unwrap_or_default();
        let mut words = first.split(' ').map(str::to_owned);
        let (Some(method), Some(path)) = (words.next(), words.next()) else {
            return Ok(None);
        };
        let mut range = None;
        for line in lines {
            let line = line?.to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(bytes) = line.strip_prefix("range: bytes=") {
                range = Some(bytes.to_owned());
            }
        }
        Ok(Some(Self { method, path, range }))
    }
}

/// Reads `first-last`, `first-` or `-count` for an object of `len` bytes.
fn part(range: &str, len: usize) -> Option<Range<usize>> {
    let (first, last) = range.split_once('-')?;
    let part = match (first, last) {
        ("", count) => len.saturating_sub(count.parse().ok()?)..len,
        (first, "") => first.parse().ok()?..len,
        (first, last) => first.parse().ok()?..last.parse::<usize>().ok()?.saturating_add(1).min(len),
    };
    (part.start < part.end).then_some(part)
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics with it")
    }

    fn answer(&self, stream: TcpStream) -> std::io::Result<()> {
        let Some(request) = Request::read(&stream)? else {
            return Ok(());
        };
        let fault = {
            let mut state = self.state();
            let number = state.requests;
            state.requests += 1;
            self.changed.notify_all();
            state
                .fault
                .filter(|&(at, _)| at == number)
                .map(|(_, fault)| fault)
        };
        self.pace.begin();
        self.give(stream, &request, fault)
    }

    fn give(&self, mut stream: TcpStream, request: &Request, fault: Option<Fault>) -> std::io::Result<()> {
        let whole = 0..self.object.len();
        let part = match &request.range {
            Some(range) => part(range, self.object.len()),
            None => Some(whole),
        };
        let status = match (fault, &part) {
            (Some(Fault::Status(status)), _) => Some(status),
            (None, _) if request.path != self.name => Some(404),
            (None, None) => Some(416),
            _ => None,
        };
        let part = part.unwrap_or_default();
        if let Some(status) = status {
            return write!(
                stream,
                "HTTP/1.1 {status} Because\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            );
        }
        match fault {
            Some(Fault::Close) => return Ok(()),
            Some(Fault::Reset) => return stream.write_all(b"HTTP/1.1 206 Part"),
            Some(Fault::Hang) => {
                self.hang();
                return Ok(());
            }
            _ => {}
        }
        let body = &self.object[part.clone()];
        let mut head = format!(
            "Content-Length: {}\r\nAccept-Ranges: bytes\r\nLast-Modified: Sat, 01 Nov 2025 00:00:00 GMT\r\nETag: \"one\"\r\nConnection: close\r\n",
            body.len()
        );
        let status = match request.range {
            Some(_) => {
                let (first, last) = (part.start, part.end - 1);
                head.push_str(&format!(
                    "Content-Range: bytes {first}-{last}/{}\r\n",
                    self.object.len()
                ));
                "206 Partial Content"
            }
            None => "200 OK",
        };
        write!(stream, "HTTP/1.1 {status}\r\n{head}\r\n")?;
        if request.method == "HEAD" {
            return Ok(());
        }
        match fault {
            Some(Fault::Cut) => stream.write_all(&body[..body.len() / 2]),
            Some(Fault::HangInBody) => {
                stream.write_all(&body[..body.len() / 2])?;
                self.hang();
                Ok(())
            }
            _ => self.pace.send(&mut stream, body),
        }
    }

    fn hang(&self) {
        let mut state = self.state();
        // Ordering: Relaxed. The store holds this lock.
        while !self.ended.load(Ordering::Relaxed) {
            state = self.changed.wait(state).expect("nobody panics with it");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_http() {
        assert_eq!(part("2-4", 10), Some(2..5));
        assert_eq!(part("2-", 10), Some(2..10));
        assert_eq!(part("-3", 10), Some(7..10));
        assert_eq!(part("-30", 10), Some(0..10));
        assert_eq!(part("8-30", 10), Some(8..10));
        for wrong in ["10-12", "5-4", "a-b", "7"] {
            assert_eq!(part(wrong, 10), None, "{wrong}");
        }
    }
}
