//! An event of a session of an agent.

use std::path::PathBuf;

use crate::agent::Agent;

/// An event of a session, as a hook reported it.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentEvent {
    /// The agent.
    pub agent: Agent,
    /// The id of the session.
    pub session: String,
    /// The working directory, which follows the agent's `cd`.
    pub folder: Option<PathBuf>,
    /// The file that the agent writes the session to. It is not known to be the agent's: check that
    /// the path is below the agent's folder before the file is read.
    pub session_file: Option<PathBuf>,
    /// The agent's id of the prompt or turn.
    pub prompt_id: Option<String>,
    /// The id of the sub-agent that the event is of.
    pub subagent: Option<String>,
    /// The kind of event, with its own fields.
    pub kind: AgentEventKind,
}

/// The kinds of events.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentEventKind {
    /// A session began, or continues.
    SessionStarted {
        /// The cause, such as `startup` or `resume`.
        cause: Option<String>,
        /// The model.
        model: Option<String>,
    },
    /// A session ended.
    SessionEnded {
        /// The cause.
        cause: Option<String>,
    },
    /// The user sent a prompt.
    Prompt {
        /// The text.
        text: String,
    },
    /// A tool is about to be called.
    BeforeTool {
        /// The id of the call. Gemini CLI gives none.
        call: Option<String>,
        /// The name of the tool.
        tool: String,
        /// The arguments, as JSON.
        input: Option<String>,
    },
    /// A tool was called.
    AfterTool {
        /// The id of the call. Gemini CLI gives none.
        call: Option<String>,
        /// The name of the tool.
        tool: String,
        /// The arguments, as JSON.
        input: Option<String>,
        /// The result, as JSON.
        result: Option<String>,
        /// True if the tool failed.
        is_failed: bool,
    },
    /// The agent said something, and may continue.
    Answered {
        /// The text.
        text: String,
    },
    /// The agent answered, and waits for the user.
    TurnEnded {
        /// The last text of the agent.
        answer: Option<String>,
    },
    /// A sub-agent began.
    SubagentStarted {
        /// The kind of sub-agent.
        kind: Option<String>,
    },
    /// A sub-agent ended.
    SubagentEnded {
        /// The file that its conversation is in.
        session_file: Option<PathBuf>,
        /// Its last text.
        answer: Option<String>,
    },
    /// The user is about to rewind the session. No agent reports it: `milepost rewind` does.
    GoingBack,
    /// The agent is about to replace its conversation by a summary.
    Compaction {
        /// The cause, such as `auto`.
        cause: Option<String>,
    },
}
