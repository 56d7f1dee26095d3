//! The depth-first driver: which run comes next, and which need not continue.
//!
//! A run repeats the choices of the one before up to the last fork with a branch left, takes that
//! branch, and takes the first branch of every new fork. Three reductions keep the tree small
//! without losing a state that leads to something new:
//!
//! - **Known states.** Nothing new is tried in a run after a [known state](crate::fingerprint). The
//!   run is completed round-robin, which takes fewer steps than unwinding its actors.
//! - **Own steps.** An actor's next step that touches nothing shared is taken at once and no other
//!   is tried. An earlier actor with the same history shows it.
//! - **Sleep sets** (Godefroid, "Partial-order methods for the verification of concurrent systems",
//!   1996). Once everything after an actor's step was searched, that actor sleeps in the sibling
//!   branches until another step touches what its step would touch. A state is stored with its
//!   sleeping actors; an actor that is awake when the state is found again goes then.
//!
//! With a bound of preemptions sleep sets are off: the order they leave out may have fewer
//! preemptions. A state is then known only with the same current actor and at least as many
//! preemptions left.
//!
//! An actor in a loop ([`Fingerprints::is_stuck`]) is not picked until something changes, unless
//! all are in one.

use std::cell::RefCell;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::rc::Rc;

use crate::fingerprint::{Fingerprints, Footprint, Slice, mix};
use crate::schedule::{Moment, Strategy};

#[derive(Debug)]
pub(crate) struct DepthFirst {
    reductions: Reductions,
    preemptions: Option<u32>,
    /// The choices of the run, without those of a single branch before any fork.
    forks: Vec<Fork>,
    depth: usize,
    phase: Phase,
    steps: u64,
    /// The fork whose step is under way, and its actor's history.
    open: Option<(usize, u64)>,
    seen: HashMap<u64, u32, BuildHasherDefault<Itself>>,
    /// Histories of actors whose next step touches nothing shared.
    own: HashSet<u64, BuildHasherDefault<Itself>>,
    choices: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reductions {
    pub(crate) known_states: bool,
    pub(crate) own_steps: bool,
    pub(crate) sleep_sets: bool,
}

impl Reductions {
    pub(crate) const ALL: Self = Self {
        known_states: true,
        own_steps: true,
        sleep_sets: true,
    };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Searches,
    Leaves,
}

#[derive(Debug)]
enum Fork {
    Actor {
        chosen: usize,
        /// Actors still to be tried here; a bit each.
        left: u32,
        /// Sleeping actors, each with the footprint of its step.
        asleep: Vec<(usize, Footprint)>,
        /// The footprint of the chosen step, over all random numbers so far.
        touches: Footprint,
        /// The actor whose replacement is a preemption.
        goes_on: Option<usize>,
        budget: Option<u32>,
    },
    Number {
        chosen: usize,
        bound: usize,
    },
}

impl DepthFirst {
    pub(crate) fn new(preemptions: Option<u32>, reductions: Reductions) -> Self {
        Self {
            reductions,
            preemptions,
            forks: Vec::new(),
            depth: 0,
            phase: Phase::Searches,
            steps: 0,
            open: None,
            seen: HashMap::default(),
            own: HashSet::default(),
            choices: 0,
        }
    }

    pub(crate) fn states(&self) -> u64 {
        self.seen.len() as u64
    }

    pub(crate) fn choices(&self) -> u64 {
        self.choices
    }

    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }

    /// Goes to the next run, if there is one.
    pub(crate) fn turn(&mut self) -> bool {
        self.depth = 0;
        self.phase = Phase::Searches;
        self.steps = 0;
        self.open = None;
        while let Some(fork) = self.forks.last_mut() {
            match fork {
                Fork::Actor {
                    chosen,
                    left,
                    asleep,
                    touches,
                    ..
                } => {
                    if *left > 0 {
                        asleep.push((*chosen, *touches));
                        *chosen = left.trailing_zeros() as usize;
                        *left &= *left - 1;
                        *touches = Footprint::default();
                        return true;
                    }
                }
                Fork::Number { chosen, bound } => {
                    if *chosen + 1 < *bound {
                        *chosen += 1;
                        return true;
                    }
                }
            }
            self.forks.pop();
        }
        false
    }

    fn pick(&mut self, moment: &Moment<'_>) -> usize {
        let Some(fingerprints) = moment.fingerprints().filter(|_| self.phase == Phase::Searches) else {
            return in_turn(moment);
        };
        let slice = fingerprints.slice();
        self.close(slice);
        let actor = if let Some(fork) = self.forks.get(self.depth) {
            let Fork::Actor { chosen, .. } = fork else {
                unreachable!("the same choices lead to the same questions");
            };
            *chosen
        } else {
            match self.fork(moment, fingerprints, slice) {
                Some(actor) => actor,
                None => {
                    self.phase = Phase::Leaves;
                    fingerprints.end();
                    return in_turn(moment);
                }
            }
        };
        self.open = Some((self.depth, fingerprints.of(actor)));
        self.depth += 1;
        self.steps += 1;
        actor
    }

    fn close(&mut self, slice: Slice) {
        let Some((fork, before)) = self.open.take() else {
            return;
        };
        if self.depth < self.forks.len() {
            // It is repeated, and was closed before.
            return;
        }
        if let Fork::Actor { touches, .. } = &mut self.forks[fork] {
            touches.add(slice.touched);
        }
        if slice.touched.is_empty() && !slice.asked {
            self.own.insert(before);
        }
    }

    /// Returns the first actor to try.
    fn fork(&mut self, moment: &Moment<'_>, fingerprints: &Fingerprints, slice: Slice) -> Option<usize> {
        let able = able(moment, fingerprints);
        let last = moment.last().filter(|&last| able & 1 << last != 0);
        let goes_on = last.filter(|_| self.preemptions.is_some() && !slice.yielded);
        let budget = self.budget();
        let asleep = self.asleep(slice.touched);
        let sleeping = asleep.iter().fold(0, |mask, (actor, _)| mask | 1 << actor);
        let mut open = match goes_on.filter(|_| budget == Some(0)) {
            Some(last) => 1 << last,
            None => able,
        };
        if self.reductions.own_steps {
            let own = bits(able).find(|&actor| self.own.contains(&fingerprints.of(actor)));
            // Continuing an actor is never a preemption; switching may be one.
            let own = own.filter(|&actor| self.preemptions.is_none() || goes_on == Some(actor));
            if let Some(actor) = own {
                open &= 1 << actor;
            }
        }
        if self.reductions.known_states {
            open &= self.unseen(moment.fingerprint()?, goes_on, budget, sleeping)?;
        }
        open &= !sleeping;
        let chosen = last
            .filter(|&last| open & 1 << last != 0)
            .or_else(|| bits(open).next())?;
        let left = open & !(1 << chosen);
        self.choices += u64::from(left != 0);
        self.forks.push(Fork::Actor {
            chosen,
            left,
            asleep,
            touches: Footprint::default(),
            goes_on,
            budget,
        });
        Some(chosen)
    }

    fn budget(&self) -> Option<u32> {
        let before = self.forks.iter().rev().find_map(|fork| match *fork {
            Fork::Actor {
                chosen,
                goes_on,
                budget: Some(budget),
                ..
            } => Some(budget - u32::from(goes_on.is_some_and(|goes_on| goes_on != chosen))),
            Fork::Actor { budget: None, .. } | Fork::Number { .. } => None,
        });
        before.or(self.preemptions)
    }

    fn asleep(&self, touched: Footprint) -> Vec<(usize, Footprint)> {
        if !self.reductions.sleep_sets || self.preemptions.is_some() {
            return Vec::new();
        }
        let before = self.forks.iter().rev().find_map(|fork| match fork {
            Fork::Actor { asleep, .. } => Some(asleep),
            Fork::Number { .. } => None,
        });
        let before = before.into_iter().flatten().copied();
        before
            .filter(|(_, footprint)| footprint.is_independent_of(touched))
            .collect()
    }

    fn unseen(
        &mut self,
        state: u64,
        goes_on: Option<usize>,
        budget: Option<u32>,
        sleeping: u32,
    ) -> Option<u32> {
        let Some(budget) = budget else {
            return match self.seen.entry(state) {
                Entry::Vacant(place) => {
                    place.insert(sleeping);
                    Some(u32::MAX)
                }
                Entry::Occupied(mut place) => {
                    let slept = *place.get();
                    place.insert(slept & sleeping);
                    Some(slept & !sleeping).filter(|&woken| woken != 0)
                }
            };
        };
        let key = mix(state, goes_on.map_or(0, |actor| 1 + actor as u64));
        // Plus one, so that 0 means unknown.
        let known = self.seen.entry(key).or_insert(0);
        if *known > budget {
            return None;
        }
        *known = budget + 1;
        Some(u32::MAX)
    }

    fn answer(&mut self, bound: usize) -> usize {
        if self.phase == Phase::Leaves || bound == 1 {
            return 0;
        }
        let number = match self.forks.get(self.depth) {
            Some(Fork::Number { chosen, .. }) => *chosen,
            Some(Fork::Actor { .. }) => unreachable!("the same choices lead to the same questions"),
            None => {
                self.choices += 1;
                self.forks.push(Fork::Number { chosen: 0, bound });
                0
            }
        };
        self.depth += 1;
        number
    }
}

#[derive(Clone, Debug)]
pub(crate) struct DepthFirstDriver(pub(crate) Rc<RefCell<DepthFirst>>);

impl Strategy for DepthFirstDriver {
    fn pick(&mut self, moment: &Moment<'_>) -> usize {
        self.0.borrow_mut().pick(moment)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0.borrow_mut().answer(bound)
    }

    /// First no, then yes.
    fn happens(&mut self, _rarity: usize) -> bool {
        self.0.borrow_mut().answer(2) == 1
    }
}

/// A bit each; all of them if each is in a loop.
fn able(moment: &Moment<'_>, fingerprints: &Fingerprints) -> u32 {
    let runnable = moment.runnable().iter().copied();
    let all = runnable.clone().fold(0, |mask, actor| mask | 1 << actor);
    let able = runnable
        .filter(|&actor| !fingerprints.is_stuck(actor))
        .fold(0, |mask, actor| mask | 1 << actor);
    if able == 0 { all } else { able }
}

fn in_turn(moment: &Moment<'_>) -> usize {
    moment.next_from(moment.last().map_or(0, |last| last + 1))
}

fn bits(mask: u32) -> impl Iterator<Item = usize> {
    (0..u32::BITS as usize).filter(move |bit| mask >> bit & 1 == 1)
}

#[derive(Debug, Default)]
pub(crate) struct Itself(u64);

impl Hasher for Itself {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _bytes: &[u8]) {
        unreachable!("only hashes are hashed");
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}
