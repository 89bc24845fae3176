//! Writes the events of a session to the store.
//!
//! Each line is one append under a key made of its id. The session waits for its offset only if a
//! branch begins after it. A file recorded before is thus recognized line by line, up to any point:
//! recorded lines are not written again, and new ones continue after them.
//!
//! ```text
//! recorded  lines that were recorded before, and the order of new ones
//! ```

mod recorded;

use std::collections::{HashMap, HashSet, VecDeque};

use milepost::events::{MarkCause, StepFinished, StepStarted};
use milepost::{Append, Body, Engine, ErrorKind, Json, Mark, Offset, Task, Ticket};

use super::SessionFormat;
use super::line::{Key, SessionLine, key};
use super::tree::{BranchNo, LineIndex, Spot, Tree};
use crate::error::{Error, Remedy, Result};
use crate::progress::{Durable, Progress};
use crate::record::branches::{ACTOR, Branches, HOOK_KEY, START};
use crate::record::write::{Refused, acknowledge};
use recorded::{Order, Recalled, Steps};

/// Suffix of the keys of the events before a prompt.
const BEFORE: &str = ":before";
/// Maximum number of unfinished appends.
const IN_FLIGHT_MAX: usize = 1024;

/// A submitted append.
struct InFlight {
    ticket: Ticket,
    branch: BranchNo,
    /// Index of the line, if another line may continue from it.
    place: Option<LineIndex>,
    /// Number of the line.
    line: u64,
}

/// A line to write.
pub struct NewLine<'a> {
    pub text: &'a str,
    pub line: SessionLine,
    pub number: u64,
    /// True if the line is durable before the next one is read.
    pub alone: bool,
    /// Receiver of the acknowledgement, if wanted.
    pub listener: Option<&'a mut dyn Progress>,
}

/// The name of a line in its key.
struct Name {
    name: String,
    /// Hash of the text, if the line has no id.
    text: Option<Key>,
    /// True if an earlier line without an id has the same text.
    again: bool,
}

/// A session being written.
pub struct Session {
    format: &'static SessionFormat,
    tree: Tree,
    branches: Branches,
    /// Last known end of each branch.
    ends: Vec<Offset>,
    /// Branches with new lines. Every recorded line on them is known.
    growing: HashSet<BranchNo>,
    /// The steps of branches on which another file of the session has lines.
    steps: Steps,
    /// Recorded lines that were placed for lines which continue them.
    recalled: HashMap<Key, Recalled>,
    in_flight: VecDeque<InFlight>,
    refused: Vec<Refused>,
    time_us: Option<u64>,
    /// Number of side conversations whose call is unknown.
    alone: u64,
    /// Number of lines with each text, of lines without an id.
    texts: HashMap<Key, u64>,
    /// Number of lines with the id of an earlier line.
    pub repeated: u64,
    pub events: u64,
    pub checkpoints: u64,
    /// The events when the task last continued where the session does.
    settled_events: u64,
}

impl Session {
    /// Opens the task of a session, and starts it if missing.
    pub fn new(
        engine: &Engine,
        format: &'static SessionFormat,
        id: &str,
        user: &str,
    ) -> Result<Self> {
        Ok(Self {
            format,
            tree: Tree::new(START),
            branches: Branches::new(engine, id, user, &[format.key, HOOK_KEY])?,
            ends: vec![START],
            growing: HashSet::new(),
            steps: Steps::default(),
            recalled: HashMap::new(),
            in_flight: VecDeque::new(),
            refused: Vec::new(),
            time_us: None,
            alone: 0,
            texts: HashMap::new(),
            repeated: 0,
            events: 0,
            checkpoints: 0,
            settled_events: 0,
        })
    }

    /// Returns the id of the task.
    pub fn task(&self) -> &str {
        self.branches.task()
    }

    pub fn lineages(&self) -> u64 {
        self.branches.count()
    }

    /// Returns the number of lines whose parent is missing.
    pub fn orphans(&self) -> u64 {
        self.tree.orphans
    }

    /// Returns `true` if a line with this call was written.
    pub fn has_call(&self, call: Key) -> bool {
        self.tree.has_call(call)
    }

    /// Returns `true` if a line was recorded before this session was opened.
    pub fn is_recorded(&self, line: &SessionLine, text: &str) -> Result<bool> {
        self.branches.had(&self.key(&self.name(line, text).name))
    }

    /// Returns the name of a line. Lines with the same text and without an id are counted.
    fn name(&self, line: &SessionLine, text: &str) -> Name {
        let name = line.name(text);
        if line.own_name().is_some() {
            return Name { name, text: None, again: false };
        }
        let hash = key(text);
        match self.texts.get(&hash) {
            Some(count) => {
                Name { name: format!("{name}-{}", count + 1), text: Some(hash), again: true }
            }
            None => Name { name, text: Some(hash), again: false },
        }
    }

    /// Returns the key of a line.
    fn key(&self, name: &str) -> String {
        format!("{}{name}", self.format.key)
    }

    /// Submits a line. A refused line is not written.
    pub fn write(&mut self, written: NewLine<'_>) -> Result<()> {
        let NewLine { text, mut line, number, alone, listener } = written;
        if self.is_recalled(&line)? {
            return Ok(());
        }
        if line.uuid.as_deref().is_some_and(|uuid| self.tree.has(uuid)) {
            // The line is kept, but no line continues from it: its id would then have two places.
            let SessionFormat { name, written, .. } = self.format;
            line = line.into_whole(name, text, written).map_err(Error::invalid)?;
            self.repeated += 1;
        }
        let large = self.why_too_large(&line, text.len());
        let Name { name, text, again } = self.name(&line, text);
        if let Some(text) = text {
            *self.texts.entry(text).or_default() += 1;
        }
        if let Some(why) = large {
            self.refused.push(Refused { number, why });
            self.tree.skip(&line);
            return Ok(());
        }
        if self.is_of_new_file(&line, &name)? || self.is_of_lost_line(&line)? {
            if !line.follows {
                // Lines that continue it continue from its parent.
                let _ = self.tree.place(&line);
            }
            return Ok(());
        }
        self.time_us = line.time_us.or(self.time_us);
        let Some((branch, place)) = self.placed(&line, &name, again)? else {
            return Ok(());
        };
        let mut bodies = Vec::new();
        if let Some(prompt) = line.prompt() {
            let step = self.tree.step(branch);
            let alias = line.alias.as_deref().unwrap_or(&name);
            let mark = self.mark(step, prompt, alias);
            match step <= 1 {
                true => self.mark_beginning(branch, mark, (&name, alias))?,
                false => self.before(branch, step, mark, (&name, number))?,
            }
            bodies.push(Body::from(StepStarted { step, ..StepStarted::default() }));
        }
        bodies.append(&mut line.events);
        let append = self.append(bodies).key(self.key(&name));
        self.submit(branch, append, place, number)?;
        if alone
            && let Some(durable) = self.settle_all()?
            && let Some(listener) = listener
        {
            acknowledge(durable, listener)?;
        }
        Ok(())
    }

    /// Returns the branch and the place of a line; `None` for one that is not written, as it is
    /// recorded or may be missing.
    fn placed(
        &mut self,
        line: &SessionLine,
        name: &str,
        again: bool,
    ) -> Result<Option<(BranchNo, Option<LineIndex>)>> {
        self.recall_parent(line)?;
        let (spot, place) = self.tree.place(line);
        let mut branch = self.branch(spot, line, name)?;
        let mut order = self.order(branch, line, name)?;
        if let (true, Order::Late { .. }, Some(own)) = (self.parts(line), &order, place) {
            self.check_is_not_elsewhere(line, name)?;
            // The lines that follow were rewound, or continue the same line.
            let spot = self.tree.part(own, line);
            branch = self.branch(spot, line, name)?;
            order = self.order(branch, line, name)?;
        }
        match order {
            Order::Recorded(events) if self.format.is_rewritten => {
                self.settle_recorded(branch, place, &events)?;
                return Ok(None);
            }
            Order::Recorded(events) if line.may_be_step() => {
                if self.keeps_step(branch, place, line, &events)? {
                    self.settle_recorded(branch, place, &events)?;
                    return Ok(None);
                }
            }
            Order::Late { .. } if self.may_miss(line, again) => return Ok(None),
            Order::Late { last_us } if Self::is_behind(line, last_us) => {
                self.put_behind(branch, place, line)?;
            }
            Order::Late { .. } => {
                return Err(Error::conflict(
                    "it precedes recorded lines, and is not recorded itself",
                )
                .remedied_by(Remedy::ImportAsOtherTask));
            }
            Order::Recorded(_) | Order::New => {}
        }
        Ok(Some((branch, place)))
    }

    /// Returns the reason to refuse a line with an event that the engine does not take.
    fn why_too_large(&self, line: &SessionLine, length: usize) -> Option<String> {
        let max = self.branches.event_max();
        // A digit may be encoded as eight bytes, so a shorter line cannot exceed the limit.
        if length.saturating_mul(9) <= max {
            return None;
        }
        let bytes = line.events.iter().map(|event| event.encode().1.len()).max()?;
        (bytes > max).then(|| format!("an event of {bytes} bytes is over the limit of {max}"))
    }

    fn append(&self, bodies: Vec<Body>) -> Append {
        let append = Append::batch(bodies).actor(ACTOR);
        match self.time_us {
            Some(time_us) => append.time_us(time_us),
            None => append,
        }
    }

    fn submit(
        &mut self,
        branch: BranchNo,
        append: Append,
        place: Option<LineIndex>,
        line: u64,
    ) -> Result<()> {
        match self.on(branch)?.submit(append) {
            Ok(ticket) => self.in_flight.push_back(InFlight { ticket, branch, place, line }),
            Err(error) if error.kind() == ErrorKind::Invalid => {
                self.settle_all()?;
                self.refuse(branch, place, line, &error);
            }
            Err(error) => return Err(error.into()),
        }
        while self.in_flight.len() > IN_FLIGHT_MAX {
            self.settle()?;
        }
        Ok(())
    }

    /// Notes a line that is not written. Lines that continue from it continue from the branch's
    /// end.
    fn refuse(
        &mut self,
        branch: BranchNo,
        place: Option<LineIndex>,
        line: u64,
        why: &milepost::Error,
    ) {
        let end = self.ends.get(branch as usize).copied();
        if let (Some(place), Some(end)) = (place, end) {
            self.tree.settle(place, end);
        }
        let why = why.to_string();
        self.refused.push(Refused { number: line, why });
    }

    /// Waits for the oldest submitted append.
    fn settle(&mut self) -> Result<Option<Durable>> {
        let Some(done) = self.in_flight.pop_front() else {
            return Ok(None);
        };
        let appended = match done.ticket.wait() {
            Ok(appended) => appended,
            Err(error) if error.kind() == ErrorKind::Invalid => {
                self.refuse(done.branch, done.place, done.line, &error);
                return Ok(None);
            }
            Err(error) if error.kind() == ErrorKind::Conflict => {
                let line = done.line;
                return Err(Error::from(error)
                    .at(format!("line {line} says something else than before"))
                    .remedied_by(Remedy::ImportAsOtherTask));
            }
            Err(error) => return Err(error.into()),
        };
        let behind = appended.first + u64::from(appended.count);
        if let Some(place) = done.place {
            self.tree.settle(place, behind);
        }
        if let Some(end) = self.ends.get_mut(done.branch as usize) {
            *end = behind;
        }
        if !appended.repeated {
            self.events += u64::from(appended.count);
            self.checkpoints += u64::from(appended.checkpoint.is_some());
        }
        let offset = behind.saturating_sub(1);
        let hash = appended.head.hash;
        Ok(Some(Durable { offset, hash }))
    }

    /// Waits for all submitted appends, and returns the last.
    fn settle_all(&mut self) -> Result<Option<Durable>> {
        let mut last = None;
        while !self.in_flight.is_empty() {
            last = self.settle()?;
        }
        Ok(last)
    }

    /// Returns the lines that were refused since the last call.
    pub fn take_refused(&mut self) -> Vec<Refused> {
        std::mem::take(&mut self.refused)
    }

    /// Waits until all lines are durable, and continues the task where the session does.
    pub fn finish(&mut self) -> Result<Offset> {
        self.settle_all()?;
        let current = self.tree.current() as usize;
        let changed = self.events > self.settled_events;
        self.settled_events = self.events;
        self.branches.go_on_with(current, changed)
    }

    fn on(&self, branch: BranchNo) -> Result<&Task> {
        self.branches.on(branch as usize)
    }

    /// Returns the branch of a line, and opens it if it is new.
    fn branch(&mut self, spot: Spot, line: &SessionLine, name: &str) -> Result<BranchNo> {
        let (branch, end) = match spot {
            Spot::End(branch) => return Ok(branch),
            Spot::Fork { branch, behind, side } => (branch, self.fork(behind, side, line, name)?),
            Spot::Alone(branch) => {
                self.alone += 1;
                self.branches.add_task(&format!("side-{}", self.alone))?;
                (branch, START)
            }
        };
        self.ends.push(end);
        Ok(branch)
    }

    /// Opens the lineage of a branch that begins after a place, and returns its first offset.
    fn fork(
        &mut self,
        behind: LineIndex,
        side: bool,
        line: &SessionLine,
        name: &str,
    ) -> Result<Offset> {
        // The offset of that line must be known, and the activation is a separate commit.
        self.settle_all()?;
        let (branch, offset) = self.tree.at(behind);
        let at = offset.ok_or_else(|| Error::bug("a line without a place"))?;
        let called = called(line, name);
        self.branches.fork(branch as usize, at, &called, !side)?;
        Ok(at)
    }

    /// Returns the mark before a prompt, as a point to restore.
    fn mark(&self, step: u64, prompt: &str, alias: &str) -> Mark {
        let mut mark = Mark::new()
            .cause(MarkCause::Step)
            .label(format!("prompt-{step}"))
            .alias(alias)
            .actor(ACTOR);
        if let Ok(metadata) = Json::from_value(&serde_json::json!({"prompt": prompt})) {
            mark = mark.metadata(metadata);
        }
        if let Some(time_us) = self.time_us {
            mark = mark.time_us(time_us);
        }
        mark
    }

    /// Submits the events before a prompt: the end of the previous step, and a mark.
    fn before(
        &mut self,
        branch: BranchNo,
        step: u64,
        mark: Mark,
        (name, line): (&str, u64),
    ) -> Result<()> {
        let key = format!("{}{BEFORE}", self.key(name));
        // If a cleanup removed the mark, a repeated append would differ from the first.
        let growing = self.growing.contains(&branch);
        if !growing && self.on(branch)?.lineage().appended_under(&key)?.is_some() {
            return Ok(());
        }
        let finished = StepFinished { step: step - 1, ..StepFinished::default() };
        let append = self.append(vec![finished.into()]).mark(mark);
        let append = append.key(key);
        let ticket = self.on(branch)?.submit(append)?;
        self.in_flight.push_back(InFlight { ticket, branch, place: None, line });
        Ok(())
    }

    /// Marks the point before the first prompt of a branch, which follows no step.
    fn mark_beginning(
        &mut self,
        branch: BranchNo,
        mark: Mark,
        (name, alias): (&str, &str),
    ) -> Result<()> {
        self.settle_all()?;
        let task = self.on(branch)?;
        if task.lineage().appended_under(&self.key(name))?.is_some() {
            return Ok(());
        }
        let is_it = |body| match body {
            Some(Body::CheckpointMarked(mark)) => {
                mark.aliases.iter().any(|other| other.as_str() == alias)
            }
            _ => false,
        };
        // An interrupted run may have written only the mark, and others appended after it.
        let end = self.ends.get(branch as usize).copied().unwrap_or(START);
        let begin = end.max(task.lineage().info()?.begin);
        let head = task.lineage().head()?.next;
        for event in task.lineage().read(begin.min(head)..head)? {
            let event = event?;
            if event.header.actor.as_deref() == Some(ACTOR) && is_it(event.body) {
                return Ok(());
            }
        }
        task.checkpoint(mark)?;
        self.checkpoints += 1;
        Ok(())
    }
}

/// Returns the description of the lineage that begins with a line.
fn called(line: &SessionLine, name: &str) -> String {
    match line.prompt() {
        Some(prompt) => format!("{prompt} ({name})"),
        None => line.alias.as_deref().unwrap_or(name).to_owned(),
    }
}
