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
    /// A slot that was claimed before its job was closed is run all the same.
    m46_closed_claims_are_run,
    /// One job more is let in than the capacity says.
    m48_one_job_too_many,
    /// A worker goes on looking after its quantum is over.
    m50_quantum_never_over,
    /// Whoever finds somebody else settling a job does not say that its claims have changed.
    m55_no_dirty_bit,
    /// Whoever makes something to claim does not ask whether the executor is being shut down.
    m56_stop_misses_a_submission,
    /// A job that grows old, or is from the beginning, does not get in line behind those that have waited.
    m57_newcomers_do_not_get_in_line,
    /// Young jobs come first for ever.
    m58_allowance_ignored,
    /// Whoever clears the queue of singles of handles without a job drops all that it takes out.
    m59_singles_lost_in_the_clearance,
    /// A look does not close the jobs whose deadline has passed.
    m60_deadlines_not_looked_at,
    /// Workers go into jobs that a shutdown has not come to yet.
    m61_jobs_begin_during_a_stop,
    /// A main worker takes the job that has received the most service.
    m51_most_served_first,
    /// A stage starts when one of several before it is finished.
    m63_started_after_one_of_several,
    /// Whoever closes a job accounts for nothing of the stages that have started behind the current one.
    m64_closed_in_the_current_run_alone,
    /// Whoever closes a job lets stages start after that.
    m65_closed_and_not_sealed,
    /// Slots that are given back are not said to be there.
    m66_given_back_in_silence,
    /// A closed job takes slots that are given back, as if somebody would claim them.
    m67_given_back_to_a_closed_job,
    /// Slots that were given back are claimed and stay where they are.
    m68_returned_piece_stays,
    /// A worker runs all that it has claimed, however long it takes.
    m69_claims_run_to_their_end,
    /// A claim takes as much as fits into the time, however little it leaves to others.
    m70_claims_leave_nothing,
    /// One worker is invited to a job, however long it will take, and nobody else when that shows.
    m71_one_worker_invited,
    /// A stage that starts is not counted as open.
    m72_started_stage_not_counted,
    /// A thread that is lent to a job registers as a sleeper and sleeps, without looking for slots once more.
    m73_sleeps_without_a_last_look,
    /// Whoever starts a stage does not tell the thread that is lent to the job and sleeps.
    m74_stage_start_wakes_no_lent_thread,
    /// Two threads that are lent to a job at the same time both run slots of it, with the same number.
    m75_lent_number_shared,
    /// Whoever leaves a job that limits its workers does not tell the thread that is lent to it and found no room.
    m76_room_is_not_told,
    /// A slot that waits for a job of its own runs whatever the board has.
    m85_nested_wait_runs_anything,
    /// A job that runs in a slot of another goes on when that one is closed.
    m86_inner_job_outlives_the_outer,
    /// A slot whose own job is not let in for want of room waits for room.
    m87_full_is_waited_for,
    /// Main workers take old jobs first, and young ones when there is none.
    m79_old_before_young,
    /// A single worker takes its reserve turns one right after the other, and then all of its main turns.
    m80_reserve_turns_in_a_row,
    /// A main worker goes to an old job in which nobody is, whatever service it has received.
    m81_nobody_in_it_comes_first,
    /// A main worker takes singles when nothing else is left, the old jobs included.
    m82_singles_last,
    /// Old jobs get 3 parts to the young ones' 20, and not 3 of 20.
    m83_three_to_twenty,
    /// A reserve worker goes to the heaviest job in which nobody is, and not to the heaviest.
    m84_reserve_avoids_company,
    /// A worker in an old job does not look whether a young one has come.
    m114_old_stay_does_not_look,
    /// A task that is woken is ready, and no worker hears of it.
    m115_wake_makes_nothing_claimable,
    /// A task that is woken during its turn parks all the same.
    m116_wake_in_a_turn_is_lost,
    /// The tasks of a job that grows stay where they are when the job is closed.
    m117_tasks_kept_after_a_cancel,
    /// A new task gets the number of one that is over, whose waker wakes it.
    m118_waker_outlives_its_task,
    /// A job that grows is charged for nothing.
    m119_turns_are_not_charged,
    /// A party that publishes young work while every worker is busy tells no spare thread.
    m120_no_spare_is_told,
    /// A spare thread stands in as soon as one worker has been in a turn for long.
    m121_stands_in_for_one_long_turn,
    /// A spare thread that parks does not look for young work once more.
    m122_spare_parks_without_a_second_look,
    /// What a spare thread leaves open is no worker's.
    m124_spare_hands_on_nothing,
    /// A worker that goes into a job and leaves young work waiting has no spare thread told.
    m125_young_work_left_unwatched,
    /// A party that finds every spare thread awake does not look once more.
    m126_arms_once,
    /// The last slot of a claim of several is accounted for and does not run.
    m127_last_slot_of_a_claim_is_skipped,
    /// A single worker counts its turns on a used-up allowance together with all others.
    m128_turns_counted_together,
    /// A spare thread is told to watch first, and named as the one that watches afterwards.
    m129_told_before_it_is_named,
}
