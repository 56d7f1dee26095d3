//! A query over an object of a server with 20 ms latency, beside heavy ones. Where an engine
//! computes on other threads, the store makes its requests on the clients' runtime.

use std::fmt;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use async_trait::async_trait;
use bytes::Bytes;
use datafusion::datasource::object_store::ObjectStoreUrl;
use datafusion::prelude::ParquetReadOptions;
use futures_util::stream::{self, BoxStream, StreamExt as _};
use object_server::{Line, ObjectServer};
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use paced_load::percentile::at;
use tokio::net::TcpStream;
use tokio::runtime::{Handle, Runtime};

use crate::engine::{Engine, Kind};
use crate::heavy::HeavyClients;
use crate::options::Options;
use crate::rows;
use crate::tables::Tables;

const LATENCY: Duration = Duration::from_millis(20);

const NAME: &str = "lineitem.parquet";

const QUERY: &str = "select count(*), sum(l_quantity), max(l_shipdate) from remote where l_discount > 0.02";

pub(crate) fn run(options: &Options, tables: &Tables, runtime: &Runtime) -> anyhow::Result<()> {
    let folder = options
        .parquet
        .as_ref()
        .context("`--parquet FOLDER` is missing")?;
    let files = runtime.block_on(Tables::in_files(folder, options.load.scale))?;
    let Tables::Parquet(files) = &files else {
        anyhow::bail!("files are in a folder");
    };
    let object = fs::read(files.join(NAME))?;
    let size = object.len() as u64;
    let line = Line {
        latency: LATENCY,
        bytes_per_second: None,
    };
    let server = ObjectServer::behind(line, NAME, object);
    let mut answer = None;
    for _round in 0..options.load.rounds {
        for &kind in &options.engines {
            let engine = runtime.block_on(Engine::new(kind, tables, options.main, options.spares))?;
            let store = Remote {
                address: server.address(),
                size,
                io: [Kind::SecondRuntime, Kind::Windlass]
                    .contains(&kind)
                    .then(|| runtime.handle().clone()),
                times: Arc::default(),
            };
            let times = Arc::clone(&store.times);
            let url = ObjectStoreUrl::parse("http://objects")?;
            let session = engine.session();
            session
                .runtime_env()
                .register_object_store(url.as_ref(), Arc::new(store));
            let file = format!("http://objects/{NAME}");
            let register = session.register_parquet("remote", file, ParquetReadOptions::default());
            runtime.block_on(register)?;
            let found = rows(&runtime.block_on(engine.query(QUERY))?)?;
            let expected = answer.get_or_insert_with(|| found.clone());
            anyhow::ensure!(*expected == found, "{} answers otherwise", kind.name());
            times.lock().unwrap_or_else(PoisonError::into_inner).clear();
            let (read, heavy) = runtime.block_on(measure(&engine, options))?;
            let mut times = times.lock().unwrap_or_else(PoisonError::into_inner).clone();
            times.sort_unstable();
            println!(
                "{:<15} {:>2} x {:<5} {read:.2} queries/s over the object; a request p50 {:.1} p99 {:.1} max {:.1} ms, {} of them; {heavy:.2} heavy/s",
                kind.name(),
                options.load.clients,
                options.load.heavy,
                at(&times, 0.5),
                at(&times, 0.99),
                at(&times, 1.0),
                times.len(),
            );
        }
    }
    Ok(())
}

async fn measure(engine: &Engine, options: &Options) -> anyhow::Result<(f64, f64)> {
    let heavies = HeavyClients::of(engine, options, &Handle::current())?;
    let began = Instant::now();
    let lasts = options.load.lasts;
    let mut done = 0.0;
    while began.elapsed() < lasts {
        engine.query(QUERY).await?;
        done += 1.0;
    }
    let read = done / began.elapsed().as_secs_f64();
    let heavy = heavies.stop().await?;
    Ok((read, heavy as f64 / began.elapsed().as_secs_f64()))
}

#[derive(Clone, Debug)]
struct Remote {
    address: SocketAddr,
    size: u64,
    /// Runtime of the requests, if not the caller's.
    io: Option<Handle>,
    times: Arc<Mutex<Vec<Duration>>>,
}

impl Remote {
    fn meta(&self, location: &Path) -> ObjectMeta {
        ObjectMeta {
            location: location.clone(),
            last_modified: Default::default(),
            size: self.size,
            e_tag: None,
            version: None,
        }
    }

    async fn get(&self, range: Range<u64>) -> io::Result<Bytes> {
        let began = Instant::now();
        let stream = TcpStream::connect(self.address).await?;
        let request = format!(
            "GET /{NAME} HTTP/1.1\r\nRange: bytes={}-{}\r\n\r\n",
            range.start,
            range.end - 1
        );
        let mut left = request.as_bytes();
        while !left.is_empty() {
            stream.writable().await?;
            match stream.try_write(left) {
                Ok(written) => left = &left[written..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        let mut answer = Vec::new();
        loop {
            stream.readable().await?;
            match stream.try_read_buf(&mut answer) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        times.push(began.elapsed());
        let body = answer.len().checked_sub((range.end - range.start) as usize);
        let body = body.ok_or(io::ErrorKind::UnexpectedEof)?;
        Ok(Bytes::from(answer).slice(body..))
    }

    fn cannot(&self) -> Error {
        Error::NotImplemented {
            operation: "writing".to_owned(),
            implementer: self.to_string(),
        }
    }
}

impl fmt::Display for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "objects of {}", self.address)
    }
}

#[async_trait]
impl ObjectStore for Remote {
    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let failed = |source: Box<dyn std::error::Error + Send + Sync>| Error::Generic {
            store: "bench",
            source,
        };
        let range = match &options.range {
            Some(range) => range.as_range(self.size).map_err(|error| failed(error.into()))?,
            None => 0..self.size,
        };
        let bytes = if options.head {
            Bytes::new()
        } else {
            let (remote, asked) = (self.clone(), range.clone());
            let get = async move { remote.get(asked).await };
            let got = match &self.io {
                Some(io) => io.spawn(get).await.map_err(|error| failed(error.into()))?,
                None => get.await,
            };
            got.map_err(|error| failed(error.into()))?
        };
        Ok(GetResult {
            payload: GetResultPayload::Stream(stream::iter([Ok(bytes)]).boxed()),
            meta: self.meta(location),
            range,
            attributes: Default::default(),
        })
    }

    async fn put_opts(&self, _: &Path, _: PutPayload, _: PutOptions) -> Result<PutResult> {
        Err(self.cannot())
    }

    async fn put_multipart_opts(&self, _: &Path, _: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        Err(self.cannot())
    }

    fn delete_stream(&self, _: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        stream::iter([Err(self.cannot())]).boxed()
    }

    fn list(&self, _: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        stream::iter([Ok(self.meta(&Path::from(NAME)))]).boxed()
    }

    async fn list_with_delimiter(&self, _: Option<&Path>) -> Result<ListResult> {
        Err(self.cannot())
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        Err(self.cannot())
    }
}
