//! Smaller scenarios as text: a field left out has its default, and a number can be lower.
//!
//! The scenario says whether the result makes sense.

use super::STEPS;
use crate::line::Fields;
use crate::scenario::{Jobs, Shape};

/// Settings whose shortest value is not the default: fewer rounds before a worker sleeps.
const SHORTEST: [(&str, &str); 2] = [("spin", "0"), ("tries", "1")];

pub(super) fn names(fields: &Fields) -> Vec<String> {
    let own = fields.iter().map(|(name, _)| name);
    let mut names: Vec<String> = own.filter(|&name| name != STEPS).map(str::to_owned).collect();
    let absent = SHORTEST.iter().filter(|(name, _)| fields.get(name).is_none());
    names.extend(absent.map(|(name, _)| (*name).to_owned()));
    names
}

/// The least first.
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
        let simpler = Shape::ALL.iter().map(Shape::to_string);
        let simpler = simpler.take_while(|shape| shape != value);
        return simpler
            .flat_map(|shape| of_shape(fields, value, &shape))
            .collect();
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

/// The same number of tasks, and a few. A failure with jobs may occur on the executor alone.
fn of_shape(fields: &Fields, before: &str, shape: &str) -> Vec<Fields> {
    if before == "own" {
        return Vec::new();
    }
    let mut of_load = Fields::default();
    Jobs::default().write(&mut of_load);
    for name in ["roots", "size"] {
        of_load.push(name, 0);
    }
    let mut few = Fields::default();
    few.push("scenario", shape);
    few.push("roots", 3);
    few.push("size", 3);
    for (name, value) in fields.iter().filter(|(name, _)| of_load.get(name).is_none()) {
        few.push(name, value);
    }
    match before {
        "jobs" => vec![few],
        // A tree of the same size would have a task for each subset of them.
        _ if shape == "tree" => vec![few],
        _ => vec![fields.with("scenario", Some(shape)), few],
    }
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
        assert_eq!(
            of("scenario=chain,roots=1,size=9", "scenario"),
            ["flat", "flat", "tree"]
        );
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
            "scenario=flat,roots=3,size=3,workers=3,end=idle"
        );
    }

    #[test]
    fn spinning_goes_to_its_shortest_and_stays_there() {
        assert_eq!(of("workers=1", "spin"), ["0"]);
        assert_eq!(of("workers=1,spin=3", "spin"), ["0"]);
        assert_eq!(of("workers=1,spin=0", "spin"), [""; 0]);
    }
}
