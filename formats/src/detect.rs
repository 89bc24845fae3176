//! Formats of inputs, detected by their beginning.
//!
//! The first distinctive line decides, and not the first line of all: it may be torn, or common to
//! several formats. One field that other programs have too is never sufficient.

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::format::Format;
use crate::objects::{Piece, pieces, trimmed};

/// The first bytes of a SQLite database.
const SQLITE: &[u8] = b"SQLite format 3\0";

/// Maximum number of lines that are examined.
const LINES: usize = 256;

/// Fields of lines of Claude Code. One of them alone is not sufficient.
const CLAUDE: [&str; 7] = [
    "parentUuid",
    "leafUuid",
    "isSidechain",
    "isSnapshotUpdate",
    "sessionId",
    "uuid",
    // `claude --output-format stream-json`.
    "session_id",
];

/// Types of lines of Claude Code outside of a conversation.
const CLAUDE_ASIDE: [&str; 18] = [
    "agent-color",
    "agent-name",
    "agent-setting",
    "ai-title",
    "attachment",
    "cost-state",
    "custom-title",
    "file-history-snapshot",
    "last-prompt",
    "mode",
    "permission-mode",
    "pr-link",
    "progress",
    "queue-operation",
    "summary",
    "system",
    "tag",
    "worktree-state",
];

/// Types of messages of Gemini CLI.
const GEMINI: [&str; 5] = ["user", "gemini", "info", "warning", "error"];

/// Returns the format of an input that begins with `start`. If its content is not distinctive, the
/// file's extension decides between SWE-agent and JSON Lines.
pub fn detect(start: &[u8], extension: Option<&str>) -> Format {
    from_content(start).unwrap_or(match extension {
        Some("traj") => Format::SweAgent,
        _ => Format::Jsonl,
    })
}

/// Returns the format of an input that begins with `start`, if its content is distinctive. Of a
/// database, only the tables show whether it is one of LangGraph.
pub fn from_content(start: &[u8]) -> Option<Format> {
    if start.starts_with(SQLITE) {
        return Some(Format::LangGraph);
    }
    let start = trimmed(start);
    if let Some(list) = start.strip_prefix(b"[") {
        if !trimmed(list).starts_with(b"{") {
            // A list of other values is no run.
            return None;
        }
        let fields = Fields::of(list);
        return Some(match fields.has("role") || fields.has("messages") {
            true => Format::OpenAi,
            false => Format::TauBench,
        });
    }
    if is_binary(start) {
        return None;
    }
    let mut lines = start.split(|byte| *byte == b'\n');
    let first = lines.next().unwrap_or_default();
    let is_cut = first.len() == start.len();
    if is_cut
        && is_beginning(start)
        && let Some(format) = Fields::of(start).format(start)
    {
        return Some(format);
    }
    if !is_whole(first) && is_beginning(start) {
        // A document over several lines.
        let format = Fields::of(start).format(start);
        return format
            .filter(|format| !format.is_session_of_lines() || *format == Format::GeminiCli);
    }
    let objects = [first].into_iter().chain(lines).take(LINES).filter_map(of_line);
    objects.into_iter().next()
}

/// Returns `true` if an input begins as JSON or as a database, so that it may be a run whatever its
/// name is.
pub fn begins_as_run(start: &[u8]) -> bool {
    start.starts_with(SQLITE) || matches!(trimmed(start).first(), Some(b'{' | b'['))
}

/// Returns `true` if an input begins with bytes that no text has. Zero bytes are the remains of a
/// crash.
fn is_binary(start: &[u8]) -> bool {
    let is_odd = |byte: &u8| *byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r' | 0);
    start.iter().take(1 << 10).any(is_odd)
}

/// Returns the format of the first distinctive object of a line.
fn of_line(line: &[u8]) -> Option<Format> {
    let pieces = pieces(line, |text| of_object(text).is_some());
    pieces.into_iter().find_map(|piece| match piece {
        Piece::Object(text) => of_object(text),
        Piece::Lost(_) => None,
    })
}

/// Returns the format of an object, if it is distinctive.
pub fn of_object(text: &str) -> Option<Format> {
    Fields::of(text.as_bytes()).format(text.as_bytes())
}

/// Returns `true` if a record of a session has no part in a conversation, so that a file of such
/// records alone is a session without a message, and not one that is not understood.
pub fn is_aside(format: Format, text: &str) -> bool {
    let fields = Fields::of(text.as_bytes());
    let kind = fields.kind.as_deref().unwrap_or_default();
    match format {
        Format::ClaudeCode => !matches!(kind, "" | "user" | "assistant"),
        Format::Codex => !matches!(kind, "" | "response_item"),
        Format::GeminiCli => kind.is_empty() && !fields.has("messages"),
        Format::QwenCode => kind == "system",
        Format::Copilot => kind.starts_with("session."),
        _ => false,
    }
}

/// Returns `true` if a session is one document, and not lines: over several lines, or the single
/// document of Gemini CLI.
pub fn is_document(start: &[u8], format: Format) -> bool {
    let start = trimmed(start);
    let first = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
    if is_whole(first) {
        return false;
    }
    let is_one_line = first.len() == start.len();
    let has_messages = format == Format::GeminiCli && Fields::of(start).has("messages");
    (has_messages || !is_one_line) && is_beginning(start)
}

/// Returns the whole objects of the beginning of a session, one a line.
pub fn objects(start: &[u8], format: Format) -> Vec<u8> {
    let is_record = |text: &str| of_object(text) == Some(format);
    let lines = start.split(|byte| *byte == b'\n').take(LINES);
    let mut objects = Vec::new();
    for piece in lines.flat_map(|line| pieces(line, is_record)) {
        if let Piece::Object(text) = piece {
            objects.extend_from_slice(text.as_bytes());
            objects.push(b'\n');
        }
    }
    objects
}

/// Fields of the first object of files that are not read, and the names of these files.
const FOREIGN: [(&[&str], &str); 9] = [
    (
        &["type", "thread_id"],
        "a stream of events of Codex (`codex exec --json`; the rollout-*.jsonl of the thread, \
         below `sessions` in the folder of Codex, has all of them)",
    ),
    (&["id", "timestamp", "instructions"], "a session of Codex from before September 2025"),
    (&["mapping", "current_node"], "a conversation exported from ChatGPT"),
    (&["id", "source", "action"], "a trajectory of OpenHands"),
    (&["id", "source", "message"], "a trajectory of OpenHands"),
    (&["instance_id", "history"], "a result of OpenHands"),
    (&["simulations", "tasks"], "results of tau2-bench"),
    (&["type", "id", "parentId", "timestamp"], "a session of pi"),
    (&["display", "pastedContents"], "the history of prompts of Claude Code, without answers"),
];

/// Returns the name of a file of a program that is not read, if its first object identifies it.
pub fn foreign(start: &[u8]) -> Option<&'static str> {
    let start = trimmed(start);
    let fields = Fields::of(start.strip_prefix(b"[").unwrap_or(start));
    FOREIGN.iter().find(|(names, _)| fields.has_all(names)).map(|(_, program)| *program)
}

/// Returns `true` if a list begins with a result of tau-bench, which has a trajectory.
pub fn is_results(start: &[u8]) -> bool {
    trimmed(start).strip_prefix(b"[").is_some_and(|list| Fields::of(list).has("traj"))
}

/// Returns `true` if a line begins with a whole value.
fn is_whole(line: &[u8]) -> bool {
    let mut values = serde_json::Deserializer::from_slice(line).into_iter::<IgnoredAny>();
    matches!(values.next(), Some(Ok(_)))
}

/// Returns `true` if an input is the beginning of a JSON value.
fn is_beginning(start: &[u8]) -> bool {
    let mut values = serde_json::Deserializer::from_slice(start).into_iter::<IgnoredAny>();
    match values.next() {
        Some(Ok(_)) => true,
        Some(Err(error)) => error.is_eof(),
        None => false,
    }
}

/// The top fields of the object that a text begins with, as far as it reaches.
#[derive(Default)]
struct Fields {
    names: Vec<Vec<u8>>,
    /// The value of `type`, if it is a text.
    kind: Option<String>,
}

impl Fields {
    fn of(start: &[u8]) -> Self {
        let (mut fields, mut string) = (Self::default(), Vec::new());
        let (mut depth, mut in_string, mut escaped, mut of_type) = (0_u32, false, false, false);
        for byte in start {
            if in_string {
                match byte {
                    _ if escaped => escaped = false,
                    b'\\' => escaped = true,
                    b'"' => {
                        in_string = false;
                        if std::mem::take(&mut of_type) {
                            fields.kind = Some(String::from_utf8_lossy(&string).into_owned());
                        }
                    }
                    other => string.push(*other),
                }
                continue;
            }
            match byte {
                b'"' => {
                    in_string = true;
                    string.clear();
                }
                b':' if depth == 1 => {
                    of_type = string == b"type";
                    fields.names.push(std::mem::take(&mut string));
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            of_type &= matches!(byte, b':' | b'"') || byte.is_ascii_whitespace();
            if depth == 0 && !fields.names.is_empty() {
                break;
            }
        }
        fields
    }

    fn has(&self, name: &str) -> bool {
        self.names.iter().any(|own| own == name.as_bytes())
    }

    fn has_all(&self, names: &[&str]) -> bool {
        names.iter().all(|name| self.has(name))
    }

    fn format(&self, text: &[u8]) -> Option<Format> {
        let is_event = self.has("kind");
        if self.has_all(&["timestamp", "type", "payload"]) && !is_event {
            return Some(Format::Codex);
        }
        if self.has_all(&["type", "data", "id", "parentId"]) && !is_event {
            return Some(Format::Copilot);
        }
        if self.is_of_gemini() {
            return Some(Format::GeminiCli);
        }
        if self.has_all(&["uuid", "sessionId"]) && !self.has("isSidechain") && is_of_qwen(text) {
            return Some(Format::QwenCode);
        }
        if self.names.first().is_some_and(|name| name == b"info") && is_of_opencode(text) {
            return Some(Format::Opencode);
        }
        let is_of_claude = self.is_of_claude();
        let format = self.names.iter().find_map(|name| match name.as_slice() {
            b"kind" => Some(Format::Jsonl),
            b"trajectory" | b"history" | b"replay_config" => Some(Format::SweAgent),
            b"messages" => Some(Format::OpenAi),
            b"role" if !is_event => Some(Format::OpenAi),
            name if is_of_claude && CLAUDE.iter().any(|own| own.as_bytes() == name) => {
                Some(Format::ClaudeCode)
            }
            _ => None,
        });
        format.or_else(|| self.is_pause_state().then_some(Format::PauseState))
    }

    fn is_of_gemini(&self) -> bool {
        let is_kind = self.kind.as_deref().is_some_and(|kind| GEMINI.contains(&kind));
        let is_message = is_kind && self.has_all(&["id", "timestamp", "content"]);
        self.has_all(&["sessionId", "projectHash"])
            || (is_message && !self.has("role") && !self.has("sessionId"))
            || (self.names.len() == 1 && (self.has("$set") || self.has("$rewindTo")))
    }

    fn is_of_claude(&self) -> bool {
        let ids = CLAUDE.iter().filter(|name| self.has(name)).count();
        match self.kind.as_deref() {
            Some("user" | "assistant") => ids >= 2 || (ids == 1 && self.has("message")),
            Some("result") if self.has_all(&["session_id", "subtype"]) => true,
            Some(kind) if CLAUDE_ASIDE.contains(&kind) => ids >= 1,
            _ => ids >= 2,
        }
    }

    /// Returns `true` if the fields belong to a task that is, or was, paused.
    fn is_pause_state(&self) -> bool {
        let of_task = ["task_id", "taskId"];
        let of_pause = [
            "run_control_state",
            "runControlState",
            "paused_at",
            "pausedAt",
            "paused",
            "is_paused",
            "isPaused",
        ];
        let has = |name: &&str| self.has(name);
        of_task.iter().any(has) && of_pause.iter().any(has)
    }
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
    Fields::of(&inner).has_all(&["id", "projectID", "directory"])
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
            (r#"{"task_id":"t","paused":true,"sessionId":"x"}"#, Format::PauseState),
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

    #[test]
    fn a_first_line_that_does_not_tell_does_not_decide() {
        let claude = r#"{"parentUuid":null,"uuid":"u","type":"user","message":{"role":"user"}}"#;
        let gemini = r#"{"id":"m","timestamp":"t","type":"gemini","content":"x"}"#;
        let codex = r#"{"timestamp":"t","type":"session_meta","payload":{"id":"x"}}"#;
        let qwen = r#"{"uuid":"u","parentUuid":null,"sessionId":"s","message":{"parts":[]}}"#;
        let copilot = r#"{"type":"user.message","data":{},"id":"a","parentId":"b"}"#;
        let event = r#"{"kind":"message","role":"user"}"#;
        for (line, format) in [
            (claude, Format::ClaudeCode),
            (gemini, Format::GeminiCli),
            (codex, Format::Codex),
            (qwen, Format::QwenCode),
            (copilot, Format::Copilot),
            (event, Format::Jsonl),
        ] {
            for before in [
                r#"{"type":"summary","summ"#,
                r#"{"type":"x","#,
                r#"{"x":{"y":1},"#,
                r#"{"unknown":1}"#,
                "\0\0\0",
                "",
                "not JSON",
            ] {
                let text = format!("{before}\n{line}\n{line}\n");
                assert_eq!(from_content(text.as_bytes()), Some(format), "{text}");
                let glued = format!("{before}{line}\n");
                assert_eq!(from_content(glued.as_bytes()), Some(format), "{glued}");
            }
        }
    }

    #[test]
    fn a_field_that_other_programs_have_tells_nothing() {
        for text in [
            r#"{"sessionId":"x","settings":{"theme":"dark"}}"#,
            r#"{"type":"config","sessionId":"x"}"#,
            "{\n \"sessionId\": \"x\",\n \"uuid\": \"y\",\n \"type\": \"user\"\n}",
            r#"{"uuid":"x","name":"a device"}"#,
            r#"{"timestamp":1,"type":"click"}"#,
            "MPSG\u{1}\u{2}\n{\"kind\":\"message\"}",
        ] {
            assert_eq!(from_content(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn a_document_over_several_lines_is_no_session_of_lines() {
        let gemini = "{\n  \"sessionId\": \"s\",\n  \"projectHash\": \"h\",\n  \"messages\": [";
        assert_eq!(from_content(gemini.as_bytes()), Some(Format::GeminiCli));
        let inner = "{\n  \"steps\": [\n    {\"role\": \"user\"},\n    {\"kind\": \"x\"}\n";
        assert_eq!(from_content(inner.as_bytes()), None);
    }
}
