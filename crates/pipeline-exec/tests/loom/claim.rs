//! Claims, completion and close: who gets which slot, and who is the last finisher.

use std::sync::atomic::Ordering;

use loom::sync::Arc;
use loom::sync::atomic::AtomicUsize;
use loom::thread;
use pipeline_exec::policy::claim::{Claim, Claims};

use crate::harness::memory::LoomMemory;
use crate::harness::model;

/// Claims of one stage with `slots` slots, and of `stages - 1` more to come.
fn claims(stages: usize, slots: usize) -> Arc<Claims<AtomicUsize>> {
    let claims = Claims::new(stages, AtomicUsize::new);
    claims.begin(&LoomMemory, slots);
    Arc::new(claims)
}

/// Claims one slot and runs it: gives the slot, and whether the claimer was the last finisher.
fn claim_and_run(claims: &Claims<AtomicUsize>, effects: &[AtomicUsize]) -> Option<(usize, bool)> {
    let Claim::Slots { stage, slots, .. } = claims.claim(&LoomMemory, 1) else {
        return None;
    };
    effects[slots.start].store(1, Ordering::Relaxed);
    Some((slots.start, claims.account(&LoomMemory, stage, slots.len())))
}

/// Closes, and accounts for what nobody had claimed: whether the closer was the last finisher.
fn close(claims: &Claims<AtomicUsize>) -> bool {
    claims
        .close(&LoomMemory)
        .is_some_and(|left| claims.account(&LoomMemory, left.stage, left.slots))
}

fn effects<const N: usize>() -> Arc<[AtomicUsize; N]> {
    Arc::new(std::array::from_fn(|_| AtomicUsize::new(0)))
}

/// Two workers claim two slots while somebody cancels: each slot is claimed at most once, every slot is accounted for,
/// and exactly one of the three is the last finisher.
#[test]
fn claim_against_claim_against_cancel() {
    model("claim_against_claim_against_cancel", None, || {
        let (claims, effects) = (claims(1, 2), effects::<2>());
        let other = thread::spawn({
            let (claims, effects) = (claims.clone(), effects.clone());
            move || claim_and_run(&claims, &*effects)
        });
        let canceller = thread::spawn({
            let claims = claims.clone();
            move || close(&claims)
        });
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

/// Two workers run a slot each: the last finisher sees what both wrote.
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

/// The same when the rest is given up: a canceller that is the last finisher sees what the slot wrote.
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

/// The next stage starts while another worker tries to claim: whoever claims in it sees what the stage before wrote, and
/// its number of slots.
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
                    assert!(claims.start(&LoomMemory, 1, 2), "nobody closes here");
                }
                first
            }
        });
        let claim = claims.claim(&LoomMemory, 1);
        if let Claim::Slots {
            stage: 1,
            slots,
            last,
        } = &claim
        {
            assert_eq!((slots.clone(), *last), (0..1, false));
            assert_eq!(
                result.load(Ordering::Relaxed),
                7,
                "the stage before is not finished for this worker"
            );
        } else if let Claim::Slots { stage, slots, .. } = &claim {
            assert_eq!((*stage, slots.clone()), (0, 0..1));
            // This worker has the first stage, so the other found nothing; it is this one's to finish.
            assert!(claims.account(&LoomMemory, 0, 1));
        }
        let first = starter.join().unwrap();
        assert_eq!(first.is_some(), !matches!(claim, Claim::Slots { stage: 0, .. }));
    });
}

/// A cancel while the last finisher starts the next stage: either the stage does not start, or the canceller accounts for
/// it. One of them ends the job.
#[test]
fn stage_start_against_cancel() {
    model("stage_start_against_cancel", None, || {
        let (claims, effects) = (claims(2, 1), effects::<1>());
        assert_eq!(claim_and_run(&claims, &*effects), Some((0, true)));
        let canceller = thread::spawn({
            let claims = claims.clone();
            move || close(&claims)
        });
        let started = claims.start(&LoomMemory, 1, 2);
        let closer = canceller.join().unwrap();
        assert!(
            started == closer,
            "started {started}, accounted for by the canceller {closer}"
        );
        assert_eq!(claims.claim(&LoomMemory, 1), Claim::Closed);
    });
}

/// Somebody looks at the progress while slots run and the next stage starts: done is never more than the total, and both
/// only grow.
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
