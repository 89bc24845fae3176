//! The conversation of a session: the lines of its file, or the documents of its hooks where the
//! file cannot be read.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use milepost::events::Application;
use milepost::{Append, Engine, Result};
use milepost_agents::documents::{AgentEvent, AgentEventKind};
use milepost_agents::{Agent, Environment};
use milepost_formats::{ErrorKind, Format, HOOK_KEY, SessionTail, TailRead, TailStop, continued};
use serde_json::json;
use tracing::warn;

use crate::documents::{self, Said};
use crate::folder::{ACTOR, on_active};
use crate::lineage::is_appended;

/// The wait between two checks of a session file.
const LOOK: Duration = Duration::from_millis(10);

/// Name of the event of lines that are lost.
const LOST: &str = "agent_lines_lost";

/// The source of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// No line and no document is recorded yet.
    Unknown,
    /// The lines of the session file.
    File,
    /// The documents of the hooks.
    Documents,
}

/// Readings that are left out after failures: after each one a reading begins at the first line of
/// the file.
#[derive(Debug, Default)]
struct Patience {
    /// Number of failures in a row.
    failed: u32,
    /// Number of readings to leave out.
    left_out: u32,
}

impl Patience {
    /// Most readings that are left out in a row, as a power of two.
    const MOST: u32 = 6;

    /// Returns `true` if the file is read this time.
    fn is_over(&mut self) -> bool {
        let is_over = self.left_out == 0;
        self.left_out = self.left_out.saturating_sub(1);
        is_over
    }

    fn note(&mut self, has_failed: bool) {
        match has_failed {
            true => {
                self.left_out = (1 << self.failed.min(Self::MOST)) - 1;
                self.failed += 1;
            }
            false => *self = Self::default(),
        }
    }
}

/// The conversation of a session.
#[derive(Debug)]
pub(crate) struct Conversation {
    agent: Agent,
    /// The id of the session.
    id: String,
    user: String,
    source: Source,
    /// True once the log was searched for the source.
    is_known: bool,
    /// The session file, if it belongs to the agent.
    file: Option<PathBuf>,
    tail: Option<SessionTail>,
    patience: Patience,
    /// Reason why no line of the file is recorded.
    unread: Option<String>,
    /// The prompts, until the source is known.
    prompts: Vec<Said>,
    /// The last prompt that a hook reported, until its line of the file is recorded.
    awaited: Option<Said>,
    /// True if a line of the file was lost since.
    is_lost: bool,
    /// True once a wait for the first line was in vain.
    is_waited: bool,
    /// The files of sub-agents by their ids. `None` for one that is not read any more.
    subagents: HashMap<String, Option<SessionTail>>,
}

impl Conversation {
    pub(crate) fn new(agent: Agent, id: &str, user: &str) -> Self {
        Self {
            agent,
            id: id.to_owned(),
            user: user.to_owned(),
            source: Source::Unknown,
            is_known: false,
            file: None,
            tail: None,
            patience: Patience::default(),
            unread: None,
            prompts: Vec::new(),
            awaited: None,
            is_lost: false,
            is_waited: false,
            subagents: HashMap::new(),
        }
    }

    /// Takes the session file of an event, if it is in the agent's folder. The events belong to a
    /// started task.
    pub(crate) fn follow(
        &mut self,
        (engine, task): (&Engine, &str),
        event: &AgentEvent,
        environment: &Environment,
    ) -> Result<()> {
        if !self.is_known {
            let task = engine.task(task)?;
            if documents::is_of_documents(&task)? {
                self.source = Source::Documents;
            } else if self.format().is_some() && task.state()?.step.is_some() {
                self.source = Source::File;
            }
            self.is_known = true;
        }
        let Some(file) = &event.session_file else { return Ok(()) };
        let is_followed = self.file.as_ref() == Some(file);
        if is_followed || !self.agent.is_session_file(file, environment) {
            return Ok(());
        }
        self.tail = self.tail_of(engine, file, &self.id);
        (self.unread, self.is_waited, self.patience) = (None, false, Patience::default());
        // A file without a reader counts as missing.
        self.file = self.tail.is_some().then(|| file.clone());
        self.subagents.clear();
        Ok(())
    }

    /// Returns the format of the agent's session files, if they are read.
    fn format(&self) -> Option<Format> {
        Some(match self.agent {
            Agent::ClaudeCode => Format::ClaudeCode,
            Agent::Codex => Format::Codex,
            Agent::GeminiCli => Format::GeminiCli,
            Agent::QwenCode => Format::QwenCode,
            // The agent writes the file after its calls: the mark of a prompt would have files from
            // after them.
            Agent::Copilot => return None,
            // Their sessions are in databases; the lines of Cursor have no results of calls.
            Agent::OpenCode | Agent::Cline | Agent::Cursor => return None,
        })
    }

    /// Returns the session file that is followed.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Returns the number of bytes of the session file that are recorded.
    pub(crate) fn read_bytes(&self) -> Option<u64> {
        self.tail.as_ref()?.position()
    }

    fn tail_of(&self, engine: &Engine, file: &Path, task: &str) -> Option<SessionTail> {
        let tail = SessionTail::new(engine, self.format()?, file, task, &self.user);
        tail.inspect_err(|error| self.warn(error)).ok()
    }

    /// Records the lines that are new in the file of the session or of a sub-agent, up to a stop. A
    /// file that cannot be recorded does not end the session: its captures continue.
    pub(crate) fn read_on(&mut self, engine: &Engine, subagent: Option<&str>, stop: TailStop<'_>) {
        if self.source == Source::Documents {
            return;
        }
        if let Some(id) = subagent
            && !self.subagents.contains_key(id)
            && let Some(file) = self.file.as_deref().and_then(|file| subagent_file(file, id))
            && let Some(tail) = self.tail_of(engine, &file, &format!("{}-agent-{id}", self.id))
        {
            self.subagents.insert(id.to_owned(), Some(tail));
        }
        let tail = match subagent {
            Some(id) => self.subagents.get_mut(id).and_then(Option::as_mut),
            None => self.tail.as_mut(),
        };
        if tail.is_some() && !self.patience.is_over() {
            return;
        }
        let read = tail.map(|tail| tail.read_on(stop));
        if let Some(read) = &read {
            self.patience.note(read.is_err());
        }
        match read {
            Some(Ok(read)) if subagent.is_none() => {
                if read.lines > 0 {
                    self.source = Source::File;
                    self.prompts.clear();
                }
                if read.prompts > 0 {
                    self.awaited = None;
                }
                if read.skipped > 0 {
                    self.tell_lost(engine, &read);
                }
                // A later reading has only the lines after it.
                self.unread = self.unread.take().or(read.reason);
            }
            None | Some(Ok(_)) => {}
            Some(Err(error)) => self.unreadable(&error, subagent),
        }
    }

    /// Reports lost parts of the session file: in the log of the program, and as an event of the
    /// task, once for each line.
    fn tell_lost(&mut self, engine: &Engine, read: &TailRead) {
        let (session, lines) = (&self.id, read.skipped);
        let why = read.reason.as_deref().unwrap_or_default();
        warn!(target: "milepost::sessions", session, lines, why, "lines of a file are lost");
        self.is_lost = true;
        let line = why.split(':').next().unwrap_or_default();
        let key = format!("{HOOK_KEY}lost:{session}:{line}");
        let facts = json!({ "session": session, "file": self.file, "lines": lines, "reason": why });
        let task = continued(engine, session).ok().flatten();
        let task = task.map_or_else(|| session.clone(), |(task, _)| task);
        let told = on_active(engine, &task, |task| match is_appended(task, &key, true)? {
            true => Ok(()),
            false => {
                let event = Application::new(LOST, &facts)?;
                task.append(Append::from(event).actor(ACTOR).key(&key)).map(drop)
            }
        });
        if let Err(error) = told {
            warn!(target: "milepost::sessions", session, %error, "a lost line has no event");
        }
    }

    fn unreadable(&mut self, error: &milepost_formats::Error, subagent: Option<&str>) {
        self.warn(error);
        // After a conflict each hook would read the whole file again, with the same end.
        let is_over = error.kind() == ErrorKind::Conflict;
        match subagent {
            Some(id) if is_over => drop(self.subagents.insert(id.to_owned(), None)),
            Some(_) => {}
            None => {
                self.unread = Some(error.to_string());
                self.tail = self.tail.take().filter(|_| !is_over);
            }
        }
    }

    /// Records the new lines of all files, also after failures.
    pub(crate) fn read_all(&mut self, engine: &Engine) {
        self.patience = Patience::default();
        let ids: Vec<String> = self.subagents.keys().cloned().collect();
        for id in &ids {
            self.read_on(engine, Some(id), TailStop::End);
        }
        self.read_on(engine, None, TailStop::End);
    }

    /// Waits for the first line of the session file, for at most this long: agents write it a
    /// moment after their first hooks.
    #[allow(clippy::disallowed_methods, reason = "the wait for another process")]
    pub(crate) fn wait_for_line(&mut self, engine: &Engine, stop: TailStop<'_>, limit: Duration) {
        let end = Instant::now() + limit;
        let is_open = |own: &Self| own.is_unknown() && own.file.is_some() && own.unread.is_none();
        while is_open(self) && !self.is_waited {
            // Once is enough: the recorder does nothing else.
            self.is_waited = Instant::now() >= end;
            std::thread::sleep(LOOK);
            self.read_on(engine, None, stop);
        }
    }

    /// Returns `true` if neither a line nor a document is recorded yet.
    pub(crate) fn is_unknown(&self) -> bool {
        self.source == Source::Unknown
    }

    /// Takes the part of the conversation that a document has. It is recorded if no line of the
    /// session file can be.
    pub(crate) fn hear(&mut self, (engine, task): (&Engine, &str), said: Said) -> Result<()> {
        let is_prompt = matches!(said.kind, AgentEventKind::Prompt { .. });
        match self.source {
            Source::File => {
                if is_prompt {
                    (self.awaited, self.is_lost) = (Some(said), false);
                    return Ok(());
                }
                // The line of the prompt is one of those that are lost.
                let prompt = self.awaited.take_if(|_| self.is_lost);
                return match prompt {
                    Some(prompt) => {
                        on_active(engine, task, |task| documents::record(task, &prompt))
                    }
                    None => Ok(()),
                };
            }
            Source::Documents => {}
            // The agent writes the file after the hook of the prompt.
            Source::Unknown if is_prompt && self.file.is_some() => {
                self.prompts.push(said);
                return Ok(());
            }
            Source::Unknown => {
                let Some(why) = self.why_unread() else { return Ok(()) };
                if self.file.is_some() && engine.task(task)?.state()?.step.is_some() {
                    // Lines were recorded before a reading failed.
                    self.source = Source::File;
                    return Ok(());
                }
                self.take_documents((engine, task), &why)?;
            }
        }
        on_active(engine, task, |task| documents::record(task, &said))
    }

    /// Records the prompts that wait for a line of the file, at the end of the session.
    pub(crate) fn end(&mut self, to: (&Engine, &str)) -> Result<()> {
        match self.why_unread().filter(|_| self.is_unknown() && !self.prompts.is_empty()) {
            Some(why) => self.take_documents(to, &why),
            None => Ok(()),
        }
    }

    fn take_documents(&mut self, (engine, task): (&Engine, &str), why: &str) -> Result<()> {
        warn!(target: "milepost::sessions", task, reason = why, "documents are recorded");
        on_active(engine, task, |task| {
            documents::begin(task, why)?;
            self.prompts.iter().try_for_each(|prompt| documents::record(task, prompt))
        })?;
        self.source = Source::Documents;
        self.prompts.clear();
        Ok(())
    }

    /// Returns the reason why the file has no line to record; `None` if it may have one soon.
    fn why_unread(&self) -> Option<String> {
        match &self.file {
            None => Some("the agent names no session file of its own".to_owned()),
            Some(file) if !file.exists() => Some("the session file is not there".to_owned()),
            // It may be empty for a moment.
            Some(_) => self.unread.clone().or_else(|| {
                self.is_waited.then(|| "no line of the session file came in time".to_owned())
            }),
        }
    }

    fn warn(&self, error: &milepost_formats::Error) {
        let session = &self.id;
        warn!(target: "milepost::sessions", session, %error, "a session file is not recorded");
    }
}

/// Returns the file of a sub-agent, next to the file of its session.
fn subagent_file(session: &Path, id: &str) -> Option<PathBuf> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    let is_name = !id.is_empty() && id.chars().all(is_plain);
    is_name.then(|| session.with_extension("").join("subagents").join(format!("agent-{id}.jsonl")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_fails_again_and_again_is_read_at_few_hooks() {
        let (mut patience, mut read) = (Patience::default(), 0);
        for _ in 0..640 {
            if patience.is_over() {
                read += 1;
                patience.note(true);
            }
        }
        assert_eq!(read, 16);
        while !patience.is_over() {}
        patience.note(false);
        assert!((0..10).all(|_| patience.is_over()));
    }
}
