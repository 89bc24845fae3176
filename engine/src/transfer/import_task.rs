//! The task that is taken: each event is checked, chained, and committed with others.

use std::collections::HashMap;

use milepost_codec::{
    BodyForm, Chain, Control, Error, ErrorKind, Hash, Head, Header, LineageId, LogId, LogKind,
    Offset, Origin, Parent, RecordRef, Result, TaskNo, body_hash,
};

use super::export::marked;
use super::rebase::Rebase;
use super::{ExportBody, ExportEvent, ExportTask, validate};
use crate::commit::committer::{PartBuilder, Request};
use crate::handles::engine::Engine;
use crate::integrity::verify;
use milepost_store::put_content;

/// What one commit takes: bytes of records, and how many.
const COMMIT_BYTES: usize = 1 << 20;
const COMMIT_RECORDS: usize = 2048;

/// The task that is taken.
pub(super) struct TaskImport {
    pub(super) no: TaskNo,
    pub(super) origin: Origin,
    pub(super) task: ExportTask,
    /// Where a copy comes from, and what of it has another name now.
    renewal: Option<Rebase>,
    /// How each log stands.
    pub(super) logs: HashMap<LogKind, ImportedLog>,
    /// Where lineages part from others, as the control log says.
    pub(super) parents: HashMap<LineageId, Option<Parent>>,
    /// What goes into the next commit, in the order of logs.
    parts: Vec<(PartKey, PartBuilder)>,
    /// Bytes of their records, and how many.
    gathered: (usize, usize),
    /// Events that the next commit erases.
    erased: Vec<(LineageId, Offset)>,
}

/// The order of logs in a commit.
type PartKey = (bool, u32);

/// How a log stands.
pub(super) struct ImportedLog {
    chain: Chain,
    pub(super) head: Head,
}

impl ImportedLog {
    /// The point behind an event, which has to follow, and to have the chain hash that is said of
    /// it.
    fn behind(&self, event: &ExportEvent, record: &RecordRef<'_>, body: &Hash) -> Result<Head> {
        let Head { next, hash } = self.head;
        if next != event.offset {
            let why = format!("offset {next} comes next, not {}", event.offset);
            return Err(Error::invalid(why));
        }
        let hash = self.chain.next(next, &hash, record.header, body);
        if event.hash.is_some_and(|said| said != hash) {
            return Err(Error::new(
                ErrorKind::Diverged,
                format!("its chain hash is {hash}, and not the one that is said of it"),
            ));
        }
        Ok(Head { next: next + 1, hash })
    }
}

impl TaskImport {
    pub(super) fn of(
        (no, origin): (TaskNo, Origin),
        task: &ExportTask,
        renewal: Option<Rebase>,
    ) -> Self {
        Self {
            no,
            origin,
            task: task.clone(),
            renewal,
            logs: HashMap::new(),
            parents: HashMap::new(),
            parts: Vec::new(),
            gathered: (0, 0),
            erased: Vec::new(),
        }
    }

    /// Takes the next event.
    pub(super) fn take(&mut self, engine: &Engine, event: &ExportEvent) -> Result<()> {
        let renewed = match self.renewal.take() {
            Some(mut renewal) => {
                let renewed = renewal.event(self, engine, event);
                self.renewal = Some(renewal);
                Some(renewed?)
            }
            None => None,
        };
        let event = renewed.as_ref().unwrap_or(event);
        let header = Header::decode(&event.header)?;
        let (form, payload) = stored(engine, &event.body)?;
        let record = RecordRef { header: &event.header, form, payload: &payload };
        validate::check(engine, event, &header, &record)?;
        let control = match (event.log, form) {
            (LogKind::Control, BodyForm::Inline) => Some(Control::decode(header.kind, &payload)?),
            _ => None,
        };
        if self.is_full(order(event.log), control.as_ref()) {
            self.commit(engine)?;
        }
        self.push(engine, event, &record)?;
        self.learn(control)
    }

    /// Chains an event to its log, and puts it to those that are committed next.
    fn push(&mut self, engine: &Engine, event: &ExportEvent, record: &RecordRef<'_>) -> Result<()> {
        let (place, opened) = (order(event.log), self.stand(engine, event.log)?);
        let (salt, body) = hashed(event, record)?;
        let standing = self.logs.get_mut(&event.log);
        let standing = standing.ok_or_else(|| no_lineage(event.log))?;
        let before = standing.head;
        standing.head = standing.behind(event, record, &body)?;
        if self.renewal.is_none() {
            let marked = marked(&self.task, log_id(self.no, event.log), before, record)?;
            if marked != event.checkpoint {
                return Err(Error::invalid(match marked {
                    Some(id) => format!("the checkpoint that it marks has the id {id}"),
                    None => "it marks no checkpoint".to_owned(),
                }));
            }
        }
        if self.parts.last().is_none_or(|(last, _)| *last != place) {
            let part = engine.inner.part(log_id(self.no, event.log), self.origin);
            let part = if opened { part.open(before) } else { part };
            self.parts.push((place, part));
        }
        if let Some((_, part)) = self.parts.last_mut() {
            let before = part.size();
            part.push_adopted(record, salt, body)?;
            let after = part.size();
            self.gathered.0 += after.0 - before.0;
            self.gathered.1 += after.1 - before.1;
        }
        Ok(())
    }

    /// Remembers what a control event says of what comes.
    fn learn(&mut self, control: Option<Control>) -> Result<()> {
        match control {
            Some(Control::LineageRegistered(opened)) => {
                let before = self.parents.insert(opened.lineage, opened.parent);
                if before.is_some() {
                    return Err(Error::invalid("a lineage that is registered already"));
                }
            }
            Some(Control::Erased(erased)) => self.erased.push((erased.lineage, erased.offset)),
            _ => {}
        }
        Ok(())
    }

    /// Whether what was gathered is committed before the next event: there is enough of it, its log
    /// comes before one that is in it, or it changes what earlier ones left in the index.
    fn is_full(&self, place: PartKey, control: Option<&Control>) -> bool {
        let Some((last, _)) = self.parts.last() else {
            return false;
        };
        let (bytes, records) = self.gathered;
        let changes = matches!(control, Some(Control::Retained(_) | Control::Dropped(_)));
        place < *last || changes || bytes >= COMMIT_BYTES || records >= COMMIT_RECORDS
    }

    /// Commits what was gathered.
    pub(super) fn commit(&mut self, engine: &Engine) -> Result<()> {
        if self.parts.is_empty() {
            return Ok(());
        }
        let inner = &engine.inner;
        inner.catalog.log().sync_chunks()?;
        let parts = std::mem::take(&mut self.parts);
        self.gathered = (0, 0);
        let parts: Vec<_> = parts.into_iter().map(|(_, part)| part.finish()).collect();
        inner.commit(Request::of(parts))?;
        // Bases came with it: what was read of its lineages so far is another thing.
        inner.catalog.forget_lineages(self.no);
        for (lineage, offset) in std::mem::take(&mut self.erased) {
            inner.catalog.now_erased(self.no, lineage, offset);
        }
        Ok(())
    }

    /// Begins with a log where it is the first time; gives whether it is.
    fn stand(&mut self, engine: &Engine, log: LogKind) -> Result<bool> {
        if self.logs.contains_key(&log) {
            return Ok(false);
        }
        let chain = engine.inner.catalog.chain(self.origin, log_id(self.no, log));
        let mut head = Head { next: 0, hash: chain.root() };
        if let LogKind::Lineage(lineage) = log {
            let mut begins = self.task.begins.iter();
            let parent = self.parents.get(&lineage);
            let parent = parent.ok_or_else(|| no_lineage(log))?;
            if let Some(begin) = begins.find(|begin| begin.lineage == lineage) {
                head = begin.head;
            } else if let Some(parent) = parent {
                (head.next, head.hash) = (parent.offset, parent.hash);
            }
        }
        if head.next > validate::NUMBER_MAX {
            return Err(Error::invalid("a log that begins behind every other"));
        }
        self.logs.insert(log, ImportedLog { chain, head });
        Ok(true)
    }

    /// Ends it: all of it is there, and verifies.
    pub(super) fn end(&mut self, engine: &Engine) -> Result<()> {
        self.commit(engine)?;
        self.check_heads()?;
        let inner = &engine.inner;
        if inner.catalog.pending(self.no)?.is_some() {
            return Err(Error::invalid("a restore of it has not ended"));
        }
        let active = inner.catalog.active(self.no)?.1.lineage;
        if active != self.task.active || !self.logs.contains_key(&LogKind::Lineage(active)) {
            let said = self.task.active;
            let why = format!("it goes on with lineage {active}, and lineage {said} is said");
            return Err(Error::invalid(why));
        }
        for log in self.logs.keys() {
            if let LogKind::Lineage(lineage) = log {
                let mut begins = self.task.begins.iter();
                let begin = begins.find(|begin| begin.lineage == *lineage);
                validate::beginning(engine, self.no, *lineage, begin.map(|begin| begin.head))?;
            }
        }
        let report = verify::verify(&inner.catalog, inner.store, Some(self.no), &mut |_, _| {})?;
        match report.faults.first() {
            Some(fault) => Err(Error::new(ErrorKind::Corrupt, fault.message.clone())),
            None => Ok(()),
        }
    }

    /// Its logs are those that it said it has, and end where it said; those of a copy have other
    /// hashes.
    fn check_heads(&self) -> Result<()> {
        let count = self.task.heads.len();
        if count != self.logs.len() {
            let found = self.logs.len();
            return Err(Error::invalid(format!("it has {count} logs, {found} came")));
        }
        for (log, said) in &self.task.heads {
            let head = self.logs.get(log).map(|standing| standing.head);
            let same = |head: Head| match self.renewal {
                None => head == *said,
                Some(_) => head.next == said.next,
            };
            if !head.is_some_and(same) {
                let end = head.map_or(0, |head| head.next);
                let name = validate::name(*log);
                let why = format!("{name} ends at offset {}, {end} came", said.next);
                return Err(Error::invalid(why));
            }
        }
        Ok(())
    }

    /// Where an event is, for people.
    pub(super) fn place(&self, event: &ExportEvent) -> String {
        let (name, log) = (&self.task.id, validate::name(event.log));
        format!("task `{name}`, {log} at offset {}", event.offset)
    }
}

/// The form and payload of a body as it is stored here.
fn stored(engine: &Engine, body: &ExportBody) -> Result<(BodyForm, Vec<u8>)> {
    let (log, limit) = (engine.inner.catalog.log(), engine.inner.options.event_max);
    match body {
        ExportBody::Inline(payload) => Ok((BodyForm::Inline, payload.clone())),
        ExportBody::Chunked(content) if content.len() <= limit => {
            Ok((BodyForm::Chunked, put_content(log, content)?.encode()))
        }
        ExportBody::Chunked(content) => Err(Error::invalid(format!(
            "an event of {} bytes is over the limit of {limit}",
            content.len()
        ))),
        ExportBody::Listed(list) => Ok((BodyForm::Chunked, list.clone())),
        ExportBody::Erased(hash) => Ok((BodyForm::Erased, hash.0.to_vec())),
    }
}

/// The salt of a record's body, and the hash.
fn hashed(event: &ExportEvent, record: &RecordRef<'_>) -> Result<([u8; 16], Hash)> {
    match (event.salt, record.form) {
        (None, BodyForm::Erased) => Ok(([0; 16], record.body_hash(&[0; 16])?)),
        (Some(salt), BodyForm::Inline | BodyForm::Chunked) => {
            Ok((salt, body_hash(&salt, record.form, record.payload)))
        }
        _ => Err(Error::invalid("a body has a salt, and an erased one has none")),
    }
}

fn order(log: LogKind) -> PartKey {
    (log != LogKind::Control, log.number())
}

pub(super) fn log_id(task: TaskNo, log: LogKind) -> LogId {
    LogId { task, kind: log }
}

fn no_lineage(log: LogKind) -> Error {
    Error::invalid(format!("{} was not registered", validate::name(log)))
}
