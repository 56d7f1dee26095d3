//! Foreign code that fails: panic payloads, wakers, error texts, drops.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::panic::panic_any;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use pipeline_exec::{
    Class, Job, JobControl, JobErrorKind, JobStatus, JobTicket, PipelineExecutor, Stage, StepCx, StepError,
    step, trace::PipelineTrace,
};

use crate::plain::Plain;
use crate::support::{Counting, hold_workers};

struct Endless(usize);

impl Drop for Endless {
    fn drop(&mut self) {
        if let Some(depth) = self.0.checked_sub(1) {
            panic_any(Self(depth));
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Slots,
    Slot,
    Name,
    Finish,
    Output,
    Drop,
}

struct Panics(Place);

impl Panics {
    fn come_to(&self, place: Place) {
        if self.0 == place {
            panic_any(Endless(5));
        }
    }
}

impl Stage for Panics {
    fn name(&self) -> &str {
        self.come_to(Place::Name);
        "panics"
    }

    fn slots(&self) -> usize {
        self.come_to(Place::Slots);
        2
    }

    fn run(&self, _slot: usize, _cx: &StepCx<'_>) -> Result<(), StepError> {
        self.come_to(Place::Slot);
        assert!(self.0 != Place::Name, "so that the name is asked for");
        Ok(())
    }

    fn finish(&self, _cx: &StepCx<'_>) -> Result<(), StepError> {
        self.come_to(Place::Finish);
        Ok(())
    }
}

impl Drop for Panics {
    fn drop(&mut self) {
        self.come_to(Place::Drop);
    }
}

fn panicking(place: Place) -> Job {
    let stage = Arc::new(Panics(place));
    Job::builder("t")
        .stage(stage)
        .output(move |_| {
            if place == Place::Output {
                panic_any(Endless(5));
            }
            Ok(())
        })
        .build()
}

const PLACES: [Place; 6] = [
    Place::Slots,
    Place::Slot,
    Place::Name,
    Place::Finish,
    Place::Output,
    Place::Drop,
];

#[test]
fn a_panic_whose_payload_panics_when_it_is_dropped_fails_its_job_and_no_other() {
    for workers in [1, 2] {
        let executor = PipelineExecutor::new(workers).unwrap();
        for place in PLACES {
            for lent in [false, true] {
                let ticket = executor.submit(panicking(place)).unwrap();
                let end = if lent { ticket.run() } else { ticket.wait() };
                let end = end.map(|report| report.slots).map_err(|error| error.kind);
                let expected = match place {
                    Place::Drop => Ok(2),
                    _ => Err(JobErrorKind::Panicked),
                };
                assert_eq!(end, expected, "{place:?}, {workers} workers, lent: {lent}");
            }
        }
        let stage = Counting::new(20);
        let job = Job::builder("t").stage(stage.clone()).build();
        executor.submit(job).unwrap().wait().unwrap();
        stage.assert_each_ran_once();
        executor.drain();
    }
}

#[test]
fn such_a_payload_does_not_reach_the_worker() {
    for place in PLACES {
        let plain = Plain::new(1, 0);
        plain.submit("t", 1, Class::Normal, vec![Arc::new(Panics(place))]);
        while plain.main_runs_one(0) {}
    }
}

struct Meddles {
    control: Mutex<Option<JobControl>>,
    panics: bool,
}

impl Wake for Meddles {
    fn wake(self: Arc<Self>) {
        if self.panics {
            panic_any(Endless(5));
        }
    }
}

impl Drop for Meddles {
    fn drop(&mut self) {
        if let Some(control) = self.control.get_mut().unwrap().take() {
            control.cancel();
            assert_ne!(control.status(), JobStatus::Completed);
        }
    }
}

fn poll(ticket: &mut JobTicket, waker: &Waker) -> bool {
    match Pin::new(ticket).poll(&mut Context::from_waker(waker)) {
        Poll::Pending => false,
        Poll::Ready(end) => {
            drop(end);
            true
        }
    }
}

#[test]
fn a_waker_that_is_dropped_may_cancel_the_job_whose_ticket_had_it() {
    let executor = PipelineExecutor::new(1).unwrap();
    let gate = hold_workers(&executor, 1);
    let mut ticket = executor
        .submit(Job::from_steps("t", vec![step(|_| Ok(()))]))
        .unwrap();
    let control = Mutex::new(Some(ticket.control()));
    let meddles = Waker::from(Arc::new(Meddles {
        control,
        panics: false,
    }));
    assert!(!poll(&mut ticket, &meddles));
    drop(meddles);
    poll(&mut ticket, Waker::noop());
    assert_eq!(ticket.status(), JobStatus::Ended(JobErrorKind::Cancelled));
    gate.open();
}

#[test]
fn a_waker_whose_panic_panics_when_it_is_dropped_stops_no_worker() {
    let executor = PipelineExecutor::new(1).unwrap();
    let gate = hold_workers(&executor, 1);
    let mut ticket = executor
        .submit(Job::from_steps("t", vec![step(|_| Ok(()))]))
        .unwrap();
    let meddles = Meddles {
        control: Mutex::default(),
        panics: true,
    };
    assert!(!poll(&mut ticket, &Waker::from(Arc::new(meddles))));
    gate.open();
    let after = executor
        .submit(Job::from_steps("t", vec![step(|_| Ok(()))]))
        .unwrap();
    assert_eq!(after.wait().unwrap().slots, 1);
    assert!(poll(&mut ticket, Waker::noop()));
}

#[test]
fn a_ticket_that_was_polled_too_often_still_says_how_its_job_ended() {
    let executor = PipelineExecutor::new(1).unwrap();
    let mut ticket = executor
        .submit(Job::from_steps("t", vec![step(|_| Ok(()))]))
        .unwrap();
    executor.run_until(&ticket);
    assert!(poll(&mut ticket, Waker::noop()));
    let again = std::panic::AssertUnwindSafe(|| poll(&mut ticket, Waker::noop()));
    assert!(std::panic::catch_unwind(again).is_err());
    assert_eq!(ticket.status(), JobStatus::Completed);
}

#[derive(Debug)]
struct Speechless;

impl fmt::Display for Speechless {
    fn fmt(&self, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic_any(Endless(2));
    }
}

impl Error for Speechless {}

#[test]
fn an_error_whose_text_panics_ends_its_job_in_a_picture_as_well() {
    let trace = PipelineTrace::new();
    let executor = PipelineExecutor::builder()
        .threads(2)
        .trace(&trace)
        .build()
        .unwrap();
    let steps = vec![step(|_| Err(Speechless.into())), step(|_| Ok(()))];
    let error = executor
        .submit(Job::from_steps("t", steps))
        .unwrap()
        .wait()
        .unwrap_err();
    assert!(error.source.is_some_and(|source| source.is::<Speechless>()));
    executor.drain();
    let mut file = Vec::new();
    trace.write_to(&mut file).unwrap();
    let text = String::from_utf8(file).unwrap();
    assert!(text.contains("step: an error whose text panicked"), "{text}");
}

#[test]
fn an_executor_that_is_dropped_outlives_the_jobs_that_panic_when_they_are() {
    let executor = PipelineExecutor::new(1).unwrap();
    let gate = hold_workers(&executor, 1);
    let tickets: Vec<_> = (0..3)
        .map(|_| executor.submit(panicking(Place::Drop)).unwrap())
        .collect();
    let opener = std::thread::spawn(move || {
        while tickets[0].status() == JobStatus::Queued {
            std::thread::yield_now();
        }
        gate.open();
        tickets
    });
    drop(executor);
    for ticket in opener.join().unwrap() {
        assert_eq!(ticket.wait().unwrap_err().kind, JobErrorKind::HandedBack);
    }
}

#[test]
fn a_submitter_that_gives_up_waiting_for_room_leaves_nothing_behind() {
    struct Woken(AtomicUsize);
    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let executor = PipelineExecutor::builder().queue_capacity(1).build().unwrap();
    let gate = hold_workers(&executor, 1);
    let woken = Arc::new(Woken(AtomicUsize::new(0)));
    let waker = Waker::from(Arc::clone(&woken));
    let data = Arc::new(());
    let mut waiting: Vec<_> = (0..3)
        .map(|_| {
            let data = Arc::clone(&data);
            let job = Job::from_steps(
                "t",
                vec![step(move |_| {
                    let _kept = &data;
                    Ok(())
                })],
            );
            let mut waiting = Box::pin(executor.submit_async(job));
            let polled = waiting.as_mut().poll(&mut Context::from_waker(&waker));
            assert!(polled.is_pending());
            waiting
        })
        .collect();
    assert_eq!(Arc::strong_count(&woken), 1 + 1 + 3);
    let kept = waiting.pop();
    drop(waiting);
    assert_eq!(
        (Arc::strong_count(&woken), Arc::strong_count(&data)),
        (1 + 1 + 1, 1 + 1),
        "one waits"
    );
    gate.open();
    while woken.0.load(Ordering::Relaxed) == 0 {
        std::thread::yield_now();
    }
    drop(kept);
    assert_eq!((Arc::strong_count(&woken), Arc::strong_count(&data)), (1 + 1, 1));
    assert_eq!(woken.0.load(Ordering::Relaxed), 1, "and is woken");
}
