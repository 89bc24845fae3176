//! Sessions of Gemini CLI, in `~/.gemini/tmp/PROJECT/chats/`.

pub(crate) mod line;

use super::session::SessionFormat;
use crate::format::Format;
use crate::json_object::{Object, compact};
use line::Chat;

/// The format.
pub static SESSIONS: SessionFormat = SessionFormat {
    format: Format::GeminiCli,
    key: "gemini-cli:",
    name: line::NAME,
    is_rewritten: false,
    session_id,
    parser: || Box::new(Chat::default()),
    written: line::written,
};

/// Returns the id in the first line that has one. The file's name has only its beginning.
fn session_id(start: &[u8], _: Option<&str>) -> Option<String> {
    let id = |line: &[u8]| serde_json::from_slice::<Object>(line).ok()?.text("sessionId");
    start.split(|byte| *byte == b'\n').find_map(id)
}

/// Returns the lines of a session that is one document, as Gemini CLI wrote them in 2025: its first
/// line, and one for each message. `None` for a text that has no message of its own.
pub(super) fn unfolded(text: &str) -> Option<Vec<String>> {
    if !text.contains("\"messages\"") {
        return None;
    }
    let mut head: Object = serde_json::from_str(text).ok()?;
    let is_head = head.get("sessionId").is_some() && head.get("projectHash").is_some();
    let messages = head.take_list("messages").filter(|all| is_head && !all.is_empty())?;
    let all = [head].into_iter().chain(messages);
    all.map(|object| serde_json::to_string(&object).ok().map(|text| compact(&text))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_a_first_line_and_its_messages() {
        let text = r#"{"sessionId":"s","projectHash":"h","messages":[{"id":"a"},{"id":"b"}]}"#;
        let lines = [r#"{"sessionId":"s","projectHash":"h"}"#, r#"{"id":"a"}"#, r#"{"id":"b"}"#];
        assert_eq!(unfolded(text).unwrap(), lines);
        for other in [
            r#"{"sessionId":"s","projectHash":"h","messages":[]}"#,
            r#"{"$set":{"messages":[{"id":"a"}]}}"#,
            r#"{"id":"m","type":"user","content":"\"messages\""}"#,
        ] {
            assert_eq!(unfolded(other), None, "{other}");
        }
    }

    #[test]
    fn the_first_line_with_an_id_names_the_session() {
        let start = b"{\"$set\":{}}\n{\"sessionId\":\"s\"}\n{\"sessionId\":\"later\"}\n{\"cut";
        assert_eq!(session_id(start, Some("session-x")).as_deref(), Some("s"));
        assert_eq!(session_id(b"{\"sessionId\":7}", None), None);
    }
}
