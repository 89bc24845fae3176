//! Formats of runs, and their detection by the beginning of an input.

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

/// The first bytes of a SQLite database.
const SQLITE: &[u8] = b"SQLite format 3\0";

/// The format of a recorded run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// JSON Lines: one event body an object a line.
    Jsonl,
    /// A trajectory of SWE-agent.
    SweAgent,
    /// The result array of tau-bench.
    TauBench,
    /// A session of Claude Code: JSON Lines with ids.
    ClaudeCode,
    /// A session of Codex: JSON Lines with a type and a payload.
    Codex,
    /// A session of Gemini CLI: JSON Lines of messages and their changes.
    GeminiCli,
    /// A session of qwen-code: JSON Lines with ids.
    QwenCode,
    /// A session of Copilot CLI: JSON Lines of events with ids.
    Copilot,
    /// A session of opencode: the document that its export prints.
    Opencode,
    /// Messages as OpenAI's API has them: a list, an object with `messages`, or one a line.
    #[serde(rename = "openai")]
    OpenAi,
    /// A checkpoint database of LangGraph's SqliteSaver.
    #[serde(rename = "langgraph")]
    LangGraph,
    /// A database with a table of an iteration engine's checkpoints.
    CheckpointTable,
    /// The context of a paused run, as one JSON object.
    PauseState,
}

impl Format {
    /// Returns `true` for sessions of coding agents.
    pub fn is_session(self) -> bool {
        match self {
            Self::ClaudeCode
            | Self::Codex
            | Self::GeminiCli
            | Self::QwenCode
            | Self::Copilot
            | Self::Opencode => true,
            Self::Jsonl
            | Self::SweAgent
            | Self::TauBench
            | Self::OpenAi
            | Self::LangGraph
            | Self::CheckpointTable
            | Self::PauseState => false,
        }
    }

    /// Returns `true` for sessions whose files are lines, and not one document.
    pub(crate) fn is_session_of_lines(self) -> bool {
        self.is_session() && self != Self::Opencode
    }

    /// Returns the name of the format.
    pub fn name(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::SweAgent => "swe-agent",
            Self::TauBench => "tau-bench",
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::GeminiCli => "gemini-cli",
            Self::QwenCode => "qwen-code",
            Self::Copilot => "copilot",
            Self::Opencode => "opencode",
            Self::OpenAi => "openai",
            Self::LangGraph => "langgraph",
            Self::CheckpointTable => "checkpoint-table",
            Self::PauseState => "pause-state",
        }
    }
}

/// Returns the format of an input that begins with `start`. If its content does not tell, the
/// file's extension decides between SWE-agent and JSON Lines.
pub fn detect(start: &[u8], extension: Option<&str>) -> Format {
    from_content(start).unwrap_or(match extension {
        Some("traj") => Format::SweAgent,
        _ => Format::Jsonl,
    })
}

/// Returns the format of an input that begins with `start`, if its content tells. Of a database,
/// only the tables tell whether it is one of LangGraph.
pub fn from_content(start: &[u8]) -> Option<Format> {
    if start.starts_with(SQLITE) {
        return Some(Format::LangGraph);
    }
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    let start = start.trim_ascii_start();
    if let Some(list) = start.strip_prefix(b"[") {
        let messages = |key: &Vec<u8>| key == b"role" || key == b"messages";
        return Some(match top_keys(list).iter().any(messages) {
            true => Format::OpenAi,
            false => Format::TauBench,
        });
    }
    let keys = top_keys(start);
    let has = |name: &[u8]| keys.iter().any(|key| key == name);
    let is_event = has(b"kind");
    if has(b"timestamp") && has(b"type") && has(b"payload") && !is_event {
        return Some(Format::Codex);
    }
    if has(b"type") && has(b"data") && has(b"id") && has(b"parentId") && !is_event {
        return Some(Format::Copilot);
    }
    if has(b"sessionId") && has(b"projectHash") {
        return Some(Format::GeminiCli);
    }
    if has(b"uuid") && has(b"sessionId") && !has(b"isSidechain") && is_of_qwen(start) {
        return Some(Format::QwenCode);
    }
    if keys.first().is_some_and(|key| key == b"info") && is_of_opencode(start) {
        return Some(Format::Opencode);
    }
    let format = keys.iter().find_map(|key| match key.as_slice() {
        b"kind" => Some(Format::Jsonl),
        b"trajectory" | b"history" | b"replay_config" => Some(Format::SweAgent),
        b"parentUuid" | b"leafUuid" | b"sessionId" | b"isSidechain" | b"isSnapshotUpdate" => {
            Some(Format::ClaudeCode)
        }
        b"messages" => Some(Format::OpenAi),
        b"role" if !is_event => Some(Format::OpenAi),
        _ => None,
    });
    format.or_else(|| is_pause_state(&keys).then_some(Format::PauseState))
}

/// Returns `true` if the first line has a message of parts, or a field that only qwen-code has.
fn is_of_qwen(start: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Line {
        message: Option<Parts>,
        #[serde(rename = "systemPayload")]
        system: Option<IgnoredAny>,
    }
    #[derive(Deserialize)]
    struct Parts {
        parts: Option<IgnoredAny>,
    }
    let first = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line: Option<Line> = serde_json::from_slice(first).ok();
    let has_parts = |message: Parts| message.parts.is_some();
    line.is_some_and(|line| line.system.is_some() || line.message.is_some_and(has_parts))
}

/// Returns `true` if an object begins with the info of a session of opencode.
fn is_of_opencode(start: &[u8]) -> bool {
    let inner = start.iter().skip(1).skip_while(|byte| **byte != b'{');
    let inner: Vec<u8> = inner.copied().collect();
    let keys = top_keys(&inner);
    let has = |name: &[u8]| keys.iter().any(|key| key == name);
    has(b"id") && has(b"projectID") && has(b"directory")
}

/// Returns `true` if a list begins with a result of tau-bench, which has a trajectory.
pub fn is_results(start: &[u8]) -> bool {
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
    let list = start.strip_prefix(b"[").map(top_keys);
    list.is_some_and(|keys| keys.iter().any(|key| key == b"traj"))
}

/// Returns `true` if the keys are those of a task that is, or was, paused.
fn is_pause_state(keys: &[Vec<u8>]) -> bool {
    let of_task = |key: &Vec<u8>| matches!(key.as_slice(), b"task_id" | b"taskId");
    let of_pause = |key: &Vec<u8>| {
        matches!(
            key.as_slice(),
            b"run_control_state"
                | b"runControlState"
                | b"paused_at"
                | b"pausedAt"
                | b"paused"
                | b"is_paused"
                | b"isPaused"
        )
    };
    keys.iter().any(of_task) && keys.iter().any(of_pause)
}

/// Returns the keys of the object that the input begins with, as far as `start` reaches.
fn top_keys(start: &[u8]) -> Vec<Vec<u8>> {
    let (mut keys, mut string) = (Vec::new(), Vec::new());
    let (mut depth, mut in_string, mut escaped) = (0_u32, false, false);
    for byte in start {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                other => string.push(*other),
            }
            continue;
        }
        match byte {
            b'"' => {
                in_string = true;
                string.clear();
            }
            b':' if depth == 1 => keys.push(std::mem::take(&mut string)),
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && !keys.is_empty() {
            break;
        }
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_told_by_their_content() {
        let detected = |start: &str| detect(start.as_bytes(), None);
        assert_eq!(detected("{\"kind\":\"message\"}\n"), Format::Jsonl);
        assert_eq!(detected("{\"history\":1,\"kind\""), Format::SweAgent);
        assert_eq!(detected("{\n  \"environment\": \"x\",\n  \"trajectory\": ["), Format::SweAgent);
        assert_eq!(detected(" \n[ {\"task_id\""), Format::TauBench);
        for line in [
            r#"{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user"}}"#,
            r#"{"type":"summary","summary":"s","leafUuid":"x"}"#,
            r#"{"type":"queue-operation","operation":"enqueue","sessionId":"x"}"#,
            concat!(
                r#"{"type":"file-history-snapshot","messageId":"x","snapshot":{"kind":1},"#,
                r#""isSnapshotUpdate":false}"#
            ),
        ] {
            assert_eq!(detected(line), Format::ClaudeCode, "{line}");
        }
        let codex = r#"{"timestamp":"x","ordinal":0,"type":"session_meta","payload":{"role":"#;
        assert_eq!(detected(codex), Format::Codex);
        let gemini = r#"{"sessionId":"s","projectHash":"h","messages":[],"kind":"main"}"#;
        assert_eq!(detected(gemini), Format::GeminiCli);
        let copilot = r#"{"type":"session.start","data":{"kind":1},"id":"a","parentId":null}"#;
        assert_eq!(detected(copilot), Format::Copilot);
        let opencode =
            "{\n  \"info\": {\n \"id\": \"ses_1\", \"projectID\": \"p\", \"directory\": \"/x\"";
        assert_eq!(detected(opencode), Format::Opencode);
        assert_eq!(detected(r#"{"info":{"id":"x"},"messages":[]}"#), Format::OpenAi);
        let qwen =
            |more: &str| format!(r#"{{"uuid":"u","parentUuid":null,"sessionId":"s",{more}}}"#);
        assert_eq!(detected(&qwen(r#""message":{"role":"user","parts":[]}"#)), Format::QwenCode);
        assert_eq!(detected(&qwen(r#""type":"system","systemPayload":{}"#)), Format::QwenCode);
        assert_eq!(detected(&qwen(r#""message":{"content":"x"}"#)), Format::ClaudeCode);
        assert_eq!(detected("[\n{\"role\":\"user\""), Format::OpenAi);
        assert_eq!(detected("[{\"content\":\"traj\",\"role\":"), Format::OpenAi);
        assert_eq!(detected("[{\"task_id\":0,\"traj\":[{\"role\":\"user\"}]}"), Format::TauBench);
        assert_eq!(detected("{\"model\":\"m\",\"messages\":[{"), Format::OpenAi);
        assert_eq!(detected("SQLite format 3\0rest"), Format::LangGraph);
        assert_eq!(detected("{\"a\":{\"trajectory\":[]},\"kind\":\"x\"}"), Format::Jsonl);
        assert_eq!(detected("{\"a\":\"\\\"trajectory\\\":\",\"kind\":\"x\"}"), Format::Jsonl);
    }

    #[test]
    fn a_pause_state_is_a_task_with_a_pause_and_nothing_else() {
        let told = |start: &str| from_content(start.as_bytes());
        let pause = Some(Format::PauseState);
        assert_eq!(told(r#"{"task_id":"t","run_control_state":"paused"}"#), pause);
        assert_eq!(told(r#"{"pausedAt":1,"contextSnapshot":{"role":1},"taskId":"#), pause);
        assert_eq!(told(r#"{"task_id":"t","status":"paused","prompt":"p"}"#), None);
        assert_eq!(told(r#"{"paused_at":1,"execution_id":"t"}"#), None);
        for (other, format) in [
            (r#"{"task_id":"t","paused":true,"messages":[]}"#, Format::OpenAi),
            (r#"{"task_id":"t","paused":true,"kind":"x"}"#, Format::Jsonl),
            (r#"[{"task_id":0,"paused":true}]"#, Format::TauBench),
            (r#"{"task_id":"t","paused":true,"sessionId":"x"}"#, Format::ClaudeCode),
        ] {
            assert_eq!(told(other), Some(format), "{other}");
        }
    }

    #[test]
    fn what_the_content_does_not_tell_the_extension_does() {
        assert_eq!(detect(b"hello", Some("traj")), Format::SweAgent);
        assert_eq!(detect(b"hello", Some("jsonl")), Format::Jsonl);
        assert_eq!(detect(b"", None), Format::Jsonl);
    }
}
