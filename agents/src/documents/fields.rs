//! The members of a document that are read.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::json::Json;

/// Most bytes of an id: of a session, a prompt, a call or a sub-agent.
const ID_MAX: usize = 256;

/// Most bytes of a path.
const PATH_MAX: usize = 4096;

/// The names that are read. Others are not even kept: a document may have millions.
const FIELDS: [&str; 46] = [
    "agent_id",
    "agent_transcript_path",
    "agent_type",
    "conversation_id",
    "cursor_version",
    "cwd",
    "error",
    "error_message",
    "generation_id",
    "hookName",
    "hook_event_name",
    "id",
    "input",
    "last_assistant_message",
    "model",
    "name",
    "output",
    "outputText",
    "parent_agent_id",
    "parent_conversation_id",
    "prompt",
    "prompt_id",
    "prompt_response",
    "reason",
    "rootSessionId",
    "sessionContext",
    "session_id",
    "source",
    "subagent_id",
    "summary",
    "taskId",
    "text",
    "tool_call",
    "tool_input",
    "tool_name",
    "tool_output",
    "tool_response",
    "tool_result",
    "tool_use_id",
    "transcript_path",
    "trigger",
    "turn",
    "turn_id",
    "userPromptSubmit",
    "workspaceRoots",
    "workspace_roots",
];

/// The members of an object by their names. The last one of a name counts.
pub(super) struct Fields<'a>(BTreeMap<String, Json<'a>>);

impl<'a> Fields<'a> {
    pub(super) fn of(object: &Json<'a>) -> Self {
        let mut fields = BTreeMap::new();
        object.each_part(|part| {
            let name = part.name.unwrap_or_default();
            if FIELDS.contains(&name.as_ref()) {
                fields.insert(name.into_owned(), part.value);
            }
        });
        Self(fields)
    }

    fn get(&self, name: &str) -> Option<&Json<'a>> {
        debug_assert!(FIELDS.contains(&name), "{name}");
        self.0.get(name)
    }

    /// Returns `true` if there is a member of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Returns the members of an object in this one; nothing for any other value.
    pub(super) fn within(&self, name: &str) -> Self {
        self.get(name).map_or_else(|| Self(BTreeMap::new()), Self::of)
    }

    pub(super) fn text(&self, name: &str) -> Option<String> {
        Some(self.get(name)?.text()?.into_owned())
    }

    pub(super) fn id(&self, name: &str) -> Option<String> {
        self.text(name).filter(|id| !id.is_empty() && id.len() <= ID_MAX)
    }

    /// Returns an absolute path.
    pub(super) fn path(&self, name: &str) -> Option<PathBuf> {
        absolute(self.text(name)?)
    }

    /// Returns the first absolute path of a list.
    pub(super) fn first_path(&self, name: &str) -> Option<PathBuf> {
        let mut first = None;
        self.get(name)?.each_part(|part| {
            let path = || absolute(part.value.text()?.into_owned());
            first = first.take().or_else(path);
        });
        first
    }

    /// Returns the JSON of a value.
    pub(super) fn raw(&self, name: &str) -> Option<String> {
        Some(self.get(name)?.raw().to_owned())
    }

    /// Returns the JSON of a value that is not `null`.
    pub(super) fn not_null(&self, name: &str) -> Option<String> {
        self.raw(name).filter(|raw| raw != "null")
    }
}

fn absolute(path: String) -> Option<PathBuf> {
    let is_path = path.starts_with('/') && path.len() <= PATH_MAX && !path.contains('\0');
    is_path.then(|| path.into())
}
