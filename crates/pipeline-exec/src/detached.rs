//! A slot without an executor, for tests of stages and for inline execution.

use std::any::Any;
use std::time::Instant;

use executor_core::nanos;
use executor_core::ports::{Native, NativeWord};

use crate::policy::job::spec::JobSpec;
use crate::policy::job::{by_hand, nested};
use crate::report::JobEnd;
use crate::step_cx::{Nest, Role, StepCx, Watch};

impl StepCx<'static> {
    /// Makes a context without a job: worker 0, never cancelled, never asked to yield.
    ///
    /// ```
    /// use pipeline_exec::{PipelineStep, StepCx};
    ///
    /// let double_check = |cx: &StepCx<'_>| { assert!(!cx.is_cancelled()); Ok(()) };
    /// double_check.execute(&StepCx::detached()).unwrap();
    /// ```
    #[must_use]
    pub fn detached() -> Self {
        Self::new(0, Role::Main, None, &Detached)
    }
}

pub(crate) struct Detached;

impl Watch for Detached {
    fn is_cancelled(&self) -> bool {
        false
    }

    fn should_yield(&self) -> bool {
        false
    }
}

impl Nest for Detached {
    fn nest(&self, cx: &StepCx<'_>, job: &mut dyn Any) -> JobEnd {
        by_hand_here(cx, &nested::taken(job))
    }
}

pub(crate) fn by_hand_here(cx: &StepCx<'_>, spec: &JobSpec) -> JobEnd {
    let began = Instant::now();
    let now_ns = || nanos(began.elapsed());
    by_hand::run(&Native, NativeWord::new, now_ns, 1, spec, cx)
}
