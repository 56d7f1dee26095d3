//! On `pools` and its executor alone: async work hands over computation, computation waits for its
//! own parts, and the reverse is refused.

use std::error::Error;
use std::sync::mpsc;
use std::time::Duration;

use pipeline_exec::{Job, PipelineExecutor, step};
use pools::{CpuError, MixedError, PoolKind, Pools, WrongPool};

fn words(text: &str) -> usize {
    text.split_whitespace().count()
}

fn main() -> Result<(), Box<dyn Error>> {
    let pools = Pools::from_executor(PipelineExecutor::new(2)?);

    let inner = pools.clone();
    let counted = pools.mixed().block_on(async move {
        let text = inner.mixed().run_blocking(|| "one two three".to_owned())?.await?;
        Ok::<_, MixedError>(inner.cpu().run(move |_cx| words(&text)).await)
    })???;
    assert_eq!(counted, 3);

    let parts = pools.cpu().run(|cx| {
        let (left, right) = cx.join(|_cx| 1, |cx| cx.map(3, |n, _cx| n).map(|n| n.len()))?;
        Ok::<_, CpuError>(left + right?)
    });
    assert_eq!(parts.wait()??, 4);
    let job = Job::from_steps("steps", vec![step(|_cx| Ok(())), step(|_cx| Ok(()))]);
    assert_eq!(pools.cpu().submit(job)?.wait()?.slots, 2);

    let captured = pools.mixed();
    let refused = pools.cpu().run(move |_cx| captured.spawn(async {}).err()).wait()?;
    let wrong = WrongPool {
        from: PoolKind::Cpu,
        to: PoolKind::Mixed,
    };
    assert!(matches!(refused, Some(MixedError::WrongPool(error)) if error == wrong));

    let (send, kept) = mpsc::channel();
    pools.maintenance().spawn(move || drop(send.send("house")))?;
    assert_eq!(kept.recv()?, "house");

    let snapshot = pools.snapshot();
    let report = pools.shutdown(Duration::from_secs(60))?;
    assert!(report.is_clean(), "{report}");
    assert!(matches!(pools.cpu().run(|_cx| ()).wait(), Err(CpuError::Closed)));
    println!("pools: {}", snapshot.mixed);
    Ok(())
}
