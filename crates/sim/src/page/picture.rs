//! The drawing without coordinates: bars, arrows, marks and curves of a run's operations.

use std::collections::VecDeque;

use crate::pipeline::HEAVIEST;
use crate::trace::{Event, Object, Op};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bar {
    pub(super) lane: usize,
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
    pub(super) name: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Arrow {
    pub(super) from: Spot,
    pub(super) to: Spot,
    pub(super) name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) lane: usize,
    pub(super) at_ns: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) spot: Spot,
    pub(super) name: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Curve {
    pub(super) name: &'static str,
    pub(super) points: Vec<(u64, usize)>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Picture {
    pub(super) lanes: usize,
    pub(super) last_ns: u64,
    pub(super) end_ns: u64,
    pub(super) activity: Vec<Vec<u64>>,
    pub(super) tasks: Vec<Bar>,
    pub(super) awaits: Vec<Bar>,
    pub(super) parks: Vec<Bar>,
    pub(super) steals: Vec<Arrow>,
    pub(super) wakes: Vec<Arrow>,
    pub(super) accesses: Vec<Mark>,
    pub(super) faults: Vec<Mark>,
    pub(super) failure: Option<Mark>,
    pub(super) curves: Vec<Curve>,
}

/// Reciprocal of the part of the picture that shows sleeps and waits without end.
const FOR_EVER: u64 = 16;

impl Picture {
    pub(super) fn of(events: &[Event], lanes: usize, failure: Option<String>) -> Self {
        let last_ns = events.iter().map(|event| event.clock_ns).max().unwrap_or(0);
        let mut picture = Self {
            lanes,
            activity: vec![Vec::new(); lanes],
            last_ns,
            end_ns: last_ns,
            ..Self::default()
        };
        let mut open = vec![Open::default(); lanes];
        let mut called: Vec<Vec<usize>> = vec![Vec::new(); lanes];
        for event in events {
            let spot = Spot {
                lane: event.actor as usize,
                at_ns: event.clock_ns,
            };
            picture.activity[spot.lane].push(spot.at_ns);
            picture.bars(event, spot, &mut open[spot.lane]);
            match (event.op, event.object) {
                (Op::TakeFrom, Object::Worker(victim)) => picture.steals.push(Arrow {
                    from: Spot {
                        lane: victim as usize,
                        ..spot
                    },
                    to: spot,
                    name: event.to_string(),
                }),
                (Op::Unpark, Object::Worker(worker)) => {
                    called[worker as usize].push(picture.wakes.len());
                    picture.wakes.push(Arrow {
                        from: spot,
                        to: Spot {
                            lane: worker as usize,
                            ..spot
                        },
                        name: event.to_string(),
                    });
                }
                (Op::Awake, _) => {
                    for wake in called[spot.lane].drain(..) {
                        picture.wakes[wake].to.at_ns = spot.at_ns.max(picture.wakes[wake].from.at_ns);
                    }
                }
                (Op::Access, _) => picture.accesses.push(mark(event, spot)),
                (Op::Retry | Op::Panic, _) => picture.faults.push(mark(event, spot)),
                _ => {}
            }
        }
        if (open.iter()).any(|open| open.park.is_some() || open.awaits.is_some()) {
            picture.end_ns += last_ns / FOR_EVER;
        }
        for (lane, open) in open.into_iter().enumerate() {
            let last = events.iter().rev().find(|event| event.actor as usize == lane);
            let last_ns = last.map_or(0, |event| event.clock_ns);
            let end_ns = picture.end_ns;
            picture.tasks.extend(open.task.map(|bar| bar.until(last_ns)));
            picture.awaits.extend(open.awaits.map(|bar| bar.until(end_ns)));
            picture.parks.extend(open.park.map(|bar| bar.until(end_ns)));
        }
        picture.failure = events.last().zip(failure).map(|(last, name)| Mark {
            spot: Spot {
                lane: last.actor as usize,
                at_ns: last.clock_ns,
            },
            name,
        });
        picture.curves = curves(events);
        picture
    }

    fn bars(&mut self, event: &Event, spot: Spot, open: &mut Open) {
        let begin = |name: String| {
            Some(Bar {
                lane: spot.lane,
                from_ns: spot.at_ns,
                to_ns: spot.at_ns,
                name,
            })
        };
        match event.op {
            Op::Start => open.task = begin(event.object.to_string()),
            Op::End | Op::Panic => {
                self.tasks
                    .extend(open.task.take().map(|bar| bar.until(spot.at_ns)));
            }
            Op::Park => open.park = begin("parked".to_owned()),
            Op::Awake => self
                .parks
                .extend(open.park.take().map(|bar| bar.until(spot.at_ns))),
            Op::Await if event.value == 0 && open.awaits.is_none() => {
                open.awaits = begin(format!("waits until {}", event.object));
            }
            Op::Await if event.value != 0 => self
                .awaits
                .extend(open.awaits.take().map(|bar| bar.until(spot.at_ns))),
            _ => {}
        }
    }
}

#[derive(Clone, Default)]
struct Open {
    task: Option<Bar>,
    awaits: Option<Bar>,
    park: Option<Bar>,
}

impl Bar {
    fn until(self, to_ns: u64) -> Self {
        Self {
            to_ns: to_ns.max(self.from_ns),
            ..self
        }
    }
}

fn mark(event: &Event, spot: Spot) -> Mark {
    Mark {
        spot,
        name: event.to_string(),
    }
}

fn curves(events: &[Event]) -> Vec<Curve> {
    let injector = events.iter().filter_map(|event| match event.op {
        Op::Inject => Some((event.clock_ns, 1)),
        Op::TakeInjected => Some((event.clock_ns, -(event.value as i64))),
        _ => None,
    });
    let board = events.iter().filter_map(|event| match event.op {
        Op::SetInsert if event.object == Object::Collection(HEAVIEST) => {
            Some((event.clock_ns, event.value as i64))
        }
        Op::SetRemove if event.object == Object::Collection(HEAVIEST) => {
            Some((event.clock_ns, -(event.value as i64)))
        }
        _ => None,
    });
    let curves = [
        Curve {
            name: "injector",
            points: depths(injector),
        },
        Curve {
            name: "job board",
            points: depths(board),
        },
    ];
    curves
        .into_iter()
        .filter(|curve| !curve.points.is_empty())
        .collect()
}

/// If two actors' clocks disagree, a departure counts no earlier than its arrival.
fn depths(changes: impl Iterator<Item = (u64, i64)>) -> Vec<(u64, usize)> {
    let mut inside = VecDeque::new();
    let mut moments = Vec::new();
    for (at_ns, change) in changes {
        for _ in 0..change.max(0) {
            inside.push_back(at_ns);
            moments.push((at_ns, false));
        }
        for _ in 0..(-change).max(0) {
            if let Some(came_ns) = inside.pop_front() {
                moments.push((at_ns.max(came_ns), true));
            }
        }
    }
    moments.sort_unstable();
    let mut depth = 0;
    let mut points: Vec<(u64, usize)> = Vec::new();
    for (at_ns, goes) in moments {
        depth = if goes { depth - 1 } else { depth + 1 };
        match points.last_mut() {
            Some(last) if last.0 == at_ns => last.1 = depth,
            _ => points.push((at_ns, depth)),
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_does_so_no_sooner_than_it_came() {
        let changes = [(10, 1), (30, 1), (20, -2), (40, 1)];
        assert_eq!(depths(changes.into_iter()), [(10, 1), (20, 0), (30, 0), (40, 1)]);
        assert_eq!(depths([(5, -1), (7, 1)].into_iter()), [(7, 1)]);
    }

    #[test]
    fn who_sleeps_at_the_end_sleeps_until_the_end() {
        let at = |actor, op, clock_ns| Event {
            step: 1,
            actor,
            op,
            object: Object::None,
            value: 0,
            clock_ns,
        };
        let events = [at(0, Op::Park, 10), at(1, Op::Fence, 90)];
        let picture = Picture::of(&events, 2, None);
        assert_eq!((picture.last_ns, picture.end_ns), (90, 95));
        assert_eq!((picture.parks[0].from_ns, picture.parks[0].to_ns), (10, 95));
    }
}
