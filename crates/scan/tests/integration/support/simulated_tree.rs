//! A machine that walks a tree in the simulator, from the root to the summary.

use std::io;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use scan::Sink;
use scan::engine::Engine;
use scan::machine::{FileTask, Machine, SourceCursor, Task};
use scan::report::Summary;
use sim::{Failure, Report, Simulation};

use super::sim_files::SimFiles;

/// What the simulator tells of the run of a machine.
pub(crate) type Ran<E, K> = Report<Task<SimFiles, <K as Sink>::Output>, scan::machine::LocalScratch<E>>;

/// Runs `machine` over the tree below `root`. `before` and `after` are called around each task.
pub(crate) fn run<E: Engine + 'static, K: Sink + 'static>(
    simulation: Simulation,
    workers: usize,
    machine: &Rc<Machine<SimFiles, E, K>>,
    root: &str,
    before: impl Fn() + 'static,
    after: impl Fn() + 'static,
) -> Result<(Ran<E, K>, io::Result<Summary>), Failure> {
    let root = FileTask {
        file_id: 0,
        path: PathBuf::from(root),
    };
    let source = Arc::new(SourceCursor::new(Box::new(std::iter::once(root))));
    let runner = {
        let machine = Rc::clone(machine);
        move |task, cx: &mut sim::SimCtx<'_, _, _>| {
            before();
            machine.run(task, cx);
            after();
        }
    };
    let scratch = {
        let machine = Rc::clone(machine);
        move |_worker| machine.scratch()
    };
    let mut report = simulation
        .workers(workers)
        .run([Task::Source(source)], scratch, runner)?;
    let summary = machine.end(std::mem::take(&mut report.scratches));
    Ok((report, summary))
}
