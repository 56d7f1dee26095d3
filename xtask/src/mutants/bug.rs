//! The bugs behind the switch: the crate of each, and the layer that must notice.

use anyhow::{Context as _, ensure};

use super::layer::Layer;
use crate::workspace::Workspace;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bug {
    /// The function that returns whether it is planted.
    pub(crate) name: &'static str,
    pub(crate) krate: &'static str,
    /// The cheapest layer that notices, for `--quick`.
    pub(crate) cheapest: Layer,
    /// How to find it there.
    pub(crate) hint: Hint,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hint {
    None,
    /// Only a second run of the same seed shows it.
    Twice,
    /// The edge of `docs/memory-model.md` that loses an end. A simulator with sequentially
    /// consistent memory must not see it.
    Edge(&'static str),
    Test(&'static str),
    Model(&'static str),
}

const CORE: &str = "executor-core";
const PIPELINE: &str = "pipeline-exec";

pub(crate) const CRATES: [&str; 2] = [CORE, PIPELINE];

/// Names of the row without a bug, and of the bug that every layer notices.
pub(crate) const NONE: &str = "none";
pub(crate) const CANARY: &str = "m00_canary";

const fn bug(krate: &'static str, name: &'static str, cheapest: Layer, hint: Hint) -> Bug {
    Bug {
        name,
        krate,
        cheapest,
        hint,
    }
}

const fn sim(krate: &'static str, name: &'static str) -> Bug {
    bug(krate, name, Layer::Sim, Hint::None)
}

pub(crate) const BUGS: &[Bug] = &[
    sim(CORE, CANARY),
    sim(CORE, "m01_accept_after_close"),
    sim(CORE, "m02_gate_and_count_split"),
    sim(CORE, "m03_no_wake"),
    sim(CORE, "m04_no_second_look"),
    bug(
        CORE,
        "m05_last_searcher_wakes_nobody",
        Layer::Unit,
        Hint::Test("sleep::tests"),
    ),
    sim(CORE, "m06_registered_twice"),
    sim(CORE, "m07_completion_counted_twice"),
    sim(CORE, "m08_count_dropped_before_run"),
    sim(CORE, "m09_panic_not_counted"),
    sim(CORE, "m10_half_a_batch"),
    sim(CORE, "m11_batch_counted_as_one"),
    sim(CORE, "m12_steal_from_self"),
    sim(CORE, "m13_retry_is_empty"),
    sim(PIPELINE, "m14_claim_by_load_and_store"),
    sim(PIPELINE, "m15_off_the_board_too_early"),
    sim(PIPELINE, "m16_tie_break_inverted"),
    sim(PIPELINE, "m17_sequence_not_in_the_key"),
    sim(PIPELINE, "m18_rekeyed_by_remove_and_insert"),
    sim(PIPELINE, "m19_accounted_at_claim"),
    bug(
        PIPELINE,
        "m20_reserve_takes_the_least_served",
        Layer::Unit,
        Hint::Test("roles"),
    ),
    sim(CORE, "m21_last_completion_ends_nothing"),
    sim(CORE, "m22_injector_never_first"),
    bug(
        CORE,
        "m23_own_tasks_oldest_first",
        Layer::Unit,
        Hint::Test("private::tests"),
    ),
    bug(
        CORE,
        "m24_completion_relaxed",
        Layer::Loom,
        Hint::Edge("state/release"),
    ),
    bug(
        CORE,
        "m25_no_publish_fence",
        Layer::Loom,
        Hint::Edge("sleep/publish"),
    ),
    sim(CORE, "m26_count_overflows"),
    sim(CORE, "m27_credits_kept_asleep"),
    sim(CORE, "m28_private_work_hidden"),
    sim(PIPELINE, "m29_cancelled_claims_not_accounted"),
    sim(CORE, "m30_look_before_leaving_search"),
    bug(
        CORE,
        "m31_second_look_not_handed_on",
        Layer::Unit,
        Hint::Test("sleep::tests"),
    ),
    sim(CORE, "m32_abort_leaves_late_pushes"),
    sim(CORE, "m33_private_not_covered"),
    sim(CORE, "m34_parks_on_private"),
    sim(CORE, "m35_exposed_without_wake"),
    sim(CORE, "m36_large_batch_refused"),
    sim(CORE, "m37_one_searcher_too_many"),
    sim(CORE, "m38_end_tells_no_waiters"),
    sim(CORE, "m39_timeout_instead_of_wake"),
    bug(CORE, "m40_process_wide_victims", Layer::Sim, Hint::Twice),
    sim(PIPELINE, "m41_cancelled_is_told_as_completed"),
    sim(CORE, "m42_publish_takes_for_granted"),
    sim(CORE, "m43_batch_takes_for_granted"),
    sim(CORE, "m44_purse_without_a_bound"),
    sim(PIPELINE, "m45_never_off_the_board"),
    sim(PIPELINE, "m46_closed_claims_are_run"),
    sim(CORE, "m47_handed_back_less_one"),
    sim(PIPELINE, "m48_one_job_too_many"),
    sim(CORE, "m49_hands_on_without_work"),
    sim(PIPELINE, "m50_quantum_never_over"),
    sim(PIPELINE, "m51_most_served_first"),
    sim(CORE, "m52_stamps_stand_still"),
    sim(CORE, "m53_end_is_overlooked"),
    sim(CORE, "m54_last_look_left_to_a_searcher"),
    sim(PIPELINE, "m63_started_after_one_of_several"),
    sim(PIPELINE, "m64_closed_in_the_current_run_alone"),
    sim(PIPELINE, "m65_closed_and_not_sealed"),
    sim(PIPELINE, "m66_given_back_in_silence"),
    bug(
        PIPELINE,
        "m67_given_back_to_a_closed_job",
        Layer::Loom,
        Hint::Model("give_back_against_cancel"),
    ),
    sim(PIPELINE, "m68_returned_piece_stays"),
    sim(PIPELINE, "m69_claims_run_to_their_end"),
    bug(
        PIPELINE,
        "m70_claims_leave_nothing",
        Layer::Unit,
        Hint::Test("widths"),
    ),
    bug(
        PIPELINE,
        "m71_one_worker_invited",
        Layer::Unit,
        Hint::Test("widths"),
    ),
    sim(PIPELINE, "m72_started_stage_not_counted"),
    sim(PIPELINE, "m55_no_dirty_bit"),
    bug(
        PIPELINE,
        "m56_stop_misses_a_submission",
        Layer::Loom,
        Hint::Model("stop_against_submit"),
    ),
    sim(PIPELINE, "m57_newcomers_do_not_get_in_line"),
    sim(PIPELINE, "m79_old_before_young"),
    sim(PIPELINE, "m80_reserve_turns_in_a_row"),
    sim(PIPELINE, "m81_nobody_in_it_comes_first"),
    sim(PIPELINE, "m82_singles_last"),
    sim(PIPELINE, "m83_three_to_twenty"),
    sim(PIPELINE, "m84_reserve_avoids_company"),
    sim(PIPELINE, "m58_allowance_ignored"),
    sim(PIPELINE, "m114_old_stay_does_not_look"),
    sim(PIPELINE, "m127_last_slot_of_a_claim_is_skipped"),
    sim(PIPELINE, "m128_turns_counted_together"),
    bug(
        PIPELINE,
        "m129_told_before_it_is_named",
        Layer::Loom,
        Hint::Model("a_thread_that_wakes_by_itself_while_it_is_told"),
    ),
    bug(
        PIPELINE,
        "m73_sleeps_without_a_last_look",
        Layer::Loom,
        Hint::Model("stage_start_against_a_lent_thread_that_falls_asleep"),
    ),
    sim(PIPELINE, "m74_stage_start_wakes_no_lent_thread"),
    sim(PIPELINE, "m75_lent_number_shared"),
    sim(PIPELINE, "m76_room_is_not_told"),
    sim(PIPELINE, "m85_nested_wait_runs_anything"),
    bug(
        PIPELINE,
        "m86_inner_job_outlives_the_outer",
        Layer::Unit,
        Hint::Test("nesting"),
    ),
    sim(PIPELINE, "m87_full_is_waited_for"),
    bug(
        PIPELINE,
        "m59_singles_lost_in_the_clearance",
        Layer::Unit,
        Hint::Test("board"),
    ),
    bug(
        PIPELINE,
        "m60_deadlines_not_looked_at",
        Layer::Unit,
        Hint::Test("looking"),
    ),
    sim(PIPELINE, "m61_jobs_begin_during_a_stop"),
    sim(PIPELINE, "m115_wake_makes_nothing_claimable"),
    sim(PIPELINE, "m116_wake_in_a_turn_is_lost"),
    sim(PIPELINE, "m117_tasks_kept_after_a_cancel"),
    sim(PIPELINE, "m118_waker_outlives_its_task"),
    sim(PIPELINE, "m119_turns_are_not_charged"),
    bug(
        PIPELINE,
        "m120_no_spare_is_told",
        Layer::Unit,
        Hint::Test("standing_in::a_worker_that_goes_into_a_job_and_leaves"),
    ),
    bug(
        PIPELINE,
        "m121_stands_in_for_one_long_turn",
        Layer::Unit,
        Hint::Test("standing_in::a_spare_thread_that_leaves_young_work"),
    ),
    bug(
        PIPELINE,
        "m122_spare_parks_without_a_second_look",
        Layer::Loom,
        Hint::Model("young_work_published_while_the_watching_thread_rests"),
    ),
    bug(
        PIPELINE,
        "m124_spare_hands_on_nothing",
        Layer::Loom,
        Hint::Model("a_job_that_a_spare_thread_leaves_against_a_look_that_lays_itself_down"),
    ),
    bug(
        PIPELINE,
        "m125_young_work_left_unwatched",
        Layer::Unit,
        Hint::Test("standing_in::a_worker_that_goes_into_a_job_and_leaves"),
    ),
    bug(
        PIPELINE,
        "m126_arms_once",
        Layer::Loom,
        Hint::Model("young_work_published_while_the_watching_thread_rests"),
    ),
];

/// For each oracle of the simulator a bug that it alone notices.
pub(crate) const ONLY_ORACLES: &[(&str, &str)] = &[
    ("exactly-once", "m47_handed_back_less_one"),
    ("count", "m44_purse_without_a_bound"),
    ("gate", "m36_large_batch_refused"),
    ("lost-wake-up", "m39_timeout_instead_of_wake"),
    ("hidden-work", "m28_private_work_hidden"),
    ("searchers", "m37_one_searcher_too_many"),
    ("protocol", "m52_stamps_stand_still"),
    ("injector-bypass", "m22_injector_never_first"),
    ("order", "m23_own_tasks_oldest_first"),
    ("reach", "m54_last_look_left_to_a_searcher"),
    ("economy", "m49_hands_on_without_work"),
    ("victim", "m12_steal_from_self"),
    ("deadlock", "m38_end_tells_no_waiters"),
    ("liveness", "m53_end_is_overlooked"),
    ("task-panic", "m42_publish_takes_for_granted"),
    ("policy-panic", "m43_batch_takes_for_granted"),
    ("claims", "m127_last_slot_of_a_claim_is_skipped"),
    ("task-turns", "m118_waker_outlives_its_task"),
    ("stand-in", "m121_stands_in_for_one_long_turn"),
    ("board", "m18_rekeyed_by_remove_and_insert"),
    ("pick-order", "m84_reserve_avoids_company"),
    ("role", "m80_reserve_turns_in_a_row"),
    ("quantum", "m50_quantum_never_over"),
    ("service", "m81_nobody_in_it_comes_first"),
    ("share", "m83_three_to_twenty"),
    ("latency", "m82_singles_last"),
    ("starvation", "m57_newcomers_do_not_get_in_line"),
    ("admission", "m48_one_job_too_many"),
    ("lending", "m74_stage_start_wakes_no_lent_thread"),
    ("ticket", "m41_cancelled_is_told_as_completed"),
    ("determinism", "m40_process_wide_victims"),
];

/// Oracles that no swarm can trigger: a user's expectation of their own run, and gaps in a record
/// of threads.
#[cfg(test)]
const BEYOND_THE_SWARM: [&str; 2] = ["expectation", "record"];

impl Bug {
    pub(crate) fn of_name(name: &str) -> Option<Bug> {
        BUGS.iter().find(|bug| bug.name == name).copied()
    }

    pub(crate) fn value(self) -> String {
        format!("{}/{}", self.krate, self.name)
    }

    /// Whether only a model of weak memory may see it.
    pub(crate) fn is_invisible_to_the_simulator(self) -> bool {
        matches!(self.hint, Hint::Edge(_))
    }
}

/// Checks that the table above and the crates' lists agree, and that code tests for each bug.
pub(crate) fn check_lists(workspace: &Workspace) -> anyhow::Result<()> {
    for krate in CRATES {
        let folder = workspace.root.join("crates").join(krate).join("src");
        let list = folder.join("mutant.rs");
        let text =
            std::fs::read_to_string(&list).with_context(|| format!("cannot read {}", list.display()))?;
        let listed: Vec<&str> = text.lines().filter_map(listed_name).collect();
        let code = code_of(&folder)?;
        for bug in BUGS.iter().filter(|bug| bug.krate == krate) {
            ensure!(
                listed.contains(&bug.name),
                "`{}` cannot be planted: {krate} has no such bug",
                bug.name
            );
            ensure!(
                code.contains(&format!("mutant::{}()", bug.name)),
                "`{}` cannot be planted: nothing in {krate} asks for it",
                bug.name
            );
        }
        for name in listed {
            ensure!(
                BUGS.iter().any(|bug| bug.krate == krate && bug.name == name),
                "`{name}` of {krate} has no row in xtask/src/mutants/bug.rs"
            );
        }
    }
    Ok(())
}

fn listed_name(line: &str) -> Option<&str> {
    let name = line.strip_prefix("    ")?.strip_suffix(',')?;
    let number = name.strip_prefix('m')?.split('_').next()?;
    number.parse::<u32>().ok().map(|_| name)
}

fn code_of(folder: &std::path::Path) -> anyhow::Result<String> {
    let mut code = String::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            code.push_str(&code_of(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            code.push_str(&std::fs::read_to_string(&path)?);
        }
    }
    Ok(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_planted_bug_has_its_place_and_its_row() {
        check_lists(&Workspace::load().unwrap()).unwrap();
    }

    #[test]
    fn every_oracle_has_a_bug_that_it_alone_notices() {
        let workspace = Workspace::load().unwrap();
        let code = std::fs::read_to_string(workspace.root.join("crates/sim/src/oracle.rs")).unwrap();
        let names = code.lines().filter_map(|line| {
            let (variant, name) = line.strip_prefix("    ")?.split_once(" = \"")?;
            let is_variant = variant.chars().all(char::is_alphanumeric);
            is_variant.then(|| name.trim_end_matches("\","))
        });
        let names: Vec<&str> = names.filter(|name| !BEYOND_THE_SWARM.contains(name)).collect();
        assert!(names.len() >= ONLY_ORACLES.len(), "{names:?}");
        for name in &names {
            assert!(
                ONLY_ORACLES.iter().any(|(oracle, _)| oracle == name),
                "nobody needs `{name}`"
            );
        }
        for (oracle, bug) in ONLY_ORACLES {
            assert!(names.contains(oracle), "there is no oracle `{oracle}`");
            assert!(Bug::of_name(bug).is_some(), "there is no bug `{bug}`");
        }
    }

    #[test]
    fn no_file_but_these_makes_a_build_with_bugs() {
        let workspace = Workspace::load().unwrap();
        for file in [
            "xtask/src/ci.rs",
            "Cargo.toml",
            "crates/executor-core/Cargo.toml",
            "crates/sim/Cargo.toml",
        ] {
            let text = std::fs::read_to_string(workspace.root.join(file)).unwrap();
            let setting = text
                .lines()
                .any(|line| line.contains("--cfg") && line.contains("windlass_mutants"));
            assert!(!setting, "{file} builds with bugs");
        }
        assert!(
            !workspace.root.join(".cargo/config.toml").exists() || {
                let text = std::fs::read_to_string(workspace.root.join(".cargo/config.toml")).unwrap();
                !text.contains("windlass_mutants")
            }
        );
    }
}
