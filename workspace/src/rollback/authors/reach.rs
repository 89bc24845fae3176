//! Paths that calls may have changed, where calls of several sessions were open at once.

use std::collections::BTreeSet;

use milepost_codec::TreePath;
use serde_json::Value;

use crate::plan::Author;

/// Paths that calls may have changed: those that their tools name, or any.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Reach {
    named: BTreeSet<TreePath>,
    is_any: bool,
}

impl Reach {
    /// Returns the reach in a list of paths. Without a list it is any path.
    fn of(paths: Option<&Value>) -> Self {
        let path = |path: &Value| TreePath::new(path.as_str()?.as_bytes()).ok();
        let named = paths.and_then(Value::as_array).map(|all| all.iter().map(path).collect());
        match named.flatten() {
            Some(named) => Self { named, is_any: false },
            None => Self { named: BTreeSet::new(), is_any: true },
        }
    }

    fn add(&mut self, other: &Self) {
        self.named.extend(other.named.iter().cloned());
        self.is_any |= other.is_any;
    }

    /// Returns `true` for a path that is named, and for a folder of one.
    fn names(&self, path: &TreePath) -> bool {
        self.named.iter().any(|named| named.is_in(path))
    }
}

/// The reach of calls of the run, and that of the calls of other sessions that were open at once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Reaches {
    own: Reach,
    others: Reach,
}

impl Reaches {
    /// Returns the reaches in a mark of a call.
    pub(super) fn of(facts: Option<&Value>, is_shared: bool) -> Self {
        let fact = |name: &str| facts.and_then(|facts| facts.get(name));
        let others = if is_shared { Reach::of(fact("others")) } else { Reach::default() };
        Self { own: Reach::of(fact("paths")), others }
    }

    /// Returns the reach of a call without a mark.
    pub(super) fn unmarked() -> Self {
        Self::of(None, false)
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.own.add(&other.own);
        self.others.add(&other.others);
    }

    /// Returns the author of a change while these calls were open: the session whose calls alone
    /// name the path, or whose calls alone may have changed paths that no call names.
    pub(super) fn author(&self, path: &TreePath) -> Author {
        match (self.own.names(path), self.others.names(path)) {
            (true, false) => Author::Run,
            (false, true) => Author::Others,
            (false, false) if self.own.is_any && !self.others.is_any => Author::Run,
            _ => Author::Unknown,
        }
    }
}

/// The author of the changes between two captures: one for all paths, or one for each.
#[derive(Debug, Clone)]
pub(super) enum Blame {
    All(Author),
    Each(Reaches),
}

impl Blame {
    pub(super) fn of(&self, path: &TreePath) -> Author {
        match self {
            Self::All(author) => *author,
            Self::Each(reaches) => reaches.author(path),
        }
    }
}
