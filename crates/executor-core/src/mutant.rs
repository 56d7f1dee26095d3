//! Planted bugs: the test of the tests.
//!
//! Each function says whether its bug is planted; the place in the policy where that mistake could
//! be made asks it.
//!
//! ```text
//!   normal build               const fn … { false }                            nothing of the bug is left
//!   --cfg windlass_mutants     WINDLASS_MUTANT=executor-core/m03_no_wake       that one bug, read once
//! ```
//!
//! `cargo xtask mutants` makes one build with all bugs for each layer of tests and runs it with
//! each name.

/// Names the planted bug, as `crate/bug`.
#[cfg(windlass_mutants)]
const VARIABLE: &str = "WINDLASS_MUTANT";

/// The crates with lists of bugs. Each checks its own names.
#[cfg(windlass_mutants)]
const CRATES: [&str; 3] = ["executor-core", "pipeline-exec", "pools"];

/// Replaces chance in [`m40_process_wide_victims`]: the number of calls so far.
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

/// Makes the functions of a crate's list of bugs. In a normal build each is a constant `false`.
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
/// A name that is in no list ends the process, since the run would have no bug and prove nothing.
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
    /// The canary: each accepted task is counted once too often. Every layer has to notice.
    m00_canary,
    /// A producer is accepted after the close.
    m01_accept_after_close,
    /// The accepting bit is read in one operation and the count added in another.
    m02_gate_and_count_split,
    /// No worker is woken after a push.
    m03_no_wake,
    /// A worker parks after registering without a second look.
    m04_no_second_look,
    /// The last searcher leaves the search with work and wakes no other worker.
    m05_last_searcher_wakes_nobody,
    /// A worker that parks without being chosen registers again.
    m06_registered_twice,
    /// The count of a task from a queue is received twice, so it is released twice.
    m07_completion_counted_twice,
    /// A worker releases a task's count before it runs the task.
    m08_count_dropped_before_run,
    /// The count of a task that panics is lost.
    m09_panic_not_counted,
    /// A batch is accepted task by task, so a close in between takes half of it.
    m10_half_a_batch,
    /// A batch counts as one task.
    m11_batch_counted_as_one,
    /// The random victim may be the thief.
    m12_steal_from_self,
    /// A contended probe counts as an empty queue.
    m13_retry_is_empty,
    /// The release that brings the closed word to zero does not end the executor.
    m21_last_completion_ends_nothing,
    /// A worker with work of its own never takes from the injector first.
    m22_injector_never_first,
    /// A worker takes the oldest of its private tasks instead of the newest.
    m23_own_tasks_oldest_first,
    /// A task's writes are not published with its count. Only a weak-memory model can see it.
    m24_completion_relaxed,
    /// A publisher reads the sleep word without a fence. Only a weak-memory model can see it.
    m25_no_publish_fence,
    /// The count is added without the check for overflow.
    m26_count_overflows,
    /// A worker that finds nothing sleeps with its spare counts.
    m27_credits_kept_asleep,
    /// A worker with private tasks ignores idle workers.
    m28_private_work_hidden,
    /// The second look comes before the registration.
    m30_look_before_leaving_search,
    /// A worker that finds work in its second look does not hand on.
    m31_second_look_not_handed_on,
    /// An aborting worker that finds nothing leaves while an accepted task is not pushed yet.
    m32_abort_leaves_late_pushes,
    /// A private task is kept without a credit that covers it.
    m33_private_not_covered,
    /// A worker ignores its private tasks after a tick, and may park on them.
    m34_parks_on_private,
    /// Private tasks become public without a wake.
    m35_exposed_without_wake,
    /// A batch of more tasks than workers is rejected.
    m36_large_batch_refused,
    /// One worker too many may search.
    m37_one_searcher_too_many,
    /// The party that ends the executor does not signal waiters.
    m38_end_tells_no_waiters,
    /// With a park timeout, a producer wakes no worker.
    m39_timeout_instead_of_wake,
    /// The sweep over the victims starts at a counter that all executors of the process share.
    m40_process_wide_victims,
    /// Publishing assumes that there is a private task.
    m42_publish_takes_for_granted,
    /// Handing over a batch assumes more than one task.
    m43_batch_takes_for_granted,
    /// A worker releases no surplus credits while it works.
    m44_purse_without_a_bound,
    /// One of the tasks that a worker returns is lost.
    m47_handed_back_less_one,
    /// The last searcher wakes another worker although there is no work.
    m49_hands_on_without_work,
    /// Every registration has the same stamp.
    m52_stamps_stand_still,
    /// A worker that reads DONE yields its core and goes on.
    m53_end_is_overlooked,
    /// A worker that parks while others search looks only at the injector.
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
