//! What comes before the service of a worker: the secret, the query's job, and an answer that says
//! when a query ended early.
//!
//! The service spawns a task for each partition that it sends, and sees no end of these but the end
//! of their rows. A job that ends drops its tasks, so what is sent would look complete. The
//! answer's last frame says otherwise.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_util::FutureExt;
use hyper::body::{Frame, SizeHint};
use hyper::header::{HeaderMap, HeaderName};
use hyper::{Request, Response};
use pipeline_exec::{JobErrorKind, panic_text};
use tonic::body::Body;
use tonic::codegen::Service;
use tonic::{Code, Status};
use windlass_datafusion::pools::{AsyncJob, TaskError};

use super::headers::QueryHeaders;
use super::policy::NodeAccess;
use super::running::{Call, CallKind, Refused, RunningQueries};

const CHANNEL: &str = "/worker.WorkerService/CoordinatorChannel";
const ROWS: &str = "/worker.WorkerService/ExecuteTask";
const INFO: &str = "/worker.WorkerService/GetWorkerInfo";

const STATUS: HeaderName = HeaderName::from_static("grpc-status");

/// Lets requests through to a worker's service.
#[derive(Clone, Debug)]
pub(crate) struct Gate<S> {
    pub(crate) service: S,
    pub(crate) access: Arc<NodeAccess>,
    pub(crate) queries: Arc<RunningQueries>,
}

impl<S> Gate<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
{
    pub(crate) async fn answer(self, request: Request<Body>) -> Response<Body> {
        let answered = self.answered(request).await;
        answered.unwrap_or_else(Status::into_http)
    }

    async fn answered(self, request: Request<Body>) -> Result<Response<Body>, Status> {
        let Self {
            mut service,
            access,
            queries,
        } = self;
        if !access.lets_in(request.headers()) {
            let what = "it asks for a secret, and the one that it was shown is missing or another";
            return Err(refused("secret", Status::unauthenticated(what)));
        }
        let kind = match request.uri().path() {
            CHANNEL => CallKind::Channel,
            ROWS => CallKind::Rows,
            INFO if queries.is_draining() => return Err(refused("draining", shutting_down())),
            INFO => return Ok(service.call(request).await.unwrap_or_else(|never| match never {})),
            path => {
                let status = Status::unimplemented(format!("there is no {path}"));
                return Err(refused("path", status));
            }
        };
        let headers = QueryHeaders::read(request.headers()).map_err(|header| {
            let status = Status::invalid_argument(format!("header {header} is missing or wrong"));
            refused("header", status)
        })?;
        let mut call = queries.enter(headers, kind).map_err(|why| match why {
            Refused::Draining => refused("draining", shutting_down()),
            Refused::TooMany(max) => {
                let status = Status::resource_exhausted(format!("{max} queries run"));
                refused("queries", status)
            }
        })?;
        let job = call.running().job.clone();
        let answered = in_job(&job, async move {
            service.call(request).await.unwrap_or_else(|never| match never {})
        });
        let answered = match answered.await {
            Ok(response) => response,
            Err(status) => {
                call.fail();
                return Err(status);
            }
        };
        if is_error(answered.headers()) {
            call.fail();
        }
        Ok(answered.map(|body| {
            Body::new(Answer {
                body,
                job,
                queries,
                call: Some(call),
            })
        }))
    }
}

/// Runs `work` as a task of the job; what it spawns belongs to the job as well.
async fn in_job<T: Send + 'static>(
    job: &AsyncJob,
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T, Status> {
    match AssertUnwindSafe(job.spawn(work)).catch_unwind().await {
        Ok(Ok(done)) => Ok(done),
        // The job was not admitted, so this thread does the work.
        Ok(Err(TaskError::NotRun(work))) => Ok(work.into_future().await),
        Ok(Err(TaskError::DeadlineExceeded)) => Err(ended(JobErrorKind::DeadlineExceeded)),
        Ok(Err(TaskError::Cancelled)) => Err(ended(JobErrorKind::Cancelled)),
        Ok(Err(_closed)) => Err(shutting_down()),
        Err(panic) => {
            let text = panic_text(panic.as_ref()).unwrap_or("a panic");
            Err(Status::internal(format!("internal error: {text}")))
        }
    }
}

fn ended(why: JobErrorKind) -> Status {
    match why {
        JobErrorKind::DeadlineExceeded => Status::deadline_exceeded("the query's time is over"),
        JobErrorKind::Cancelled => Status::cancelled("the query has ended"),
        _ => shutting_down(),
    }
}

/// Counts a request that is refused.
fn refused(reason: &'static str, status: Status) -> Status {
    metrics::counter!("windlass_requests_refused_total", "reason" => reason).increment(1);
    status
}

fn shutting_down() -> Status {
    Status::unavailable("it shuts down")
}

fn is_error(headers: &HeaderMap) -> bool {
    headers.get(STATUS).is_some_and(|status| status != "0")
}

/// An answer whose last frame is an error if the query's job ended before it.
struct Answer {
    body: Body,
    job: AsyncJob,
    queries: Arc<RunningQueries>,
    /// `None` once the answer has ended.
    call: Option<Call>,
}

impl Answer {
    fn end(&mut self, has_failed: bool) {
        if let Some(mut call) = self.call.take() {
            if has_failed {
                call.fail();
            }
            drop(call);
        }
    }

    fn trailers(&mut self, mut trailers: HeaderMap) -> HeaderMap {
        if is_error(&trailers) {
            self.end(true);
        } else if let Some(why) = self.job.stopped() {
            let why = if self.queries.is_killed() {
                shutting_down()
            } else {
                ended(why)
            };
            trailers.clear();
            if why.add_header(&mut trailers).is_err() {
                trailers.insert(STATUS, (Code::Cancelled as i32).into());
            }
            self.end(true);
        } else {
            self.end(false);
        }
        trailers
    }
}

impl hyper::body::Body for Answer {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        Poll::Ready(match frame {
            Some(Ok(frame)) => Some(Ok(match frame.into_trailers() {
                Ok(trailers) => Frame::trailers(self.trailers(trailers)),
                Err(frame) => frame,
            })),
            Some(Err(status)) => {
                self.end(true);
                Some(Err(status))
            }
            None => {
                // Its trailers have been sent, or its status came with its headers.
                self.end(false);
                None
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
