//! `/health` and `/metrics` of a server or a worker, for operators, on a port of their own.

use std::convert::Infallible;
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use metrics::{Unit, describe_counter, describe_gauge, describe_histogram, gauge};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tokio::net::TcpStream;

use crate::http;
use crate::listener::Listener;
use crate::nodes::WorkerWatch;
use crate::server::Watch;

/// Seconds.
const BUCKETS: &[f64] = &[
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0,
];

/// Time after which samples that no operator has asked for become counts, so that they take no more
/// memory.
const UPKEEP: Duration = Duration::from_secs(5);

/// A process that operators look at: a server's [`Watch`], or a [`WorkerWatch`].
pub trait Observed: Clone + Send + Sync + 'static {
    /// Whether it is about to end.
    fn is_draining(&self) -> bool;

    /// Says what each of its metrics is.
    fn describe(&self);

    /// Sets the metrics of this moment.
    fn measure(&self);
}

/// A port for operators.
pub struct Operators {
    listener: Listener,
    metrics: PrometheusHandle,
}

impl Operators {
    /// Starts to listen, and installs the process's recorder of metrics.
    ///
    /// # Errors
    ///
    /// If an address cannot be listened on, or there is a recorder already.
    pub async fn listen(addresses: &[SocketAddr]) -> anyhow::Result<Self> {
        let listener = Listener::bind(addresses).context("--operator")?;
        let recorder = PrometheusBuilder::new().set_buckets(BUCKETS)?.build_recorder();
        let metrics = recorder.handle();
        metrics::set_global_recorder(recorder).context("the process has a recorder of metrics already")?;
        Ok(Self { listener, metrics })
    }

    /// The addresses on which it listens: one or more.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        self.listener.addresses()
    }

    /// Answers until the future is dropped.
    pub async fn answer(self, observed: impl Observed) {
        observed.describe();
        let mut upkeep = tokio::time::interval(UPKEEP);
        loop {
            tokio::select! {
                (stream, peer) = self.listener.accept("an operator") => {
                    self.serve(stream, peer, observed.clone());
                }
                _ = upkeep.tick() => self.metrics.run_upkeep(),
            }
        }
    }

    fn serve(&self, stream: TcpStream, peer: SocketAddr, observed: impl Observed) {
        let metrics = self.metrics.clone();
        let service = service_fn(move |request| {
            let answer = answer(&request, &observed, &metrics);
            async move { Ok::<_, Infallible>(answer) }
        });
        let connection = http::protocol().serve_connection(TokioIo::new(stream), service);
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%peer, %error, "an operator's connection ended");
            }
        });
    }
}

fn answer(
    request: &Request<Incoming>,
    observed: &impl Observed,
    metrics: &PrometheusHandle,
) -> Response<Full<Bytes>> {
    let (status, body) = match (request.method(), request.uri().path()) {
        (&Method::GET, "/health") if observed.is_draining() => {
            (StatusCode::SERVICE_UNAVAILABLE, "draining\n".to_owned())
        }
        (&Method::GET, "/health") => (StatusCode::OK, "ok\n".to_owned()),
        (&Method::GET, "/metrics") => {
            observed.measure();
            (StatusCode::OK, metrics.render())
        }
        _ => (
            StatusCode::NOT_FOUND,
            "there are /health and /metrics\n".to_owned(),
        ),
    };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    let text = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, text);
    response
}

impl Observed for Watch {
    fn is_draining(&self) -> bool {
        self.load().is_draining
    }

    fn describe(&self) {
        describe_counter!(
            "windlass_statements_total",
            "Statements that have ended, by outcome"
        );
        describe_histogram!(
            "windlass_statement_seconds",
            Unit::Seconds,
            "Time of a statement, by class"
        );
        describe_gauge!("windlass_connections", "Connections that are logged in");
        describe_gauge!("windlass_statements_running", "Statements that run");
        describe_gauge!("windlass_statements_waiting", "Statements that wait for a place");
        describe_gauge!("windlass_memory_bytes", Unit::Bytes, "Bytes that statements hold");
    }

    fn measure(&self) {
        let load = self.load();
        gauge!("windlass_connections").set(load.connections as f64);
        gauge!("windlass_statements_running").set(load.running as f64);
        gauge!("windlass_statements_waiting").set(load.waiting as f64);
        gauge!("windlass_memory_bytes").set(load.memory_bytes as f64);
    }
}

impl Observed for WorkerWatch {
    fn is_draining(&self) -> bool {
        self.is_draining()
    }

    fn describe(&self) {
        describe_counter!("windlass_queries_total", "Queries that have begun here");
        describe_counter!(
            "windlass_requests_refused_total",
            "Requests of other nodes that were refused, by reason"
        );
        describe_gauge!("windlass_queries_running", "Queries that run here");
        describe_gauge!("windlass_requests_open", "Requests that queries have open");
        describe_gauge!("windlass_tasks_open", "Tasks of queries that have not ended");
        describe_gauge!("windlass_memory_bytes", Unit::Bytes, "Bytes that queries hold");
        describe_gauge!(
            "windlass_memory_limit_bytes",
            Unit::Bytes,
            "Bytes that queries may hold"
        );
        describe_gauge!(
            "windlass_spilled_bytes",
            Unit::Bytes,
            "Bytes in the folder for what does not fit into memory"
        );
        describe_gauge!(
            "windlass_thread_busy_seconds",
            Unit::Seconds,
            "Time that a thread has computed, by its number"
        );
    }

    fn measure(&self) {
        let load = self.load();
        metrics::counter!("windlass_queries_total").absolute(load.begun);
        gauge!("windlass_queries_running").set(load.queries as f64);
        gauge!("windlass_requests_open").set(load.requests as f64);
        gauge!("windlass_tasks_open").set(load.tasks as f64);
        gauge!("windlass_memory_bytes").set(load.memory_bytes as f64);
        if let Some(limit) = load.memory_limit_bytes {
            gauge!("windlass_memory_limit_bytes").set(limit as f64);
        }
        gauge!("windlass_spilled_bytes").set(load.spilled_bytes as f64);
        for (number, busy) in load.busy.iter().enumerate() {
            gauge!("windlass_thread_busy_seconds", "thread" => number.to_string()).set(busy.as_secs_f64());
        }
    }
}

impl fmt::Debug for Operators {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Operators")
            .field("listener", &self.listener)
            .finish_non_exhaustive()
    }
}
