//! Models of a worker in an old job, which gives way to a young one. Time stands still, so no visit
//! ends by the clock.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use executor_core::ports::{Fetch, Memory};
use loom::sync::atomic::AtomicUsize;
use loom::thread;
use pipeline_exec::policy::PipelinePorts;
use pipeline_exec::{Stage, StepCx, StepError, policy::JobHandle};

use crate::harness::cells::Cells;
use crate::harness::memory::LoomMemory;
use crate::harness::model;
use crate::harness::scene::{Scene, State};

type Submit = fn(&Scene, Arc<Cells>) -> Option<(Arc<State>, JobHandle)>;

#[test]
fn a_young_arrival_against_an_old_stay() {
    model("a_young_arrival_against_an_old_stay", Some(3), || {
        arrival(|scene, stage| scene.submit(vec![stage as Arc<dyn Stage>]));
    });
}

#[test]
fn a_single_against_an_old_stay() {
    model("a_single_against_an_old_stay", Some(5), || {
        arrival(|scene, stage| scene.submit_single(stage));
    });
}

fn arrival(submit: Submit) {
    let scene = Scene::with_young(1, 2);
    let young = Cells::new(1);
    let seen = Rc::new(SeenBySlots {
        scene: Rc::downgrade(&scene),
        young: young.clone(),
        arrival: Cell::new(false),
        missed: Cell::new(None),
    });
    SEEN.set(Some(seen.clone()));
    let (old, _) = scene.submit_old(vec![Arc::new(Old)]).expect("nobody closes here");
    let worker = thread::spawn({
        let scene = scene.clone();
        move || scene.work(0)
    });
    let submitted = submit(&scene, young.clone()).expect("nobody closes here").0;
    worker.join().unwrap();
    scene.work(0);
    scene.assert_over(&[old, submitted]);
    assert_eq!(young.ran(), (1, 1));
    assert_eq!(seen.missed.get(), None, "this slot ran, and the young job waited");
}

struct Old;

impl Stage for Old {
    fn slots(&self) -> usize {
        3
    }

    fn run(&self, slot: usize, _cx: &StepCx<'_>) -> Result<(), StepError> {
        SEEN.with_borrow(|seen| {
            let seen = seen.as_ref().expect("a scene is played");
            if seen.arrival.get() && seen.young.ran() != (1, 1) {
                seen.missed.set(Some(slot));
            }
            seen.arrival.set(seen.sees_an_arrival());
        });
        Ok(())
    }
}

struct SeenBySlots {
    scene: Weak<Scene>,
    young: Arc<Cells>,
    arrival: Cell<bool>,
    missed: Cell<Option<usize>>,
}

// A stage must be `Send` and the scene is not, but loom runs all threads on one.
std::thread_local! {
    static SEEN: RefCell<Option<Rc<SeenBySlots>>> = const { RefCell::new(None) };
}

impl SeenBySlots {
    fn sees_an_arrival(&self) -> bool {
        let scene = self.scene.upgrade().expect("the scene is played");
        scene.shared().young_arrivals(&Relaxed) > 0
    }
}

/// Loads that acquire nothing.
struct Relaxed;

impl Memory for Relaxed {
    type Word = AtomicUsize;

    fn load(&self, word: &AtomicUsize, _order: Ordering) -> usize {
        // Ordering: Relaxed. The check must not help the worker.
        LoomMemory.load(word, Ordering::Relaxed)
    }

    fn store(&self, _word: &AtomicUsize, _value: usize, _order: Ordering) {
        unreachable!("it only looks");
    }

    fn fetch(&self, _word: &AtomicUsize, _fetch: Fetch, _order: Ordering) -> usize {
        unreachable!("it only looks");
    }

    fn compare_exchange(
        &self,
        _word: &AtomicUsize,
        _current: usize,
        _new: usize,
        _order: Ordering,
    ) -> Result<usize, usize> {
        unreachable!("it only looks");
    }

    fn fence(&self, _order: Ordering) {
        unreachable!("it only looks");
    }
}
