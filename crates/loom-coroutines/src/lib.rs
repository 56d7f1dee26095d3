//! The coroutines on which loom runs a model's threads: only what loom 0.7 calls.
//!
//! loom starts a coroutine for each thread of each execution. Its own crate, `generator`, maps a
//! stack for each and ends it by a panic. Here a finished coroutine returns, and its thread keeps
//! the stack for the next one (`docs/decisions/0050-coroutines-for-loom.md`).

#![allow(unsafe_code, reason = "docs/decisions/0050-coroutines-for-loom.md")]

mod stacks;

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::mem;
use std::ptr;
use std::thread;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};

/// The body of a model's thread.
pub type Parameter = Option<Box<dyn FnOnce()>>;

type Yielder = corosensei::Yielder<Option<Parameter>, ()>;

thread_local! {
    /// Of the running coroutine; null outside of coroutines.
    static CURRENT: Cell<*const Yielder> = const { Cell::new(ptr::null()) };
}

/// A coroutine, as loom names it: it takes an `A` when it is resumed, and gives a `T`.
pub struct Generator<'a, A, T> {
    /// `None` only during the drop.
    coroutine: Option<Coroutine<Option<Parameter>, (), (), DefaultStack>>,
    parameter: Option<Parameter>,
    stack_bytes: usize,
    kind: PhantomData<(&'a (), A, T)>,
}

/// Makes generators.
#[derive(Debug)]
pub struct Gn<A>(PhantomData<A>);

#[expect(clippy::new_ret_no_self, reason = "loom calls it so")]
impl Gn<Parameter> {
    /// Makes one with a stack of 32 KiB.
    pub fn new(body: impl FnOnce() + 'static) -> Generator<'static, Parameter, ()> {
        Self::new_opt(stacks::DEFAULT_BYTES / size_of::<usize>(), body)
    }

    /// Makes one with a stack of `words` machine words.
    ///
    /// # Panics
    ///
    /// If the system has no memory for the stack.
    pub fn new_opt(words: usize, body: impl FnOnce() + 'static) -> Generator<'static, Parameter, ()> {
        let stack_bytes = words * size_of::<usize>();
        let coroutine = Coroutine::with_stack(stacks::take(stack_bytes), |yielder: &Yielder, _| {
            CURRENT.set(yielder);
            body();
        });
        Generator {
            coroutine: Some(coroutine),
            parameter: None,
            stack_bytes,
            kind: PhantomData,
        }
    }
}

impl Generator<'_, Parameter, ()> {
    /// Runs up to the next yield or the end; `None` if it had ended before.
    ///
    /// # Panics
    ///
    /// With the body's panic.
    pub fn resume(&mut self) -> Option<()> {
        let _outer = RestoreCurrent(CURRENT.get());
        let coroutine = self.coroutine.as_mut().filter(|coroutine| !coroutine.done())?;
        match coroutine.resume(self.parameter.take()) {
            CoroutineResult::Yield(()) | CoroutineResult::Return(()) => Some(()),
        }
    }

    /// Sets what [`yield_`] returns at the next [`resume`](Self::resume).
    pub fn set_para(&mut self, parameter: Parameter) {
        self.parameter = Some(parameter);
    }

    /// Returns whether the body has returned.
    pub fn is_done(&self) -> bool {
        self.coroutine.as_ref().is_none_or(Coroutine::done)
    }
}

impl<A, T> Drop for Generator<'_, A, T> {
    fn drop(&mut self) {
        match self.coroutine.take() {
            Some(coroutine) if coroutine.done() => stacks::put(self.stack_bytes, coroutine.into_stack()),
            // A failed model: unwinding its other threads inside a panic would abort the process.
            Some(coroutine) if thread::panicking() => mem::forget(coroutine),
            unfinished => drop(unfinished),
        }
    }
}

impl<A, T> fmt::Debug for Generator<'_, A, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Generator").finish_non_exhaustive()
    }
}

/// Suspends the running generator until its next `resume`, and returns that one's parameter.
///
/// # Panics
///
/// Outside of a generator.
pub fn yield_((): ()) -> Option<Parameter> {
    let current = CURRENT.get();
    assert!(!current.is_null(), "yield_ outside of a generator");
    // SAFETY: a generator's body sets CURRENT to its yielder, which lives as long as the body runs,
    // when it begins and each time it goes on. `resume` puts the outer value back when the body
    // suspends, returns or panics. So a pointer here is of the body that calls.
    let parameter = unsafe { &*current }.suspend(());
    CURRENT.set(current);
    parameter
}

/// Suspends the running generator.
///
/// # Panics
///
/// Outside of a generator.
pub fn yield_with((): ()) {
    drop(yield_(()));
}

/// Returns from a body.
#[macro_export]
macro_rules! done {
    () => {
        return
    };
}

struct RestoreCurrent(*const Yielder);

impl Drop for RestoreCurrent {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::rc::Rc;

    use super::*;

    /// As loom starts one: up to the yield that takes the parameter.
    fn started(body: impl FnOnce() + 'static) -> Generator<'static, Parameter, ()> {
        let mut generator = Gn::new(|| {
            let parameter = yield_(()).expect("a resume without a parameter");
            parameter.expect("an empty parameter")();
            done!();
        });
        generator.resume();
        generator.set_para(Some(Box::new(body)));
        generator
    }

    #[test]
    fn generators_take_turns_and_nest() {
        let written = Rc::new(Cell::new(0));
        let digit = {
            let written = written.clone();
            move |digit| written.set(written.get() * 10 + digit)
        };
        let write = digit.clone();
        let mut first = started(move || {
            write(1);
            let inside = write.clone();
            let mut inner = started(move || {
                inside(2);
                yield_with(());
                inside(3);
            });
            inner.resume();
            yield_with(());
            inner.resume();
            assert!(inner.is_done());
            write(4);
        });
        let mut second = started(move || digit(5));
        first.resume();
        second.resume();
        first.resume();
        assert_eq!(written.get(), 12_534);
        assert!(first.is_done() && second.is_done());
        assert_eq!(first.resume(), None);
    }

    #[test]
    fn a_panic_in_a_body_comes_out_of_resume_and_leaves_no_current_generator() {
        let mut broken = started(|| panic!("in the body"));
        assert!(catch_unwind(AssertUnwindSafe(|| broken.resume())).is_err());
        assert!(broken.is_done());
        assert!(catch_unwind(|| yield_with(())).is_err(), "outside of a generator");
    }

    #[test]
    fn a_suspended_generator_drops_its_values_when_it_is_dropped() {
        let value = Rc::new(());
        let held = value.clone();
        let mut suspended = started(move || {
            let _held = held;
            yield_with(());
        });
        suspended.resume();
        assert_eq!(Rc::strong_count(&value), 2);
        drop(suspended);
        assert_eq!(Rc::strong_count(&value), 1);
    }

    #[test]
    fn a_finished_generator_leaves_its_stack_to_the_next() {
        let address = || {
            let found = Rc::new(Cell::new(0));
            let local = found.clone();
            started(move || local.set(&raw const local as usize)).resume();
            found.get()
        };
        assert_eq!(address(), address());
        let all: Vec<_> = (0..40).map(|_| started(|| ())).collect();
        drop(all);
        assert_eq!(stacks::kept(), 0, "unfinished generators keep their stacks");
        let mut all: Vec<_> = (0..40).map(|_| started(|| ())).collect();
        all.iter_mut()
            .for_each(|generator| assert!(generator.resume().is_some()));
        drop(all);
        assert_eq!(stacks::kept(), 16);
    }
}
