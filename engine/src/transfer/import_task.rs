//! Import of one task: each event is checked, chained, and committed in batches.

use std::collections::HashMap;

use milepost_codec::{
    BodyForm, Chain, Control, Error, ErrorKind, Hash, Head, Header, LineageId, LogId, LogKind,
    Offset, Origin, Parent, RecordRef, Result, TaskNo, body_hash,
};

use super::export::marked;
use super::items::{ExportBody, ExportEvent, ExportTask, between};
use super::rebase::Rebase;
use super::{validate, withheld};
use crate::commit::committer::{LogAppend, Request};
use crate::handles::engine::Engine;
use crate::verification::verify;
use milepost_store::put_body;

/// Maximum bytes and records of one commit.
const COMMIT_BYTES: usize = 1 << 20;
const COMMIT_RECORDS: usize = 2048;

/// A task that is being imported.
pub(super) struct TaskImport {
    pub(super) no: TaskNo,
    pub(super) origin: Origin,
    pub(super) task: ExportTask,
    /// The rebase, if the task is imported as a copy.
    renewal: Option<Rebase>,
    /// The state of each log.
    pub(super) logs: HashMap<LogKind, ImportedLog>,
    /// The fork points of lineages, from the control log.
    pub(super) parents: HashMap<LineageId, Option<Parent>>,
    /// Events of the next commit, in the order of their logs.
    appends: Vec<(AppendKey, LogAppend)>,
    /// The bytes and the number of those records.
    gathered: (usize, usize),
    /// Events that the next commit erases.
    erased: Vec<(LineageId, Offset)>,
    /// Events that came without their bodies, and the hashes of the bodies.
    withheld: Vec<(LineageId, Offset, Hash)>,
}

/// The position of a log in a commit.
type AppendKey = (bool, u32);

/// The chain and head of an imported log.
pub(super) struct ImportedLog {
    chain: Chain,
    pub(super) head: Head,
}

impl ImportedLog {
    /// Returns the head after an event. Fails if the event is not the next one, or its chain hash
    /// differs from the given one.
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
            appends: Vec::new(),
            gathered: (0, 0),
            erased: Vec::new(),
            withheld: Vec::new(),
        }
    }

    /// Imports the next event.
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
        if let Some((lineage, hash)) = withheld::of(event)? {
            self.withheld.push((lineage, event.offset, hash));
        }
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

    /// Chains an event to its log and adds it to the next commit.
    fn push(&mut self, engine: &Engine, event: &ExportEvent, record: &RecordRef<'_>) -> Result<()> {
        let (place, opened) = (order(event.log), self.stand(engine, event.log)?);
        let (salt, body) = hashed(event, record)?;
        let log_state = self.logs.get_mut(&event.log);
        let log_state = log_state.ok_or_else(|| no_lineage(event.log))?;
        let before = log_state.head;
        log_state.head = log_state.behind(event, record, &body)?;
        if self.renewal.is_none() {
            let marked = marked(&self.task, log_id(self.no, event.log), before, record)?;
            if marked != event.checkpoint {
                return Err(Error::invalid(match marked {
                    Some(id) => format!("the checkpoint that it marks has the id {id}"),
                    None => "it marks no checkpoint".to_owned(),
                }));
            }
        }
        if self.appends.last().is_none_or(|(last, _)| *last != place) {
            let append = engine.log_append(log_id(self.no, event.log), self.origin);
            let append = if opened { append.open(before) } else { append };
            self.appends.push((place, append));
        }
        if let Some((_, append)) = self.appends.last_mut() {
            let before = append.size();
            append.push_adopted(record, salt, body)?;
            let after = append.size();
            self.gathered.0 += after.0 - before.0;
            self.gathered.1 += after.1 - before.1;
        }
        Ok(())
    }

    /// Records forks and erasures from a control event.
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

    /// Returns `true` if a commit is due before the next event: the batch is full, the event's log
    /// sorts before the last one, or the event changes earlier index entries.
    fn is_full(&self, place: AppendKey, control: Option<&Control>) -> bool {
        let Some((last, _)) = self.appends.last() else {
            return false;
        };
        let (bytes, records) = self.gathered;
        let changes = matches!(control, Some(Control::Retained(_) | Control::Dropped(_)));
        place < *last || changes || bytes >= COMMIT_BYTES || records >= COMMIT_RECORDS
    }

    /// Commits the gathered events.
    pub(super) fn commit(&mut self, engine: &Engine) -> Result<()> {
        if self.appends.is_empty() {
            return Ok(());
        }
        let inner = &engine.inner;
        inner.catalog.log().sync_chunks()?;
        let appends = std::mem::take(&mut self.appends);
        self.gathered = (0, 0);
        let appends: Vec<_> = appends.into_iter().map(|(_, append)| append).collect();
        inner.commit(Request::of(appends))?;
        // The commit may contain bases, so the cached lineages are stale.
        inner.catalog.forget_lineages(self.no);
        for (lineage, offset) in std::mem::take(&mut self.erased) {
            inner.catalog.now_erased(self.no, lineage, offset);
        }
        Ok(())
    }

    /// Begins a log at its first event. Returns `true` if it did.
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

    /// Completes the task: checks that it has all of its events, and verifies it.
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
            let why = format!("its active lineage is {active}, and the file says {said}");
            return Err(Error::invalid(why));
        }
        for log in self.logs.keys() {
            if let LogKind::Lineage(lineage) = log {
                let mut begins = self.task.begins.iter();
                let begin = begins.find(|begin| begin.lineage == *lineage);
                validate::beginning(engine, self.no, *lineage, begin.map(|begin| begin.head))?;
            }
        }
        self.erase_withheld(engine)?;
        let report = verify::verify(&inner.catalog, inner.store, Some(self.no), &mut |_, _| {})?;
        match report.faults.first() {
            Some(fault) => Err(Error::new(ErrorKind::Corrupt, fault.message.clone())),
            None => Ok(()),
        }
    }

    /// Appends to the control log that the withheld events are erased, after its events in the
    /// file.
    fn erase_withheld(&mut self, engine: &Engine) -> Result<()> {
        let erased = engine.inner.catalog.erased_of(self.no);
        for withheld in std::mem::take(&mut self.withheld) {
            let control = self.logs.get(&LogKind::Control);
            let at = control.map_or(0, |log_state| log_state.head.next);
            if !erased.has(withheld.0, withheld.1) {
                let salt = engine.inner.entropy.bytes16();
                let time_us = engine.inner.now_us();
                self.take(
                    engine,
                    &withheld::erased(engine.context(), withheld, (at, time_us, salt)),
                )?;
            }
        }
        self.commit(engine)
    }

    /// Checks that the logs and their heads are as announced. The hashes of a copy differ.
    fn check_heads(&self) -> Result<()> {
        let count = self.task.heads.len();
        if count != self.logs.len() {
            let found = self.logs.len();
            return Err(Error::invalid(format!("it has {count} logs, {found} came")));
        }
        for (log, said) in &self.task.heads {
            let head = self.logs.get(log).map(|log_state| log_state.head);
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

    /// Describes the location of an event for messages.
    pub(super) fn place(&self, event: &ExportEvent) -> String {
        let (name, log) = (&self.task.id, validate::name(event.log));
        format!("task `{name}`, {log} at offset {}", event.offset)
    }
}

/// Returns the form and payload of a body as this store keeps it.
fn stored(engine: &Engine, body: &ExportBody) -> Result<(BodyForm, Vec<u8>)> {
    let (log, limit) = (engine.inner.catalog.log(), engine.inner.options.event_max);
    match body {
        ExportBody::Inline(payload) => Ok((BodyForm::Inline, payload.clone())),
        ExportBody::Chunked { payload, ends } if payload.len() <= limit => {
            let body = put_body(log, payload, &between(payload, *ends))?;
            Ok((BodyForm::Chunked, body.encode()))
        }
        ExportBody::Chunked { payload, .. } => Err(Error::invalid(format!(
            "an event of {} bytes is over the limit of {limit}",
            payload.len()
        ))),
        ExportBody::Listed(list) => Ok((BodyForm::Chunked, list.clone())),
        ExportBody::Erased(hash) | ExportBody::Withheld { hash: Some(hash), .. } => {
            Ok((BodyForm::Erased, hash.0.to_vec()))
        }
        ExportBody::Withheld { hash: None, .. } => Err(Error::invalid("a body without a hash")),
    }
}

/// Returns the salt of a record's body and its hash.
fn hashed(event: &ExportEvent, record: &RecordRef<'_>) -> Result<([u8; 16], Hash)> {
    match (event.salt, record.form) {
        (None, BodyForm::Erased) => Ok(([0; 16], record.body_hash(&[0; 16])?)),
        (Some(salt), BodyForm::Inline | BodyForm::Chunked) => {
            Ok((salt, body_hash(&salt, record.form, record.payload)))
        }
        _ => Err(Error::invalid("a body has a salt, and an erased one has none")),
    }
}

fn order(log: LogKind) -> AppendKey {
    (log != LogKind::Control, log.number())
}

pub(super) fn log_id(task: TaskNo, log: LogKind) -> LogId {
    LogId { task, kind: log }
}

fn no_lineage(log: LogKind) -> Error {
    Error::invalid(format!("{} was not registered", validate::name(log)))
}
