//! Sessions of Gemini CLI, in `~/.gemini/tmp/PROJECT/chats/`.

pub(crate) mod line;

use serde::Deserialize;

use super::session::SessionFormat;
use crate::format::Format;
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
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Head {
        session_id: String,
    }
    let id = |line: &[u8]| serde_json::from_slice(line).ok().map(|head: Head| head.session_id);
    start.split(|byte| *byte == b'\n').find_map(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_with_an_id_names_the_session() {
        let start = b"{\"$set\":{}}\n{\"sessionId\":\"s\"}\n{\"sessionId\":\"later\"}\n{\"cut";
        assert_eq!(session_id(start, Some("session-x")).as_deref(), Some("s"));
        assert_eq!(session_id(b"{\"sessionId\":7}", None), None);
    }
}
