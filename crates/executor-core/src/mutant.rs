//! Planted bugs: the test of the tests.
//!
//! Simulator, models and tests are trusted because they are seen to notice. Each function here says whether its bug is
//! planted, and the place in the policy where somebody could make that mistake asks it.
//!
//! ```text
//!   normal build               const fn … { false }                            nothing of the bug is left
//!   --cfg windlass_mutants     WINDLASS_MUTANT=executor-core/m03_no_wake       that one bug, read once
//! ```
//!
//! So one build has all bugs, and a normal build has none. `cargo xtask mutants` makes the one build for each layer of
//! tests, and runs it with each name. Such a build is to fail, never to be used.

/// The environment variable that names the planted bug, as `crate/bug`.
#[cfg(windlass_mutants)]
const VARIABLE: &str = "WINDLASS_MUTANT";

/// The crates that have lists of bugs: each checks the names that are its own.
#[cfg(windlass_mutants)]
const CRATES: [&str; 3] = ["executor-core", "pipeline-exec", "pools"];

/// What [`m40_process_wide_victims`] puts in the place of chance: how often it was asked for.
pub(crate) fn count_of_the_process() -> usize {
    #[cfg(windlass_mutants)]
    {
        static ASKED: std::sync::Mutex<usize> = std::sync::Mutex::new(0);
        let mut asked = ASKED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *asked += 1;
        *asked
    }
    #[cfg(not(windlass_mutants))]
    0
}

/// Makes the functions of a crate's list of bugs.
///
/// In a normal build each is a constant `false`, which is checked where it is made.
#[doc(hidden)]
#[macro_export]
macro_rules! planted_bugs {
    ($($(#[doc = $doc:literal])+ $bug:ident,)+) => {
        #[cfg(windlass_mutants)]
        const BUGS: &[&str] = &[$(stringify!($bug)),+];

        $(
            $(#[doc = $doc])+
            #[cfg(not(windlass_mutants))]
            #[inline(always)]
            pub(crate) const fn $bug() -> bool {
                false
            }

            #[cfg(not(windlass_mutants))]
            const _: () = assert!(!$bug(), "a normal build has a planted bug");

            $(#[doc = $doc])+
            #[cfg(windlass_mutants)]
            pub(crate) fn $bug() -> bool {
                static PLANTED: ::std::sync::LazyLock<bool> = ::std::sync::LazyLock::new(|| {
                    $crate::is_planted(env!("CARGO_PKG_NAME"), BUGS, stringify!($bug))
                });
                *PLANTED
            }
        )+
    };
}

/// Whether the environment asks for `bug` of the crate `owner`, whose list is `bugs`.
///
/// A name that no list knows ends the process: a run without the bug that somebody meant would say that nothing noticed.
#[cfg(windlass_mutants)]
#[doc(hidden)]
#[must_use]
pub fn is_planted(owner: &str, bugs: &[&str], bug: &str) -> bool {
    match chosen(std::env::var(VARIABLE).ok().as_deref(), owner, bugs) {
        Ok(chosen) => chosen == Some(bug),
        Err(problem) => {
            eprintln!("{VARIABLE}: {problem}");
            std::process::exit(2);
        }
    }
}

/// The bug among `bugs`, the list of the crate `owner`, that `value` names.
#[cfg(windlass_mutants)]
fn chosen<'a>(value: Option<&str>, owner: &str, bugs: &[&'a str]) -> Result<Option<&'a str>, String> {
    let Some(value) = value.filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    match value.split_once('/') {
        Some((named, name)) if named == owner => match bugs.iter().find(|&&bug| bug == name) {
            Some(bug) => Ok(Some(bug)),
            None => Err(format!("{owner} has no planted bug `{name}`")),
        },
        Some((named, _)) if CRATES.contains(&named) => Ok(None),
        _ => Err(format!(
            "`{value}` does not begin with one of {CRATES:?} and a slash"
        )),
    }
}

planted_bugs! {
    /// The canary: each task that is let in is counted once too often. Everything has to notice.
    m00_canary,
    /// A producer is let in through a closed gate.
    m01_accept_after_close,
    /// The gate is read in one operation and the count added in another, so that the gate may close in between.
    m02_gate_and_count_split,
    /// Nobody is woken after a push.
    m03_no_wake,
    /// A worker parks after registering as a sleeper without looking again.
    m04_no_second_look,
    /// The last searcher leaves the search with work, and wakes nobody to go on searching.
    m05_last_searcher_wakes_nobody,
    /// A worker that returns from parking without having been chosen registers once more, on top of its registration.
    m06_registered_twice,
    /// The count of a task that was taken from a queue comes into the purse twice, so it is put back twice.
    m07_completion_counted_twice,
    /// A worker puts a task's count back when it takes the task, and then runs it.
    m08_count_dropped_before_run,
    /// The count of a task that panics is lost: it never returns from the purse.
    m09_panic_not_counted,
    /// A batch is let in task by task, so that a gate that closes meanwhile takes half of it.
    m10_half_a_batch,
    /// A batch counts as one task.
    m11_batch_counted_as_one,
    /// The random victim may be the thief itself.
    m12_steal_from_self,
    /// A contended probe is read as an empty queue.
    m13_retry_is_empty,
    /// The completion that brings the closed word to zero does not end the executor.
    m21_last_completion_ends_nothing,
    /// A worker with work of its own never looks at the injector first.
    m22_injector_never_first,
    /// A worker takes the oldest of its private tasks and not the newest. (Which end is whose in a public queue is
    /// the ports' affair, and no policy could swap them.)
    m23_own_tasks_oldest_first,
    /// What a task wrote is not published with its count. Only a model of weak memory can see it.
    m24_completion_relaxed,
    /// A publisher reads the sleepers without a fence after its push. Only a model of weak memory can see it.
    m25_no_publish_fence,
    /// The count is added without a look at the largest that it may become.
    m26_count_overflows,
    /// A worker that finds nothing keeps its spare counts, and sleeps on them.
    m27_credits_kept_asleep,
    /// A worker with private tasks takes no notice of those who are hungry.
    m28_private_work_hidden,
    /// The second look comes before leaving the search and registering, and not after.
    m30_look_before_leaving_search,
    /// Who finds work in its second look does not hand on: it goes home with what two pushes relied on it for.
    m31_second_look_not_handed_on,
    /// An aborting worker that finds nothing leaves, and does not wait for tasks that were let in and are not pushed yet.
    m32_abort_leaves_late_pushes,
    /// A private task is kept although no count in the purse covers it.
    m33_private_not_covered,
    /// A worker that has looked goes past its private tasks, and parks if there is nothing else.
    m34_parks_on_private,
    /// Private tasks become public, and nobody is woken for them.
    m35_exposed_without_wake,
    /// A batch of more tasks than there are workers is refused, as if the gate were closed.
    m36_large_batch_refused,
    /// One more worker may search than the bound says.
    m37_one_searcher_too_many,
    /// Whoever ends the executor wakes its workers, and does not tell those who wait.
    m38_end_tells_no_waiters,
    /// Where sleepers have a timeout a producer wakes nobody, since they will look by themselves.
    m39_timeout_instead_of_wake,
    /// Where the sweep over the victims begins is decided by a counter that all executors of the process share.
    m40_process_wide_victims,
    /// To make public what is private takes for granted that something is.
    m42_publish_takes_for_granted,
    /// Handing over a batch takes for granted that it has more than one task.
    m43_batch_takes_for_granted,
    /// In the middle of work a purse gives nothing back, however much is in it.
    m44_purse_without_a_bound,
    /// One of the tasks that a worker hands back is lost.
    m47_handed_back_less_one,
    /// The last searcher wakes another one although there is nothing to find.
    m49_hands_on_without_work,
    /// Every registration has the same stamp.
    m52_stamps_stand_still,
    /// A worker that hears that it is over yields its core, and looks on.
    m53_end_is_overlooked,
    /// Before it parks while others search a worker looks at the injector alone.
    m54_last_look_left_to_a_searcher,
}

#[cfg(all(test, windlass_mutants))]
mod tests {
    use super::*;

    const BUGS: &[&str] = &["m01_one", "m02_other"];

    #[test]
    fn a_bug_is_chosen_by_its_crate_and_its_name() {
        assert_eq!(chosen(None, "executor-core", BUGS), Ok(None));
        assert_eq!(chosen(Some(""), "executor-core", BUGS), Ok(None));
        assert_eq!(
            chosen(Some("executor-core/m02_other"), "executor-core", BUGS),
            Ok(Some("m02_other"))
        );
        assert_eq!(
            chosen(Some("pipeline-exec/m02_other"), "executor-core", BUGS),
            Ok(None)
        );
    }

    #[test]
    fn a_name_that_no_list_knows_is_an_error() {
        for wrong in ["executor-core/m02", "executor-cor/m02_other", "m02_other"] {
            assert!(chosen(Some(wrong), "executor-core", BUGS).is_err(), "{wrong}");
        }
    }
}
