//! What a task returns: the task that runs next, or none.

/// What a runner returns: the task that runs next on its worker, or none.
///
/// A runner without a return value names none. A task that it returns as `Some(task)` counts as
/// spawned, and runs when a last call of [`TaskCtx::spawn_local`](crate::TaskCtx::spawn_local) would
/// have it run. But it stays with the worker, so it costs less, and no other worker can steal it in
/// between. From time to time, after at most 255 tasks in a row, the worker looks at the injector, at
/// idle workers and for an abort. Then the task is spawned instead.
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

/// For closures that always panic.
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
