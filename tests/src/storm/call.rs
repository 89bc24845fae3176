//! One step with its arguments named, and the answer to it.

use milepost::{Body, ErrorKind};
use serde::{Deserialize, Serialize};

use super::program::{Bad, Spec};
use crate::bodies;
use crate::seed::hash;

/// A target of restores.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Target {
    /// A checkpoint by its id.
    Mark(String),
    Offset(u32, u64),
}

/// A call with all that it is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Call {
    Start {
        task: String,
    },
    Append(Adding),
    /// One append, of which each event has its own key.
    Each(Vec<Adding>),
    Refused {
        task: String,
        lineage: u32,
        bad: Bad,
    },
    Mark {
        task: String,
        /// None: through the task.
        lineage: Option<u32>,
        at: Option<u64>,
    },
    Restore {
        task: String,
        to: Target,
    },
    Branch {
        task: String,
        to: Target,
    },
    /// With the first events of the branch.
    BranchWith {
        to: Target,
        adding: Adding,
    },
    Undo {
        task: String,
    },
    Switch {
        task: String,
        lineage: u32,
    },
    Redo {
        task: String,
    },
    Pin {
        task: String,
        mark: String,
        pinned: bool,
    },
    RemoveMark {
        task: String,
        mark: String,
    },
    Cleanup {
        /// None: all of them.
        task: Option<String>,
        keep: u8,
        undo: u8,
        marks_only: bool,
        /// The checkpoints that go, and no others.
        named: Option<Vec<String>>,
    },
    Erase {
        task: String,
        lineage: u32,
        offset: u64,
    },
    Delete {
        task: String,
    },
    State {
        task: String,
        to: Target,
    },
    Drain,
}

impl Call {
    /// The task it is about; none where that is all of them.
    pub fn task(&self) -> Option<&str> {
        match self {
            Self::Append(adding) | Self::BranchWith { adding, .. } => Some(&adding.task),
            Self::Each(all) => all.first().map(|adding| adding.task.as_str()),
            Self::Cleanup { task, .. } => task.as_deref(),
            Self::Drain => None,
            Self::Start { task }
            | Self::Refused { task, .. }
            | Self::Mark { task, .. }
            | Self::Restore { task, .. }
            | Self::Branch { task, .. }
            | Self::Undo { task }
            | Self::Switch { task, .. }
            | Self::Redo { task }
            | Self::Pin { task, .. }
            | Self::RemoveMark { task, .. }
            | Self::Erase { task, .. }
            | Self::Delete { task }
            | Self::State { task, .. } => Some(task),
        }
    }
}

/// An append.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Adding {
    pub task: String,
    /// None: through the task.
    pub lineage: Option<u32>,
    pub bodies: Vec<Spec>,
    pub key: Option<String>,
    pub expect: Option<u64>,
    pub mark: bool,
    pub submit: bool,
}

impl Adding {
    /// Returns `true` if it goes to the active lineage, without further conditions.
    pub fn is_plain(&self) -> bool {
        let asked = self.key.is_some() || self.expect.is_some() || self.mark || self.submit;
        self.lineage.is_none() && !asked
    }

    pub fn bodies(&self) -> Vec<Body> {
        self.bodies.iter().map(Spec::body).collect()
    }
}

impl Spec {
    pub fn body(&self) -> Body {
        bodies::body(self.kind, u64::from(self.salt), self.size as usize)
    }
}

/// Returns a fingerprint of a body.
pub fn print_of(body: &Body) -> u64 {
    let (kind, payload) = body.encode();
    hash(&payload).wrapping_mul(31) ^ u64::from(kind)
}

/// A checkpoint that was acknowledged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marked {
    pub id: String,
    pub lineage: u32,
    pub mark: u64,
    pub at: u64,
    /// A digest of the state there; none where it was not folded.
    pub state: Option<u64>,
}

/// Result of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Done {
    Unit,
    Appended {
        lineage: u32,
        first: u64,
        count: u32,
        head: u64,
        repeated: bool,
        mark: Option<Marked>,
    },
    /// The results of several events.
    Each(Vec<Done>),
    /// The branch, and the append to it.
    Branched(Box<Done>, Box<Done>),
    Marked(Marked),
    Forked {
        lineage: u32,
        parent: Option<(u32, u64)>,
        head: u64,
        epoch: u64,
        marks: Vec<Marked>,
    },
    Activated {
        lineage: u32,
        epoch: u64,
    },
    Cleaned(Vec<Cleaned>),
    /// As far as it came.
    Partly(Vec<Cleaned>),
    State(u64),
}

/// Effect of a cleanup on one task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cleaned {
    pub task: String,
    pub removed: u64,
    pub trimmed: Vec<(u32, u64)>,
    pub dropped: Vec<u32>,
    pub error: Option<Failed>,
}

/// A call that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    pub kind: String,
    pub text: String,
}

impl Failed {
    pub fn of(error: &milepost::Error) -> Self {
        Self { kind: format!("{:?}", error.kind()), text: error.to_string() }
    }

    pub fn is(&self, kind: ErrorKind) -> bool {
        self.kind == format!("{kind:?}")
    }
}
