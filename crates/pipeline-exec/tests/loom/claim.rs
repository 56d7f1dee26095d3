//! Models of claims, completion and close.

use std::sync::atomic::Ordering;

use loom::sync::Arc;
use loom::sync::atomic::AtomicUsize;
use loom::thread::{self, JoinHandle};
use pipeline_exec::policy::claim::{Claim, Claims, Piece};

use crate::harness::memory::LoomMemory;
use crate::harness::model;

fn claims(stages: usize, slots: usize) -> Arc<Claims<AtomicUsize>> {
    graph((0..stages).map(|stage| stage.min(1)), &[slots])
}

fn graph(before: impl ExactSizeIterator<Item = usize>, first: &[usize]) -> Arc<Claims<AtomicUsize>> {
    let claims = Claims::new(before, AtomicUsize::new);
    for (stage, &slots) in first.iter().enumerate() {
        claims.begin(&LoomMemory, stage, stage, slots);
    }
    Arc::new(claims)
}

fn claim_one(claims: &Claims<AtomicUsize>) -> Claim {
    claims.claim(&LoomMemory, |_stage, _left| 1)
}

fn claim_and_run(claims: &Claims<AtomicUsize>, effects: &[AtomicUsize]) -> Option<(usize, bool)> {
    let Claim::Slots { piece, .. } = claim_one(claims) else {
        return None;
    };
    let Piece { stage, slots } = piece;
    effects[slots.start].store(1, Ordering::Relaxed);
    Some((slots.start, claims.account(&LoomMemory, stage, slots.len())))
}

fn close(claims: &Claims<AtomicUsize>) -> bool {
    claims
        .close(&LoomMemory)
        .is_some_and(|left| claims.give_up(&LoomMemory, &left.stages))
}

fn canceller(claims: &Arc<Claims<AtomicUsize>>) -> JoinHandle<bool> {
    let claims = claims.clone();
    thread::spawn(move || close(&claims))
}

fn effects<const N: usize>() -> Arc<[AtomicUsize; N]> {
    Arc::new(std::array::from_fn(|_| AtomicUsize::new(0)))
}

#[test]
fn claim_against_claim_against_cancel() {
    model("claim_against_claim_against_cancel", None, || {
        let (claims, effects) = (claims(1, 2), effects::<2>());
        let other = thread::spawn({
            let (claims, effects) = (claims.clone(), effects.clone());
            move || claim_and_run(&claims, &*effects)
        });
        let canceller = canceller(&claims);
        let mine = claim_and_run(&claims, &*effects);
        let (other, closer) = (other.join().unwrap(), canceller.join().unwrap());
        if let (Some(mine), Some(other)) = (mine, other) {
            assert_ne!(mine.0, other.0, "a slot was claimed twice");
        }
        let finishers =
            usize::from(closer) + [mine, other].iter().flatten().filter(|(_, last)| *last).count();
        assert_eq!(finishers, 1, "mine {mine:?}, other {other:?}, closer {closer}");
        assert_eq!(claims.progress(&LoomMemory), (2, 2));
    });
}

#[test]
fn last_finisher_sees_every_slots_writes() {
    model("last_finisher_sees_every_slots_writes", None, || {
        let (claims, effects) = (claims(1, 2), effects::<2>());
        let worker = |claims: &Arc<Claims<AtomicUsize>>, effects: &Arc<[AtomicUsize; 2]>| {
            let (claims, effects) = (claims.clone(), effects.clone());
            move || {
                let (_, last) = claim_and_run(&claims, &*effects).expect("there are two slots");
                if last {
                    let seen = effects.each_ref().map(|effect| effect.load(Ordering::Relaxed));
                    assert_eq!(seen, [1, 1], "a slot's writes are lost to the last finisher");
                }
                last
            }
        };
        let other = thread::spawn(worker(&claims, &effects));
        let mine = worker(&claims, &effects)();
        assert!(mine != other.join().unwrap(), "finished exactly once");
    });
}

#[test]
fn a_canceller_that_finishes_sees_every_slots_writes() {
    model("a_canceller_that_finishes_sees_every_slots_writes", None, || {
        let (claims, effects) = (claims(1, 2), effects::<2>());
        let worker = thread::spawn({
            let (claims, effects) = (claims.clone(), effects.clone());
            move || claim_and_run(&claims, &*effects)
        });
        let closer = close(&claims);
        if closer && claims.next_free_slot(&LoomMemory).1 == 1 {
            assert_eq!(
                effects[0].load(Ordering::Relaxed),
                1,
                "the slot's writes are lost"
            );
        }
        let ran = worker.join().unwrap();
        assert!(
            closer != ran.is_some_and(|(_, last)| last),
            "finished exactly once"
        );
    });
}

#[test]
fn stage_start_against_claim() {
    model("stage_start_against_claim", None, || {
        let (claims, effects) = (claims(2, 1), effects::<3>());
        let result = Arc::new(AtomicUsize::new(0));
        let starter = thread::spawn({
            let (claims, effects, result) = (claims.clone(), effects.clone(), result.clone());
            move || {
                let first = claim_and_run(&claims, &*effects);
                if let Some((0, true)) = first {
                    result.store(7, Ordering::Relaxed);
                    assert!(claims.arrive(&LoomMemory, 1));
                    assert!(claims.start(&LoomMemory, 1, 2), "nobody closes here");
                }
                first
            }
        });
        let claim = claim_one(&claims);
        if let Claim::Slots { piece, last } = &claim {
            if piece.stage == 1 {
                assert_eq!((piece.slots.clone(), *last), (0..1, false));
                assert_eq!(
                    result.load(Ordering::Relaxed),
                    7,
                    "the stage before is not finished for this worker"
                );
            } else {
                assert_eq!((piece.stage, piece.slots.clone()), (0, 0..1));
                assert!(claims.account(&LoomMemory, 0, 1));
            }
        }
        let first = starter.join().unwrap();
        assert_eq!(
            first.is_some(),
            !matches!(
                claim,
                Claim::Slots {
                    piece: Piece { stage: 0, .. },
                    ..
                }
            )
        );
    });
}

#[test]
fn stage_start_against_cancel() {
    model("stage_start_against_cancel", None, || {
        let (claims, effects) = (claims(2, 1), effects::<1>());
        assert_eq!(claim_and_run(&claims, &*effects), Some((0, true)));
        let canceller = canceller(&claims);
        assert!(claims.arrive(&LoomMemory, 1));
        let started = claims.start(&LoomMemory, 1, 2);
        let finisher = claims.finished(&LoomMemory);
        let closer = canceller.join().unwrap();
        assert!(
            finisher != closer,
            "ended by the finisher {finisher}, by the canceller {closer}"
        );
        assert!(
            started || finisher,
            "a stage that does not start is nobody's to wait for"
        );
        let progress = claims.progress(&LoomMemory);
        assert_eq!(progress, if started { (3, 3) } else { (1, 1) });
        assert_eq!(claim_one(&claims), Claim::Closed);
    });
}

/// A worker may read the number of a run without its row.
#[test]
fn going_on_to_a_stage_against_close() {
    model("going_on_to_a_stage_against_close", Some(5), || {
        let (claims, effects) = (claims(2, 1), effects::<1>());
        assert_eq!(claim_and_run(&claims, &*effects), Some((0, true)));
        let worker = thread::spawn({
            let claims = claims.clone();
            move || match claim_one(&claims) {
                Claim::Slots { piece, .. } => {
                    assert_eq!((piece.stage, piece.slots.clone()), (1, 0..1));
                    claims.account(&LoomMemory, 1, 1) && claims.finished(&LoomMemory)
                }
                _ => false,
            }
        });
        let canceller = canceller(&claims);
        assert!(claims.arrive(&LoomMemory, 1));
        let started = claims.start(&LoomMemory, 1, 2);
        let finisher = claims.finished(&LoomMemory);
        let ends = [finisher, worker.join().unwrap(), canceller.join().unwrap()];
        assert_eq!(ends.iter().filter(|&&ends| ends).count(), 1, "{ends:?}");
        let progress = claims.progress(&LoomMemory);
        assert_eq!(progress, if started { (3, 3) } else { (1, 1) });
    });
}

#[test]
fn two_claims_against_stage_start() {
    model("two_claims_against_stage_start", None, || {
        let (claims, effects) = (claims(2, 1), effects::<1>());
        assert_eq!(claim_and_run(&claims, &*effects), Some((0, true)));
        let result = Arc::new(AtomicUsize::new(0));
        let claimer = || {
            let (claims, result) = (claims.clone(), result.clone());
            move || match claim_one(&claims) {
                Claim::Slots { piece, .. } => {
                    assert_eq!(result.load(Ordering::Relaxed), 7, "the stage before is lost");
                    Some(piece.slots.start)
                }
                _ => None,
            }
        };
        let others = [thread::spawn(claimer()), thread::spawn(claimer())];
        result.store(7, Ordering::Relaxed);
        assert!(claims.arrive(&LoomMemory, 1));
        assert!(claims.start(&LoomMemory, 1, 2), "nobody closes here");
        let mut claimed: Vec<usize> = others
            .into_iter()
            .filter_map(|other| other.join().unwrap())
            .collect();
        while let Claim::Slots { piece, .. } = claim_one(&claims) {
            claimed.push(piece.slots.start);
        }
        claimed.sort_unstable();
        assert_eq!(claimed, [0, 1], "each slot once");
    });
}

fn two_run(before: impl ExactSizeIterator<Item = usize>) -> Arc<Claims<AtomicUsize>> {
    let claims = graph(before, &[1, 1]);
    for stage in 0..2 {
        assert!(matches!(claim_one(&claims), Claim::Slots { piece, .. } if piece.stage == stage));
    }
    claims
}

fn both<R: 'static>(finisher: impl Fn(usize) -> R + Clone + 'static) -> [R; 2] {
    let other = thread::spawn({
        let finisher = finisher.clone();
        move || finisher(1)
    });
    [finisher(0), other.join().unwrap()]
}

#[test]
fn two_stages_start_at_once() {
    model("two_stages_start_at_once", None, || {
        let (claims, effects) = (two_run([0, 0, 1, 1].into_iter()), effects::<2>());
        let finisher = {
            let claims = claims.clone();
            move |stage: usize| {
                effects[stage].store(1, Ordering::Relaxed);
                assert!(claims.account(&LoomMemory, stage, 1));
                assert!(claims.arrive(&LoomMemory, stage + 2));
                assert!(claims.start(&LoomMemory, stage + 2, 1), "nobody closes here");
                assert!(!claims.finished(&LoomMemory), "the next stage is open");
                let Claim::Slots { piece, .. } = claim_one(&claims) else {
                    return None;
                };
                let before = effects[piece.stage - 2].load(Ordering::Relaxed);
                assert_eq!(before, 1, "the stage before is lost");
                Some(piece.stage)
            }
        };
        let mut claimed = Vec::from_iter(both(finisher).into_iter().flatten());
        while let Claim::Slots { piece, .. } = claim_one(&claims) {
            claimed.push(piece.stage);
        }
        claimed.sort_unstable();
        assert_eq!(claimed, [2, 3], "each of the two once");
    });
}

#[test]
fn two_last_finishers() {
    model("two_last_finishers", None, || {
        let (claims, effects) = (two_run([0, 0, 2].into_iter()), effects::<2>());
        let finisher = {
            let claims = claims.clone();
            move |stage: usize| {
                assert!(claims.account(&LoomMemory, stage, 1));
                effects[stage].store(1, Ordering::Relaxed);
                if claims.arrive(&LoomMemory, 2) {
                    let seen = effects.each_ref().map(|effect| effect.load(Ordering::Relaxed));
                    assert_eq!(seen, [1, 1], "what the other's `finish` wrote is lost");
                    assert!(claims.start(&LoomMemory, 2, 0), "nobody closes here");
                }
                let mut ended = usize::from(claims.finished(&LoomMemory));
                if let Claim::Slots { piece, .. } = claim_one(&claims) {
                    assert_eq!(
                        piece,
                        Piece {
                            stage: 2,
                            slots: 0..0
                        }
                    );
                    assert!(claims.account(&LoomMemory, 2, 0));
                    ended += usize::from(claims.finished(&LoomMemory));
                }
                ended
            }
        };
        let ended: usize = both(finisher).iter().sum();
        assert_eq!(ended, 1, "whoever starts the last stage finds it");
        assert_eq!(claim_one(&claims), Claim::Exhausted);
    });
}

#[test]
fn two_last_finishers_of_a_job() {
    model("two_last_finishers_of_a_job", None, || {
        let (claims, effects) = (two_run([0, 0].into_iter()), effects::<2>());
        let finisher = move |stage: usize| {
            assert!(claims.account(&LoomMemory, stage, 1));
            effects[stage].store(1, Ordering::Relaxed);
            let ends = claims.finished(&LoomMemory);
            if ends {
                let seen = effects.each_ref().map(|effect| effect.load(Ordering::Relaxed));
                assert_eq!(seen, [1, 1], "what the other stage wrote is lost");
            }
            ends
        };
        let [mine, other] = both(finisher);
        assert!(mine != other, "ended exactly once");
    });
}

/// The ledger's place for one piece, which adds no ordering.
struct Kept(AtomicUsize);

const EMPTY: usize = 0;
const LIES_THERE: usize = 1;
const REFUSED: usize = 2;

impl Kept {
    fn new() -> Arc<Self> {
        Arc::new(Self(AtomicUsize::new(EMPTY)))
    }

    fn put(&self) -> bool {
        (self
            .0
            .compare_exchange(EMPTY, LIES_THERE, Ordering::Relaxed, Ordering::Relaxed))
        .is_ok()
    }

    fn take(&self) -> bool {
        (self
            .0
            .compare_exchange(LIES_THERE, EMPTY, Ordering::Relaxed, Ordering::Relaxed))
        .is_ok()
    }

    fn refuse(&self) -> bool {
        self.0.swap(REFUSED, Ordering::Relaxed) == LIES_THERE
    }
}

#[test]
fn give_back_against_close() {
    model("give_back_against_close", None, || {
        let (claims, kept) = (claims(1, 1), Kept::new());
        assert!(matches!(claim_one(&claims), Claim::Slots { last: true, .. }));
        let canceller = thread::spawn({
            let (claims, kept) = (claims.clone(), kept.clone());
            move || {
                let mut left = claims.close(&LoomMemory).expect("nobody else closes").stages;
                if kept.refuse() {
                    left.push((0, 1));
                }
                claims.give_up(&LoomMemory, &left)
            }
        });
        let claimer = thread::spawn({
            let (claims, kept) = (claims.clone(), kept.clone());
            move || {
                claim_one(&claims) == Claim::Returned
                    && kept.take()
                    && claims.account(&LoomMemory, 0, 1)
                    && claims.finished(&LoomMemory)
            }
        });
        let giver = if kept.put() {
            claims.give_back(&LoomMemory, 1);
            false
        } else {
            claims.account(&LoomMemory, 0, 1) && claims.finished(&LoomMemory)
        };
        let ends = [giver, canceller.join().unwrap(), claimer.join().unwrap()];
        assert_eq!(ends.iter().filter(|&&ends| ends).count(), 1, "{ends:?}");
        assert_eq!(claims.progress(&LoomMemory), (1, 1));
    });
}

#[test]
fn give_back_against_the_last_claim() {
    model("give_back_against_the_last_claim", None, || {
        let (claims, kept, result) = (claims(1, 2), Kept::new(), Arc::new(AtomicUsize::new(0)));
        assert!(matches!(claim_one(&claims), Claim::Slots { last: false, .. }));
        let claimer = thread::spawn({
            let (claims, kept, result) = (claims.clone(), kept.clone(), result.clone());
            move || {
                let mut claimed = 0;
                for _ in 0..2 {
                    match claim_one(&claims) {
                        Claim::Slots { piece, last } => {
                            assert_eq!((piece.slots, last), (1..2, true));
                            claimed += 1;
                        }
                        Claim::Returned => {
                            assert_eq!(result.load(Ordering::Relaxed), 7, "what the giver knew is lost");
                            assert!(kept.take(), "it is said to lie there");
                            claimed += 1;
                        }
                        Claim::Exhausted => {}
                        Claim::Closed => panic!("nobody closes here"),
                    }
                }
                claimed
            }
        });
        result.store(7, Ordering::Relaxed);
        assert!(kept.put());
        claims.give_back(&LoomMemory, 1);
        let claimed = claimer.join().unwrap();
        assert_eq!(claims.is_claimable(&LoomMemory), claimed < 2);
    });
}

#[test]
fn progress_sees_a_done_slots_writes() {
    model("progress_sees_a_done_slots_writes", None, || {
        let (claims, effects) = (claims(1, 2), effects::<2>());
        let worker = thread::spawn({
            let (claims, effects) = (claims.clone(), effects.clone());
            move || claim_and_run(&claims, &*effects)
        });
        if claims.progress(&LoomMemory) == (1, 2) {
            assert_eq!(
                effects[0].load(Ordering::Relaxed),
                1,
                "the slot's writes are lost"
            );
        }
        assert_eq!(worker.join().unwrap(), Some((0, false)));
    });
}

#[test]
fn progress_against_stage_start() {
    model("progress_against_stage_start", None, || {
        let (claims, effects) = (claims(2, 1), effects::<1>());
        let worker = thread::spawn({
            let (claims, effects) = (claims.clone(), effects.clone());
            move || {
                assert_eq!(claim_and_run(&claims, &*effects), Some((0, true)));
                assert!(claims.start(&LoomMemory, 1, 1));
                assert_eq!(claim_and_run(&claims, &*effects), Some((0, true)));
            }
        });
        let seen = [claims.progress(&LoomMemory), claims.progress(&LoomMemory)];
        assert!(seen.iter().all(|(done, total)| done <= total), "{seen:?}");
        assert!(seen[0].0 <= seen[1].0 && seen[0].1 <= seen[1].1, "{seen:?}");
        worker.join().unwrap();
        assert_eq!(claims.progress(&LoomMemory), (2, 2));
    });
}
