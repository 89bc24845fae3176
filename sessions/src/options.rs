//! Options of a recorder.

use std::path::{Path, PathBuf};
use std::time::Duration;

use milepost_agents::{Environment, Spool};

/// Longest wait for the first line of a session file.
const FILE_WAIT: Duration = Duration::from_secs(1);

/// Options of a recorder.
#[derive(Debug, Clone)]
pub struct RecorderOptions {
    pub(crate) project: PathBuf,
    pub(crate) user: String,
    pub(crate) environment: Environment,
    pub(crate) spool: Option<Spool>,
    pub(crate) has_files: bool,
    pub(crate) idle: Option<Duration>,
    pub(crate) file_wait: Duration,
}

impl RecorderOptions {
    /// Creates the options for a project, whose tasks belong to a user.
    pub fn new(project: impl AsRef<Path>, user: impl Into<String>) -> Self {
        Self {
            project: milepost_agents::real(project.as_ref()),
            user: user.into(),
            environment: Environment::default(),
            spool: None,
            has_files: true,
            idle: None,
            file_wait: FILE_WAIT,
        }
    }

    /// Sets the variables that name the folders of agents. Session files elsewhere are not read.
    /// Default: none, and no session file is read.
    #[must_use]
    pub fn environment(mut self, environment: Environment) -> Self {
        self.environment = environment;
        self
    }

    /// Sets the spool whose documents are recorded too. Default: none.
    #[must_use]
    pub fn spool(mut self, spool: Spool) -> Self {
        self.spool = Some(spool);
        self
    }

    /// Captures the project's folder. Default: yes.
    #[must_use]
    pub fn files(mut self, capture: bool) -> Self {
        self.has_files = capture;
        self
    }

    /// Ends the recorder this long after the last document, once no agent of its sessions lives.
    /// Default: never.
    #[must_use]
    pub fn idle(mut self, at_most: Duration) -> Self {
        self.idle = Some(at_most);
        self
    }

    /// Sets the longest wait for the first line of a session file, after the agent has its answer.
    /// Without a line by then the documents of the hooks are the conversation. Default: 1 s.
    #[must_use]
    pub fn file_wait(mut self, at_most: Duration) -> Self {
        self.file_wait = at_most;
        self
    }
}
