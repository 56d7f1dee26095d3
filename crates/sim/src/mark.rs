//! Coverage marks: rare situations, counted, so that a swarm can show that it reached them.

use std::fmt;

macro_rules! marks {
    ($($(#[doc = $doc:literal])+ $mark:ident = $name:literal,)+) => {
        /// A situation worth reaching.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(usize)]
        pub enum Mark {
            $($(#[doc = $doc])+ $mark,)+
        }

        impl Mark {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$mark,)+];

            /// Its name in tables.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$mark => $name,)+ }
            }
        }
    };
}

marks! {
    /// A worker was unparked before it parked.
    UnparkedBeforeParking = "unparked before parking",
    /// A worker that had not parked was unparked a second time.
    UnparkedTwice = "unparked twice",
    /// A park returned for no reason.
    SpuriousWake = "spurious wake",
    /// A park timed out.
    TimedOut = "park timed out",
    /// A look into a queue came back contended.
    Retry = "contended steal",
    /// A thief brought more than one task home.
    BatchStolen = "batch stolen",
    /// A worker took more than one task from the injector.
    RunTaken = "run taken from the injector",
    /// A victim had lost its tasks before a thief had taken all that it meant to.
    VictimDrained = "victim drained under a thief",
    /// Work was found in the look between registering and parking.
    FoundInLastLook = "work found in the last look",
    /// A worker that deregistered itself found that a waker was first.
    OwnedWake = "deregistering worker was chosen",
    /// Two parties went for the same sleeper.
    SleeperContended = "sleeper contended",
    /// Two parties changed the sleep word at the same time.
    SleepWordContended = "sleep word contended",
    /// Two parties changed the state word at the same time.
    StateWordContended = "state word contended",
    /// A worker borrowed counts after the gate had closed.
    BorrowedWhileClosed = "borrowed while closed",
    /// A task was refused because the gate was closed.
    Refused = "task refused",
    /// A batch was refused because the gate was closed.
    BatchRefused = "batch refused",
    /// The gate closed while a producer had been let in and had not pushed.
    ClosedOverAccepted = "closed over an accepted spawn",
    /// A task was handed back instead of run.
    HandedBack = "task handed back",
    /// A task panicked.
    TaskPanicked = "task panicked",
    /// Somebody who waits had been signalled before.
    SignalledBeforeWaiting = "signalled before waiting",
    /// A ticket had fired before somebody came to wait for it.
    TicketFiredBeforeWaiting = "ticket fired before waiting",
    /// A worker that looked for the heaviest job was compared with all that it could have had.
    PickCompared = "pick of the heaviest compared",
    /// A job was refused because as many as may be were in flight.
    JobRefusedFull = "job refused, full",
    /// A job was refused because the gate was closed.
    JobRefusedClosed = "job refused, closed",
    /// A job was let in while the executor was being stopped, and taken back.
    JobStoppedAtTheDoor = "job stopped at the door",
    /// A job completed.
    JobCompleted = "job completed",
    /// A job failed or panicked.
    JobFailed = "job failed",
    /// A job was cancelled.
    JobCancelled = "job cancelled",
    /// A job ran out of time.
    JobLate = "job past its deadline",
    /// A job was handed back.
    JobHandedBack = "job handed back",
    /// A worker kept a task to itself.
    TaskKept = "task kept private",
    /// Private tasks became public, and somebody searched.
    ExposedToSearcher = "private, exposed to a searcher",
    /// Private tasks became public, and somebody slept while nobody searched.
    ExposedToSleeper = "private, exposed to a sleeper",
    /// All private tasks became public because tasks had turned out to be long.
    ExposedLong = "private, exposed as tasks are long",
    /// Private tasks became public by way of the injector.
    ExposedInjected = "private, exposed through the injector",
    /// A worker kept more tasks to itself than its buffer holds.
    InReserve = "private, kept in reserve",
    /// A task that came with others from the injector went back there.
    RunReturned = "private, rest of a run returned to the injector",
    /// A task made its worker's private tasks public.
    Published = "private, published by the task",
    /// A private task was handed back.
    PrivateHandedBack = "private, handed back",
    /// A task panicked while its worker had private tasks.
    PanickedOverPrivate = "private, left by a panic",
    /// A worker with private tasks read the clock because others had begun or ceased to search or sleep.
    ChangeExamined = "private, change of hunger examined",
    /// A worker met a storm of contended looks that outlasts its spinning.
    StormOutlastsSpinning = "storm outlasts spinning",
    /// A worker began when the executor had ended.
    BeganAfterEnd = "worker began after the end",
    /// A task's panic was handled, and its worker went on.
    PanicIsolated = "panic isolated",
    /// A hook panicked.
    HookPanicked = "hook panicked",
    /// A hook panicked over a task that had not started.
    HookDroppedTask = "hook dropped a task",
    /// A task was refused by an open gate because the count had no room.
    RefusedFull = "task refused, count full",
    /// A worker borrowed counts beyond what producers may bring the count to.
    BorrowedBeyondMax = "borrowed beyond the producers' max",
    /// The gate was closed while tasks were in flight.
    ClosedOverWork = "closed over work",
    /// The executor was aborted while tasks were in flight.
    AbortedOverWork = "aborted over work",
    /// The gate was closed while a worker stood between registering as a sleeper and parking.
    ClosedOverSleepy = "closed over a worker falling asleep",
    /// A job was let in as the last one that there is room for.
    AdmittedAtLimit = "job admitted at the limit",
    /// A single worker took a turn in the reserve role.
    ReserveTurn = "reserve turn of a single worker",
    /// A reserve worker found nothing heavy, and took a single.
    ReserveFellThrough = "reserve role fell through",
    /// A main worker took a single.
    SingleTaken = "single taken",
    /// A worker went into a young job while an old one waited.
    YoungBeforeOld = "young job before an old one",
    /// A worker went into an old job, to which it owed time.
    OldInTurn = "old job in its turn",
    /// A reserve worker took a young job, since the heaviest was old.
    ReserveTookYoung = "reserve role, young job",
    /// A worker stayed in an old job for four quanta.
    OldStay = "stay in an old job",
    /// A worker left an old job before that, when a young one had arrived.
    GaveWay = "old job left for a young one",
    /// A worker's quantum was over, and there was more to do.
    QuantumOver = "quantum over",
    /// Of two jobs equally heavy one was picked.
    PickTied = "pick among equally heavy jobs",
    /// A worker that looked for the least served job was compared with all that it could have had.
    ServiceCompared = "pick of the least served compared",
    /// A stage without slots started.
    StageWithoutSlots = "stage without slots",
    /// Two had run the last slots of a stage and not accounted for them yet.
    TwoFinishers = "two finishers race",
    /// Slots of two stages of one job ran at the same time.
    StagesSideBySide = "stages side by side",
    /// Several slots were claimed at once.
    SeveralClaimed = "several slots claimed at once",
    /// Slots that had been claimed were given back.
    SlotsGivenBack = "claimed slots given back",
    /// Slots that had been claimed were given up.
    SlotsGivenUp = "claimed slots given up",
    /// A job was cancelled of which slots were running.
    CancelledOverClaimed = "cancelled over claimed slots",
    /// The last finisher of a job was one who cancelled it.
    EndedByCanceller = "last finisher is a canceller",
    /// A thread that was lent to a job ran slots of it.
    LentThreadRan = "lent thread ran slots",
    /// A lent thread found nothing to claim, and slept.
    LentThreadSlept = "lent thread slept",
    /// A lent thread was woken before its job had ended.
    LentThreadWoken = "lent thread woken for more",
    /// The last finisher of a job was a lent thread.
    EndedByLentThread = "last finisher is a lent thread",
    /// A second thread was lent to a job.
    TwoThreadsLent = "two threads lent to one job",
    /// A slot handed over a job of its own, and waited for it.
    NestAdmitted = "slot ran a job of its own",
    /// A slot ran a job of its own by hand, since there was no room for it.
    NestByHand = "slot ran a job by hand, full",
    /// A slot ran a job of its own by hand, since the gate was closed.
    NestByHandInDrain = "slot ran a job by hand, closed",
    /// A parked task was woken.
    TaskWokenParked = "parked task woken",
    /// A task was woken during its turn.
    TaskWokenInTurn = "task woken in its turn",
    /// A task was woken that was ready already.
    TaskWokenReady = "ready task woken",
    /// A task was woken that was over.
    TaskWokenOver = "task woken that was over",
    /// A task was added in a turn of another.
    TaskAddedInTurn = "task added by a task",
    /// A task was added that its job took no more.
    TaskGivenBack = "task not taken",
    /// A task was cancelled while it was parked.
    TaskCancelledParked = "parked task cancelled",
    /// A task was cancelled during its turn.
    TaskCancelledInTurn = "task cancelled in its turn",
    /// A job ended over tasks that were parked.
    ClosedOverParked = "closed over parked tasks",
    /// A job was closed during a turn of a task that would have gone on.
    ClosedOverTurn = "closed over a turn",
    /// The drop of a job's handle ended the job.
    EndedByHandle = "ended by the drop of its handle",
    /// A lent thread ran a turn.
    LentThreadRanTurn = "lent thread ran a turn",
    /// A spare thread was told to watch.
    SpareTold = "spare thread told to watch",
    /// A spare thread told itself, when it looked once more before it parked.
    SpareToldItself = "spare thread told by itself",
    /// A spare thread that watches was woken, since the time to stand in had come.
    WatcherWoken = "watching thread woken",
    /// A spare thread went into a job.
    SpareStoodIn = "spare thread stood in",
    /// A spare thread went into another job, without a sleep.
    SpareWentOn = "spare thread went from job to job",
    /// Two spare threads were in jobs.
    TwoStoodIn = "two spare threads stood in",
    /// What a spare thread left had a worker called up.
    SpareHandedOn = "spare thread handed on",
    /// A slot of a spare thread ran a job of its own.
    SpareNested = "spare thread's slot ran a job",
    /// A spare thread was in a long slot.
    SpareInLongSlot = "spare thread in a long slot",
    /// Somebody waited for idleness while work was in flight.
    WaitedForIdle = "waited for idleness",
}

/// How often each mark was hit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marks([u64; Mark::ALL.len()]);

impl Default for Marks {
    fn default() -> Self {
        Self([0; Mark::ALL.len()])
    }
}

impl Marks {
    pub(crate) fn hit(&mut self, mark: Mark) {
        self.0[mark as usize] += 1;
    }

    /// How often `mark` was hit.
    #[must_use]
    pub fn count(&self, mark: Mark) -> u64 {
        self.0[mark as usize]
    }

    /// Marks that were hit at least once.
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

impl fmt::Display for Marks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for &mark in Mark::ALL {
            writeln!(f, "  {:<34} {:>12}", mark.name(), self.count(mark))?;
        }
        Ok(())
    }
}
