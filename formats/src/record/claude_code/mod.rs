//! Sessions of Claude Code, in `~/.claude/projects/`.

pub(crate) mod line;
mod written;

use serde::Deserialize;

use super::session::{EachAlone, SessionFormat};
use crate::format::Format;

/// The format.
pub static SESSIONS: SessionFormat = SessionFormat {
    format: Format::ClaudeCode,
    key: "claude-code:",
    name: line::NAME,
    is_rewritten: false,
    session_id,
    parser: || Box::new(EachAlone(line::read)),
    // A message does not distinguish a text from a list with one text block.
    written: written::written,
};

/// Returns the id of the session, or of the agent of a session. A continued session begins with
/// lines of the previous one.
pub(super) fn session_id(start: &[u8], stem: Option<&str>) -> Option<String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Ids {
        // `session_id` in lines of `--output-format stream-json`.
        #[serde(alias = "session_id")]
        session_id: String,
        agent_id: Option<String>,
    }
    let session_id = |line: &[u8]| {
        let ids: Ids = serde_json::from_slice(line).ok()?;
        // Lines of an agent also have the id of the session that it works for.
        match (ids.agent_id, stem) {
            (Some(agent), Some(stem)) if stem.starts_with("agent-") => {
                Some(format!("{}-agent-{agent}", ids.session_id))
            }
            _ => Some(ids.session_id),
        }
    };
    let mut found = start.split(|byte| *byte == b'\n').filter_map(session_id);
    let first = found.next();
    let own = |id: &String| stem == Some(id.as_str());
    let own = first.iter().cloned().chain(found).find(own);
    own.or(first)
}
