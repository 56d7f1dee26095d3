//! Planted bugs of the pipeline executor's policy: see core's list, whose switch this is.

executor_core::planted_bugs! {
    /// A claim is a load and a store, so that two workers may have the same slot.
    m14_claim_by_load_and_store,
    /// A job leaves the board with its stage's first claim, and not with its last.
    m15_off_the_board_too_early,
    /// Among equally heavy jobs the last submitted one stands first.
    m16_tie_break_inverted,
    /// Two jobs of the same weight have the same key.
    m17_sequence_not_in_the_key,
    /// A job that has received service loses its old place before it has its new one.
    m18_rekeyed_by_remove_and_insert,
    /// A slot is accounted for when it is claimed, before it has run.
    m19_accounted_at_claim,
    /// The reserve role takes the job with the least service, as the main role does.
    m20_reserve_takes_the_least_served,
    /// A slot that ran while its job was cancelled is not accounted for.
    m29_cancelled_claims_not_accounted,
    /// The ticket of a cancelled job says that it completed.
    m41_cancelled_is_told_as_completed,
    /// A job stays on the board when the last slot of its last stage is claimed.
    m45_never_off_the_board,
    /// A slot that was claimed before its job was closed is accounted for and not run.
    m46_closed_claims_not_run,
    /// One job more is let in than the capacity says.
    m48_one_job_too_many,
    /// A worker goes on looking after its quantum is over.
    m50_quantum_never_over,
    /// Whoever finds somebody else settling a job does not say that its claims have changed.
    m55_no_dirty_bit,
    /// A job that has grown old does not get in line behind those that have waited.
    m57_floor_never_raised,
    /// Young jobs come first for ever.
    m58_allowance_ignored,
    /// Whoever clears the queue of singles of handles without a job drops all that it takes out.
    m59_singles_lost_in_the_clearance,
    /// A look does not close the jobs whose deadline has passed.
    m60_deadlines_not_looked_at,
    /// A main worker takes the job that has received the most service.
    m51_most_served_first,
}
