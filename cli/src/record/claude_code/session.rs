//! The events of a session into the store.
//!
//! Each line is one append under a key made of its id, and asks for its place in the log only where
//! something goes on from it. So a file that was recorded before is known line by line, wherever
//! that ended: what is there is not written again, what has come since goes on from it.

use std::collections::{HashSet, VecDeque};

use milepost::{
    Append, Body, Engine, ErrorKind, Json, Mark, MarkCause, Offset, StepFinished, StepStarted,
    Task, Ticket,
};

use super::line::Line;
use super::tree::{BranchNo, Place, Spot, Tree};
use crate::error::{CONFLICT, Failure, Result};
use crate::record::branches::{ACTOR, Branches, START};
use crate::record::write::{Durable, Refused};

/// What the keys of lines begin with.
const KEY: &str = "claude-code:";
/// What the keys end with of what stands before a prompt.
const BEFORE: &str = ":before";
/// What to do with another file than the one that was recorded.
const CHANGED: &str = "the file was changed, not only added to: import it as another task";
/// So many appends are on their way to the disk at most.
const UNDER_WAY_MAX: usize = 1024;

/// An append that is on its way to the disk.
struct UnderWay {
    ticket: Ticket,
    branch: BranchNo,
    /// The place of the line, where something may go on from it.
    place: Option<Place>,
    /// The number of the line.
    line: u64,
}

/// What is written of a line.
pub struct Written<'a> {
    pub line: Line,
    /// What its key is made of.
    pub name: String,
    pub number: u64,
    /// Who is told when it is durable, where somebody waits for that.
    pub heard: Option<&'a mut dyn FnMut(Durable) -> Result<()>>,
}

/// A session that is written.
pub struct Session<'a> {
    tree: Tree,
    branches: Branches<'a>,
    /// Where each branch ends, as far as that is known.
    ends: Vec<Offset>,
    /// The branches that have new lines: what is known of them is all that there was.
    growing: HashSet<BranchNo>,
    under_way: VecDeque<UnderWay>,
    refused: Vec<Refused>,
    time_us: Option<u64>,
    /// How many conversations there are which nothing is known to have begun.
    alone: u64,
    pub events: u64,
    pub checkpoints: u64,
}

impl<'a> Session<'a> {
    /// A session as the task of an id, which is started where there is none.
    pub fn new(engine: &'a Engine, id: &str, user: &'a str) -> Result<Self> {
        Ok(Self {
            tree: Tree::new(START),
            branches: Branches::new(engine, id, user, KEY)?,
            ends: vec![START],
            growing: HashSet::new(),
            under_way: VecDeque::new(),
            refused: Vec::new(),
            time_us: None,
            alone: 0,
            events: 0,
            checkpoints: 0,
        })
    }

    pub fn lineages(&self) -> u64 {
        self.branches.count()
    }

    /// The lines that name one before them which is not there.
    pub fn orphans(&self) -> u64 {
        self.tree.orphans
    }

    pub fn has(&self, uuid: &str) -> bool {
        self.tree.has(uuid)
    }

    /// Writes a line, on its way at least. Nothing where it was refused.
    pub fn write(&mut self, written: Written<'_>) -> Result<()> {
        let Written { mut line, name, number, heard } = written;
        self.time_us = line.time_us.or(self.time_us);
        let (spot, place) = self.tree.place(&line);
        let branch = self.branch(spot, &line, &name)?;
        self.check_is_last(branch, &name)?;
        let mut bodies = Vec::new();
        if let Some(prompt) = line.prompt() {
            let step = self.tree.step(branch);
            let mark = self.mark(step, prompt, &name);
            match step <= 1 {
                true => self.mark_beginning(branch, mark, &name)?,
                false => self.before(branch, step, mark, (&name, number))?,
            }
            bodies.push(Body::from(StepStarted { step, ..StepStarted::default() }));
        }
        bodies.append(&mut line.events);
        let append = self.append(bodies).key(key(&name));
        self.submit(branch, append, place, number)?;
        if let Some(heard) = heard
            && let Some(durable) = self.settle_all()?
        {
            heard(durable)?;
        }
        Ok(())
    }

    /// Sees at the first new line of a branch that what is there of the session is before it.
    fn check_is_last(&mut self, branch: BranchNo, name: &str) -> Result<()> {
        if self.growing.contains(&branch) {
            return Ok(());
        }
        let lineage = self.on(branch)?.lineage().clone();
        if lineage.appended_under(&key(name))?.is_some() {
            return Ok(());
        }
        self.settle_all()?;
        let known = self.ends.get(branch as usize).copied().unwrap_or(START);
        // A cleanup may have let go of what was before.
        let known = known.max(lineage.info()?.begin);
        let head = lineage.head()?.next;
        for event in lineage.read(known.min(head)..head)? {
            let ours = |key: String| key.starts_with(KEY) && !key.ends_with(BEFORE);
            if event?.header.key.is_some_and(ours) {
                return Err(Failure::conflict(
                    "it stands before lines that are recorded, and is not itself",
                )
                .hint(CHANGED));
            }
        }
        self.growing.insert(branch);
        Ok(())
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
        place: Option<Place>,
        line: u64,
    ) -> Result<()> {
        match self.on(branch)?.submit(append) {
            Ok(ticket) => self.under_way.push_back(UnderWay { ticket, branch, place, line }),
            Err(error) if error.kind() == ErrorKind::Invalid => {
                self.settle_all()?;
                self.refuse(branch, place, line, &error);
            }
            Err(error) => return Err(error.into()),
        }
        while self.under_way.len() > UNDER_WAY_MAX {
            self.settle()?;
        }
        Ok(())
    }

    /// Of a line that is not written, what goes on from it goes on from what is.
    fn refuse(&mut self, branch: BranchNo, place: Option<Place>, line: u64, why: &milepost::Error) {
        let end = self.ends.get(branch as usize).copied();
        if let (Some(place), Some(end)) = (place, end) {
            self.tree.settle(place, end);
        }
        let why = why.to_string();
        self.refused.push(Refused { number: line, why });
    }

    /// Waits for the append that was submitted first.
    fn settle(&mut self) -> Result<Option<Durable>> {
        let Some(done) = self.under_way.pop_front() else {
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
                return Err(Failure::from(error)
                    .at(format!("line {line} says something else than before"))
                    .code_of(CONFLICT)
                    .hint(CHANGED));
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

    /// Waits for all that was submitted, and tells of the last.
    fn settle_all(&mut self) -> Result<Option<Durable>> {
        let mut last = None;
        while !self.under_way.is_empty() {
            last = self.settle()?;
        }
        Ok(last)
    }

    /// The lines that were refused since this was asked last.
    pub fn take_refused(&mut self) -> Vec<Refused> {
        std::mem::take(&mut self.refused)
    }

    /// All of it is durable when this returns, and the task goes on where the session does.
    pub fn finish(&mut self) -> Result<Offset> {
        self.settle_all()?;
        let current = self.tree.current() as usize;
        self.branches.go_on_with(current, self.events > 0)
    }

    fn on(&self, branch: BranchNo) -> Result<&Task> {
        self.branches.on(branch as usize)
    }

    /// The branch of a place, which is opened where it is a new one.
    fn branch(&mut self, spot: Spot, line: &Line, name: &str) -> Result<BranchNo> {
        let (branch, end) = match spot {
            Spot::End(branch) => return Ok(branch),
            Spot::Fork { branch, behind, side } => (branch, self.fork(behind, side, line, name)?),
            Spot::Alone(branch) => {
                self.alone += 1;
                self.branches.beside(&format!("side-{}", self.alone))?;
                (branch, START)
            }
        };
        self.ends.push(end);
        Ok(branch)
    }

    /// Opens the lineage of a branch that begins behind a place, and says where it begins.
    fn fork(&mut self, behind: Place, side: bool, line: &Line, name: &str) -> Result<Offset> {
        // Where the line before lies has to be known, and the activation is a commit of its own.
        self.settle_all()?;
        let (branch, offset) = self.tree.at(behind);
        let at = offset.ok_or_else(|| Failure::bug("a line without a place".into()))?;
        let called = match line.prompt() {
            Some(prompt) => format!("{prompt} ({name})"),
            None => name.to_owned(),
        };
        self.branches.fork(branch as usize, at, &called, !side)?;
        Ok(at)
    }

    /// The mark to go back to before a prompt.
    fn mark(&self, step: u64, prompt: &str, name: &str) -> Mark {
        let mut mark = Mark::new()
            .cause(MarkCause::Step)
            .label(format!("prompt-{step}"))
            .alias(name)
            .actor(ACTOR);
        if let Ok(metadata) = Json::from_value(&serde_json::json!({"prompt": prompt})) {
            mark = mark.metadata(metadata);
        }
        if let Some(time_us) = self.time_us {
            mark = mark.time_us(time_us);
        }
        mark
    }

    /// What stands before a prompt: the end of the step before, and a mark.
    fn before(
        &mut self,
        branch: BranchNo,
        step: u64,
        mark: Mark,
        (name, line): (&str, u64),
    ) -> Result<()> {
        let key = format!("{}{BEFORE}", key(name));
        // A cleanup may have let go of the mark: then it would not be the same.
        let growing = self.growing.contains(&branch);
        if !growing && self.on(branch)?.lineage().appended_under(&key)?.is_some() {
            return Ok(());
        }
        let finished = StepFinished { step: step - 1, ..StepFinished::default() };
        let append = self.append(vec![finished.into()]).mark(mark);
        let append = append.key(key);
        let ticket = self.on(branch)?.submit(append)?;
        self.under_way.push_back(UnderWay { ticket, branch, place: None, line });
        Ok(())
    }

    /// A mark before the first prompt of a branch, which has no step before it to go with.
    fn mark_beginning(&mut self, branch: BranchNo, mark: Mark, name: &str) -> Result<()> {
        self.settle_all()?;
        let task = self.on(branch)?;
        if task.lineage().appended_under(&key(name))?.is_some() {
            return Ok(());
        }
        let head = task.lineage().head()?.next;
        let mut last = task.lineage().read(head.saturating_sub(1)..head)?;
        let is_it = |body| match body {
            Some(Body::CheckpointMarked(mark)) => mark.aliases.iter().any(|alias| alias == name),
            _ => false,
        };
        // A run that was cut short got as far as the mark.
        if let Some(event) = last.next()
            && is_it(event?.body)
        {
            return Ok(());
        }
        task.checkpoint(mark)?;
        self.checkpoints += 1;
        Ok(())
    }
}

fn key(name: &str) -> String {
    format!("{KEY}{name}")
}
