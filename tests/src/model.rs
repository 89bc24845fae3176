//! A plain model of the engine: vectors, no files, no hashes of its own.
#![allow(clippy::indexing_slicing, clippy::missing_panics_doc, missing_docs, reason = "tests")]

use std::collections::BTreeMap;

use milepost::events::{CheckpointMarked, LineageType, MarkStatus};
use milepost::state::{MemoryChunks, RunReducer, fold};
use milepost::{Body, CheckpointId, Event, Hash, Header, LineageId, Reducer, RunState};

#[derive(Debug, Default)]
pub struct Model {
    pub tasks: Vec<TaskModel>,
    /// In the order they were committed.
    pub marks: Vec<MarkModel>,
}

#[derive(Debug)]
pub struct TaskModel {
    pub name: String,
    pub user: String,
    pub lineages: Vec<LineageModel>,
    /// Lineage, and the activation that an undo returns to. The first is of epoch 1.
    pub activations: Vec<(usize, Option<usize>)>,
}

#[derive(Debug)]
pub struct LineageModel {
    pub lineage_type: LineageType,
    pub description: Option<String>,
    pub parent: Option<(usize, u64)>,
    pub events: Vec<Event>,
    /// Chain hashes that the engine gave, by offset.
    pub hashes: BTreeMap<u64, Hash>,
}

#[derive(Debug, Clone)]
pub struct MarkModel {
    pub task: usize,
    pub lineage: usize,
    pub mark: u64,
    pub at: u64,
    pub id: CheckpointId,
    pub body: CheckpointMarked,
}

/// Expected result of an append.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    Done {
        first: u64,
        head: u64,
    },
    Repeated {
        first: u64,
        head: u64,
    },
    /// Expected another head; this is the actual one.
    HeadConflict(u64),
    KeyConflict,
}

impl TaskModel {
    pub fn epoch(&self) -> u64 {
        self.activations.len() as u64
    }

    pub fn active(&self) -> usize {
        self.activations[self.activations.len() - 1].0
    }

    pub fn start(&self, lineage: usize) -> u64 {
        self.lineages[lineage].parent.map_or(0, |(_, at)| at)
    }

    pub fn head(&self, lineage: usize) -> u64 {
        self.start(lineage) + self.lineages[lineage].events.len() as u64
    }

    /// Owners of a lineage's events, newest first: lineage, from, to.
    pub fn spans(&self, lineage: usize) -> Vec<(usize, u64, u64)> {
        let (mut at, mut to) = (lineage, self.head(lineage));
        let mut spans = Vec::new();
        loop {
            let from = self.start(at).min(to);
            spans.push((at, from, to));
            match self.lineages[at].parent {
                Some((parent, offset)) => (at, to) = (parent, offset.min(to)),
                None => return spans,
            }
        }
    }

    /// All events of a lineage, through its ancestors.
    pub fn history(&self, lineage: usize) -> Vec<Event> {
        let mut spans = self.spans(lineage);
        spans.reverse();
        let mut all = Vec::new();
        for (owner, from, to) in spans {
            let start = self.start(owner);
            let own = &self.lineages[owner].events;
            all.extend_from_slice(&own[(from - start) as usize..(to - start) as usize]);
        }
        all
    }

    /// The lineage that a fork at this offset hangs on: the owner of the event before it.
    pub fn fork_owner(&self, lineage: usize, offset: u64) -> usize {
        let mut at = lineage;
        while let Some((parent, start)) = self.lineages[at].parent {
            if offset > start {
                break;
            }
            at = parent;
        }
        at
    }

    fn seen(&self, lineage: usize, key: &str) -> Option<(usize, u64, u64)> {
        self.spans(lineage).into_iter().find_map(|(owner, from, to)| {
            let start = self.start(owner);
            let own = &self.lineages[owner].events;
            let at = own.iter().position(|event| event.header.key.as_deref() == Some(key))?;
            let first = start + at as u64;
            (from..to).contains(&first).then_some((owner, first, to))
        })
    }

    /// Returns the expected result of an append to a lineage; appends unless it is refused.
    pub fn append(
        &mut self,
        lineage: usize,
        bodies: &[Body],
        key: Option<&str>,
        expect: Option<u64>,
        header: &Header,
    ) -> Outcome {
        if let Some((owner, first, to)) = key.and_then(|key| self.seen(lineage, key)) {
            let own = &self.lineages[owner].events;
            let at = (first - self.start(owner)) as usize;
            let count = own[at].header.batch as usize;
            let head = first + count as u64;
            if head > to || count != bodies.len() {
                return Outcome::KeyConflict;
            }
            let same = own[at..at + count]
                .iter()
                .zip(bodies)
                .all(|(event, body)| event.body.as_ref() == Some(body));
            return if same { Outcome::Repeated { first, head } } else { Outcome::KeyConflict };
        }
        let first = self.head(lineage);
        if expect.is_some_and(|expect| expect != first) {
            return Outcome::HeadConflict(first);
        }
        for (n, body) in bodies.iter().enumerate() {
            let header = Header {
                key: key.filter(|_| n == 0).map(str::to_owned),
                batch: key.filter(|_| n == 0).map_or(0, |_| bodies.len() as u32),
                ..header.clone()
            };
            self.push(lineage, body.clone(), header);
        }
        Outcome::Done { first, head: self.head(lineage) }
    }

    pub fn push(&mut self, lineage: usize, body: Body, header: Header) {
        let event = Event {
            lineage: LineageId(lineage as u32),
            offset: self.head(lineage),
            header: Header { kind: body.kind(), ..header },
            body: Some(body),
        };
        self.lineages[lineage].events.push(event);
    }

    /// The state before the event at an offset, folded from zero.
    pub fn state(&self, lineage: usize, offset: u64, chunks: &MemoryChunks) -> RunState {
        let events = self.history(lineage).into_iter().take(offset as usize);
        match fold(&RunReducer, RunReducer.initial(), events.map(Ok), chunks) {
            Ok(state) => state,
            Err(error) => panic!("the fold of the model: {error}"),
        }
    }
}

impl Model {
    /// Marks that a lineage sees, newest first: those whose events are in its history.
    pub fn marks_of(&self, task: usize, lineage: usize) -> Vec<&MarkModel> {
        let mut found = Vec::new();
        for (owner, from, to) in self.tasks[task].spans(lineage) {
            let mut own: Vec<_> = self
                .marks
                .iter()
                .filter(|m| (m.task, m.lineage) == (task, owner))
                .filter(|m| (from..to).contains(&m.mark))
                .collect();
            own.sort_by_key(|m| std::cmp::Reverse(m.mark));
            found.extend(own);
        }
        found
    }

    pub fn last_successful(&self, task: usize, lineage: usize) -> Option<CheckpointId> {
        self.marks_of(task, lineage)
            .into_iter()
            .find(|m| m.body.status == MarkStatus::Success)
            .map(|m| m.id)
    }
}
