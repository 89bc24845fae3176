//! Writes an export: lines, their counts and their digest.

use std::io;

use data_encoding::{BASE64, HEXLOWER};
use milepost::events::{Application, Control, Data, FilesKept, RestoreBegun, WorkspaceCaptured};
use milepost::ids::{Head, LogKind};
use milepost::limits::TEXT_MAX;
use milepost::transfer::{ExportBody, ExportChunk, ExportEvent, ExportItem, ExportTask};
use milepost::{Body, CheckpointId, Hash, Header};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::line::{Big, ChunkForm, Counts, End, EventForm, ExportHeader, Log, PointForm, TaskForm};
use super::withhold::Withholding;

/// The destination of the lines.
pub type Sink<'a> = dyn FnMut(&[u8]) -> io::Result<()> + 'a;

/// The parts of events that an export has.
pub enum Content<'a> {
    /// The whole of it.
    Whole,
    /// Bodies and headers without secrets, and without salts and hashes.
    Redacted(&'a dyn Redact),
    /// All of the events without finds, and the hashes of the others.
    Withheld(&'a mut Withholding),
}

/// Writer of an export.
pub struct ExportWriter<'a> {
    sink: &'a mut Sink<'a>,
    content: Content<'a>,
    digest: blake3::Hasher,
    /// The task of the following lines.
    task: String,
    counts: Counts,
    /// The number of replaced texts.
    redacted: u64,
}

impl<'a> ExportWriter<'a> {
    /// Begins an export with its header.
    ///
    /// # Errors
    ///
    /// Errors of the destination.
    pub fn begin(
        sink: &'a mut Sink<'a>,
        header: &ExportHeader,
        mut content: Content<'a>,
    ) -> io::Result<Self> {
        if let Content::Withheld(withholding) = &mut content {
            withholding.begin(header.key.is_some());
        }
        let mut writer = Self {
            sink,
            content,
            digest: blake3::Hasher::new(),
            task: String::new(),
            counts: Counts::default(),
            redacted: 0,
        };
        writer.put(text(header))?;
        Ok(writer)
    }

    /// Writes an item of an engine's export.
    ///
    /// # Errors
    ///
    /// Errors of the destination, and events that cannot be redacted.
    pub fn write(&mut self, carried: &ExportItem<'_>) -> io::Result<()> {
        match carried {
            ExportItem::Task(task) => {
                self.counts.tasks.0 += 1;
                self.task.clone_from(&task.id);
                self.put(task_text(task))
            }
            // Its event is withheld.
            ExportItem::Chunk(_) if self.content.withholds_chunks() => Ok(()),
            ExportItem::Chunk(chunk) => {
                self.counts.chunks.0 += 1;
                self.put(chunk_text(chunk))
            }
            ExportItem::Event(event) => {
                self.counts.events.0 += 1;
                let line = match &mut self.content {
                    Content::Redacted(redact) => {
                        redacted_text(event, *redact).map(|(line, count)| {
                            self.redacted += count;
                            line
                        })
                    }
                    Content::Withheld(withholding) => withholding.line(&self.task, event),
                    Content::Whole => event_text(event),
                };
                let (task, at) = (&self.task, event.offset);
                self.put(line.map_err(|why| match event.log {
                    LogKind::Control => format!("event {at} of the control log of `{task}`: {why}"),
                    LogKind::Lineage(lineage) => format!("event `{task}/{lineage}@{at}`: {why}"),
                }))
            }
            _ => Err(io::Error::other("something that has no line")),
        }
    }

    /// Returns the number of texts that were replaced so far, because they look like secrets.
    pub fn redacted(&self) -> u64 {
        self.redacted
    }

    /// Writes the last line, and returns the counts of the lines before it.
    ///
    /// # Errors
    ///
    /// Errors of the destination.
    pub fn end(mut self) -> io::Result<Counts> {
        let end = End { end: self.counts, digest: Hash(*self.digest.finalize().as_bytes()) };
        self.put(text(&end))?;
        Ok(self.counts)
    }

    fn put(&mut self, line: Result<String, String>) -> io::Result<()> {
        let mut line = line.map_err(io::Error::other)?;
        line.push('\n');
        self.digest.update(line.as_bytes());
        (self.sink)(line.as_bytes())
    }
}

impl Content<'_> {
    fn withholds_chunks(&self) -> bool {
        matches!(self, Self::Withheld(withholding) if withholding.searches())
    }
}

/// Returns the line of a form.
pub(super) fn text(form: &impl Serialize) -> Result<String, String> {
    serde_json::to_string(form).map_err(|error| error.to_string())
}

/// Returns the line of a task.
fn task_text(task: &ExportTask) -> Result<String, String> {
    let point =
        |log, head: Head| PointForm { log: Log(log), next: Big(head.next), hash: head.hash };
    let begins = task.begins.iter();
    text(&TaskForm {
        task: task.id.clone(),
        user: task.user.clone(),
        created_us: Big(task.created_us),
        origin: task.origin,
        active: Big(task.active.0.into()),
        heads: task.heads.iter().map(|(log, head)| point(*log, *head)).collect(),
        begins: begins.map(|begin| point(LogKind::Lineage(begin.lineage), begin.head)).collect(),
    })
}

/// Returns the line of a chunk.
fn chunk_text(chunk: &ExportChunk) -> Result<String, String> {
    text(&ChunkForm {
        chunk: chunk.id,
        pieces: chunk.pieces,
        base64: BASE64.encode(&chunk.content),
    })
}

/// Returns the line of an event. The body is JSON if that encodes to the same bytes, otherwise
/// base64.
pub fn event_text(event: &ExportEvent) -> Result<String, String> {
    text_with(event, event.hash)
}

/// Returns the line of an event, with a chain hash or without one.
pub(super) fn text_with(event: &ExportEvent, hash: Option<Hash>) -> Result<String, String> {
    let (mut form, header) = form_and_header(event)?;
    form.salt = event.salt.map(|salt| HEXLOWER.encode(&salt));
    form.hash = hash;
    let payload = match &event.body {
        ExportBody::Inline(payload) | ExportBody::Chunked { payload, .. } => payload,
        ExportBody::Listed(list) => {
            form.list = Some(BASE64.encode(list));
            form.number = Some(header.kind);
            return text(&form);
        }
        ExportBody::Erased(hash) => {
            form.erased = Some(*hash);
            form.number = Some(header.kind);
            return text(&form);
        }
        ExportBody::Withheld { .. } => return Err("its body is not there".to_owned()),
    };
    let json = body_json(event.log, header.kind, payload);
    let is_reversible = |json: &String| encodes_to(event.log, json, header.kind, payload);
    if !json.as_ref().is_some_and(is_reversible) {
        form.raw = Some(BASE64.encode(payload));
        form.number = Some(header.kind);
    }
    // A line with the bytes has the JSON only for people.
    let json = json.map(|json| json.replace(['\n', '\r'], " "));
    let body = json.map(RawValue::from_string).transpose().ok().flatten();
    form.body = body.as_deref();
    text(&form)
}

/// Returns the line of an event with redacted texts, without the salt and hashes that would help to
/// guess the original. Also returns the number of replaced texts.
fn redacted_text(event: &ExportEvent, redact: &dyn Redact) -> Result<(String, u64), String> {
    let mut count = 0;
    let (mut form, header) = form_and_header(event)?;
    if form.header.is_some() {
        return Err("its header has more than this version knows: it cannot be redacted".into());
    }
    count += redact_header(&mut form, redact);
    let payload = match &event.body {
        ExportBody::Inline(payload) | ExportBody::Chunked { payload, .. } => payload,
        ExportBody::Listed(_) => {
            return Err("its chunks are cut in a way that cannot be redacted".to_owned());
        }
        ExportBody::Erased(hash) => {
            form.erased = Some(*hash);
            form.number = Some(header.kind);
            return Ok((text(&form)?, count));
        }
        ExportBody::Withheld { .. } => return Err("its body is not there".to_owned()),
    };
    let json = body_json(event.log, header.kind, payload);
    let json =
        json.ok_or("it is of a kind that this version does not know: it cannot be redacted")?;
    let before = json.replace(['\n', '\r'], " ");
    let (mut json, texts) = redact.json(&before, false);
    count += texts;
    if json != before && !is_accepted(event.log, &json) {
        (json, _) = redact.json(&before, true);
    }
    for root in folders(event.log, header.kind, payload) {
        // The names and contents of the captured files could be guessed from the hash.
        json = json.replace(&root.to_string(), &redact.hash(root).to_string());
    }
    if let Some(id) = event.checkpoint.filter(|_| json != before) {
        form.checkpoint = Some(redact.checkpoint(id));
    }
    let body = RawValue::from_string(json).map_err(|error| error.to_string())?;
    form.body = Some(&body);
    Ok((text(&form)?, count))
}

/// Redacts the texts of a header. Returns the number of texts that were replaced.
pub(super) fn redact_header(form: &mut EventForm<'_>, redact: &dyn Redact) -> u64 {
    let mut count = 0;
    let texts = [&mut form.actor, &mut form.user, &mut form.correlation];
    for text in texts.into_iter().flatten() {
        let other = redact.text(text, false);
        count += u64::from(other != *text);
        *text = match other.len() <= TEXT_MAX {
            true => other,
            false => redact.text(text, true),
        };
    }
    if let Some(key) = form.key.take() {
        let other = redact.key(&key, TEXT_MAX);
        count += u64::from(other != key);
        form.key = Some(other);
    }
    count
}

/// Redaction of secrets. With `brief`, a replacement is never longer than the secret.
pub trait Redact {
    /// Redacts a text.
    fn text(&self, text: &str, brief: bool) -> String;
    /// Redacts an idempotency key, to at most `max` bytes. Distinct keys stay distinct.
    fn key(&self, key: &str, max: usize) -> String;
    /// Redacts the strings of a JSON text. Returns the number of those with a secret.
    fn json(&self, json: &str, brief: bool) -> (String, u64);
    /// Returns the replacement of a hash whose content could be guessed, always the same.
    fn hash(&self, hash: Hash) -> Hash;
    /// Returns the new id of a checkpoint with redacted texts, and uses it in every later text: a
    /// short secret could be guessed from the old id.
    fn checkpoint(&self, id: CheckpointId) -> CheckpointId;
}

/// Returns the header of an event, and its line without the body.
pub(super) fn form_and_header<'a>(event: &ExportEvent) -> Result<(EventForm<'a>, Header), String> {
    let header = Header::decode(&event.header).map_err(|error| error.to_string())?;
    let mut form = EventForm {
        log: Some(Log(event.log)),
        at: Some(Big(event.offset)),
        checkpoint: event.checkpoint,
        chunked: match event.body {
            ExportBody::Chunked { ends, .. } => Some(ends),
            _ => None,
        },
        ..EventForm::default()
    };
    if header.encode() == event.header {
        form.time_us = Some(Big(header.time_us));
        form.actor.clone_from(&header.actor);
        form.user.clone_from(&header.user);
        form.correlation.clone_from(&header.correlation);
        form.key.clone_from(&header.key);
        form.batch = Some(header.batch).filter(|batch| *batch > 0);
    } else {
        form.header = Some(BASE64.encode(&event.header));
    }
    Ok((form, header))
}

/// Returns the JSON form of a body, if its kind is known.
pub(super) fn body_json(log: LogKind, kind: u16, payload: &[u8]) -> Option<String> {
    match log {
        LogKind::Control => match Control::decode(kind, payload).ok()? {
            Control::Unknown { .. } => None,
            control => control.to_json().ok(),
        },
        LogKind::Lineage(_) => match Body::decode(kind, payload).ok()? {
            Body::Unknown { .. } => None,
            body => body.to_json().ok(),
        },
    }
}

/// Returns `true` if an import accepts the body: a replacement may exceed a limit.
pub(super) fn is_accepted(log: LogKind, json: &str) -> bool {
    let parsed = match log {
        LogKind::Control => Control::from_json(json).and_then(|body| body.check()),
        LogKind::Lineage(_) => Body::from_json(json).and_then(|body| body.check()),
    };
    parsed.is_ok()
}

/// The hash of a captured folder.
#[derive(Deserialize)]
struct CapturedRoot {
    root: Hash,
}

/// Returns the hashes of captured folders and chunks in an event.
pub(super) fn folders(log: LogKind, kind: u16, payload: &[u8]) -> Vec<Hash> {
    match (log, kind) {
        (LogKind::Lineage(_), WorkspaceCaptured::KIND) => match Body::decode(kind, payload) {
            Ok(Body::WorkspaceCaptured(captured)) => vec![captured.root],
            _ => Vec::new(),
        },
        (LogKind::Control, RestoreBegun::KIND) => match Control::decode(kind, payload) {
            Ok(Control::RestoreBegun(begun)) => {
                let parts = begun.parts.iter();
                let ids = parts.flat_map(|part| part.roots.iter().chain(&part.plan.chunks));
                ids.map(|id| Hash(id.0)).collect()
            }
            _ => Vec::new(),
        },
        // A capture in a copy without files.
        (LogKind::Lineage(_), Application::KIND) => match Body::decode(kind, payload) {
            Ok(Body::Application(application)) if application.name == "workspace_captured" => {
                let Data::Json(json) = &application.data else { return Vec::new() };
                json.to::<CapturedRoot>().map(|captured| vec![captured.root]).unwrap_or_default()
            }
            _ => Vec::new(),
        },
        (LogKind::Control, FilesKept::KIND) => match Control::decode(kind, payload) {
            Ok(Control::FilesKept(kept)) => vec![kept.root],
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// Returns `true` if the JSON is on one line and encodes to the same bytes.
fn encodes_to(log: LogKind, json: &str, kind: u16, payload: &[u8]) -> bool {
    if json.contains(['\n', '\r']) {
        return false;
    }
    let encoded = match log {
        LogKind::Control => Control::from_json(json).map(|body| body.encode()),
        LogKind::Lineage(_) => Body::from_json(json).map(|body| body.encode()),
    };
    encoded.is_ok_and(|(number, bytes)| (number, bytes.as_slice()) == (kind, payload))
}
