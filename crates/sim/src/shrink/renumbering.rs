//! In a smaller scenario an actor has another number.

use crate::choices::Choices;
use crate::line::Fields;

/// Actors of each kind, in the order in which they join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Renumbering([u32; 4]);

impl Renumbering {
    /// Workers, producers, waiters with cancellers and the environment, closer.
    pub(super) fn of(fields: &Fields) -> Self {
        let count = |name: &str, default| {
            let value = fields.get(name).and_then(|value| value.parse().ok());
            value.unwrap_or(default)
        };
        Self([
            count("workers", 1),
            count("producers", 1),
            count("waiters", 0) + count("cancels", 0) + count("tasks", 0).min(1),
            1,
        ])
    }

    pub(super) fn first_producer(&self) -> u32 {
        self.0[0]
    }

    pub(super) fn carry(&self, smaller: &Self, choices: &Choices) -> Choices {
        let picks = choices.picks.iter().filter_map(|&actor| {
            let (kind, nth) = self.kind_of(actor)?;
            let before: u32 = smaller.0[..kind].iter().sum();
            (nth < smaller.0[kind]).then_some(before + nth)
        });
        Choices {
            picks: picks.collect(),
            numbers: choices.numbers.clone(),
        }
    }

    fn kind_of(&self, actor: u32) -> Option<(usize, u32)> {
        let mut nth = actor;
        for (kind, &count) in self.0.iter().enumerate() {
            if nth < count {
                return Some((kind, nth));
            }
            nth -= count;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{RunOptions, Scenario};
    use crate::schedule::StrategyKind;

    #[test]
    fn the_actors_are_those_that_a_run_has() {
        for text in [
            "scenario=flat,roots=1,size=0,workers=3,producers=2,waiters=1",
            "scenario=flat,roots=1,size=0,workers=1",
            "scenario=jobs,jobs=1,workers=2,cancels=2",
            "scenario=jobs,jobs=1,workers=2,cancels=1,tasks=3",
        ] {
            let fields: Fields = text.parse().expect("it is well formed");
            let scenario = Scenario::from_fields(fields.clone()).expect("it is a scenario");
            let run = scenario.run(StrategyKind::Random, 0, RunOptions::default());
            let actors = run.expect("it goes well").course.actors;
            let kinds = ["worker", "producer", "", "closer"].map(|kind| {
                let of_kind = actors.iter().filter(|name| match kind {
                    "" => ["waiter", "canceller", "environment"]
                        .iter()
                        .any(|kind| name.starts_with(kind)),
                    _ => name.starts_with(kind),
                });
                of_kind.count() as u32
            });
            assert_eq!(Renumbering::of(&fields), Renumbering(kinds), "{actors:?}");
            assert_eq!(actors[Renumbering(kinds).first_producer() as usize], "producer 0");
            let order: Vec<_> = (0..actors.len() as u32)
                .map(|actor| Renumbering(kinds).kind_of(actor))
                .collect();
            assert!(
                order.is_sorted() && order[0] == Some((0, 0)),
                "{actors:?}: {order:?}"
            );
        }
    }

    #[test]
    fn those_who_are_no_longer_there_are_left_out() {
        let choices = Choices {
            picks: vec![0, 1, 2, 3, 4, 5],
            numbers: vec![7],
        };
        let carried = Renumbering([3, 2, 0, 1]).carry(&Renumbering([1, 1, 0, 1]), &choices);
        assert_eq!((carried.picks, carried.numbers), (vec![0, 1, 2], vec![7]));
    }
}
