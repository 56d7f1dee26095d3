//! A poll's budget, for what reads nothing and yet makes much.

use std::task::{Context, Poll, ready};

use tokio::task::coop;

/// Polls while the budget of the running poll lasts, and takes a unit of it for what is ready.
///
/// The budget is tokio's cooperative one. A poll of an [`AsyncJob`](crate::AsyncJob)'s future has as
/// many units as fit into its time. Channels, sockets and timers take units when they are read. A
/// stream that makes many values of one takes none, and would keep its worker until its end. Without
/// budget this wakes the task and pends. It takes the unit afterwards, so streams above each other
/// leave those below what they need.
///
/// ```
/// use std::future::poll_fn;
/// use std::task::Poll;
///
/// let runtime = tokio::runtime::Builder::new_current_thread().build()?;
/// runtime.block_on(async {
///     for _ in 0..1_000 {
///         poll_fn(|cx| pools::with_budget(cx, |_cx| Poll::Ready(()))).await;
///     }
/// });
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn with_budget<T>(cx: &mut Context<'_>, poll: impl FnOnce(&mut Context<'_>) -> Poll<T>) -> Poll<T> {
    if !coop::has_budget_remaining() {
        // It pends, wakes the task and takes nothing.
        ready!(coop::poll_proceed(cx)).made_progress();
    }
    let made = ready!(poll(cx));
    if coop::has_budget_remaining()
        && let Poll::Ready(unit) = coop::poll_proceed(cx)
    {
        unit.made_progress();
    }
    Poll::Ready(made)
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    #[test]
    fn what_is_always_ready_pends_when_the_budget_is_used_up() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (mut made, mut inner) = (0, 0);
        let mut one = || {
            inner += 1;
            Poll::Ready(())
        };
        runtime.block_on(poll_fn(|cx| {
            while with_budget(cx, |cx| with_budget(cx, |_cx| one())).is_ready() {
                made += 1;
                assert!(made <= 1_000, "no budget ends it");
            }
            Poll::Ready(())
        }));
        assert!(made > 1 && inner == made, "{made} {inner}");
    }
}
