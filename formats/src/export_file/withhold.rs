//! Withholds events: their bodies are left out, and the chain still verifies. `docs/EXPORT.md`
//! defines the lines, `docs/SHARE.md` the rules.

use std::cell::Cell;
use std::collections::{BTreeMap, HashSet};

use milepost::events::{Control, Data, RestoreBegun};
use milepost::ids::LogKind;
use milepost::transfer::{ExportBody, ExportEvent};
use milepost::{Body, Hash, Json, LineageId, Offset};
use regex::Regex;
use serde_json::value::RawValue;

use super::line::EventForm;
use super::redact::{Patterns, Strings, Walk};
use super::sparse::{SparseHashes, StatedHashes};
use super::write::{
    Redact, body_json, folders, form_and_header, is_accepted, redact_header, text, text_with,
};
use crate::error::{Error, Result};

/// Number of places of a find that are named.
const PLACES: usize = 5;

/// Events that an export withholds, and the secrets found in them.
pub struct Withholding {
    /// Patterns of texts that are withheld; `None` if no text is searched.
    patterns: Option<Patterns>,
    /// The length of the longest texts, in bytes of their JSON.
    longest: usize,
    /// Erased events whose headers were redacted. The hashes of their bodies would reveal the
    /// headers.
    erased: HashSet<(LineageId, Offset)>,
    hashes: SparseHashes,
    /// The events that were withheld so far.
    withheld: Withheld,
}

/// Summary of the withheld events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Withheld {
    /// Number of events whose bodies are withheld.
    pub events: u64,
    /// Number of events whose headers are redacted, and whose hashes are taken on trust.
    pub trusted: u64,
    /// Number of texts that were too long.
    pub long: u64,
    /// The length of the longest body, in bytes of its JSON. No text is longer.
    pub longest_body: usize,
    /// Set if the task can be imported as a copy only.
    pub copy_only: bool,
    /// The finds, by the name of their pattern.
    pub finds: BTreeMap<String, Find>,
}

/// Finds of a pattern.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Find {
    /// Their number.
    pub count: u64,
    /// The addresses of the first five events that have them.
    pub places: Vec<String>,
}

/// The part of a body that a line has.
enum Shown {
    /// The body.
    Whole,
    /// Another one.
    Json(String),
    /// Nothing.
    Nothing,
}

impl Withholding {
    /// Withholds what matches the patterns of secrets, if `secrets` is set, and what matches the
    /// regular expressions of `withhold`, and texts over `longest` bytes.
    ///
    /// # Errors
    ///
    /// `Invalid`: a text is not a regular expression, or matches the empty text.
    pub fn new(secrets: bool, withhold: &[String], longest: usize) -> Result<Self> {
        let patterns = match secrets || !withhold.is_empty() {
            true => {
                let patterns = Patterns::counted(secrets, withhold).map_err(|error| {
                    // The last line has the reason; those before it draw the place.
                    let text = error.to_string();
                    let reason = text.lines().last().unwrap_or_default();
                    let reason = reason.trim_start_matches("error: ");
                    Error::invalid(format!("what is withheld is no regular expression: {reason}"))
                })?;
                let is_empty = |text: &String| Regex::new(text).is_ok_and(|one| one.is_match(""));
                if withhold.iter().any(is_empty) {
                    let why = "a regular expression of what is withheld matches the empty text";
                    return Err(Error::invalid(why));
                }
                Some(patterns)
            }
            false => None,
        };
        let (erased, hashes) = (HashSet::new(), SparseHashes::default());
        Ok(Self { patterns, longest, erased, hashes, withheld: Withheld::default() })
    }

    /// Begins an export, of a store with a key or without one.
    pub(super) fn begin(&mut self, is_keyed: bool) {
        self.hashes = SparseHashes::new(is_keyed);
    }

    /// Returns `true` if texts are searched.
    pub(super) fn searches(&self) -> bool {
        self.patterns.is_some()
    }

    /// Returns the events withheld so far.
    pub fn withheld(&self) -> &Withheld {
        &self.withheld
    }

    /// Returns the line of an event of a task.
    pub(super) fn line(&mut self, task: &str, event: &ExportEvent) -> Result<String, String> {
        let (mut form, header) = form_and_header(event)?;
        let place = place_of(task, event);
        if form.header.is_some() && self.searches() {
            return Err("its header has more than this version knows: it cannot be searched".into());
        }
        let before = header_texts(&form);
        let is_trusted = match &self.patterns {
            Some(patterns) => redact_header(&mut form, patterns) > 0,
            None => false,
        };
        if is_trusted {
            self.found(&place, &before, &header_texts(&form));
            if let (LogKind::Lineage(lineage), ExportBody::Erased(_)) = (event.log, &event.body) {
                self.erased.insert((lineage, event.offset));
            }
        }
        let shown = self.shown(&place, event, header.kind)?;
        let StatedHashes { previous, hash } = self.hashes.next(event, is_trusted);
        if matches!(shown, Shown::Whole) && !is_trusted {
            return text_with(event, hash);
        }
        form.number = Some(header.kind);
        form.chunked = None;
        (form.previous, form.hash) = (previous, hash);
        form.trusted = is_trusted;
        if is_trusted {
            self.withheld.trusted += 1;
        } else {
            self.withheld.events += 1;
            form.withheld = event.body_hash();
        }
        self.withheld.copy_only |= is_trusted || !can_be_missing(event)?;
        let json = match shown {
            Shown::Whole => one_line(event, header.kind),
            Shown::Json(json) => {
                if let (Some(id), Some(patterns)) = (event.checkpoint, &self.patterns) {
                    form.checkpoint = Some(patterns.checkpoint(id));
                }
                Some(json)
            }
            Shown::Nothing => None,
        };
        let json = json.map(RawValue::from_string).transpose();
        let json = json.map_err(|error| error.to_string())?;
        form.shown = json.as_deref();
        text(&form)
    }

    /// Returns the part of an event's body that may be shown.
    fn shown(&mut self, place: &str, event: &ExportEvent, kind: u16) -> Result<Shown, String> {
        let payload = match &event.body {
            ExportBody::Inline(payload) | ExportBody::Chunked { payload, .. } => payload,
            // Its chunks are not searched.
            ExportBody::Listed(_) if self.searches() => {
                self.withheld.note("chunks", 1, place);
                return Ok(Shown::Nothing);
            }
            _ => return Ok(Shown::Whole),
        };
        let Some(before) = one_line(event, kind) else {
            let is_found = |patterns: &Patterns| patterns.is_found_in(payload);
            if !self.patterns.as_ref().is_some_and(is_found) {
                return Ok(Shown::Whole);
            }
            self.withheld.note("unknown kind", 1, place);
            return Ok(Shown::Nothing);
        };
        self.withheld.longest_body = self.withheld.longest_body.max(before.len());
        let json = self.redacted(place, event, kind, payload, &before);
        if json == before {
            return Ok(self.shortened(&before).map_or(Shown::Whole, Shown::Json));
        }
        if is_accepted(event.log, &json) {
            return Ok(Shown::Json(self.shortened(&json).unwrap_or(json)));
        }
        // A replacement is in the place of a name that the body needs.
        match can_be_missing(event)? {
            true => Ok(Shown::Nothing),
            false => Err(format!(
                "a regular expression of what is withheld matches a name in an event `{}`, which \
                 the task needs: give a narrower one",
                Body::name_of(kind)
            )),
        }
    }

    fn redacted(
        &mut self,
        place: &str,
        event: &ExportEvent,
        kind: u16,
        payload: &[u8],
        before: &str,
    ) -> String {
        let Some(patterns) = &self.patterns else {
            return before.to_owned();
        };
        let placeless = without_places(event.log, kind, payload);
        let source = placeless.as_deref().unwrap_or(before);
        let (mut json, _) = patterns.json(source, false);
        let found = json.clone();
        if json != source && !is_accepted(event.log, &json) {
            (json, _) = patterns.json(source, true);
        }
        let mut folders = folders(event.log, kind, payload);
        folders.extend(self.hash_of_erased(event.log, kind, payload));
        for root in &folders {
            // The names and contents of the captured files could be guessed from the hash.
            json = json.replace(&root.to_string(), &patterns.hash(*root).to_string());
        }
        if json != before {
            self.found(place, before, &found);
            if !folders.is_empty() {
                self.withheld.note("folder", folders.len() as u64, place);
            }
        }
        json
    }

    /// Returns the hash of the body of an erased event, if its header is redacted.
    fn hash_of_erased(&self, log: LogKind, kind: u16, payload: &[u8]) -> Option<Hash> {
        if log != LogKind::Control || self.erased.is_empty() {
            return None;
        }
        let Ok(Control::Erased(erased)) = Control::decode(kind, payload) else {
            return None;
        };
        let is_redacted = self.erased.contains(&(erased.lineage, erased.offset));
        Some(erased.body_hash).filter(|_| is_redacted)
    }

    /// Returns the JSON with a note in place of each text that is too long; `None` without one.
    fn shortened(&mut self, json: &str) -> Option<String> {
        if json.len() <= self.longest {
            return None;
        }
        let long = Long { longest: self.longest, count: Cell::new(0) };
        let shortened = Walk::json(&long, json);
        self.withheld.long += long.count.get();
        Some(shortened).filter(|_| long.count.get() > 0)
    }

    /// Counts the finds in a text, by their replacements.
    fn found(&mut self, place: &str, before: &str, after: &str) {
        let (before, after) = (replaced(before), replaced(after));
        let mut names = 0;
        for (name, count) in &after {
            let new = count.saturating_sub(before.get(name).copied().unwrap_or(0));
            if new > 0 {
                self.withheld.note(name, new, place);
                names += 1;
            }
        }
        if names == 0 {
            // The id of a checkpoint that is withheld, or bytes.
            self.withheld.note("other", 1, place);
        }
    }
}

impl Withheld {
    fn note(&mut self, name: &str, count: u64, place: &str) {
        let find = self.finds.entry(name.to_owned()).or_default();
        find.count += count;
        if find.places.len() < PLACES && find.places.last().is_none_or(|last| last != place) {
            find.places.push(place.to_owned());
        }
    }
}

/// Replaces texts that are too long.
struct Long {
    longest: usize,
    count: Cell<u64>,
}

impl Strings for Long {
    fn string(&self, literal: &str, _: Option<&str>) -> Option<String> {
        if literal.len() <= self.longest {
            return None;
        }
        self.count.set(self.count.get() + 1);
        Some(format!("\"[withheld: {} bytes]\"", literal.len() - 2))
    }
}

/// Returns `true` if an import can have an erased event in place of this one.
fn can_be_missing(event: &ExportEvent) -> Result<bool, String> {
    event.is_erasable().map_err(|error| error.to_string())
}

/// Returns the JSON form of the beginning of a restore without the folders of this machine.
fn without_places(log: LogKind, kind: u16, payload: &[u8]) -> Option<String> {
    if (log, kind) != (LogKind::Control, RestoreBegun::KIND) {
        return None;
    }
    let Ok(Control::RestoreBegun(mut begun)) = Control::decode(kind, payload) else {
        return None;
    };
    for part in &mut begun.parts {
        part.place = Data::Json(Json::string("[redacted:folder]"));
        part.note = None;
    }
    Control::from(begun).to_json().ok()
}

/// Returns the JSON form of a body on one line, if its kind is known.
fn one_line(event: &ExportEvent, kind: u16) -> Option<String> {
    let (ExportBody::Inline(payload) | ExportBody::Chunked { payload, .. }) = &event.body else {
        return None;
    };
    Some(body_json(event.log, kind, payload)?.replace(['\n', '\r'], " "))
}

/// Returns the address of an event for people.
fn place_of(task: &str, event: &ExportEvent) -> String {
    match event.log {
        LogKind::Control => format!("{task}, control log at {}", event.offset),
        LogKind::Lineage(lineage) => format!("{task}/{lineage}@{}", event.offset),
    }
}

/// Returns the texts of a header, one after another.
fn header_texts(form: &EventForm<'_>) -> String {
    let texts = [&form.actor, &form.user, &form.correlation, &form.key];
    texts.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join("\n")
}

/// Counts the replacements in a text, by the names of their patterns.
fn replaced(text: &str) -> BTreeMap<&str, u64> {
    let mut counts = BTreeMap::new();
    for part in text.split("[redacted:").skip(1) {
        if let Some((name, _)) = part.split_once(']') {
            *counts.entry(name).or_default() += 1;
        }
    }
    counts
}
