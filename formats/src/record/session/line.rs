//! One line of a session, converted for the log.

use jiff::Timestamp;
use milepost::events::{Application, Data, Message, ToolCalled};
use milepost::internals::json_reason;
use milepost::{Body, Json};
use serde::Serialize;

use crate::json_object::{Object, check_depth, compact, value_of};

/// Maximum number of characters of a prompt in a label.
const PROMPT_MAX: usize = 60;

/// Hash of an id for comparison, since ids are many and long.
pub type Key = [u8; 16];

/// Returns the key of an id.
pub fn key(id: &str) -> Key {
    let mut key = Key::default();
    let hash = blake3::hash(id.as_bytes());
    for (to, from) in key.iter_mut().zip(hash.as_bytes()) {
        *to = *from;
    }
    key
}

/// A line, converted for the log.
#[derive(Debug, Default)]
pub struct SessionLine {
    /// Id of the line. A line without one is identified by its text.
    pub uuid: Option<String>,
    /// Id of the line that it answers or continues.
    pub parent: Option<String>,
    /// True if the line continues the last line of the session, and names no parent.
    pub follows: bool,
    /// Alias of the mark before a prompt, and name of a branch that begins with the line. Default:
    /// the name of the line.
    pub alias: Option<String>,
    /// True if it belongs to a side conversation.
    pub side: bool,
    /// Time of the line.
    pub time_us: Option<u64>,
    /// Part in the conversation.
    pub part: Part,
    /// Its events, in order.
    pub events: Vec<Body>,
}

/// The part of a line that decides its branch.
#[derive(Debug, Default, PartialEq)]
pub enum Part {
    /// No part of the conversation.
    #[default]
    Nothing,
    /// A part of the conversation.
    Message(Talk),
    /// A return to an earlier line. The next line continues from it.
    Back(Back),
}

/// The point that a session returns to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Back {
    /// Before as many of the last prompts.
    Prompts(u64),
    /// Before the line with this id. If no line has it, the session stays where it is.
    Before(String),
    /// The beginning of the session.
    Beginning,
}

/// A part of the conversation.
#[derive(Debug, Default, PartialEq)]
pub struct Talk {
    /// Beginning of the text, if it is a prompt of the user.
    pub prompt: Option<String>,
    /// True for a text of the user's role that the user did not type. Earlier versions recorded it
    /// as a prompt.
    pub untyped: bool,
    /// Key of the full text, if the line begins a side conversation.
    pub text: Option<Key>,
    /// Its tool calls: the key of the id, and the key of the prompt if the call begins another
    /// conversation.
    pub called: Vec<(Key, Option<Key>)>,
    /// Keys of the calls that it answers.
    pub returned: Vec<Key>,
}

impl Talk {
    /// Adds the call of an object, whose id, tool and arguments have these names.
    pub fn call(&mut self, call: &Object, [id, tool, arguments]: [&str; 3]) -> Option<Body> {
        let (id, tool) = (call.text(id)?, call.text(tool)?);
        self.called.push((key(&id), None));
        let arguments = call.get(arguments).cloned().unwrap_or_else(Json::null);
        Some(ToolCalled { call: id, tool, arguments }.into())
    }
}

impl SessionLine {
    /// Returns the whole line as one event outside of the conversation: the one that its format
    /// keeps it in, if there is one, since that may hide its usage from summaries. `written`
    /// returns the line for its events.
    pub fn into_whole(
        mut self,
        name: &str,
        text: &str,
        written: impl Fn(&[Body]) -> Option<Json>,
    ) -> Result<Self, String> {
        let event = match self.whole(text, written) {
            Some(event) => event,
            None => application(name, &fields(text)?),
        };
        let Self { time_us, follows, .. } = self;
        Ok(Self { time_us, follows, events: vec![event], ..Self::default() })
    }

    /// Takes out the event that has the whole line by itself.
    fn whole(&mut self, text: &str, written: impl Fn(&[Body]) -> Option<Json>) -> Option<Body> {
        let text = compact(text);
        let is_whole = |event: &Body| {
            let line = written(std::slice::from_ref(event));
            matches!(event, Body::Application(_)) && line.is_some_and(|line| line.text() == text)
        };
        let at = self.events.iter().position(is_whole)?;
        Some(self.events.swap_remove(at))
    }

    /// Returns the line's name in its key in the log: its id, or the hash of its text.
    pub fn name(&self, text: &str) -> String {
        match self.own_name() {
            Some(uuid) => uuid.to_owned(),
            None => blake3::hash(text.as_bytes()).to_hex().to_string(),
        }
    }

    /// Returns the id, if it is valid as a name.
    pub fn own_name(&self) -> Option<&str> {
        self.uuid.as_deref().filter(|uuid| is_name(uuid))
    }

    /// Returns `true` if it is a part of the conversation.
    pub fn is_message(&self) -> bool {
        matches!(self.part, Part::Message(_))
    }

    /// Returns the beginning of its text, if it is a prompt of the user.
    pub fn prompt(&self) -> Option<&str> {
        match &self.part {
            Part::Message(talk) => talk.prompt.as_deref(),
            Part::Nothing | Part::Back(_) => None,
        }
    }

    /// Returns `true` if it is a prompt, or was one for an earlier version.
    pub fn may_be_step(&self) -> bool {
        matches!(&self.part, Part::Message(talk) if talk.prompt.is_some() || talk.untyped)
    }

    /// Returns `true` if the line has the call of this key.
    pub fn calls(&self, call: Key) -> bool {
        self.all_calls().any(|called| called == call)
    }

    /// Returns the keys of its calls.
    pub fn all_calls(&self) -> impl Iterator<Item = Key> {
        let called = match &self.part {
            Part::Message(talk) => talk.called.as_slice(),
            Part::Nothing | Part::Back(_) => &[],
        };
        called.iter().map(|(called, _)| *called)
    }
}

/// Returns `true` if an id is valid as the alias of a mark and as part of a key.
pub fn is_name(id: &str) -> bool {
    (1..=200).contains(&id.len()) && !id.chars().any(char::is_control)
}

/// Returns the microseconds of a time since the Unix epoch.
pub fn time(text: &str) -> Option<u64> {
    let stamp: Timestamp = text.parse().ok()?;
    u64::try_from(stamp.as_microsecond()).ok()
}

/// Returns the fields of a line, or the reason why it is invalid.
pub fn fields(text: &str) -> Result<Object, String> {
    if !text.starts_with('{') {
        return Err("not a JSON object".into());
    }
    check_depth(text)?;
    serde_json::from_str(text).map_err(|error| {
        let why = json_reason(&error);
        let why = why.split(" at line ").next().unwrap_or_default();
        format!("not JSON: {why}, at column {}", error.column())
    })
}

/// Returns the event of a line, or of a part of one, that is kept as it is.
pub fn application(name: &str, fields: &impl Serialize) -> Body {
    let data = Json::from_value(fields).unwrap_or_else(|_| Json::null());
    Application { name: name.to_owned(), data: Data::Json(data) }.into()
}

/// Returns the line that is kept among the events of one line under a name, and the message that it
/// is kept in.
pub fn kept<'a>(name: &str, events: &'a [Body]) -> Option<(Object, Option<&'a Message>)> {
    events.iter().find_map(|event| match event {
        Body::Message(message) => {
            let extra: Object = value_of(&message.extra.as_ref()?.0)?;
            Some((extra.read(name)?, Some(message)))
        }
        Body::Application(Application { name: own, data: Data::Json(data) }) if own == name => {
            Some((value_of(data)?, None))
        }
        _ => None,
    })
}

/// Returns the event of a message without extra fields.
pub fn said(role: &str, content: Option<Json>) -> Body {
    Message { role: role.to_owned(), content, name: None, extra: None }.into()
}

/// Returns the content of a message that is a thought.
pub fn thought(text: &str) -> Option<Json> {
    Json::from_value(&serde_json::json!([{"type": "thinking", "thinking": text}])).ok()
}

/// Takes the content of a message out of the object that has it: of one plain text block, its text.
/// `null` is left in its place.
pub fn take_content(fields: &mut Object, is_text: impl Fn(&Object) -> bool) -> Option<Json> {
    let content = fields.get("content")?.clone();
    let blocks: Option<Vec<Object>> = value_of(&content);
    if let Some(mut blocks) = blocks
        && let [block] = blocks.as_mut_slice()
        && block.text("text").is_some()
        && is_text(block)
        && let Some(text) = block.replace("text", Json::null())
        && let Ok(rest) = Json::from_value(&blocks)
    {
        fields.replace("content", rest);
        return Some(text);
    }
    fields.replace("content", Json::null());
    Some(content)
}

/// Puts the content of a message back to its place before [`take_content`].
pub fn put_content(fields: &mut Object, content: &Json) -> Option<()> {
    let rest = fields.get("content")?;
    let content = match rest.is_null() {
        true => content.clone(),
        false => {
            let mut blocks: Vec<Object> = value_of(rest)?;
            blocks.first_mut()?.replace("text", content.clone())?;
            Json::from_value(&blocks).ok()?
        }
    };
    fields.replace("content", content).map(drop)
}

/// Returns the first words of a text, on one line.
pub fn beginning(text: &str) -> String {
    let mut words = String::new();
    for word in text.split_whitespace() {
        if words.chars().count() > PROMPT_MAX {
            break;
        }
        if !words.is_empty() {
            words.push(' ');
        }
        words.extend(word.chars().take(PROMPT_MAX + 1).filter(|c| !c.is_control()));
    }
    if words.chars().count() <= PROMPT_MAX {
        return words;
    }
    let cut: String = words.chars().take(PROMPT_MAX).collect();
    format!("{}…", cut.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_prompt_is_told_by_its_beginning() {
        assert_eq!(beginning("  a \n\t b "), "a b");
        let long = beginning(&"ü".repeat(500));
        assert_eq!(long.chars().count(), PROMPT_MAX + 1);
        let words = beginning(&"four ".repeat(500));
        assert!(words.ends_with("four…") && words.chars().count() <= PROMPT_MAX + 1, "{words}");
    }

    #[test]
    fn a_line_without_a_usable_id_is_named_by_its_text() {
        let named = |uuid: &str| SessionLine { uuid: Some(uuid.into()), ..SessionLine::default() };
        assert_eq!(named("u").name("{}"), "u");
        for uuid in ["", "\n", &"u".repeat(201)] {
            assert_eq!(named(uuid).name("{}"), SessionLine::default().name("{}"), "{uuid:?}");
        }
    }
}
