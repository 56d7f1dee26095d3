//! The way of a search through its tree of choices: which run comes next, and where one need not go on.
//!
//! A run makes the choices of the one before up to the last fork that has a branch left, takes that branch, and goes on by
//! the first branch of every new fork. Three things keep the tree small, and none of them loses a state from which something
//! new could come:
//!
//! - **Known states.** A run that comes to a state where one has been before goes no further. What the [`History`] of the run
//!   calls a state says [its module](crate::history).
//! - **Steps of one's own.** If the next micro-step of some party is known to touch nothing shared, it is taken at once, and
//!   nobody else is: it comes out the same whenever it is taken. Known is what a party with that history has done before.
//! - **Sleep sets** (Godefroid, "Partial-order methods for the verification of concurrent systems", 1996). When all that follows a
//!   party's micro-step has been seen, that party sleeps in the branches beside it until somebody touches what its
//!   micro-step would touch: to take it there would be to take the two in the other order. That keeps no state
//!   from being found, but runs from ending where another has been. A state is kept with who slept when it
//!   was found, and whoever sleeps no longer when it is found again goes then.
//!
//! With a bound of preemptions, sleep sets are not used, because the order that they leave out may be the one with fewer
//! preemptions. A state is then known only if it was found with the same party in the middle of its way and
//! with at least as many preemptions left.
//!
//! A party that goes round in a loop ([`History::is_stuck`]) is not asked until something has changed, unless all are.
//!
//! A run that goes no further still goes on, everybody in turn, unless it had no choices left: to end it takes fewer
//! steps than unwinding all of its parties, and the oracles watch.

use std::cell::RefCell;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::rc::Rc;

use crate::history::{Footprint, History, Slice, mix};
use crate::schedule::{Moment, Strategy};

/// The way of a search.
#[derive(Debug)]
pub(crate) struct Walk {
    reductions: Reductions,
    /// So many preemptions a run may have.
    preemptions: Option<u32>,
    /// The choices of the run, but for those that had one branch only and no fork before them.
    forks: Vec<Fork>,
    /// How many of them the run has made.
    depth: usize,
    phase: Phase,
    /// Micro-steps of the run before it left.
    steps: u64,
    /// The fork whose micro-step is being taken, and the history of the party that takes it.
    open: Option<(usize, u64)>,
    seen: HashMap<u64, u32, BuildHasherDefault<Itself>>,
    /// Histories of parties whose next micro-step touches nothing shared.
    own: HashSet<u64, BuildHasherDefault<Itself>>,
    choices: u64,
}

/// What keeps the tree small.
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

/// Whether the run still comes to something new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Searches,
    Leaves,
}

/// A choice, and what is left of it.
#[derive(Debug)]
enum Fork {
    /// Who goes.
    Party {
        chosen: usize,
        /// Parties that have not gone from here, and must; a bit each.
        left: u32,
        /// Parties that sleep here, each with what its micro-step touches.
        asleep: Vec<(usize, Footprint)>,
        /// What the micro-step of the chosen one touches, with every answer of chance so far.
        touches: Footprint,
        /// Whoever can go on, if to choose another is a preemption.
        goes_on: Option<usize>,
        /// Preemptions left before the choice, if there is a bound.
        budget: Option<u32>,
    },
    /// The answer to a question of chance.
    Number { chosen: usize, bound: usize },
}

impl Walk {
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

    /// Different states that were found.
    pub(crate) fn states(&self) -> u64 {
        self.seen.len() as u64
    }

    /// Choices that had more than one branch.
    pub(crate) fn choices(&self) -> u64 {
        self.choices
    }

    /// Micro-steps of the run in which everything was as the search wanted it: all, or those before it went no further.
    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }

    /// Goes on to the next run. `false` if there is none.
    pub(crate) fn turn(&mut self) -> bool {
        self.depth = 0;
        self.phase = Phase::Searches;
        self.steps = 0;
        self.open = None;
        while let Some(fork) = self.forks.last_mut() {
            match fork {
                Fork::Party {
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
        let Some(history) = moment.history().filter(|_| self.phase == Phase::Searches) else {
            return in_turn(moment);
        };
        let slice = history.slice();
        self.close(slice);
        let party = if let Some(fork) = self.forks.get(self.depth) {
            let Fork::Party { chosen, .. } = fork else {
                unreachable!("the same choices lead to the same questions");
            };
            *chosen
        } else {
            match self.fork(moment, history, slice) {
                Some(party) => party,
                None => {
                    self.phase = Phase::Leaves;
                    history.end();
                    return in_turn(moment);
                }
            }
        };
        self.open = Some((self.depth, history.of(party)));
        self.depth += 1;
        self.steps += 1;
        party
    }

    /// The micro-step that was open is over.
    fn close(&mut self, slice: Slice) {
        let Some((fork, before)) = self.open.take() else {
            return;
        };
        if self.depth < self.forks.len() {
            // It is taken again, and was closed before.
            return;
        }
        if let Fork::Party { touches, .. } = &mut self.forks[fork] {
            touches.add(slice.touched);
        }
        if slice.touched.is_empty() && !slice.asked {
            self.own.insert(before);
        }
    }

    /// A new state: who goes first, if anybody must.
    fn fork(&mut self, moment: &Moment<'_>, history: &History, slice: Slice) -> Option<usize> {
        let able = able(moment, history);
        let last = moment.last().filter(|&last| able & 1 << last != 0);
        // Who would be preempted by any other.
        let goes_on = last.filter(|_| self.preemptions.is_some() && !slice.yielded);
        let budget = self.budget();
        let asleep = self.asleep(slice.touched);
        let sleeping = asleep.iter().fold(0, |mask, (party, _)| mask | 1 << party);
        let mut open = match goes_on.filter(|_| budget == Some(0)) {
            Some(last) => 1 << last,
            None => able,
        };
        if self.reductions.own_steps {
            let own = bits(able).find(|&party| self.own.contains(&history.of(party)));
            // To go on with oneself is never a preemption; to go on with somebody else may be.
            let own = own.filter(|&party| self.preemptions.is_none() || goes_on == Some(party));
            if let Some(party) = own {
                open &= 1 << party;
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
        self.forks.push(Fork::Party {
            chosen,
            left,
            asleep,
            touches: Footprint::default(),
            goes_on,
            budget,
        });
        Some(chosen)
    }

    /// Preemptions left, if there is a bound.
    fn budget(&self) -> Option<u32> {
        let before = self.forks.iter().rev().find_map(|fork| match *fork {
            Fork::Party {
                chosen,
                goes_on,
                budget: Some(budget),
                ..
            } => Some(budget - u32::from(goes_on.is_some_and(|goes_on| goes_on != chosen))),
            Fork::Party { budget: None, .. } | Fork::Number { .. } => None,
        });
        before.or(self.preemptions)
    }

    /// Who sleeps after a micro-step that has touched this.
    fn asleep(&self, touched: Footprint) -> Vec<(usize, Footprint)> {
        if !self.reductions.sleep_sets || self.preemptions.is_some() {
            return Vec::new();
        }
        let before = self.forks.iter().rev().find_map(|fork| match fork {
            Fork::Party { asleep, .. } => Some(asleep),
            Fork::Number { .. } => None,
        });
        let before = before.into_iter().flatten().copied();
        before
            .filter(|(_, footprint)| footprint.is_independent_of(touched))
            .collect()
    }

    /// Parties that have not gone from this state before, as far as that is known, and `None` if all have.
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
        let key = mix(state, goes_on.map_or(0, |party| 1 + party as u64));
        // One more, so that 0 is none.
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
            Some(Fork::Party { .. }) => unreachable!("the same choices lead to the same questions"),
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

/// The walk, as a run's strategy.
#[derive(Clone, Debug)]
pub(crate) struct Walking(pub(crate) Rc<RefCell<Walk>>);

impl Strategy for Walking {
    fn pick(&mut self, moment: &Moment<'_>) -> usize {
        self.0.borrow_mut().pick(moment)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0.borrow_mut().answer(bound)
    }

    /// Not at first.
    fn happens(&mut self, _rarity: usize) -> bool {
        self.0.borrow_mut().answer(2) == 1
    }
}

/// Parties that may go, a bit each: all that do not go round in a loop, or all.
fn able(moment: &Moment<'_>, history: &History) -> u32 {
    let runnable = moment.runnable().iter().copied();
    let all = runnable.clone().fold(0, |mask, party| mask | 1 << party);
    let able = runnable
        .filter(|&party| !history.is_stuck(party))
        .fold(0, |mask, party| mask | 1 << party);
    if able == 0 { all } else { able }
}

fn in_turn(moment: &Moment<'_>) -> usize {
    moment.next_from(moment.last().map_or(0, |last| last + 1))
}

/// The numbers of the bits that are set.
fn bits(mask: u32) -> impl Iterator<Item = usize> {
    (0..u32::BITS as usize).filter(move |bit| mask >> bit & 1 == 1)
}

/// The hash of a number that is one already.
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
