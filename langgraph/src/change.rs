//! Changes of channels from one checkpoint to the next.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::items::split;
use crate::thread::{Channel, Content, Thread, Typed};

/// A channel of a checkpoint that is put.
#[derive(Clone)]
pub struct Given {
    /// The name.
    pub name: String,
    /// The version, as JSON.
    pub version: String,
    /// The value; `None` if it is that of the parent, which has to have the same version.
    pub value: Option<GivenValue>,
}

/// A value that is put. Its bytes are copied only as far as they are new.
#[derive(Clone)]
pub struct GivenValue {
    /// The encoding, such as `msgpack`.
    pub encoding: Arc<str>,
    /// The bytes.
    pub bytes: Arc<dyn AsRef<[u8]> + Send + Sync>,
}

impl From<Typed> for GivenValue {
    fn from(value: Typed) -> Self {
        Self { encoding: value.encoding, bytes: Arc::new(value.bytes) }
    }
}

impl GivenValue {
    fn bytes(&self) -> &[u8] {
        (*self.bytes).as_ref()
    }

    fn typed(&self) -> Typed {
        Typed { encoding: self.encoding.clone(), bytes: self.bytes().into() }
    }
}

/// The names of channels without a value, which the parent does not have in that version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing(pub Vec<String>);

/// A change of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    /// No value any more.
    Removed { name: Arc<str> },
    /// Another version of the same value.
    Version { name: Arc<str>, from: Arc<str>, version: Arc<str> },
    /// Another value.
    Set { name: Arc<str>, version: Arc<str>, value: Typed },
    /// A list with the first items of the version `from`, and new ones.
    List { name: Arc<str>, from: Arc<str>, version: Arc<str>, kept: usize, items: Vec<Arc<[u8]>> },
    /// A list, with all its items.
    NewList { name: Arc<str>, version: Arc<str>, items: Vec<Arc<[u8]>> },
}

impl Change {
    pub(crate) fn name(&self) -> &Arc<str> {
        match self {
            Self::Removed { name }
            | Self::Version { name, .. }
            | Self::Set { name, .. }
            | Self::List { name, .. }
            | Self::NewList { name, .. } => name,
        }
    }
}

/// Returns the changes from a state to the given channels, by name.
pub(crate) fn changes(before: &Thread, given: &[Given]) -> Result<Vec<Change>, Missing> {
    let mut changes = Vec::new();
    let mut missing = Vec::new();
    for given in given {
        let known = before.channels.get(given.name.as_str());
        let is_same = known.is_some_and(|known| {
            *known.version == *given.version && known.content != Content::Lost
        });
        match &given.value {
            None if is_same => {}
            None => missing.push(given.name.clone()),
            Some(value) => changes.extend(change(known, given, value)),
        }
    }
    if !missing.is_empty() {
        return Err(Missing(missing));
    }
    let names: BTreeSet<&str> = given.iter().map(|given| given.name.as_str()).collect();
    let gone = before.channels.keys().filter(|name| !names.contains(&***name));
    changes.extend(gone.map(|name| Change::Removed { name: name.clone() }));
    changes.sort_by(|a, b| a.name().cmp(b.name()));
    Ok(changes)
}

fn change(known: Option<&Channel>, given: &Given, value: &GivenValue) -> Option<Change> {
    let (name, version) = (Arc::from(given.name.as_str()), Arc::from(given.version.as_str()));
    let items = match &*value.encoding {
        "msgpack" => split(value.bytes()),
        _ => None,
    };
    let from = known.map(|known| known.version.clone());
    match (known.map(|known| &known.content), from, items) {
        (Some(Content::Whole(old)), Some(from), _)
            if old.encoding == value.encoding && *old.bytes == *value.bytes() =>
        {
            (from != version).then_some(Change::Version { name, from, version })
        }
        (Some(Content::Items(old)), Some(from), Some(items)) => {
            let same = old.iter().zip(&items).take_while(|(old, new)| ***old == ***new);
            let kept = same.count();
            if kept == old.len() && kept == items.len() {
                return (from != version).then_some(Change::Version { name, from, version });
            }
            let items = items.into_iter().skip(kept).map(Arc::from).collect();
            Some(match kept {
                0 => Change::NewList { name, version, items },
                kept => Change::List { name, from, version, kept, items },
            })
        }
        (_, _, Some(items)) => {
            let items = items.into_iter().map(Arc::from).collect();
            Some(Change::NewList { name, version, items })
        }
        (.., None) => Some(Change::Set { name, version, value: value.typed() }),
    }
}

/// Applies a change to a state.
pub(crate) fn apply(thread: &mut Thread, change: &Change) {
    let name = change.name().clone();
    let known = thread.channels.remove(&name);
    let (version, content) = match change {
        Change::Removed { .. } => return,
        Change::Set { version, value, .. } => (version, Content::Whole(value.clone())),
        Change::NewList { version, items, .. } => (version, Content::Items(items.clone().into())),
        Change::Version { from, version, .. } => {
            let known = known.filter(|known| known.version == *from);
            (version, known.map_or(Content::Lost, |known| known.content))
        }
        Change::List { from, version, kept, items, .. } => {
            let known = known.filter(|known| known.version == *from);
            let content = match known.map(|known| known.content) {
                Some(Content::Items(mut list)) if *kept <= list.len() => {
                    // Copied only if another state shares it.
                    let all = Arc::make_mut(&mut list);
                    all.truncate(*kept);
                    all.extend(items.iter().cloned());
                    Content::Items(list)
                }
                _ => Content::Lost,
            };
            (version, content)
        }
    };
    thread.channels.insert(name, Channel { version: version.clone(), content });
}
