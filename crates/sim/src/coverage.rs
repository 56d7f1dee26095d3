//! Coverage points: rare situations, counted to show that a swarm reached them.

use std::fmt;

macro_rules! coverage_points {
    ($($(#[doc = $doc:literal])* $point:ident = $name:literal,)+) => {
        /// A situation worth reaching.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(usize)]
        pub enum CoveragePoint {
            $(#[doc = $name] $(#[doc = $doc])* $point,)+
        }

        impl CoveragePoint {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$point,)+];

            /// Its name in tables.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$point => $name,)+ }
            }
        }
    };
}

coverage_points! {
    UnparkedBeforeParking = "unparked before parking",
    UnparkedTwice = "unparked twice",
    SpuriousWake = "spurious wake",
    TimedOut = "park timed out",
    Retry = "contended steal",
    BatchStolen = "batch stolen",
    RunTaken = "run taken from the injector",
    VictimDrained = "victim drained under a thief",
    FoundInLastLook = "work found in the last look",
    OwnedWake = "deregistering worker was chosen",
    SleeperContended = "sleeper contended",
    SleepWordContended = "sleep word contended",
    StateWordContended = "state word contended",
    BorrowedWhileClosed = "borrowed while closed",
    Refused = "task refused",
    BatchRefused = "batch refused",
    /// The gate closed before the accepted producer had pushed.
    ClosedOverAccepted = "closed over an accepted spawn",
    HandedBack = "task handed back",
    TaskPanicked = "task panicked",
    SignalledBeforeWaiting = "signalled before waiting",
    TicketFiredBeforeWaiting = "ticket fired before waiting",
    PickCompared = "pick of the heaviest compared",
    JobRefusedFull = "job refused, full",
    JobRefusedClosed = "job refused, closed",
    /// Accepted during a shutdown, and taken back.
    JobStoppedAtTheDoor = "job stopped at the door",
    JobCompleted = "job completed",
    JobFailed = "job failed",
    JobCancelled = "job cancelled",
    JobLate = "job past its deadline",
    JobHandedBack = "job handed back",
    TaskKept = "task kept private",
    RanNext = "returned task ran next",
    NextSpawned = "returned task spawned, as a tick was due",
    ExposedToSearcher = "private, exposed to a searcher",
    ExposedToSleeper = "private, exposed to a sleeper",
    ExposedLong = "private, exposed as tasks are long",
    ExposedInjected = "private, exposed through the injector",
    /// A worker kept more tasks than its buffer holds.
    InReserve = "private, kept in reserve",
    RunReturned = "private, rest of a run returned to the injector",
    Published = "private, published by the task",
    PrivateHandedBack = "private, handed back",
    PanickedOverPrivate = "private, left by a panic",
    ChangeExamined = "private, change of idle workers examined",
    BurstOutlastsSpinning = "burst outlasts spinning",
    BeganAfterEnd = "worker began after the end",
    PanicIsolated = "panic isolated",
    HookPanicked = "hook panicked",
    /// The hook panicked over a task that had not started.
    HookDroppedTask = "hook dropped a task",
    RefusedFull = "task refused, count full",
    BorrowedBeyondMax = "borrowed beyond the producers' max",
    ClosedOverWork = "closed over work",
    AbortedOverWork = "aborted over work",
    ClosedOverSleepy = "closed over a worker falling asleep",
    AdmittedAtLimit = "job admitted at the limit",
    ReserveTurn = "reserve turn of a single worker",
    /// A reserve worker found nothing heavy, and took a one-slot job.
    ReserveFellThrough = "reserve role fell through",
    SingleTaken = "single taken",
    YoungBeforeOld = "young job before an old one",
    OldInTurn = "old job in its turn",
    ReserveTookYoung = "reserve role, young job",
    OldStay = "stay in an old job",
    GaveWay = "old job left for a young one",
    QuantumOver = "quantum over",
    PickTied = "pick among equally heavy jobs",
    ServiceCompared = "pick of the least served compared",
    StageWithoutSlots = "stage without slots",
    /// Two workers ran the last slots of a stage, and neither had completed them.
    TwoFinishers = "two finishers race",
    StagesSideBySide = "stages side by side",
    SeveralClaimed = "several slots claimed at once",
    SlotsGivenBack = "claimed slots given back",
    SlotsGivenUp = "claimed slots given up",
    CancelledOverClaimed = "cancelled over claimed slots",
    EndedByCanceller = "last finisher is a canceller",
    LentThreadRan = "lent thread ran slots",
    LentThreadSlept = "lent thread slept",
    LentThreadWoken = "lent thread woken for more",
    EndedByLentThread = "last finisher is a lent thread",
    TwoThreadsLent = "two threads lent to one job",
    NestAdmitted = "slot ran a job of its own",
    NestByHand = "slot ran a job by hand, full",
    NestByHandInDrain = "slot ran a job by hand, closed",
    TaskWokenParked = "parked task woken",
    TaskWokenInTurn = "task woken in its turn",
    TaskWokenReady = "ready task woken",
    TaskWokenOver = "task woken that was over",
    TaskAddedInTurn = "task added by a task",
    /// Its job accepted no more tasks.
    TaskGivenBack = "task not taken",
    TaskCancelledParked = "parked task cancelled",
    TaskCancelledInTurn = "task cancelled in its turn",
    ClosedOverParked = "closed over parked tasks",
    ClosedOverTurn = "closed over a turn",
    EndedByHandle = "ended by the drop of its handle",
    LentThreadRanTurn = "lent thread ran a turn",
    SpareTold = "spare thread told to watch",
    SpareToldItself = "spare thread told by itself",
    WatcherWoken = "watching thread woken",
    SpareStoodIn = "spare thread stood in",
    SpareWentOn = "spare thread went from job to job",
    TwoStoodIn = "two spare threads stood in",
    /// What it left had a worker called.
    SpareHandedOn = "spare thread handed on",
    SpareNested = "spare thread's slot ran a job",
    SpareInLongSlot = "spare thread in a long slot",
    WaitedForIdle = "waited for idleness",
}

/// How often each point was hit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coverage([u64; CoveragePoint::ALL.len()]);

impl Default for Coverage {
    fn default() -> Self {
        Self([0; CoveragePoint::ALL.len()])
    }
}

impl Coverage {
    pub(crate) fn hit(&mut self, point: CoveragePoint) {
        self.0[point as usize] += 1;
    }

    /// How often `point` was hit.
    #[must_use]
    pub fn count(&self, point: CoveragePoint) -> u64 {
        self.0[point as usize]
    }

    /// Points that were hit at least once.
    #[must_use]
    pub fn hit_count(&self) -> usize {
        self.0.iter().filter(|&&count| count > 0).count()
    }

    /// Adds those of another run.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine += theirs;
        }
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for &point in CoveragePoint::ALL {
            writeln!(f, "  {:<34} {:>12}", point.name(), self.count(point))?;
        }
        Ok(())
    }
}
