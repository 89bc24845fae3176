//! One line of a session.

use milepost::{
    Application, Body, ContextChanged, Data, Extra, Json, Message, PatchForm, ToolCalled,
    ToolReturned,
};

use crate::record::object::Object;

/// What events are called that hold what no other event has a place for.
const REST: &str = "claude_code";

/// Fields that lines repeat, and that are context: what changes of them is recorded.
const CONTEXT: [&str; 4] = ["sessionId", "cwd", "gitBranch", "version"];

/// The id of a line.
pub type Uuid = [u8; 16];

/// A line: where it belongs, and what it says.
#[derive(Debug)]
pub struct SessionLine {
    /// Its id. Lines beside the conversation have none.
    pub uuid: Option<Uuid>,
    /// The line that it follows.
    pub parent: Option<Uuid>,
    /// Whether it is of an agent beside the conversation.
    pub side: bool,
    /// When, in microseconds since the Unix epoch.
    pub time_us: Option<u64>,
    /// Whether somebody asks something: a step begins.
    pub asks: bool,
    /// What it says, without what is the same as before.
    pub events: Vec<Body>,
    /// What it says of [`CONTEXT`].
    pub context: Context,
}

/// The context of a line, or of the last one of a lane.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Context([Option<Json>; CONTEXT.len()]);

impl Context {
    /// The event that says what another context changes, if it changes anything; it is remembered.
    pub fn change(&mut self, to: Self) -> Option<Body> {
        let mut patch = Object::default();
        for ((now, to), name) in self.0.iter_mut().zip(to.0).zip(CONTEXT) {
            if to.is_some() && *now != to {
                *now = to;
                patch.put(name, now.clone().unwrap_or_else(Json::null));
            }
        }
        let patch = patch.into_json()?;
        let form = PatchForm::Merge;
        Some(ContextChanged { form, patch }.into())
    }
}

impl SessionLine {
    /// Reads a line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut line: Object = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let uuid = take_uuid(&mut line, "uuid");
        let logical = take_uuid(&mut line, "logicalParentUuid");
        let parent = take_uuid(&mut line, "parentUuid").or(logical);
        let side = line.is_true("isSidechain");
        let time_us = line.text("timestamp").as_deref().and_then(micros);
        if time_us.is_some() {
            line.take("timestamp");
        }
        let mut context = Context::default();
        for (place, name) in context.0.iter_mut().zip(CONTEXT) {
            *place = line.take(name).filter(|json| !json.is_null());
        }
        let meta = line.is_true("isMeta");
        let kind = line.text("type");
        for name in ["parentUuid", "isSidechain", "userType"] {
            line.take(name);
        }
        let (mut events, mut answers) = (Vec::new(), false);
        if matches!(kind.as_deref(), Some("user" | "assistant"))
            && let Some(message) = object(&line, "message")
        {
            line.take("message");
            line.take("type");
            (events, answers) = said(message, kind.as_deref().unwrap_or_default(), &mut line);
        }
        let asks = kind.as_deref() == Some("user") && !meta && !answers && !events.is_empty();
        if let Some(rest) = line.into_json() {
            events.push(
                Application {
                    name: REST.to_owned(),
                    data: Data::Json(rest),
                }
                .into(),
            );
        }
        Ok(Self {
            uuid,
            parent,
            side,
            time_us,
            asks,
            events,
            context,
        })
    }
}

/// The events of a message, and whether it has answers of tools. What they have no place for goes to the rest of the line.
fn said(mut message: Object, kind: &str, rest: &mut Object) -> (Vec<Body>, bool) {
    let role = message.take_text("role");
    let role = role.unwrap_or_else(|| kind.to_owned());
    let Some(blocks) = message.take_list("content") else {
        let content = message.take("content").filter(|json| !json.is_null());
        return (vec![spoken(role, content, message.into_json())], false);
    };
    let mut extra = message.into_json();
    let (mut events, mut plain, mut answers) = (Vec::new(), Vec::new(), false);
    let mut speak = |plain: &mut Vec<Object>, events: &mut Vec<Body>| {
        let content = match plain.as_slice() {
            [] => return,
            [only] if is_text(only) => only.get("text").cloned(),
            several => Json::from_value(&several).ok(),
        };
        plain.clear();
        events.push(spoken(role.clone(), content, extra.take()));
    };
    for block in blocks {
        match tool_event(&block) {
            Some(event) => {
                speak(&mut plain, &mut events);
                answers |= matches!(event, Body::ToolReturned(_));
                events.push(event);
            }
            None => plain.push(block),
        }
    }
    speak(&mut plain, &mut events);
    // Where only tools were called nobody spoke.
    if let Some(extra) = extra {
        rest.put("message", extra);
    }
    (events, answers)
}

fn spoken(role: String, content: Option<Json>, extra: Option<Json>) -> Body {
    Message {
        role,
        content,
        name: None,
        extra: extra.map(Extra),
    }
    .into()
}

/// Whether a block is a text and nothing else.
fn is_text(block: &Object) -> bool {
    let mut rest = block.clone();
    let is = rest.take_text("type").as_deref() == Some("text");
    is && rest.take_text("text").is_some() && rest.is_empty()
}

/// The call of a tool, or what one returned, where a block is that and nothing else.
fn tool_event(block: &Object) -> Option<Body> {
    let mut block = block.clone();
    let event = match block.take_text("type")?.as_str() {
        "tool_use" => ToolCalled {
            call: block.take_text("id")?,
            tool: block.take_text("name")?,
            arguments: block.take("input").unwrap_or_else(Json::null),
        }
        .into(),
        "tool_result" => ToolReturned {
            call: block.take_text("tool_use_id")?,
            tool: None,
            ok: block
                .take("is_error")
                .is_none_or(|json| json.text() != "true"),
            output: block.take("content"),
        }
        .into(),
        _ => return None,
    };
    // What more it has would be lost.
    block.is_empty().then_some(event)
}

fn object(line: &Object, name: &str) -> Option<Object> {
    serde_json::from_str(line.get(name)?.text()).ok()
}

/// Takes an id of 32 hexadecimal digits, with dashes or without. Any other stays where it is.
fn take_uuid(line: &mut Object, name: &str) -> Option<Uuid> {
    let digits = line.text(name)?.replace('-', "");
    let bytes = data_encoding::HEXLOWER_PERMISSIVE.decode(digits.as_bytes());
    let uuid = bytes.ok()?.try_into().ok()?;
    line.take(name);
    Some(uuid)
}

fn micros(text: &str) -> Option<u64> {
    let stamp: jiff::Timestamp = text.parse().ok()?;
    u64::try_from(stamp.as_microsecond()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(text: &str) -> Vec<String> {
        let line = SessionLine::parse(text).unwrap();
        line.events
            .iter()
            .map(|body| serde_json::to_string(body).unwrap())
            .collect()
    }

    #[test]
    fn a_prompt_is_a_message_that_asks() {
        let text = r#"{"parentUuid":null,"isSidechain":false,"userType":"external","cwd":"/w","sessionId":"s",
            "version":"1","type":"user","message":{"role":"user","content":"hello"},
            "uuid":"00000000-0000-0000-0000-0000000000AB","timestamp":"2026-01-02T03:04:05.678Z"}"#;
        let line = SessionLine::parse(text).unwrap();
        assert!(line.asks && !line.side);
        assert_eq!(line.uuid.unwrap()[15], 0xab);
        assert_eq!(line.parent, None);
        assert_eq!(line.time_us, Some(1_767_323_045_678_000));
        assert_eq!(
            events(text),
            [r#"{"kind":"message","role":"user","content":"hello"}"#]
        );
        let mut context = Context::default();
        let changed = context.change(line.context.clone()).unwrap();
        assert!(
            serde_json::to_string(&changed)
                .unwrap()
                .contains(r#""cwd":"/w""#)
        );
        assert_eq!(context.change(line.context), None);
    }

    #[test]
    fn calls_and_answers_of_tools_are_events_of_their_own_in_their_order() {
        let text = r#"{"type":"assistant","uuid":"1","message":{"id":"m","role":"assistant","content":[
            {"type":"thinking","thinking":"hm","signature":"x"},{"type":"text","text":"I look"},
            {"type":"tool_use","id":"t1","name":"Read","input":{"f":1.50}}]}}"#;
        assert_eq!(
            events(text),
            [
                r#"{"kind":"message","role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"x"},{"type":"text","text":"I look"}],"id":"m"}"#,
                r#"{"kind":"tool_called","call":"t1","tool":"Read","arguments":{"f":1.50}}"#,
                r#"{"kind":"application","name":"claude_code","data":{"uuid":"1"}}"#,
            ]
        );
        let text = r#"{"type":"user","toolUseResult":{"lines":3},"message":{"role":"user","content":[
            {"type":"tool_result","tool_use_id":"t1","content":"no","is_error":true}]}}"#;
        assert_eq!(
            events(text),
            [
                r#"{"kind":"tool_returned","call":"t1","ok":false,"output":"no"}"#,
                r#"{"kind":"application","name":"claude_code","data":{"toolUseResult":{"lines":3}}}"#,
            ]
        );
        assert!(!SessionLine::parse(text).unwrap().asks);
    }

    #[test]
    fn what_has_no_event_of_its_own_is_kept_word_for_word() {
        let text = r#"{"type":"summary","summary":"a talk","leafUuid":"x","n":1.500}"#;
        assert_eq!(
            events(text),
            [format!(
                r#"{{"kind":"application","name":"claude_code","data":{text}}}"#
            )]
        );
        for bad in ["[]", "{", "3", ""] {
            assert!(SessionLine::parse(bad).is_err(), "{bad}");
        }
    }
}
