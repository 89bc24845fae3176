//! The new session file of a rewind: the conversation before a point, written from the log.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use milepost::events::Data;
use milepost::{Body, LineageId};
use milepost_agents::Agent;
use milepost_api::PointForm;
use milepost_formats::session_file::SessionFile;
use milepost_formats::{Format, session_description};

use super::FILES_ONLY;
use super::history::{History, SessionFacts};
use crate::backend::Backend;
use crate::commands::agent::environment;
use crate::error::{Failure, Result};
use crate::output::{printable, words};

/// Length of the part of a session's id that the names of files of Gemini CLI have.
const ID_PART: usize = 8;

/// The command that continues a conversation.
#[derive(Debug, Clone)]
pub struct Resume {
    pub program: String,
    pub arguments: Vec<String>,
    /// The folder that the agent was started in.
    pub root: Option<PathBuf>,
}

impl Resume {
    /// Returns the command as a user types it.
    pub fn line(&self) -> String {
        let words = std::iter::once(&self.program).chain(&self.arguments);
        words.cloned().collect::<Vec<_>>().join(" ")
    }
}

/// A new session file.
#[derive(Debug)]
pub(super) struct NewSession {
    pub agent: Agent,
    pub id: String,
    /// Its place. The file is not there yet.
    pub path: PathBuf,
    pub bytes: Vec<u8>,
    /// False if nothing was said before the point: agents refuse such a session.
    pub has_message: bool,
}

impl NewSession {
    /// Makes the conversation before a point, for a new session of the agent.
    pub fn of(
        source: &dyn Backend,
        facts: &SessionFacts,
        to: &PointForm,
        id: String,
    ) -> Result<Self> {
        let agent = Agent::of_name(&facts.agent).ok_or_else(|| no_file(&facts.agent))?;
        let format = match agent {
            Agent::ClaudeCode => Format::ClaudeCode,
            Agent::Codex => Format::Codex,
            Agent::GeminiCli => Format::GeminiCli,
            Agent::QwenCode => Format::QwenCode,
            Agent::Copilot | Agent::OpenCode | Agent::Cline | Agent::Cursor => {
                return Err(no_file(agent.name()));
            }
        };
        let mut file = SessionFile::new(format, &id).ok_or_else(|| no_file(agent.name()))?;
        // A store may name any path.
        let is_file = |old: &&Path| agent.is_session_file(old, &environment());
        let old = facts.file.as_deref().filter(is_file);
        let path = old.and_then(|old| next_to(agent, old, &facts.session, &id));
        let path = path.ok_or_else(|| {
            Failure::new("the session's file is not in the folder of its agent").hint(FILES_ONLY)
        })?;
        source.events(to, 0..to.offset.0, &mut |event| {
            file.push(event.key.as_deref(), event.body.as_ref());
            Ok(())
        })?;
        let bytes = file.bytes();
        Ok(Self { agent, id, path, has_message: file.has_message(), bytes })
    }

    /// Returns the command that continues in the new session.
    pub fn resume(&self, root: Option<PathBuf>) -> Resume {
        let id = self.id.clone();
        let arguments = match self.agent {
            _ if !self.has_message => Vec::new(),
            Agent::Codex => vec!["resume".to_owned(), id],
            _ => vec!["--resume".to_owned(), id],
        };
        Resume { program: self.agent.program().to_owned(), arguments, root }
    }

    /// Writes the file under a name that is not there.
    pub fn write(&self) -> Result<()> {
        let failed = |error: std::io::Error| {
            Failure::new(format!("cannot write {}: {error}", self.path.display()))
        };
        let folder = self.path.parent().unwrap_or(&self.path);
        let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
        file.write_all(&self.bytes).map_err(failed)?;
        file.as_file().sync_all().map_err(failed)?;
        file.persist_noclobber(&self.path).map_err(|error| failed(error.error))?;
        Ok(())
    }
}

fn no_file(agent: &str) -> Failure {
    Failure::new(format!("conversations of {} are not written", printable(agent))).hint(FILES_ONLY)
}

/// Returns the place of a session file next to another one. The names of Codex and Gemini CLI have
/// the time of the start and the id, of which Gemini CLI takes the beginning.
fn next_to(agent: Agent, old: &Path, session: &str, id: &str) -> Option<PathBuf> {
    if !is_uuid(session) || !is_uuid(id) {
        return None;
    }
    let name = old.file_name()?.to_str()?;
    let replaced = |part: &str, new: &str| name.contains(part).then(|| name.replace(part, new));
    let name = match agent {
        Agent::ClaudeCode | Agent::QwenCode => format!("{id}.jsonl"),
        Agent::Codex => replaced(session, id)?,
        Agent::GeminiCli => replaced(session.get(..ID_PART)?, id.get(..ID_PART)?)?,
        Agent::Copilot | Agent::OpenCode | Agent::Cline | Agent::Cursor => return None,
    };
    Some(old.with_file_name(name))
}

/// Returns `true` for a UUID: a store may have any text as an id.
fn is_uuid(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let is_hex = |part: &&str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    parts.iter().map(|part| part.len()).eq([8, 4, 4, 4, 12]) && parts.iter().all(is_hex)
}

/// Removes the session file that a rewind wrote, after the undo of that rewind, unless an agent
/// used it. Returns its place.
pub fn remove_unused(source: &dyn Backend, task: &str, left: LineageId) -> Result<Option<PathBuf>> {
    let lineages = source.lineages(task)?;
    let Some(lineage) = lineages.into_iter().find(|lineage| lineage.id == left) else {
        return Ok(None);
    };
    let begin = session_description("");
    let id = lineage.description.as_deref().and_then(|text| text.strip_prefix(&begin));
    let (Some(id), Some(parent)) = (id.filter(|id| is_uuid(id)), lineage.parent) else {
        return Ok(None);
    };
    let task = source.task(&words::encode(task))?;
    let Some(facts) = History::of(source, &task)?.facts else { return Ok(None) };
    let end = source.point(&format!("{}/{left}", words::encode(&task.id)))?;
    let mut is_used = false;
    source.events(&end, parent.offset.0..end.offset.0, &mut |event| {
        is_used |= event.body.as_ref().is_some_and(|body| is_start_of(body, id));
        Ok(())
    })?;
    if is_used {
        return Ok(None);
    }
    let to = source.point(&words::address(&task.id, parent.lineage, parent.offset.0))?;
    let session = NewSession::of(source, &facts, &to, id.to_owned())?;
    match std::fs::read(&session.path) {
        Ok(bytes) if bytes == session.bytes => {
            std::fs::remove_file(&session.path)?;
            Ok(Some(session.path))
        }
        _ => Ok(None),
    }
}

/// Returns `true` for the facts of a session with this id: an agent continued it.
fn is_start_of(body: &Body, id: &str) -> bool {
    match body {
        Body::Application(said) if said.name == "agent_session" => match &said.data {
            Data::Json(facts) => serde_json::from_str::<SessionFacts>(facts.text())
                .is_ok_and(|facts| facts.session == id),
            _ => false,
        },
        _ => false,
    }
}
