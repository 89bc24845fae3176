//! A document of opencode, made from the content of its lines.

use milepost::Json;

use crate::json_object::{Object, value_of};
use crate::record::opencode::IdParts;

/// Number of letters of the random tail of an id.
const TAIL: usize = 14;
const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Fields of a session that are of its time, and not of its conversation.
const OF_ITS_TIME: [&str; 3] = ["revert", "share", "summary"];

/// A message, and its parts.
struct Spoken {
    id: String,
    info: Option<Json>,
    parts: Vec<Json>,
}

/// A document being written. A message without an end is left out.
#[derive(Default)]
pub(super) struct Document {
    session: Option<Object>,
    messages: Vec<Spoken>,
}

impl Document {
    /// Adds the content of a line. Its ids become ids of a session with the id `session`: the same
    /// beginning, by which opencode orders them, and another tail, since an id is used once.
    pub fn add(&mut self, line: &Json, session: &str) -> Option<()> {
        let line: Object = value_of(line)?;
        if let Some(info) = line.get("session") {
            let mut info: Object = value_of(info)?;
            OF_ITS_TIME.iter().for_each(|name| drop(info.take(name)));
            info.replace("id", Json::string(session));
            self.session = Some(info);
            return Some(());
        }
        let is_part = line.get("part").is_some();
        let mut fields = line.object("part").or_else(|| line.object("message"))?;
        for name in ["id", "messageID", "parentID"] {
            if let Some(id) = fields.text(name) {
                fields.replace(name, Json::string(&renamed(&id, session)));
            }
        }
        fields.replace("sessionID", Json::string(session));
        let id = fields.text(if is_part { "messageID" } else { "id" })?;
        let json = Json::from_value(&fields).ok()?;
        let last = match self.messages.last_mut().filter(|last| last.id == id) {
            Some(last) => last,
            None => {
                self.messages.push(Spoken { id, info: None, parts: Vec::new() });
                self.messages.last_mut()?
            }
        };
        match is_part {
            true => last.parts.push(json),
            false => last.info = Some(json),
        }
        Some(())
    }

    /// Returns the document's bytes; none if nothing was added.
    pub fn bytes(&self) -> Vec<u8> {
        let Some(session) = &self.session else { return Vec::new() };
        let messages: Vec<Object> = self.messages.iter().filter_map(Spoken::object).collect();
        let document =
            two(("info", Json::from_value(session)), ("messages", Json::from_value(&messages)));
        let document = document.and_then(Object::into_json);
        document.map_or_else(Vec::new, |document| format!("{}\n", document.text()).into_bytes())
    }
}

impl Spoken {
    fn object(&self) -> Option<Object> {
        let info = self.info.clone()?;
        two(("info", Ok(info)), ("parts", Json::from_value(&self.parts)))
    }
}

/// Returns an object of two fields.
fn two(
    (first, one): (&str, milepost::Result<Json>),
    (second, other): (&str, milepost::Result<Json>),
) -> Option<Object> {
    let mut fields = Object::default();
    fields.put(first, one.ok()?);
    fields.put(second, other.ok()?);
    Some(fields)
}

/// Returns the id that an id becomes in a session.
fn renamed(id: &str, session: &str) -> String {
    // The part of the plugin keeps its place after the part whose id it has.
    let IdParts { stem, tail, letter: own } = IdParts::of(id);
    let hash = blake3::hash(format!("{session} {stem}{tail}").as_bytes());
    let letter = |byte: &u8| LETTERS.get(usize::from(*byte) % LETTERS.len()).copied();
    let tail = hash.as_bytes().iter().filter_map(letter).take(TAIL).map(char::from);
    stem.chars().chain(tail).chain(own.chars()).collect()
}
