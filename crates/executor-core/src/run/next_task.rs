//! What a task returns: the task that runs next, or none.

/// What a runner returns: the task that runs next on its worker, or none.
///
/// A runner without a return value names none. One that returns `Some(task)` has that task run as
/// if it had been the last that [`TaskCtx::spawn_local`](crate::TaskCtx::spawn_local) was called
/// with: it counts as spawned, and it runs next. But it stays in the worker's hands, so it costs
/// less than a spawned one, and no other worker can steal it in between. If the worker has other
/// work first, because it looks for idle workers, into the injector or at an abort, the task is
/// spawned. That happens after at most 255 tasks in a row.
pub trait NextTask<T> {
    /// The task that runs next.
    fn next_task(self) -> Option<T>;
}

impl<T> NextTask<T> for () {
    #[inline]
    fn next_task(self) -> Option<T> {
        None
    }
}

impl<T> NextTask<T> for Option<T> {
    #[inline]
    fn next_task(self) -> Self {
        self
    }
}

/// For runners that always panic.
impl<T> NextTask<T> for Never {
    fn next_task(self) -> Option<T> {
        self
    }
}

/// The type `!`, which stable Rust names only as a function's result.
type Never = <fn() -> ! as Function>::Output;

#[expect(unnameable_types, reason = "no other module needs the type `!`")]
pub trait Function {
    /// The type of its result.
    type Output;
}

impl<R> Function for fn() -> R {
    type Output = R;
}
