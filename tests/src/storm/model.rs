//! The model: the events, keys, checkpoints and lineages that were acknowledged.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::call::{Adding, Call};

/// A store according to its acknowledgements.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Model {
    pub tasks: BTreeMap<String, TaskModel>,
    /// Checkpoints that were marked, over all tasks.
    pub marked: u64,
    /// Keys that were used by [`super::program::Op::Keys`].
    pub keys: u64,
    /// Calls that are under way: an answer may then be of before or after another.
    pub under_way: BTreeSet<u64>,
    pub begun: u64,
    /// Calls with concurrent others.
    pub crossed: BTreeSet<u64>,
    /// Events that were acknowledged.
    pub acknowledged: u64,
}

/// A task of one name; an earlier task of the same name was deleted.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct TaskModel {
    pub live: bool,
    /// Tasks of the name, before and now.
    pub generation: u32,
    /// Lineages for which a state of [`super::count::Count`] was stored, and an offset behind it.
    pub counted: BTreeMap<u32, u64>,
    /// Events went while the reducer was not there and had no state stored: its states are lost.
    pub uncounted: bool,
    pub lineages: BTreeMap<u32, LineageModel>,
    /// Lineage, and the activation that an undo returns to. The first is of epoch 1.
    pub activations: Vec<(u32, Option<usize>)>,
    /// Lineages that undos left, of which a redo takes the last one.
    pub undone: Vec<u32>,
    pub marks: BTreeMap<String, MarkModel>,
    /// Removed checkpoints, with the facts about those that may still exist.
    pub gone: BTreeMap<String, Option<MarkModel>>,
    /// A checkpoint went: events may be trimmed.
    pub retained: bool,
    /// Attached data, by alias and index.
    pub attached: BTreeMap<String, BTreeMap<i64, u16>>,
    /// Checkpoints with the aliases of attached data.
    pub aliased: BTreeMap<String, BTreeSet<String>>,
    /// An event of attached data was erased: what counts is not known.
    pub attached_open: bool,
    /// Concurrent calls opened or activated lineages: the number of activations, which are read
    /// from the store.
    pub loose: Option<u64>,
    /// The activations that the answers to those calls name, by epoch: the lineage, and whether the
    /// call surely made it.
    pub told: BTreeMap<u64, (u32, bool)>,
    /// Activations are not known that an undo may go back to.
    pub undo_open: bool,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct LineageModel {
    pub parent: Option<(u32, u64)>,
    /// Its appended events, by offset, without those that the engine adds.
    pub events: BTreeMap<u64, EventModel>,
    pub keys: BTreeMap<String, KeyModel>,
    pub head: u64,
    /// Offset of its base; such a lineage inherits nothing.
    pub base: Option<u64>,
    pub dropped: bool,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct EventModel {
    pub body: u64,
    pub message: bool,
    pub erased: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct KeyModel {
    pub first: u64,
    pub bodies: Vec<u64>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MarkModel {
    pub lineage: u32,
    pub mark: u64,
    pub at: u64,
    /// Place in the order of commits, at the latest.
    pub order: u64,
    /// The last place that is certainly before it: concurrent calls may have marked others in
    /// between.
    pub since: u64,
    pub pinned: bool,
    /// The state's digest, once it was folded.
    pub state: Option<u64>,
}

/// View of a key from a lineage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// All of its events.
    Whole {
        lineage: u32,
        first: u64,
        bodies: Vec<u64>,
    },
    /// A fork cuts them.
    Part,
    Free,
}

impl TaskModel {
    pub fn active(&self) -> u32 {
        self.activations.last().map_or(0, |(lineage, _)| *lineage)
    }

    pub fn epoch(&self) -> u64 {
        self.activations.len() as u64
    }

    /// Owners of a lineage's events, newest first: lineage, from, to. Trimmed events are counted.
    pub fn spans(&self, lineage: u32) -> Vec<(u32, u64, u64)> {
        let (mut at, mut to) = (lineage, u64::MAX);
        let mut spans = Vec::new();
        while let Some(here) = self.lineages.get(&at) {
            let from = here.parent.map_or(0, |(_, offset)| offset).min(to);
            spans.push((at, from, to.min(here.head)));
            let Some((parent, offset)) = here.parent else {
                break;
            };
            (at, to) = (parent, offset.min(to));
        }
        spans
    }

    /// The first offset of a lineage that is there.
    pub fn begin(&self, lineage: u32) -> u64 {
        let spans = self.spans(lineage).into_iter();
        let mut bases = spans.filter_map(|(owner, ..)| self.lineages[&owner].base);
        bases.next().unwrap_or(0)
    }

    /// Returns `true` if a lineage begins with a base behind this offset.
    pub fn has_base_behind(&self, offset: u64) -> bool {
        let mut bases = self.lineages.values().filter_map(|lineage| lineage.base);
        bases.any(|base| base > offset)
    }

    /// The messages before an offset of a lineage, those that were trimmed too.
    pub fn messages(&self, lineage: u32, offset: u64) -> u64 {
        let spans = self.spans(lineage).into_iter();
        let count = |(owner, from, to): (u32, u64, u64)| {
            let to = to.min(offset).max(from);
            let events = self.lineages[&owner].events.range(from..to);
            events.filter(|(_, e)| e.message && !e.erased).count() as u64
        };
        spans.map(count).sum()
    }

    /// The owner of the event at an offset of a lineage.
    pub fn owner(&self, lineage: u32, offset: u64) -> Option<u32> {
        let spans = self.spans(lineage);
        let of = |(_, from, to): &&(u32, u64, u64)| (*from..*to).contains(&offset);
        spans.iter().find(of).map(|(owner, ..)| *owner)
    }

    pub fn event(&self, lineage: u32, offset: u64) -> Option<&EventModel> {
        self.lineages.get(&lineage)?.events.get(&offset)
    }

    pub fn key(&self, lineage: u32, key: &str) -> Seen {
        for (owner, _, to) in self.spans(lineage) {
            let Some(found) = self.lineages[&owner].keys.get(key) else {
                continue;
            };
            if found.first >= to {
                continue;
            }
            if found.first + found.bodies.len() as u64 > to {
                return Seen::Part;
            }
            return Seen::Whole {
                lineage: owner,
                first: found.first,
                bodies: found.bodies.clone(),
            };
        }
        Seen::Free
    }

    /// All keys that a lineage sees, or saw before it forked.
    pub fn keys(&self, lineage: u32) -> BTreeSet<String> {
        let spans = self.spans(lineage).into_iter();
        spans.flat_map(|(owner, ..)| self.lineages[&owner].keys.keys().cloned()).collect()
    }

    /// Attaches data: the first of an index counts, or the last of a negative one.
    pub fn attach(&mut self, alias: &str, index: i64, salt: u16) {
        self.forget_attached();
        let all = self.attached.entry(alias.to_owned()).or_default();
        if index < 0 || !all.contains_key(&index) {
            all.insert(index, salt);
        }
    }

    /// Forgets the data that went with the last checkpoint of its alias.
    pub fn forget_attached(&mut self) {
        let (marks, gone) = (&self.marks, &self.gone);
        let maybe = |id: &String| gone.get(id).is_some_and(Option::is_some);
        for (alias, all) in &mut self.aliased {
            self.attached_open |= all.iter().any(maybe);
            let before = all.len();
            // One that was just marked is not told yet.
            all.retain(|id| marks.contains_key(id) || !gone.contains_key(id));
            if all.is_empty() && before > 0 {
                self.attached.remove(alias);
            }
        }
    }

    /// Lineages that are there.
    pub fn there(&self) -> Vec<u32> {
        let all = self.lineages.iter().filter(|(_, lineage)| !lineage.dropped);
        all.map(|(id, _)| *id).collect()
    }
}

impl Model {
    /// Tasks that are there.
    pub fn live(&self) -> Vec<String> {
        let all = self.tasks.iter().filter(|(_, task)| task.live);
        all.map(|(name, _)| name.clone()).collect()
    }

    pub fn live_task(&self, name: &str) -> Option<&TaskModel> {
        self.tasks.get(name).filter(|task| task.live)
    }

    /// The name is free for another task.
    pub fn forget(&mut self, name: &str) {
        let generation = self.tasks.get(name).map_or(0, |task| task.generation);
        let gone = TaskModel { generation: generation + 1, ..TaskModel::default() };
        self.tasks.insert(name.to_owned(), gone);
    }

    /// Keys of [`super::program::Op::Keys`] are not used again.
    pub fn used(&mut self, call: &Call) {
        if let Call::Append(Adding { key: Some(key), .. }) = call
            && let Some(Ok(number)) = key.strip_prefix("many-").map(str::parse::<u64>)
        {
            self.keys = self.keys.max(number + 1);
        }
    }

    /// A call begins.
    pub fn begin(&mut self, counts: bool) -> u64 {
        self.begun += 1;
        let id = self.begun;
        if !counts {
            return id;
        }
        if !self.under_way.is_empty() {
            self.crossed.insert(id);
            self.crossed.extend(self.under_way.iter().copied());
        }
        self.under_way.insert(id);
        id
    }

    /// Ends a call; returns whether another was concurrent.
    pub fn end(&mut self, id: u64) -> bool {
        self.under_way.remove(&id);
        self.crossed.remove(&id)
    }
}
