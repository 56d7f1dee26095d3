//! A small HTTP server with one object: HEAD and GET with a range, a connection for each request; and one fault, at a request of its number.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// This status, without a body.
    Status(u16),
    /// The connection is closed without an answer.
    Close,
    /// The body ends in its middle.
    Cut,
    /// The connection is reset in the middle of the head.
    Reset,
    /// No answer, as long as the server is there.
    Hang,
    /// Half of a body, and then nothing more.
    HangInBody,
}

pub(super) struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    name: String,
    object: Vec<u8>,
    state: Mutex<State>,
    ended: AtomicBool,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    requests: usize,
    fault: Option<(usize, Fault)>,
}

impl Server {
    /// Serves `object` as `/name`.
    pub(super) fn start(name: &str, object: Vec<u8>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("it has one");
        let shared = Arc::new(Shared {
            name: format!("/{name}"),
            object,
            state: Mutex::default(),
            ended: AtomicBool::new(false),
            changed: Condvar::new(),
        });
        let serving = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if serving.ended.load(Ordering::Relaxed) {
                    break;
                }
                let serving = Arc::clone(&serving);
                // A client that goes away is no fault of the server.
                thread::spawn(move || stream.and_then(|stream| serving.answer(stream)));
            }
        });
        Self { address, shared }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}{}", self.address, self.shared.name)
    }

    /// From now on requests count from 0, and `fault` happens at the one with this number.
    pub(super) fn plan(&self, request: usize, fault: Fault) {
        *self.shared.state() = State {
            requests: 0,
            fault: Some((request, fault)),
        };
    }

    /// The requests since the last call, and no fault any more.
    pub(super) fn take_requests(&self) -> usize {
        std::mem::take(&mut *self.shared.state()).requests
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let state = self.shared.state();
        self.shared.ended.store(true, Ordering::Relaxed);
        drop(state);
        self.shared.changed.notify_all();
        // So that it looks whether it has ended.
        drop(TcpStream::connect(self.address));
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics with it")
    }

    fn answer(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let mut lines = BufReader::new(stream.try_clone()?).lines();
        let request = lines.next().transpose()?.unwrap_or_default();
        if request.is_empty() {
            return Ok(());
        }
        let mut range = None;
        for line in lines {
            let line = line?.to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(bytes) = line.strip_prefix("range: bytes=") {
                let (first, last) = bytes.split_once('-').expect("a range");
                range = Some(
                    first.parse::<usize>().expect("a number")..last.parse::<usize>().expect("a number") + 1,
                );
            }
        }
        let fault = {
            let mut state = self.state();
            let number = state.requests;
            state.requests += 1;
            state
                .fault
                .filter(|&(at, _)| at == number)
                .map(|(_, fault)| fault)
        };
        let words: Vec<&str> = request.split(' ').collect();
        let status = match fault {
            Some(Fault::Status(status)) => Some(status),
            None if words[1] != self.name => Some(404),
            _ => None,
        };
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
        let whole = 0..self.object.len();
        let part = range.clone().unwrap_or(whole);
        let (status, body) = ("206 Partial Content", &self.object[part.clone()]);
        let mut head = format!(
            "Content-Length: {}\r\nLast-Modified: Sat, 01 Nov 2025 00:00:00 GMT\r\nETag: \"one\"\r\nConnection: close\r\n",
            body.len()
        );
        let status = match range {
            Some(_) => {
                let (first, last) = (part.start, part.end - 1);
                head.push_str(&format!(
                    "Content-Range: bytes {first}-{last}/{}\r\n",
                    self.object.len()
                ));
                status
            }
            None => "200 OK",
        };
        write!(stream, "HTTP/1.1 {status}\r\n{head}\r\n")?;
        if words[0] == "HEAD" {
            return Ok(());
        }
        match fault {
            Some(Fault::Cut) => stream.write_all(&body[..body.len() / 2]),
            Some(Fault::HangInBody) => {
                stream.write_all(&body[..body.len() / 2])?;
                self.hang();
                Ok(())
            }
            _ => stream.write_all(body),
        }
    }

    /// Until the server ends.
    fn hang(&self) {
        let mut state = self.state();
        while !self.ended.load(Ordering::Relaxed) {
            state = self.changed.wait(state).expect("nobody panics with it");
        }
    }
}
