//! The time of slots, and how far along their paths jobs have come.

use pipeline_exec::policy::PipelineEvent;
use pipeline_exec::{Role, policy::JobHandle};

use super::{Claimed, Hub, PipeEnv};
use crate::profile::Reached;

impl Hub {
    fn stage_began(&self, job: JobHandle, stage: usize) -> Reached {
        let Some(body) = self.peek(job) else {
            return Reached::default();
        };
        let graph = body.stages();
        let mut stages = self.stages.borrow_mut();
        let ended = stages.entry(job.seq).or_default();
        ended.resize(graph.len(), None);
        let began = |ended: &[Option<Reached>], stage: usize| {
            let before = graph.before(stage).iter().filter_map(|&before| ended[before]);
            before.fold(Reached::default(), Reached::max)
        };
        // An earlier stage without slots ends where those before it end.
        for earlier in 0..stage {
            if ended[earlier].is_none() {
                ended[earlier] = Some(began(ended, earlier));
            }
        }
        began(ended, stage)
    }

    fn slot_ended(&self, job: JobHandle, stage: usize, reached: Reached) {
        let mut stages = self.stages.borrow_mut();
        if let Some(ended) = stages.get_mut(&job.seq).and_then(|ended| ended.get_mut(stage)) {
            *ended = Some(ended.unwrap_or_default().max(reached));
        }
    }
}

impl PipeEnv<'_, '_> {
    /// Lets a slot take its time, or what its turn `asked` for.
    pub(super) fn time(&self, event: PipelineEvent<'_>, asked: Option<u64>) {
        let handle = &self.ports.handle;
        match event {
            PipelineEvent::SlotRan {
                job,
                stage,
                slot,
                role,
                ..
            } => {
                handle.with(|world| self.hub.slot_began(world, handle.actor(), role));
                let began = self.hub.stage_began(job, stage);
                handle.with(|world| world.slot_began(handle.actor(), began));
                let spec = self.hub.peek(job).map(|body| body.spec());
                let slot_ns = spec.map_or(asked.unwrap_or(0), |spec| {
                    let ns = asked.unwrap_or_else(|| (self.hub.slot_ns)(&spec, stage, slot));
                    handle.with(|world| self.hub.slot_takes(world, handle.actor(), &spec, ns))
                });
                let is_young = self.hub.is_young(job);
                self.hub
                    .latency
                    .borrow_mut()
                    .slot_began(job, is_young, self.clock_ns(), slot_ns);
                if slot_ns > 0 {
                    handle.with(|world| self.hub.in_slot(world, handle.actor(), true));
                    handle.work(slot_ns);
                    handle.with(|world| self.hub.in_slot(world, handle.actor(), false));
                }
                self.hub.latency.borrow_mut().slot_ended(job, self.clock_ns());
                let reached = handle.with(|world| world.slot_ended(handle.actor()));
                self.hub.slot_ended(job, stage, reached);
            }
            PipelineEvent::Submitted { job } => {
                let used_up = self.hub.is_any_allowance_used_up();
                let is_young = |job| self.hub.is_young(job);
                let mut latency = self.hub.latency.borrow_mut();
                latency.submitted(job, handle.actor(), self.clock_ns(), is_young, used_up);
                latency.aged(self.clock_ns(), is_young);
            }
            PipelineEvent::Ended { job, .. } => {
                self.hub.stages.borrow_mut().remove(&job.seq);
                let mut latency = self.hub.latency.borrow_mut();
                latency.ended(job, self.clock_ns());
                latency.aged(self.clock_ns(), |job| self.hub.is_young(job));
            }
            PipelineEvent::Claimed {
                job,
                stage,
                first,
                slots,
                worker,
                role,
            } => {
                if let Some(claims) = &self.hub.claims {
                    claims.borrow_mut().push(Claimed {
                        at_ns: self.clock_ns(),
                        worker,
                        role,
                        job: job.seq,
                        stage,
                        slots: first..first + slots,
                    });
                }
            }
            PipelineEvent::Entered {
                job, worker, role, ..
            } => {
                let mut latency = self.hub.latency.borrow_mut();
                if role != Role::Lent {
                    latency.entered(job);
                }
                if role == Role::Spare {
                    latency.spare_entered(worker, job);
                }
            }
            PipelineEvent::Left {
                job,
                worker,
                role,
                since_ns,
                at_ns,
                claims,
                ..
            } => {
                let mut latency = self.hub.latency.borrow_mut();
                if role != Role::Lent {
                    let ns = if claims > 0 { at_ns - since_ns } else { 0 };
                    latency.left(job, ns);
                    latency.aged(self.clock_ns(), |job| self.hub.is_young(job));
                }
                if role == Role::Spare {
                    latency.spare_left(worker);
                }
            }
            PipelineEvent::StageStarted { .. }
            | PipelineEvent::Inner(_)
            | PipelineEvent::Started { .. }
            | PipelineEvent::Failed { .. }
            | PipelineEvent::StageOver { .. } => {}
        }
    }
}
