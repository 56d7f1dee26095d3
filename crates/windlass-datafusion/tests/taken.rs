//! Another part of the program has set a tracer. It stays set, so this test is a program.

use std::any::Any;
use std::future::Future;
use std::pin::Pin;

use datafusion_common_runtime::{JoinSetTracer, set_join_set_tracer};
use pools::Pools;
use windlass_datafusion::{HookTaken, Windlass};

struct Nothing;

impl JoinSetTracer for Nothing {
    fn trace_future(
        &self,
        future: Pin<Box<dyn Future<Output = Box<dyn Any + Send>> + Send>>,
    ) -> Pin<Box<dyn Future<Output = Box<dyn Any + Send>> + Send>> {
        future
    }

    fn trace_block(
        &self,
        block: Box<dyn FnOnce() -> Box<dyn Any + Send> + Send>,
    ) -> Box<dyn FnOnce() -> Box<dyn Any + Send> + Send> {
        block
    }
}

#[test]
fn a_hook_that_is_taken_is_an_error_that_says_what_to_do() {
    set_join_set_tracer(&Nothing).expect("the first");
    let pools = || Pools::builder().cpu_threads(1).build().expect("in range");
    for _ in 0..2 {
        let taken = Windlass::install(pools()).expect_err("taken");
        assert_eq!(taken, HookTaken::ByAnother);
        assert!(
            taken.to_string().contains("`Windlass::install_around`"),
            "{taken}"
        );
    }
    let taken = Windlass::install_around(pools(), Nothing).expect_err("taken");
    assert_eq!(taken, HookTaken::ByAnother);
}
