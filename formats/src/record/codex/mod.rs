//! Sessions of Codex, its rollouts, in `~/.codex/sessions/YEAR/MONTH/DAY/`.

pub(crate) mod line;

use serde::Deserialize;

use super::session::SessionFormat;
use crate::format::Format;
use line::Rollout;

/// The format.
pub static SESSIONS: SessionFormat = SessionFormat {
    format: Format::Codex,
    key: "codex:",
    name: line::NAME,
    is_rewritten: false,
    session_id,
    parser: || Box::new(Rollout::default()),
    written: line::written,
};

/// Returns the id of the thread: the one at the end of the file's name, otherwise the first one. A
/// forked thread has the first line of its original thread, too.
fn session_id(start: &[u8], stem: Option<&str>) -> Option<String> {
    #[derive(Deserialize)]
    struct Meta {
        payload: Ids,
    }
    #[derive(Deserialize)]
    struct Ids {
        id: String,
        // Other lines have an id as well.
        #[serde(rename = "cwd")]
        _cwd: serde::de::IgnoredAny,
    }
    let id = |line: &[u8]| serde_json::from_slice(line).ok().map(|meta: Meta| meta.payload.id);
    let mut found = start.split(|byte| *byte == b'\n').filter_map(id);
    let first = found.next();
    let own = |id: &String| stem.is_some_and(|stem| stem.ends_with(id.as_str()));
    let own = first.iter().cloned().chain(found).find(own);
    own.or(first)
}
