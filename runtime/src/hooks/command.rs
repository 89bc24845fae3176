//! Declaration of external commands as hooks.

use std::fmt;
use std::time::Duration;

use milepost::Body;
use serde::{Deserialize, Serialize};

/// Default time limit of a command.
const TIMEOUT_MS: u64 = 10_000;

/// The longest time limit.
const TIMEOUT_MS_MAX: u64 = 600_000;

/// Occasion at which a hook is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum HookPoint {
    /// Before a checkpoint is marked.
    BeforeCheckpoint,
    /// After a checkpoint was marked.
    AfterCheckpoint,
    /// Before a task is restored.
    BeforeRestore,
    /// After a task was restored.
    AfterRestore,
    /// After an event was committed.
    Event,
    /// When a capture or a restore of a workspace begins or ends.
    Workspace,
    /// When an alert is raised.
    Alert,
}

impl HookPoint {
    /// Returns the name, as in `hooks.json` and in a command's document.
    pub fn name(self) -> &'static str {
        match self {
            Self::BeforeCheckpoint => "before_checkpoint",
            Self::AfterCheckpoint => "after_checkpoint",
            Self::BeforeRestore => "before_restore",
            Self::AfterRestore => "after_restore",
            Self::Event => "event",
            Self::Workspace => "workspace",
            Self::Alert => "alert",
        }
    }

    fn may_refuse(self) -> bool {
        matches!(self, Self::BeforeCheckpoint | Self::BeforeRestore)
    }
}

impl fmt::Display for HookPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An external command as a hook: a program that runs without a shell and gets one JSON document on
/// its standard input. `docs/HOOKS.md` describes the documents.
///
/// A failure (an exit code other than 0, a program that cannot be started, an exceeded time limit)
/// is reported and stops nothing, except at a `before` point with a veto.
///
/// ```
/// use std::time::Duration;
/// use milepost::{Engine, Mark, Options};
/// use milepost_runtime::hooks::{CommandHook, CommandHooks, HookPoint};
///
/// let no = CommandHook::new("sh")
///     .args(["-c", "echo 'not on a Friday' >&2; exit 1"])
///     .on(HookPoint::BeforeCheckpoint)
///     .timeout(Duration::from_secs(5))
///     .veto();
/// let options = CommandHooks::default().with(no).add_to(Options::default())?;
/// let engine = Engine::in_memory(options)?;
/// let task = engine.start_task("tuning", "ana")?;
/// let refused = task.checkpoint(Mark::new()).unwrap_err();
/// assert!(refused.to_string().contains("sh: not on a Friday"));
/// # Ok::<(), milepost::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandHook {
    on: Vec<HookPoint>,
    run: Vec<String>,
    #[serde(default = "timeout_ms")]
    timeout_ms: u64,
    #[serde(default)]
    veto: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    kinds: Vec<String>,
}

fn timeout_ms() -> u64 {
    TIMEOUT_MS
}

impl CommandHook {
    /// Creates a hook that runs this program: an absolute path, or a name to look up in `PATH`. No
    /// hook point is set yet.
    pub fn new(program: impl Into<String>) -> Self {
        Self {
            on: Vec::new(),
            run: vec![program.into()],
            timeout_ms: TIMEOUT_MS,
            veto: false,
            kinds: Vec::new(),
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: Into<String>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.run.extend(args.into_iter().map(Into::into));
        self
    }

    /// Adds a hook point.
    #[must_use]
    pub fn on(mut self, point: HookPoint) -> Self {
        self.on.push(point);
        self
    }

    /// Sets the time limit of one run, from 1 ms to 10 minutes. Beyond it the process group is
    /// killed. Default: 10 s.
    #[must_use]
    pub fn timeout(mut self, at_most: Duration) -> Self {
        self.timeout_ms = u64::try_from(at_most.as_millis()).unwrap_or(u64::MAX);
        self
    }

    /// Grants a veto: a failure at a `before` point refuses the operation.
    #[must_use]
    pub fn veto(mut self) -> Self {
        self.veto = true;
        self
    }

    /// Restricts the hook to events of these kinds, by their names in JSON.
    #[must_use]
    pub fn kinds<K: Into<String>>(mut self, kinds: impl IntoIterator<Item = K>) -> Self {
        self.kinds.extend(kinds.into_iter().map(Into::into));
        self
    }

    /// Returns the hook points.
    pub fn points(&self) -> &[HookPoint] {
        &self.on
    }

    /// Returns the program and its arguments.
    pub fn argv(&self) -> &[String] {
        &self.run
    }

    /// Returns the time limit of one run.
    pub fn time_limit(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }

    /// Returns `true` if a failure at a `before` point refuses the operation.
    pub fn has_veto(&self) -> bool {
        self.veto
    }

    /// Returns the kinds of events that the hook is restricted to; empty for all kinds.
    pub fn event_kinds(&self) -> &[String] {
        &self.kinds
    }

    /// Returns `true` if the hook is called for events of this kind.
    pub(super) fn wants(&self, kind: u16) -> bool {
        self.kinds.is_empty() || self.kinds.iter().any(|name| name == Body::name_of(kind))
    }

    /// Checks the declaration; the error is the reason.
    pub(super) fn check(&self) -> Result<(), String> {
        let Some(program) = self.run.first() else {
            return Err("`run` names no program".into());
        };
        if program.is_empty() || program.contains('/') && !program.starts_with('/') {
            return Err(format!(
                "the program `{program}` is neither an absolute path nor a name to look for in PATH"
            ));
        }
        if self.run.iter().any(|word| word.contains('\0')) {
            return Err("`run` has a zero byte in it".into());
        }
        if self.on.is_empty() {
            return Err("`on` says nothing: the hook would never be called".into());
        }
        if !(1..=TIMEOUT_MS_MAX).contains(&self.timeout_ms) {
            let millis = self.timeout_ms;
            return Err(format!("`timeout_ms` is 1 to {TIMEOUT_MS_MAX}, not {millis}"));
        }
        if self.veto && !self.on.iter().any(|point| point.may_refuse()) {
            return Err("`veto` is for hooks before a checkpoint or restore".into());
        }
        if !self.kinds.is_empty() && !self.on.contains(&HookPoint::Event) {
            return Err("`kinds` is for hooks on events".into());
        }
        let is_unknown = |name: &&String| !(0..=u16::MAX).any(|kind| Body::name_of(kind) == *name);
        match self.kinds.iter().find(is_unknown) {
            Some(name) => Err(format!("`kinds` has `{name}`, and events have no such kind")),
            None => Ok(()),
        }
    }
}
