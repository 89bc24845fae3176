//! Programs as plain data.

use serde::{Deserialize, Serialize};

use super::fault::Fault;

/// Tasks of a store.
pub const TASKS: u64 = 3;

/// A program: lives of one store, one after another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    pub seed: u64,
    pub schedule: Schedule,
    /// Small caches, so that blocks are written and read back.
    pub tiny: bool,
    pub lives: Vec<Life>,
}

/// The order of the steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Schedule {
    /// One thread. The seed replays everything.
    Sequential,
    /// A number of threads, each with its share of the steps. The seed replays the program only.
    Threads(u8),
}

/// From one opening of a store to the next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Life {
    /// The store is opened with the reducer [`super::count::Count`].
    pub counted: bool,
    /// A supervisor opens the store, and appends go through it where they can.
    pub supervised: bool,
    pub steps: Vec<Step>,
    pub end: End,
}

/// The end of a life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum End {
    /// The store is closed.
    Close,
    /// A kill: the store continues as a copy of its files at this moment.
    Kill,
    /// Packs are damaged, and the store is compacted. The last life only.
    Damage,
    /// The store is closed, and a copy of it repaired.
    Repair,
    /// One bit of a file that has another copy is flipped, and the store repaired.
    Flip(u32),
    /// Sled is removed.
    NoSled,
    /// All of the life is in a process of its own, to which this is done.
    Fault(Fault),
}

/// One operation on one task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    pub task: u8,
    pub op: Op,
}

/// One body: see [`crate::bodies::body`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    pub kind: u8,
    pub salt: u32,
    pub size: u32,
}

/// The lineage that is worked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Who {
    /// The active one, through the task.
    Active,
    /// One by name.
    Named(u8),
}

/// The point that a task is restored to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum To {
    Mark(u16),
    Offset(u8, u16),
}

/// Appends that must be refused and leave nothing behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Bad {
    /// A good body, then bytes that are no body of their kind.
    HalfUnknown,
    /// Bytes that are no body of their kind.
    Unknown,
    /// A checkpoint by hand, with a label that is too long.
    LongLabel,
    LongKey,
    Empty,
    WrongHead,
    MarkPastHead,
    LongMark,
    ByHand,
}

/// Ways to follow events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum How {
    Subscription,
    Follower,
    Iterator,
}

/// A report of a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum At {
    /// The report of this number.
    Number(u8),
    /// The first about the fresh sled folder. There is one where the store has some hundred
    /// commits.
    Sled,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Op {
    Start,
    Append {
        who: Who,
        bodies: Vec<Spec>,
        key: Option<u16>,
        /// The right head is expected.
        expect: bool,
        mark: bool,
        /// As a ticket.
        submit: bool,
    },
    /// A number of appends, each under a key of its own.
    Keys(u16),
    /// One append, each event under a key of its own, mostly with the same content.
    Each {
        who: Who,
        keys: Vec<(u8, bool)>,
    },
    /// A branch together with its first events.
    BranchWith {
        to: To,
        bodies: Vec<Spec>,
        mark: bool,
    },
    Refused(Who, Bad),
    Mark {
        who: Who,
        at: Option<u16>,
    },
    Restore(To),
    Branch(To),
    Undo,
    Switch(Who),
    Redo,
    Pin(u16),
    RemoveMark(u16),
    Cleanup {
        all: bool,
        keep: u8,
        undo: u8,
        marks_only: bool,
        /// Keeps those checkpoints of the task whose bit is set, instead of a number.
        chosen: Option<u16>,
        /// Done while the cleanup folds a state.
        beside: Vec<Step>,
    },
    /// So much is appended that states are stored, and it is waited for.
    Snapshots,
    /// Begins to follow a lineage or the task.
    Watch {
        who: Who,
        from: u16,
        how: How,
    },
    /// Reads on with one of those that follow.
    Look(u8),
    Erase(u8, u16),
    Delete,
    /// Compacts; the other steps are done in its report.
    Compact {
        at: At,
        beside: Vec<Step>,
    },
    State(To),
    /// Exports the task, and imports it: into a store of its own, or as a copy.
    Carry {
        copy: bool,
    },
    /// Changes files of the task's folder, and captures them.
    Files(u32),
    /// Takes the files back to a capture.
    Rollback(u16),
    /// Steps of a run.
    Run(u32),
    /// A request that a hook refuses.
    Hooked,
    /// A restore with a participant.
    Part {
        n: u16,
        fails: bool,
    },
    /// Appends a text that nothing else has.
    Secret(u32),
    /// Attaches data to a checkpoint that is never marked: cleanups append it again.
    Attach {
        alias: u8,
        index: i8,
        salt: u16,
    },
    /// Takes an anchor, against which the store is verified from then on.
    Anchor,
    /// Marks a checkpoint with an alias that data may be attached to.
    Alias(u8),
    /// A restore, branch, undo, switch or redo under a key of its own.
    Once(u16),
    /// Repeats those of a task under their keys.
    Again(u16),
    /// The clock is set forward by a number of hours, or back.
    Clock(i16),
    Drain,
    Check,
}
