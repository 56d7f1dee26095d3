//! An HTTP server of files that change, and that fails at a request of one's choice.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Body as _;
use hyper::header::{CONTENT_RANGE, ETAG, LAST_MODIFIED, LOCATION, RANGE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use windlass_server::tables::{NamedTable, Patience};
use windlass_server::{ServerConfig as Config, Source, Tables, UrlOptions};

/// A file, and how the server gives it.
#[derive(Clone, Debug)]
pub(crate) struct Served {
    pub(crate) bytes: Bytes,
    pub(crate) e_tag: Option<&'static str>,
    pub(crate) last_modified: Option<&'static str>,
    pub(crate) has_ranges: bool,
    /// In the place of everything else.
    pub(crate) status: Option<u16>,
    pub(crate) location: Option<String>,
    /// What the URL must have behind `?`.
    pub(crate) query: Option<&'static str>,
}

impl Served {
    pub(crate) fn new(bytes: impl Into<Bytes>) -> Self {
        Self {
            bytes: bytes.into(),
            e_tag: Some("\"one\""),
            last_modified: None,
            has_ranges: true,
            status: None,
            location: None,
            query: None,
        }
    }
}

/// What was asked for, and the bytes that were answered.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) range: Option<String>,
    pub(crate) bytes: usize,
}

/// Its drop ends it.
pub(crate) struct Host {
    pub(crate) address: SocketAddr,
    scheme: &'static str,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// The number of requests.
    count: watch::Sender<usize>,
}

#[derive(Default)]
struct State {
    files: HashMap<String, Served>,
    asked: Vec<Asked>,
    /// From this request on a file is another one.
    change: Option<(usize, String, Served)>,
    /// From this request on there is no answer.
    silent_from: Option<usize>,
    /// This request is answered by this status.
    fails: Option<(usize, u16)>,
}

impl Host {
    pub(crate) fn start() -> Self {
        Self::over(None)
    }

    pub(crate) fn over(tls: Option<Arc<ServerConfig>>) -> Self {
        let shared = Arc::new(Shared::default());
        let scheme = if tls.is_some() { "https" } else { "http" };
        let serving = Arc::clone(&shared);
        let (ready, started) = mpsc::channel();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::spawn(move || {
            crate::served::block_on(async move {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                ready.send(listener.local_addr().unwrap()).unwrap();
                tokio::select! {
                    () = serving.serve(listener, tls.map(TlsAcceptor::from)) => {}
                    _ = stopped => {}
                }
            });
        });
        Self {
            address: started.recv().unwrap(),
            scheme,
            shared,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// Also puts the file in the place of another.
    pub(crate) fn put(&self, path: &str, file: Served) {
        self.shared
            .state
            .lock()
            .unwrap()
            .files
            .insert(path.to_owned(), file);
    }

    pub(crate) fn remove(&self, path: &str) {
        self.shared.state.lock().unwrap().files.remove(path);
    }

    pub(crate) fn change_at(&self, request: usize, path: &str, file: Served) {
        self.shared.state.lock().unwrap().change = Some((request, path.to_owned(), file));
    }

    pub(crate) fn silent_from(&self, request: usize) {
        self.shared.state.lock().unwrap().silent_from = Some(request);
    }

    pub(crate) fn fail_at(&self, request: usize, status: u16) {
        self.shared.state.lock().unwrap().fails = Some((request, status));
    }

    /// What has been asked for since the last call; counts requests from 0 again.
    pub(crate) fn take_asked(&self) -> Vec<Asked> {
        let mut state = self.shared.state.lock().unwrap();
        self.shared.count.send_replace(0);
        std::mem::take(&mut state.asked)
    }

    pub(crate) async fn until_asked(&self, number: usize) {
        let mut count = self.shared.count.subscribe();
        let asked = count.wait_for(|count| *count >= number);
        let asked = tokio::time::timeout(Duration::from_secs(60), asked).await;
        asked.expect("a request comes").unwrap();
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}://localhost:{}{path}", self.scheme, self.address.port())
    }

    /// The table `name` at `path`.
    pub(crate) fn table(&self, name: &str, path: &str) -> Source {
        named(name, &self.url(path))
    }
}

pub(crate) fn named(name: &str, url: &str) -> Source {
    Source::Named(format!("{name}={url}").parse::<NamedTable>().unwrap())
}

/// Gives a server tables by URL with other options.
pub(crate) fn with(options: UrlOptions, sources: Vec<Source>) -> impl FnOnce(&mut Config) + Send {
    move |config| config.tables = Tables::with_urls(&sources, &options).unwrap()
}

pub(crate) fn patient(silence: Duration, retries: usize) -> UrlOptions {
    UrlOptions {
        patience: Patience {
            silence,
            retries,
            retry_for: Duration::from_secs(60),
        },
        ..UrlOptions::default()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking(), "the host panicked");
        }
    }
}

impl Shared {
    async fn serve(self: Arc<Self>, listener: TcpListener, tls: Option<TlsAcceptor>) {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let (shared, tls) = (Arc::clone(&self), tls.clone());
            tokio::spawn(async move {
                let service = service_fn(move |request| {
                    let shared = Arc::clone(&shared);
                    async move { shared.answer(&request).await }
                });
                let connections = http1::Builder::new();
                // Clients may go away at any time.
                let _ = match tls {
                    None => connections.serve_connection(TokioIo::new(stream), service).await,
                    Some(tls) => match tls.accept(stream).await {
                        Ok(stream) => connections.serve_connection(TokioIo::new(stream), service).await,
                        Err(_) => Ok(()),
                    },
                };
            });
        }
    }

    async fn answer<B>(&self, request: &Request<B>) -> Result<Response<Full<Bytes>>, Infallible> {
        let answer = self.now(request);
        let count = self.state.lock().unwrap().asked.len();
        self.count.send_replace(count);
        match answer {
            Some(answer) => Ok(answer),
            None => std::future::pending().await,
        }
    }

    /// `None` for no answer.
    fn now<B>(&self, request: &Request<B>) -> Option<Response<Full<Bytes>>> {
        let mut state = self.state.lock().unwrap();
        let number = state.asked.len();
        if let Some((at, path, file)) = state.change.clone()
            && number >= at
        {
            state.files.insert(path, file);
        }
        let range = request.headers().get(RANGE);
        let range = range.map(|range| range.to_str().unwrap().to_owned());
        let answer = match state.fails {
            Some((at, status)) if at == number => {
                Response::builder().status(status).body(Full::default()).unwrap()
            }
            _ => {
                let file = state.files.get(request.uri().path());
                let file = file.filter(|file| file.query.is_none() || file.query == request.uri().query());
                of_file(file, range.as_deref())
            }
        };
        let bytes = answer.body().size_hint().exact().unwrap();
        state.asked.push(Asked {
            range,
            bytes: usize::try_from(bytes).unwrap(),
        });
        let is_silent = state.silent_from.is_some_and(|from| number >= from);
        (!is_silent).then_some(answer)
    }
}

fn of_file(file: Option<&Served>, range: Option<&str>) -> Response<Full<Bytes>> {
    let plain = |status: StatusCode| Response::builder().status(status).body(Full::default()).unwrap();
    let Some(file) = file else {
        return plain(StatusCode::NOT_FOUND);
    };
    let mut answer = Response::builder();
    for (name, value) in [
        (ETAG, file.e_tag),
        (LAST_MODIFIED, file.last_modified),
        (LOCATION, file.location.as_deref()),
    ] {
        if let Some(value) = value {
            answer = answer.header(name, value);
        }
    }
    if let Some(status) = file.status {
        return answer.status(status).body(Full::default()).unwrap();
    }
    let Some(range) = range.filter(|_| file.has_ranges) else {
        return answer.body(Full::new(file.bytes.clone())).unwrap();
    };
    let (first, last) = range.strip_prefix("bytes=").unwrap().split_once('-').unwrap();
    let (first, last): (usize, usize) = (first.parse().unwrap(), last.parse().unwrap());
    let end = (last + 1).min(file.bytes.len());
    if first >= end {
        return plain(StatusCode::RANGE_NOT_SATISFIABLE);
    }
    let part = file.bytes.slice(first..end);
    let said = format!("bytes {first}-{}/{}", end - 1, file.bytes.len());
    let answer = answer
        .status(StatusCode::PARTIAL_CONTENT)
        .header(CONTENT_RANGE, said);
    answer.body(Full::new(part)).unwrap()
}
