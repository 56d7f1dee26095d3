//! A scan among others, each of what another one has ended with. It is made at that end.

use std::sync::{Arc, OnceLock};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use pipeline_exec::{Stage as _, StepCx, StepError};

use super::collected::Collected;
use super::compiled::CompiledScan;
use super::groups::{Input, Role, Shard};
use super::groups_table::GroupsTable;
use super::kept_groups::KeptGroups;
use super::stage::ScanStage;
use crate::error::ExecError;
use crate::memory::{Reservation, copies_bytes};
use crate::plan::SelectPlan;
use crate::table::MemoryTable;

pub(super) struct Level {
    plan: SelectPlan,
    role: Role,
    source: Source,
    made: OnceLock<Made>,
}

/// What the scan reads.
pub(super) enum Source {
    Table,
    /// The results of these levels, one after another.
    Results(Vec<Arc<Level>>),
    /// A level's groups as rows.
    Groups {
        of: Arc<Level>,
        are_apart: bool,
    },
    /// A level's groups with their states, grouped by some of their keys.
    States {
        of: Arc<Level>,
        keys: Vec<usize>,
        are_apart: bool,
    },
}

struct Made {
    scan: Arc<ScanStage>,
    /// The states of each slot.
    groups: Vec<Arc<KeptGroups>>,
    /// For rows of results.
    _rows: Reservation,
}

impl Level {
    /// The table of `plan` has the columns of what `source` gives, but no rows.
    pub(super) fn new(plan: SelectPlan, role: Role, source: Source) -> Arc<Self> {
        let made = match source {
            Source::Table => OnceLock::from(Made::compiled(CompiledScan::new(plan.clone(), role))),
            _ => OnceLock::new(),
        };
        Arc::new(Self {
            plan,
            role,
            source,
            made,
        })
    }

    pub(super) fn of_scan(scan: &Arc<ScanStage>) -> Arc<Self> {
        Arc::new(Self {
            plan: scan.plan.scan.clone(),
            role: Role::default(),
            source: Source::Table,
            made: OnceLock::from(Made::of(Arc::clone(scan))),
        })
    }

    pub(super) fn plan(&self) -> &SelectPlan {
        &self.plan
    }

    pub(super) fn schema(&self) -> SchemaRef {
        self.plan.schema()
    }

    pub(super) fn scan(&self) -> Result<&Arc<ScanStage>, StepError> {
        Ok(&self.made()?.scan)
    }

    /// The plan, with what was measured so far.
    pub(super) fn explain(&self) -> String {
        self.scan()
            .map_or_else(|_not_made| self.plan.to_string(), |scan| scan.explain())
    }

    fn made(&self) -> Result<&Made, StepError> {
        self.made
            .get()
            .ok_or_else(|| "the scan below has not ended".into())
    }

    /// Ends the scan below.
    pub(super) fn make(&self) -> Result<(), StepError> {
        let mut plan = self.plan.clone();
        let made = match &self.source {
            Source::Table => return Ok(()),
            Source::Results(levels) => {
                let batches = results(levels)?;
                let bytes = batches.iter().map(|batch| copies_bytes(batch.columns()));
                let bytes: usize = bytes.sum::<Result<_, _>>()?;
                let mut reservation = Reservation::of(plan.memory_pool.clone());
                // A morsel of several batches is a copy.
                reservation.grow(2 * bytes).map_err(ExecError::from)?;
                let (name, schema) = (plan.table.name(), plan.table.schema());
                let table = MemoryTable::try_new(name, schema, batches)?;
                reservation.resize(bytes).map_err(ExecError::from)?;
                plan.table = Arc::new(table);
                Made {
                    _rows: reservation,
                    ..Made::compiled(CompiledScan::new(plan, self.role))
                }
            }
            Source::Groups { of, are_apart } => {
                let below = of.scan()?;
                let schema = plan.table.schema();
                let table = GroupsTable::new(plan.table.name(), &schema, below.take_shards()?);
                let role = self.role_above(below, Some(table.firsts()), *are_apart);
                plan.table = Arc::new(table);
                Made::compiled(CompiledScan::new(plan, role))
            }
            Source::States { of, are_apart, .. } => {
                let below = of.scan()?;
                let shards = below.merging()?.shards().ok_or("a shard was not merged")?;
                let groups = shards
                    .iter()
                    .filter_map(|shard: &Arc<Shard>| shard.groups.clone());
                let groups: Vec<_> = groups.filter(|groups| !groups.is_empty()).collect();
                let role = self.role_above(below, None, *are_apart);
                let compiled = CompiledScan::of_slots(plan, groups.len(), role);
                Made {
                    groups,
                    ..Made::compiled(compiled)
                }
            }
        };
        self.made.get_or_init(|| made);
        Ok(())
    }

    /// Whether the scan is that of a table, which is made from the beginning.
    pub(super) fn reads_a_table(&self) -> bool {
        matches!(self.source, Source::Table)
    }

    fn role_above(&self, below: &ScanStage, firsts: Option<usize>, are_apart: bool) -> Role {
        let slots = below.plan.slots_of_firsts();
        let input = Input::Groups {
            firsts,
            slots,
            are_apart,
        };
        Role { input, ..self.role }
    }

    pub(super) fn run(&self, slot: usize, cx: &StepCx<'_>) -> Result<(), StepError> {
        let Made { scan, groups, .. } = self.made()?;
        let Source::States { keys, .. } = &self.source else {
            return scan.run(slot, cx);
        };
        let groups = groups[slot].grouped(scan.plan.groups().group_by(), keys)?;
        scan.leave(slot, Ok(Collected::Groups(Some(Box::new(groups)))));
        Ok(())
    }
}

impl Made {
    fn compiled(plan: CompiledScan) -> Self {
        Self::of(Arc::new(ScanStage::of(plan)))
    }

    fn of(scan: Arc<ScanStage>) -> Self {
        Self {
            scan,
            groups: Vec::new(),
            _rows: Reservation::none(),
        }
    }
}

/// Ends the levels.
pub(super) fn results(levels: &[Arc<Level>]) -> Result<Vec<RecordBatch>, StepError> {
    let mut batches = Vec::new();
    for level in levels {
        batches.extend(level.scan()?.merge()?.batches);
    }
    Ok(batches)
}
