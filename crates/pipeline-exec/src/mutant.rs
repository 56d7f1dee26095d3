//! Planted bugs of the pipeline executor's policy. The switch is in `executor_core::planted_bugs`.

executor_core::planted_bugs! {
    /// Two workers may get one slot.
    m14_claim_by_load_and_store,
    /// After the stage's first claim, not its last.
    m15_off_the_board_too_early,
    /// The last submitted comes first.
    m16_tie_break_inverted,
    /// Equal weights give equal keys.
    m17_sequence_not_in_the_key,
    /// The old place is lost before the new one is there.
    m18_rekeyed_by_remove_and_insert,
    /// Before the slot runs.
    m19_accounted_at_claim,
    /// As the main role does.
    m20_reserve_takes_the_least_served,
    /// A slot that ran during a cancel is forgotten.
    m29_cancelled_claims_not_accounted,
    /// The ticket lies.
    m41_cancelled_is_told_as_completed,
    /// When the last slot of the last stage is claimed.
    m45_never_off_the_board,
    /// Slots claimed before the close run.
    m46_closed_claims_are_run,
    /// Above the capacity.
    m48_one_job_too_many,
    /// A worker goes on looking.
    m50_quantum_never_over,
    /// A change during another's round is lost.
    m55_no_dirty_bit,
    /// A publisher does not check for a shutdown.
    m56_stop_misses_a_submission,
    /// They do not go behind those that waited.
    m57_newcomers_do_not_get_in_line,
    /// Young jobs come first for ever.
    m58_allowance_ignored,
    /// A submitter that clears dead handles drops live ones.
    m59_singles_lost_in_the_clearance,
    /// Looks close no late job.
    m60_deadlines_not_looked_at,
    /// In jobs that are not closed yet.
    m61_jobs_begin_during_a_stop,
    /// Main takes the most served.
    m51_most_served_first,
    /// Not after the last of them.
    m63_started_after_one_of_several,
    /// Later stages are not accounted for.
    m64_closed_in_the_current_run_alone,
    /// Stages start after the close.
    m65_closed_and_not_sealed,
    /// Returned slots are not made claimable.
    m66_given_back_in_silence,
    /// The ledger keeps them.
    m67_given_back_to_a_closed_job,
    /// In the ledger, and is claimed.
    m68_returned_piece_stays,
    /// However long it takes.
    m69_claims_run_to_their_end,
    /// However little is left to others.
    m70_claims_leave_nothing,
    /// However long the job takes.
    m71_one_worker_invited,
    /// In `open`.
    m72_started_stage_not_counted,
    /// Of a helper that has registered.
    m73_sleeps_without_a_last_look,
    /// A sleeping helper misses it.
    m74_stage_start_wakes_no_lent_thread,
    /// Two helpers run slots at once.
    m75_lent_number_shared,
    /// By a worker that leaves a limited job.
    m76_room_is_not_told,
    /// Of other jobs.
    m85_nested_wait_runs_anything,
    /// The outer one is closed.
    m86_inner_job_outlives_the_outer,
    /// By a nested submission.
    m87_full_is_waited_for,
    /// In the main role.
    m79_old_before_young,
    /// And then all main turns.
    m80_reserve_turns_in_a_row,
    /// Whatever service it has received.
    m81_nobody_in_it_comes_first,
    /// After old jobs.
    m82_singles_last,
    /// Instead of 3 of 20.
    m83_three_to_twenty,
    /// Although another job is heavier.
    m84_reserve_avoids_company,
    /// For young arrivals.
    m114_old_stay_does_not_look,
    /// No worker learns of it.
    m115_wake_makes_nothing_claimable,
    /// The task parks all the same.
    m116_wake_in_a_turn_is_lost,
    /// They stay in the table.
    m117_tasks_kept_after_a_cancel,
    /// A new task gets its number.
    m118_waker_outlives_its_task,
    /// To their job.
    m119_turns_are_not_charged,
    /// Of young work, with every worker busy.
    m120_no_spare_is_told,
    /// Other workers may be free.
    m121_stands_in_for_one_long_turn,
    /// For young work.
    m122_spare_parks_without_a_second_look,
    /// To workers.
    m124_spare_hands_on_nothing,
    /// By a worker that goes into another job.
    m125_young_work_left_unwatched,
    /// Not again when every spare thread was awake.
    m126_arms_once,
    /// It is accounted for.
    m127_last_slot_of_a_claim_is_skipped,
    /// On a used-up allowance, and others.
    m128_turns_counted_together,
    /// As the watching thread.
    m129_told_before_it_is_named,
}
