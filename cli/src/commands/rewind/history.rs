//! The history of a session: its prompts, and the file that the agent writes.

use std::path::{Path, PathBuf};

use milepost::Body;
use milepost::events::Data;
use milepost_agents::{Agent, Environment};
use milepost_api::{PointForm, TaskForm};
use milepost_formats::Format;
use milepost_formats::session_file::SessionFile;
use serde::Deserialize;

use crate::backend::Backend;
use crate::error::{Failure, Result};
use crate::output::{printable, words};

/// Beginning of the labels of the marks before prompts.
const LABEL: &str = "prompt-";

/// Length of the part of a session's id that the names of files of Gemini CLI have.
const ID_PART: usize = 8;

/// A prompt of a session.
#[derive(Debug, Clone)]
pub(super) struct Prompt {
    pub label: String,
    /// Its first words.
    pub text: String,
    /// The offset before it.
    pub at: u64,
    pub time_us: u64,
    /// Number of calls of tools until the next prompt.
    pub calls: u64,
    /// Number of calls that may have changed files before they were captured.
    pub uncaptured: u64,
}

/// Facts of a session, as its hooks said them.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct SessionFacts {
    pub agent: String,
    pub session: String,
    pub file: Option<PathBuf>,
}

/// The active history of a session.
#[derive(Debug, Default)]
pub(super) struct History {
    pub prompts: Vec<Prompt>,
    pub facts: Option<SessionFacts>,
}

impl History {
    /// Reads the events of a task's active history.
    pub fn of(source: &dyn Backend, task: &TaskForm) -> Result<Self> {
        let head = source.point(&words::encode(&task.id))?;
        let mut history = Self::default();
        source.events(&head, 0..head.offset.0, &mut |event| {
            history.add(event.offset.0, event.time_us.0, event.body.as_ref());
            Ok(())
        })?;
        Ok(history)
    }

    fn add(&mut self, at: u64, time_us: u64, body: Option<&Body>) {
        match body {
            Some(Body::CheckpointMarked(mark)) => {
                let facts = mark.metadata.as_ref().map(milepost::Json::text);
                let label = mark.label.as_deref().filter(|label| label.starts_with(LABEL));
                if let Some(label) = label {
                    #[derive(Deserialize)]
                    struct Said {
                        prompt: String,
                    }
                    let said = facts.and_then(|facts| serde_json::from_str::<Said>(facts).ok());
                    self.prompts.push(Prompt {
                        label: label.to_owned(),
                        text: said.map(|said| said.prompt).unwrap_or_default(),
                        at,
                        time_us,
                        calls: 0,
                        uncaptured: 0,
                    });
                }
                #[derive(Deserialize)]
                struct Facts {
                    #[serde(default)]
                    uncaptured: bool,
                }
                let facts = facts.and_then(|facts| serde_json::from_str::<Facts>(facts).ok());
                if facts.is_some_and(|facts| facts.uncaptured)
                    && let Some(prompt) = self.prompts.last_mut()
                {
                    prompt.uncaptured += 1;
                }
            }
            Some(Body::ToolCalled(_)) => {
                if let Some(prompt) = self.prompts.last_mut() {
                    prompt.calls += 1;
                }
            }
            Some(Body::Application(said)) if said.name == "agent_session" => {
                if let Data::Json(facts) = &said.data {
                    self.facts = serde_json::from_str(facts.text()).ok().or(self.facts.take());
                }
            }
            _ => {}
        }
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
}

impl NewSession {
    /// Writes the conversation before a point, for a new session of the agent.
    pub fn of(
        source: &dyn Backend,
        facts: &SessionFacts,
        to: &PointForm,
        id: String,
        environment: &Environment,
    ) -> Result<Self> {
        let agent = Agent::of_name(&facts.agent).ok_or_else(|| no_file(&facts.agent))?;
        let format = match agent {
            Agent::ClaudeCode => Format::ClaudeCode,
            Agent::Codex => Format::Codex,
            Agent::GeminiCli => Format::GeminiCli,
        };
        let mut file = SessionFile::new(format, &id).ok_or_else(|| no_file(agent.name()))?;
        let path = facts.file.as_deref().and_then(|old| beside(agent, old, &facts.session, &id));
        let path = path.filter(|path| is_of_agent(path, agent, environment));
        let path = path.ok_or_else(|| {
            Failure::new("the session's file is not in the folder of its agent")
                .hint("`--files-only` takes back the files")
        })?;
        source.events(to, 0..to.offset.0, &mut |event| {
            if let Some(body) = &event.body {
                file.push(event.key.as_deref(), body);
            }
            Ok(())
        })?;
        Ok(Self { agent, id, path, bytes: file.finish() })
    }

    /// Returns the command that continues in the new session.
    pub fn command(&self) -> [&str; 3] {
        let resume = if self.agent == Agent::Codex { "resume" } else { "--resume" };
        [self.agent.program(), resume, &self.id]
    }
}

fn no_file(agent: &str) -> Failure {
    Failure::new(format!("conversations of {} are not written yet", printable(agent)))
        .hint("`--files-only` takes back the files")
}

/// Returns the place of a session file next to another one. The names of Codex and Gemini CLI have
/// the time of the start and the id, of which Gemini CLI takes the beginning.
fn beside(agent: Agent, old: &Path, session: &str, id: &str) -> Option<PathBuf> {
    let name = old.file_name()?.to_str()?;
    let replaced = |part: &str, new: &str| {
        let is_in_name = !part.is_empty() && name.contains(part);
        is_in_name.then(|| name.replace(part, new))
    };
    let name = match agent {
        Agent::ClaudeCode => format!("{id}.jsonl"),
        Agent::Codex => replaced(session, id)?,
        Agent::GeminiCli => replaced(session.get(..ID_PART)?, id.get(..ID_PART)?)?,
    };
    Some(old.with_file_name(name))
}

/// Returns `true` if a place is in the folder of an agent: a store may name any.
fn is_of_agent(path: &Path, agent: Agent, environment: &Environment) -> bool {
    let folder = agent.folder(environment).and_then(|folder| folder.canonicalize().ok());
    let parent = path.parent().and_then(|parent| parent.canonicalize().ok());
    matches!((folder, parent), (Some(folder), Some(parent)) if parent.starts_with(&folder))
}
