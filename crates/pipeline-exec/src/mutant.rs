//! Planted bugs of the pipeline executor's policy. The switch is in `executor_core::planted_bugs`.

executor_core::planted_bugs! {
    /// Two workers may get one slot.
    m14_claim_by_load_and_store,
    /// A job leaves the board after its first claim.
    m15_off_the_board_too_early,
    /// The job submitted last comes first.
    m16_tie_break_inverted,
    /// Equal weights give equal keys.
    m17_sequence_not_in_the_key,
    /// The old place goes before the new one comes.
    m18_rekeyed_by_remove_and_insert,
    /// A slot counts as done before it runs.
    m19_accounted_at_claim,
    /// Reserve works as main.
    m20_reserve_takes_the_least_served,
    /// A slot that runs during a cancel is lost.
    m29_cancelled_claims_not_accounted,
    /// The ticket of a cancelled job reports success.
    m41_cancelled_is_told_as_completed,
    /// An exhausted job stays on the board.
    m45_never_off_the_board,
    /// Slots claimed before the close run.
    m46_closed_claims_are_run,
    /// The gate admits one job above the capacity.
    m48_one_job_too_many,
    /// A worker never ends its look.
    m50_quantum_never_over,
    /// A change during a round is lost.
    m55_no_dirty_bit,
    /// A publisher does not check for a shutdown.
    m56_stop_misses_a_submission,
    /// A newcomer passes those that waited.
    m57_newcomers_do_not_get_in_line,
    /// Young jobs come first for ever.
    m58_allowance_ignored,
    /// A submitter drops live handles.
    m59_singles_lost_in_the_clearance,
    /// Looks close no late job.
    m60_deadlines_not_looked_at,
    /// A worker begins a job during a stop.
    m61_jobs_begin_during_a_stop,
    /// Main takes the most served job.
    m51_most_served_first,
    /// A stage does not wait for all before it.
    m63_started_after_one_of_several,
    /// Later stages are not accounted for.
    m64_closed_in_the_current_run_alone,
    /// Stages start after the close.
    m65_closed_and_not_sealed,
    /// Returned slots are not made claimable.
    m66_given_back_in_silence,
    /// A closed ledger drops returned slots.
    m67_given_back_to_a_closed_job,
    /// A returned piece is claimed twice.
    m68_returned_piece_stays,
    /// A claim never ends early.
    m69_claims_run_to_their_end,
    /// A claim takes everything that fits.
    m70_claims_leave_nothing,
    /// A long job gets one worker.
    m71_one_worker_invited,
    /// A started stage is not counted in `open`.
    m72_started_stage_not_counted,
    /// A helper sleeps without a last look.
    m73_sleeps_without_a_last_look,
    /// A sleeping helper misses a new stage.
    m74_stage_start_wakes_no_lent_thread,
    /// Two helpers run slots at once.
    m75_lent_number_shared,
    /// A worker leaves a limited job silently.
    m76_room_is_not_told,
    /// A waiting slot runs other jobs.
    m85_nested_wait_runs_anything,
    /// An inner job outlives its closed outer job.
    m86_inner_job_outlives_the_outer,
    /// A nested submission waits for room.
    m87_full_is_waited_for,
    /// Main takes old jobs first.
    m79_old_before_young,
    /// Reserve turns come in a row.
    m80_reserve_turns_in_a_row,
    /// An unvisited job comes first.
    m81_nobody_in_it_comes_first,
    /// Singles come after old jobs.
    m82_singles_last,
    /// Old jobs get three parts of 23.
    m83_three_to_twenty,
    /// Reserve avoids a job with workers.
    m84_reserve_avoids_company,
    /// An old stay ignores young arrivals.
    m114_old_stay_does_not_look,
    /// No worker learns of a wake.
    m115_wake_makes_nothing_claimable,
    /// A task woken in its turn parks.
    m116_wake_in_a_turn_is_lost,
    /// A cancelled job keeps its tasks.
    m117_tasks_kept_after_a_cancel,
    /// A new task gets an old number.
    m118_waker_outlives_its_task,
    /// Turns are not charged.
    m119_turns_are_not_charged,
    /// No spare thread learns of young work.
    m120_no_spare_is_told,
    /// A spare thread ignores free workers.
    m121_stands_in_for_one_long_turn,
    /// A spare thread parks without a last look.
    m122_spare_parks_without_a_second_look,
    /// A spare thread leaves work without a look.
    m124_spare_hands_on_nothing,
    /// Young work is left unwatched.
    m125_young_work_left_unwatched,
    /// A failed arming is not repeated.
    m126_arms_once,
    /// A slot counts as done without running.
    m127_last_slot_of_a_claim_is_skipped,
    /// Turns on a used-up allowance count with the others.
    m128_turns_counted_together,
    /// A watcher is told before it is named.
    m129_told_before_it_is_named,
}
