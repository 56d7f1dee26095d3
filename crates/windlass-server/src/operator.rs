//! `/health` and `/metrics`, for operators, on a port of their own.

use std::convert::Infallible;
use std::net::SocketAddr;

use anyhow::Context;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tokio::net::TcpListener;

use crate::http;
use crate::listener;
use crate::server::Watch;

/// Seconds.
const BUCKETS: &[f64] = &[
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0,
];

/// Installs the process's metrics recorder.
///
/// # Errors
///
/// If there is a recorder already.
pub fn record_metrics() -> anyhow::Result<PrometheusHandle> {
    let recorder = PrometheusBuilder::new().set_buckets(BUCKETS)?.build_recorder();
    let handle = recorder.handle();
    metrics::set_global_recorder(recorder).context("the process has a recorder of metrics already")?;
    metrics::describe_counter!(
        "windlass_statements_total",
        "Statements that have ended, by outcome"
    );
    metrics::describe_histogram!(
        "windlass_statement_seconds",
        metrics::Unit::Seconds,
        "Time of a statement, by class"
    );
    metrics::describe_gauge!("windlass_connections", "Connections that are logged in");
    metrics::describe_gauge!("windlass_statements_running", "Statements that run");
    metrics::describe_gauge!("windlass_statements_waiting", "Statements that wait for a place");
    metrics::describe_gauge!(
        "windlass_memory_bytes",
        metrics::Unit::Bytes,
        "Bytes that statements hold"
    );
    Ok(handle)
}

/// Answers until the future is dropped.
///
/// # Errors
///
/// If the address cannot be listened on.
pub async fn answer_operators(
    address: SocketAddr,
    watch: Watch,
    metrics: PrometheusHandle,
) -> anyhow::Result<()> {
    let listener = TcpListener::bind(address).await;
    let listener = listener.with_context(|| format!("cannot listen on {address} for --operator"))?;
    tracing::info!(address = %listener.local_addr()?, "health and metrics");
    loop {
        let (stream, peer) = listener::accept(&listener, "an operator").await;
        let (watch, metrics) = (watch.clone(), metrics.clone());
        let service = service_fn(move |request| {
            let answer = answer(&request, &watch, &metrics);
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

fn answer(request: &Request<Incoming>, watch: &Watch, metrics: &PrometheusHandle) -> Response<Full<Bytes>> {
    let load = watch.load();
    let (status, body) = match (request.method(), request.uri().path()) {
        (&Method::GET, "/health") if load.is_draining => {
            (StatusCode::SERVICE_UNAVAILABLE, "draining\n".to_owned())
        }
        (&Method::GET, "/health") => (StatusCode::OK, "ok\n".to_owned()),
        (&Method::GET, "/metrics") => {
            metrics::gauge!("windlass_connections").set(load.connections as f64);
            metrics::gauge!("windlass_statements_running").set(load.running as f64);
            metrics::gauge!("windlass_statements_waiting").set(load.waiting as f64);
            metrics::gauge!("windlass_memory_bytes").set(load.memory_bytes as f64);
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
