//! Events of sessions, recorded.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use crossbeam_channel::Sender;
use milepost::clock::{Clock as _, SystemClock};
use milepost::events::{Application, MarkStatus, RunControl};
use milepost::{Append, Engine, ErrorKind, Result};
use milepost_agents::documents::{AgentEvent, AgentEventKind};
use milepost_api::{HookRequest, HookTakenForm};
use milepost_formats::{HOOK_KEY, TailStop};
use milepost_workspace::Workspace;
use serde_json::json;

use crate::documents::Said;
use crate::folder::{ACTOR, CallMark, capture, capture_for_call, on_active};
use crate::lineage::is_appended;
use crate::reach::Reach;
use crate::session::{OpenCall, Session, actor};

/// Name of the event with the facts of a session.
const SESSION: &str = "agent_session";
/// Name of the event of a compaction of the agent's conversation.
const COMPACTION: &str = "agent_compaction";
/// Name of the event of the end of an agent's process.
const GONE: &str = "agent_gone";

/// The age from which on a call without a return may have ended unseen, in microseconds.
const LONG_US: u64 = 600_000_000;

/// Sentence for a model whose files were restored while it ran.
const TAKEN_BACK: &str = "The user took the files of this project back to an earlier state. \
    Read a file again before you change it.";

/// The answer to a hook, sent once.
#[derive(Debug)]
pub(crate) struct Reply(Option<Sender<Result<HookTakenForm>>>);

impl Reply {
    pub(crate) fn new(to: Option<Sender<Result<HookTakenForm>>>) -> Self {
        Self(to)
    }

    /// Lets the agent continue, unless it already does.
    pub(crate) fn send(&mut self, taken: Result<HookTakenForm>) {
        if let Some(to) = self.0.take() {
            // The hook may have stopped waiting.
            let _ = to.send(taken);
        }
    }

    /// Returns `true` if the agent has its answer.
    pub(crate) fn is_sent(&self) -> bool {
        self.0.is_none()
    }

    fn done(&mut self) {
        self.send(Ok(HookTakenForm::default()));
    }
}

/// A document of a hook, with facts that the recorder knows about it.
#[derive(Debug)]
pub(crate) struct Heard<'a> {
    pub(crate) asked: &'a HookRequest,
    pub(crate) event: &'a AgentEvent,
    /// The key of its events.
    pub(crate) key: &'a str,
    /// The agent's process, if it is watched.
    pub(crate) process: Option<u32>,
    /// True if it waited in the spool: its moment is over.
    pub(crate) is_spooled: bool,
    /// The time at which the agent continues without an answer, in microseconds since the Unix
    /// epoch.
    pub(crate) limit_us: u64,
    /// Other sessions with an open call.
    pub(crate) shared: BTreeSet<String>,
    /// Paths that the call of this document may change, and those that their calls may change.
    pub(crate) reach: Reach,
    pub(crate) others: Reach,
    /// The working directory, if captures of the project do not have it.
    pub(crate) elsewhere: Option<&'a Path>,
}

impl Heard<'_> {
    /// Returns `true` if the agent continued before this was recorded.
    fn is_late(&self) -> bool {
        self.is_spooled || SystemClock.now_us() > self.limit_us
    }
}

/// The store and the folder of a project.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) engine: Engine,
    pub(crate) workspace: Option<Workspace>,
    /// Longest wait for the first line of a session file.
    pub(crate) file_wait: Duration,
}

impl Place {
    fn capture(&self, session: &Session) -> Result<()> {
        capture((&self.engine, &session.task), self.workspace.as_ref())
    }

    fn capture_for_call(&self, session: &Session, mark: &milepost::Mark, key: &str) -> Result<()> {
        capture_for_call((&self.engine, &session.task), self.workspace.as_ref(), mark, key)
    }

    fn append(&self, session: &Session, key: &str, append: Append) -> Result<()> {
        let append = append.actor(ACTOR).key(key);
        on_active(&self.engine, &session.task, |task| task.append(append.clone()).map(|_| ()))
    }

    /// Takes the part of the conversation that a document has.
    fn hear(&self, session: &mut Session, heard: &Heard<'_>, call: Option<&str>) -> Result<()> {
        let said = Said {
            key: heard.key.to_owned(),
            time_us: heard.asked.time_us.0,
            actor: actor(heard.event),
            call: call.map(str::to_owned),
            prompt_id: heard.event.prompt_id.clone(),
            is_spooled: heard.is_spooled,
            kind: heard.event.kind.clone(),
        };
        session.conversation.hear((&self.engine, &session.task), said)
    }

    /// Takes the part of the conversation of a document whose capture is recorded: a daemon that
    /// was killed may have recorded that alone.
    pub(crate) fn hear_again(&self, session: &mut Session, heard: &Heard<'_>) -> Result<()> {
        match &heard.event.kind {
            AgentEventKind::BeforeTool { call, .. } => {
                self.hear(session, heard, Some(call.as_ref().unwrap_or(&heard.asked.id)))
            }
            _ => Ok(()),
        }
    }

    /// Changes the control of the run. A run that the user paused or stopped stays so.
    fn control(&self, session: &Session, to: RunControl) -> Result<()> {
        let change = on_active(&self.engine, &session.task, |task| match task.control().now()? {
            RunControl::Paused => Ok(()),
            from if from == to => Ok(()),
            _ => task.control().change(to, None).map(|_| ()),
        });
        match change {
            Err(error) if error.kind() == ErrorKind::Invalid => Ok(()),
            done => done,
        }
    }

    /// Records an event of a session, and answers as soon as the agent may continue.
    pub(crate) fn record(
        &self,
        session: &mut Session,
        heard: &Heard<'_>,
        reply: &mut Reply,
    ) -> Result<()> {
        let engine = &self.engine;
        let subagent = heard.event.subagent.as_deref();
        match &heard.event.kind {
            AgentEventKind::SessionStarted { .. } => {
                self.control(session, RunControl::Running)?;
                reply.done();
                self.capture(session)
            }
            AgentEventKind::Prompt { .. } => {
                self.control(session, RunControl::Running)?;
                let is_told = !heard.is_spooled && std::mem::take(&mut session.is_to_tell);
                let say = is_told.then(|| TAKEN_BACK.to_owned());
                // The lines of the prompt are recorded after the capture: its mark is at files
                // that are from before. The model works while the folder is captured.
                reply.send(Ok(HookTakenForm { say }));
                self.end_over(session, heard)?;
                self.capture(session)?;
                self.hear(session, heard, None)
            }
            AgentEventKind::BeforeTool { call, tool, input } => {
                let id = call.as_ref().unwrap_or(&heard.asked.id);
                self.before(session, heard, (id, tool, input.as_ref()))?;
                if !session.conversation.is_unknown() {
                    return self.hear(session, heard, Some(id));
                }
                reply.done();
                let stop = TailStop::AfterCall(id);
                session.conversation.wait_for_line(engine, stop, self.file_wait);
                self.hear(session, heard, Some(id))
            }
            AgentEventKind::AfterTool { call, tool, input, .. } => {
                // The lines of parallel calls are recorded after their own marks.
                let stop = call.as_deref().map_or(TailStop::End, TailStop::NextCall);
                session.conversation.read_on(engine, subagent, stop);
                reply.done();
                self.after(session, heard, (call.as_ref(), tool, input.as_ref()))
            }
            AgentEventKind::TurnEnded { .. } => {
                session.conversation.read_on(engine, subagent, TailStop::End);
                if !session.conversation.is_unknown() {
                    self.hear(session, heard, None)?;
                }
                reply.done();
                if session.conversation.is_unknown() {
                    session.conversation.wait_for_line(engine, TailStop::End, self.file_wait);
                    self.hear(session, heard, None)?;
                }
                self.end_over(session, heard)?;
                self.capture(session)
            }
            AgentEventKind::Answered { .. }
            | AgentEventKind::SubagentStarted { .. }
            | AgentEventKind::SubagentEnded { .. } => {
                session.conversation.read_on(engine, subagent, TailStop::End);
                self.hear(session, heard, None)?;
                reply.done();
                self.end_over(session, heard)
            }
            AgentEventKind::Compaction { cause } => {
                session.conversation.read_on(engine, subagent, TailStop::End);
                let compaction = Application::new(COMPACTION, &json!({ "cause": cause }))?;
                self.append(session, heard.key, compaction.into())
            }
            AgentEventKind::SessionEnded { .. } => {
                session.conversation.read_all(engine);
                session.conversation.end((engine, &session.task))?;
                self.control(session, RunControl::Stopped)?;
                reply.done();
                self.end_over(session, heard)?;
                self.capture(session)
            }
            AgentEventKind::GoingBack => self.going_back(session, heard),
        }
    }

    /// Ends the calls that returned before the user rewinds, and captures the unfinished ones so
    /// far.
    fn going_back(&self, session: &mut Session, heard: &Heard<'_>) -> Result<()> {
        session.conversation.read_all(&self.engine);
        let returned = session.take_returned(&self.engine)?;
        self.end(session, returned, heard.key, false)?;
        let key = format!("{}:so-far", heard.key);
        for open in &session.open {
            self.capture_after(session, open, (&key, heard.is_spooled), true)?;
        }
        self.capture(session)
    }

    /// Ends the calls that are over by an event of their agent, without a hook of their return.
    fn end_over(&self, session: &mut Session, heard: &Heard<'_>) -> Result<()> {
        let mut over = session.take_returned(&self.engine)?;
        over.extend(session.take_over(heard.event));
        self.end(session, over, heard.key, heard.is_spooled)
    }

    /// Ends the calls whose results the session file has by now.
    pub(crate) fn look_at_calls(&self, session: &mut Session) -> Result<()> {
        let Some(last) = session.open.iter().rfind(|open| open.actor == ACTOR) else {
            return Ok(());
        };
        let last = last.id.clone();
        session.conversation.read_on(&self.engine, None, TailStop::NextCall(&last));
        let returned = session.take_returned(&self.engine)?;
        self.end(session, returned, HOOK_KEY, false)
    }

    /// Ends calls whose return no hook reported, with a capture after each: changes since one began
    /// are its own. A later hook of it adds nothing.
    fn end(
        &self,
        session: &mut Session,
        calls: Vec<OpenCall>,
        key: &str,
        is_late: bool,
    ) -> Result<()> {
        let mut failed = Ok(());
        for open in calls {
            if failed.is_ok() {
                failed = self.capture_after(session, &open, (key, is_late), false);
            }
            match failed {
                Ok(()) => _ = session.ended.insert(open.id),
                Err(_) => session.open.push(open),
            }
        }
        failed
    }

    /// Captures the folder as after a call that no hook ended, or after a part of one that runs on.
    /// What changed since it began is its own, unless it may have ended long before.
    fn capture_after(
        &self,
        session: &Session,
        open: &OpenCall,
        (key, is_late): (&str, bool),
        is_running: bool,
    ) -> Result<()> {
        let is_long = SystemClock.now_us().saturating_sub(open.began_us) > LONG_US;
        let mark = CallMark {
            call: &open.id,
            actor: &open.actor,
            tool: &open.tool,
            shared: &open.shared,
            reach: &open.reach,
            others: &open.others,
            elsewhere: open.elsewhere.as_deref(),
            is_uncaptured: open.is_uncaptured || open.is_stale || is_late || is_long,
            is_running,
        };
        let mark = mark.after().status(MarkStatus::Failure);
        self.capture_for_call(session, &mark, &format!("{key}:end:{}", open.began_us))
    }

    /// Records the facts of a session, at its first event or a later start.
    pub(crate) fn opened(&self, session: &Session, heard: &Heard<'_>) -> Result<()> {
        let key = format!("{}:session", heard.key);
        if is_appended(&self.engine.task(&session.task)?, &key, heard.is_spooled)? {
            // The process may be another one, or none.
            return Ok(());
        }
        let (cause, model) = match &heard.event.kind {
            AgentEventKind::SessionStarted { cause, model } => (cause.as_deref(), model.as_deref()),
            _ => (None, None),
        };
        let facts = json!({
            "agent": session.agent.name(),
            "session": heard.event.session,
            "cause": cause,
            "model": model,
            "root": heard.asked.project,
            "file": heard.event.session_file.as_deref().or(session.conversation.file()),
            "process": heard.process,
        });
        self.append(session, &key, Application::new(SESSION, &facts)?.into())
    }

    fn before(
        &self,
        session: &mut Session,
        heard: &Heard<'_>,
        (id, tool, input): (&str, &str, Option<&String>),
    ) -> Result<()> {
        let subagent = heard.event.subagent.as_deref();
        // The line with the call is recorded after the mark, so that a restore of the mark has the
        // conversation up to the call.
        session.conversation.read_on(&self.engine, subagent, TailStop::BeforeCall(id));
        self.end_over(session, heard)?;
        if session.open.is_empty() {
            session.looked = self.engine.task(&session.task)?.head()?.next;
        }
        let actor = actor(heard.event);
        let mark = CallMark {
            call: id,
            actor: &actor,
            tool,
            shared: &heard.shared,
            reach: &heard.reach,
            others: &heard.others,
            is_uncaptured: heard.is_late(),
            is_running: false,
            elsewhere: heard.elsewhere,
        };
        self.capture_for_call(session, &mark.before(), heard.key)?;
        session.conversation.read_on(&self.engine, subagent, TailStop::AfterCall(id));
        session.ended.remove(id);
        session.open.push(OpenCall {
            id: id.to_owned(),
            actor,
            tool: tool.to_owned(),
            input: input.cloned(),
            process: heard.process,
            shared: heard.shared.clone(),
            reach: heard.reach.clone(),
            others: heard.others.clone(),
            elsewhere: heard.elsewhere.map(Path::to_owned),
            // The tool may have begun before the capture was done.
            is_uncaptured: heard.is_late(),
            began_us: heard.asked.time_us.0,
            is_stale: false,
        });
        Ok(())
    }

    fn after(
        &self,
        session: &mut Session,
        heard: &Heard<'_>,
        (call, tool, input): (Option<&String>, &str, Option<&String>),
    ) -> Result<()> {
        let open = session.close_call(heard.event, call, tool, input);
        let id = match (&open, call) {
            (Some(open), _) => open.id.clone(),
            (None, Some(call)) => call.clone(),
            // A call without an id, whose beginning is not known.
            (None, None) => heard.asked.id.clone(),
        };
        let actor = actor(heard.event);
        let mut shared = heard.shared.clone();
        shared.extend(open.iter().flat_map(|open| open.shared.clone()));
        let mut others = heard.others.clone();
        open.iter().for_each(|open| others.add(&open.others));
        let began_in = open.as_ref().and_then(|open| open.elsewhere.clone());
        let mark = CallMark {
            call: &id,
            actor: &actor,
            tool,
            shared: &shared,
            reach: open.as_ref().map_or(&heard.reach, |open| &open.reach),
            others: &others,
            elsewhere: began_in.as_deref().or(heard.elsewhere),
            // Without its beginning, a capture from before the call may be missing.
            is_uncaptured: heard.is_spooled || open.as_ref().is_none_or(|open| open.is_uncaptured),
            is_running: false,
        };
        let heard_it = self.hear(session, heard, Some(&id));
        let captured = heard_it.and_then(|()| {
            // The hook of a killed agent may come after the end of its process.
            match open.is_none() && session.ended.remove(&id) {
                true => Ok(()),
                false => self.capture_for_call(session, &mark.after(), heard.key),
            }
        });
        if captured.is_err() {
            // The document is tried again.
            session.open.extend(open);
        }
        captured
    }

    /// Records the end of an agent's process: its remains, and the end of its open calls. The
    /// folder is captured as after a call for each of them. Changes since one began are its own,
    /// unless it may have ended long before.
    pub(crate) fn gone(&self, session: &mut Session, process: u32) -> Result<()> {
        session.conversation.read_all(&self.engine);
        session.conversation.end((&self.engine, &session.task))?;
        let open = std::mem::take(&mut session.open);
        let calls: Vec<String> = open.iter().map(|open| open.id.clone()).collect();
        let read = session.conversation.read_bytes();
        let facts = json!({ "process": process, "open_calls": calls, "file_read": read });
        let key =
            format!("{HOOK_KEY}gone:{process}:{}", self.engine.task(&session.task)?.head()?.next);
        self.append(session, &key, Application::new(GONE, &facts)?.into())?;
        self.end(session, open, &key, false)?;
        self.control(session, RunControl::Stopped)?;
        self.capture(session)
    }
}
