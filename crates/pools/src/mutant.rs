//! Planted bugs of streams: see core's list, whose switch this is.
//!
//! Two that one would think of cannot be planted. A source that is closed twice and a call that is told twice do not compile: the one is moved to
//! whoever closes it, the other is called by value.

executor_core::planted_bugs! {
    /// Who has closed the source does not wake the consumer that waits for the end.
    m88_finish_wakes_nobody,
    /// Who makes room leaves the source at rest.
    m89_release_starts_nobody,
    /// Who stops a stream does not wake its consumer.
    m90_stop_wakes_no_consumer,
    /// Who stops a stream does not wake a reader that awaits its source.
    m91_stop_wakes_no_reader,
    /// A stream that is dropped is not closed.
    m92_drop_closes_nothing,
    /// A reader that a pool drops drops its source, and neither closes it nor tells anybody.
    m93_dropped_reader_closes_nothing,
    /// Who stops a stream leaves a source at rest where it is.
    m94_stop_leaves_the_source_at_rest,
    /// A reader does not ask whether the stream was stopped.
    m95_reads_on_after_a_stop,
    /// A reader finds no room in one critical section, and puts its source down in the next.
    m96_rests_after_a_second_lock,
    /// A consumer finds nothing in one critical section, and registers in the next.
    m97_registers_after_a_second_lock,
    /// Who delivers a batch does not wake the consumer.
    m98_delivery_wakes_nobody,
    /// A batch that was read while the stream was stopped is delivered.
    m99_delivered_after_a_stop,
    /// Who wants to be told of the close while others are being told is not.
    m100_told_are_those_who_came_first,
    /// The end is told before the source is closed.
    m101_end_before_the_close,
    /// There is room as long as what is held is within the bound, whatever the next batch will weigh.
    m102_room_for_one_batch_more,
    /// An error is given before the batches that were read before it.
    m103_error_overtakes_batches,
    /// An error of the source is told as the end.
    m104_error_is_told_as_the_end,
    /// A close by a handle that drops the last batches is told as the end.
    m105_lost_batches_are_told_as_the_end,
    /// When the pool ends, what was read and not taken is dropped.
    m106_end_of_the_pool_drops_what_is_ready,
    /// The last slice of a batch is not asked for what it gave.
    m107_last_slice_is_not_asked,
    /// A slice that fails is not heard of if it is the last of its batch.
    m108_last_slices_error_is_lost,
    /// A batch counts no more as soon as its slices are handed over.
    m109_slices_hold_nothing,
    /// An error is told while slices still run.
    m110_error_waits_for_no_slices,
    /// A batch of which slices were skipped is told as if it had no more of them.
    m111_skipped_slices_are_left_out,
    /// A reader finds that nobody has stopped the stream in one critical section, and registers in the next.
    m112_reader_registers_after_a_second_lock,
    /// Who wants to be told of the close when it is over is put behind those who were told.
    m113_late_askers_are_not_told,
}
