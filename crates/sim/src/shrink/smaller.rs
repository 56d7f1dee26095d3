//! Smaller scenarios, as text: a field that is left out has its default, and a number can be lower.
//!
//! That is so for every field, those included that a scenario will have one day. Whether the result makes sense is for
//! the scenario to say.

use crate::line::Fields;
use crate::scenario::{Jobs, Shape};

/// Settings whose shortest value is not their default: fewer rounds before a worker sleeps.
const SHORTEST: [(&str, &str); 2] = [("spin", "0"), ("tries", "1")];

/// The step limit is no part of what happens.
const KEPT: &str = "steps";

/// The fields to make smaller, those with the most to gain first.
pub(super) fn names(fields: &Fields) -> Vec<String> {
    let own = fields.iter().map(|(name, _)| name);
    let mut names: Vec<String> = own.filter(|&name| name != KEPT).map(str::to_owned).collect();
    let absent = SHORTEST.iter().filter(|(name, _)| fields.get(name).is_none());
    names.extend(absent.map(|(name, _)| (*name).to_owned()));
    names
}

/// The fields with less of `name`, the least first.
pub(super) fn candidates(fields: &Fields, name: &str) -> Vec<Fields> {
    let value = fields.get(name);
    let with = |value: &str| fields.with(name, Some(value));
    if let Some((_, shortest)) = SHORTEST.iter().find(|(other, _)| *other == name) {
        return if value == Some(shortest) {
            Vec::new()
        } else {
            vec![with(shortest)]
        };
    }
    let Some(value) = value else {
        return Vec::new();
    };
    if name == "scenario" {
        let shapes = Shape::ALL.iter().map(Shape::to_string);
        return match value {
            "own" => Vec::new(),
            "jobs" => shapes.map(|shape| without_jobs(fields, &shape)).collect(),
            _ => shapes
                .take_while(|shape| shape != value)
                .map(|shape| with(&shape))
                .collect(),
        };
    }
    let mut candidates = vec![fields.with(name, None)];
    if value == "true" {
        candidates.push(with("false"));
    }
    if let Ok(number) = value.parse::<u64>() {
        let mut lower = vec![0, 1, 2, number / 2, number - number / 4, number.saturating_sub(1)];
        lower.retain(|&other| other < number);
        lower.sort_unstable();
        lower.dedup();
        candidates.extend(lower.iter().map(|lower| with(&lower.to_string())));
    }
    candidates
}

/// A few tasks on the executor alone, instead of the jobs above it: what goes wrong may go wrong there.
fn without_jobs(fields: &Fields, shape: &str) -> Fields {
    let mut of_jobs = Fields::default();
    Jobs::default().write(&mut of_jobs);
    let mut own = fields.clone();
    for (name, _) in of_jobs.iter() {
        own = own.with(name, None);
    }
    let mut tasks: Fields = Fields::default();
    tasks.push("scenario", shape);
    tasks.push("roots", 2);
    tasks.push("size", 4);
    own.iter().for_each(|(name, value)| tasks.push(name, value));
    tasks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(fields: &str, name: &str) -> Vec<String> {
        let fields: Fields = fields.parse().expect("it is well formed");
        let candidates = candidates(&fields, name);
        candidates
            .iter()
            .map(|fields| fields.get(name).unwrap_or("-").to_owned())
            .collect()
    }

    #[test]
    fn the_least_comes_first_and_nothing_grows() {
        assert_eq!(of("workers=9", "workers"), ["-", "0", "1", "2", "4", "7", "8"]);
        assert_eq!(of("workers=1", "workers"), ["-", "0"]);
        assert_eq!(of("troubles=true", "troubles"), ["-", "false"]);
        assert_eq!(of("end=abort", "end"), ["-"]);
        assert_eq!(of("scenario=chain", "scenario"), ["flat", "tree"]);
        assert_eq!(of("scenario=own", "scenario"), [""; 0]);
    }

    #[test]
    fn jobs_become_tasks_and_nothing_of_them_is_left() {
        let fields: Fields = "scenario=jobs,jobs=2,capacity=1,workers=3,end=idle"
            .parse()
            .expect("it is well formed");
        let flat = &candidates(&fields, "scenario")[0];
        assert_eq!(
            flat.to_string(),
            "scenario=flat,roots=2,size=4,workers=3,end=idle"
        );
    }

    #[test]
    fn spinning_goes_to_its_shortest_and_stays_there() {
        assert_eq!(of("workers=1", "spin"), ["0"]);
        assert_eq!(of("workers=1,spin=3", "spin"), ["0"]);
        assert_eq!(of("workers=1,spin=0", "spin"), [""; 0]);
    }
}
