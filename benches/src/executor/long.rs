//! Tasks of milliseconds: whether all cores work until the end, and whether a long task hides
//! others behind it.

use crate::burn::{STEPS_1_MS, burn};
use crate::contender::Contender;
use crate::pool::{self, Ours};
use crate::target::{Of, Target};
use crate::workload::{Column, Workload};

/// The task spawns its children first.
#[derive(Clone, Copy)]
struct Task {
    seed: u32,
    children: u32,
    steps: u64,
}

impl Task {
    fn of_ms(seed: u32, ms: f64) -> Self {
        Self {
            seed,
            children: 0,
            steps: (ms * STEPS_1_MS as f64) as u64,
        }
    }

    /// Each child takes one millisecond.
    fn with_children(children: u32, ms: f64) -> Self {
        Self {
            children,
            ..Self::of_ms(u32::MAX, ms)
        }
    }

    fn run(self, spawn: &mut dyn FnMut(Self)) -> u64 {
        for seed in 0..self.children {
            spawn(Self::of_ms(seed, 1.0));
        }
        burn(self.seed.into(), self.steps)
    }
}

pub(super) fn workloads() -> Vec<Workload> {
    vec![
        workload(
            "long task hides 64",
            "One task spawns 64 tasks of 1 ms and then computes 64 ms itself.",
            vec![Task::with_children(64, 64.0)],
            1.1,
        ),
        workload(
            "long task, late helper",
            "A task of 32 ms keeps one worker busy; on the other a task spawns 64 tasks of 1 ms and \
             then computes 64 ms, so that the first worker turns idle in the middle of the long \
             task.",
            vec![Task::of_ms(1, 32.0), Task::with_children(64, 64.0)],
            1.1,
        ),
        workload(
            "tasks of 1 ms",
            "64 tasks of 1 ms from outside at once.",
            (0..64).map(|seed| Task::of_ms(seed, 1.0)).collect(),
            1.05,
        ),
        workload(
            "tasks of 10 ms",
            "12 tasks of 10 ms from outside at once.",
            (0..12).map(|seed| Task::of_ms(seed, 10.0)).collect(),
            1.05,
        ),
        workload(
            "heavy-tailed tasks",
            "256 tasks from outside at once, most of them of 0.1 ms and a few of up to 8 ms \
             (Pareto, α = 1), in an order by chance that is the same for all.",
            heavy_tailed(256),
            1.05,
        ),
    ]
}

/// Pareto with α = 1 from 0.1 ms, cut at 8 ms: 0.1 / u for u spread evenly over 0 … 1, in the order
/// of a multiplicative hash.
fn heavy_tailed(tasks: u32) -> Vec<Task> {
    let mut order: Vec<u32> = (0..tasks).collect();
    order.sort_by_key(|n| n.wrapping_mul(0x9e37_79b1));
    let task = |n: u32| {
        let u = (f64::from(n) + 0.5) / f64::from(tasks);
        Task::of_ms(n, (0.1 / u).min(8.0))
    };
    order.into_iter().map(task).collect()
}

fn workload(name: &str, story: &str, tasks: Vec<Task>, aim: f64) -> Workload {
    let all = with_children(&tasks);
    let sum: u64 = all.iter().map(|task| task.steps).sum();
    let longest = all.iter().map(|task| task.steps).max().unwrap_or_default();
    let ideal = (sum as f64 / crate::THREADS as f64).max(longest as f64) / sum as f64;
    let count = all.len() as u64;
    let serial = move || {
        all.iter()
            .map(|task| burn(task.seed.into(), task.steps))
            .fold(0, u64::wrapping_add)
    };
    let answer = serial.clone();

    let work = |task: Task, spawn: &mut dyn FnMut(Task)| task.run(spawn);
    let mut rows = pool::rows(&[Ours::plain()], work, move |pool| {
        pool.spawn_batch(tasks.clone());
        pool.wait(count)
    });
    rows.push(Contender::serial(serial));
    Workload::new(
        name,
        format!("{story} The ideal is max(sum / 2, longest), {ideal:.3} × serial."),
    )
    .columns([Column::ms_per("makespan, ms")])
    .cold()
    .rounds_max(9)
    .answer(answer)
    .rows(rows)
    .targets([Target::at_most(
        aim,
        Of::Share {
            row: "serial",
            times: ideal,
            called: "the ideal",
        },
    )])
}

fn with_children(tasks: &[Task]) -> Vec<Task> {
    let mut all = tasks.to_vec();
    for task in tasks {
        for seed in 0..task.children {
            all.push(Task::of_ms(seed, 1.0));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heavy_tail_is_heavy_and_no_task_is_half_of_all() {
        let tasks = heavy_tailed(256);
        let sum: u64 = tasks.iter().map(|task| task.steps).sum();
        let mut steps: Vec<u64> = tasks.iter().map(|task| task.steps).collect();
        steps.sort_unstable_by(|a, b| b.cmp(a));
        let top: u64 = steps[..25].iter().sum();
        assert!(
            top > sum / 2,
            "a tenth of the tasks is more than half of the work"
        );
        assert!(steps[0] < sum / 8);
    }
}
