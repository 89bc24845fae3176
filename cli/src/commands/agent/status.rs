//! `agent status`: the agents, and where the hooks are installed.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use milepost::clock::{Clock as _, SystemClock};
use milepost_agents::settings::{self, SettingsFile};
use milepost_agents::{
    Agent, Environment, HookTimes, SettingsScope, Spool, TimedHook, percentile_us,
};
use milepost_api::Big;
use serde_json::{Value, json};

use super::change::UNTRIED;
use super::project::{environment, project};
use super::version;
use crate::error::{Failure, Result, UNMET};
use crate::output::{Out, age, count, duration, hint, printable};

/// One agent.
struct Seen {
    agent: Agent,
    is_found: bool,
    program: Option<PathBuf>,
    version: Option<String>,
    user: Settings,
    project: Settings,
    /// The last calls of its hooks.
    calls: Vec<TimedHook>,
    /// True if a session began after the hooks were installed, and no hook was called since.
    is_untrusted: bool,
}

/// The hooks in one file of settings.
#[derive(Default)]
struct Settings {
    file: Option<PathBuf>,
    /// Events with a hook.
    installed: Vec<String>,
    /// Programs of hooks that are gone.
    gone: Vec<PathBuf>,
    /// The settings turn off all hooks.
    is_off: bool,
    /// Reason why the file cannot be read.
    unreadable: Option<String>,
}

pub fn run(out: &mut Out) -> Result<()> {
    let environment = environment();
    let project = project()?;
    let now_us = SystemClock.now_us();
    let seen = |agent| Seen::of(agent, &environment, SettingsScope::Project(&project));
    // Programs take seconds to name their version.
    let seen: Vec<Seen> = std::thread::scope(|scope| {
        let asked = Agent::ALL.map(|agent| scope.spawn(move || seen(agent)));
        asked.into_iter().filter_map(|asked| asked.join().ok()).collect()
    });
    let waits = Waits::of(&environment, &project);
    if out.json {
        let agents: Vec<Value> = seen.iter().map(Seen::form).collect();
        out.json(&json!({ "agents": agents, "project": project, "spool": waits.form() }))?;
    } else {
        let row = |one: &Seen| {
            let mut row = vec![one.agent.name().to_owned(), one.found().to_owned()];
            row.push(one.version.clone().unwrap_or_else(|| "-".to_owned()));
            row.extend([&one.user, &one.project].map(|settings| settings.word(one.agent)));
            row.extend(one.times(now_us));
            row
        };
        let rows: Vec<_> = seen.iter().map(row).collect();
        let head = ["AGENT", "FOUND", "VERSION", "YOURS", "PROJECT", "LAST", "P50", "P95"];
        out.table(&head, &rows)?;
        for one in &seen {
            for line in [&one.user, &one.project].into_iter().flat_map(|it| it.said(one.agent)) {
                out.line(printable(&format!("{}: {line}", one.agent.name())))?;
            }
            if let Some(line) = one.untried() {
                out.line(printable(&format!("{}: {line}", one.agent.name())))?;
            }
            if let Some(line) = one.trust() {
                out.line(printable(&format!("{}: {line}", one.agent.name())))?;
            }
        }
        if let Some(line) = waits.line() {
            out.line(printable(&line))?;
        }
    }
    if seen.iter().any(Seen::is_silent) {
        out.flush()?;
        let is_silent = |one: &Seen| one.user.is_silent() || one.project.is_silent();
        if !out.json && seen.iter().any(is_silent) {
            hint("`milepost agent install NAME` writes the path of this program into the hooks");
        }
        return Err(Failure::reported(UNMET));
    }
    Ok(())
}

/// Documents of hooks that are not recorded.
#[derive(Default)]
struct Waits {
    folder: PathBuf,
    /// Those of the project that wait for its daemon.
    waiting: u64,
    /// Those of all projects that cannot be recorded.
    failed: u64,
    /// Those of all projects that found no room.
    dropped: u64,
}

impl Waits {
    fn of(environment: &Environment, project: &Path) -> Self {
        let Some(spool) = Spool::of(environment) else { return Self::default() };
        Self {
            folder: spool.folder().to_owned(),
            waiting: spool.waiting(project).map_or(0, |waiting| waiting.len() as u64),
            failed: spool.failed().map_or(0, |failed| failed as u64),
            dropped: spool.dropped(),
        }
    }

    /// Returns a line if there are any.
    fn line(&self) -> Option<String> {
        let Self { folder, waiting, failed, dropped } = self;
        let any = waiting + failed + dropped > 0;
        let waiting = count(*waiting, "document");
        any.then(|| {
            let folder = folder.display();
            format!(
                "spool: {waiting} of this project wait, {failed} cannot be recorded, {dropped} \
                 found no room: {folder}"
            )
        })
    }

    fn form(&self) -> Value {
        let Self { folder, waiting, failed, dropped } = self;
        json!({ "folder": folder, "waiting": waiting, "failed": failed, "dropped": dropped })
    }
}

impl Seen {
    fn of(agent: Agent, environment: &Environment, project: SettingsScope<'_>) -> Self {
        let program = environment.program(agent.program());
        let settings = |scope| {
            let file = agent.settings(environment, scope);
            file.map_or_else(Settings::default, |file| Settings::of(agent, file))
        };
        let times = HookTimes::of(environment);
        let calls = times.map_or_else(Vec::new, |times| times.read(agent));
        let user = settings(SettingsScope::User);
        let is_untrusted = agent.has_trust() && user.is_unused(agent, environment, &calls);
        Self {
            agent,
            is_found: agent.is_found(environment),
            version: program.as_deref().and_then(version::of),
            program,
            user,
            project: settings(project),
            is_untrusted,
            calls,
        }
    }

    fn is_installed(&self) -> bool {
        [&self.user, &self.project].into_iter().any(|settings| !settings.installed.is_empty())
    }

    /// Returns `true` if hooks are installed, and nothing is recorded.
    fn is_silent(&self) -> bool {
        self.user.is_silent() || self.project.is_silent() || self.is_untrusted
    }

    /// Returns the age of the last call, and the lengths of the calls.
    fn times(&self, now_us: u64) -> [String; 3] {
        let none = || "-".to_owned();
        let last = self.calls.last().map(|call| age(now_us.saturating_sub(call.time_us)));
        let percentile =
            |percent| percentile_us(&self.calls, percent).map(|us| duration(us.into()));
        [last, percentile(50), percentile(95)].map(|cell| cell.unwrap_or_else(none))
    }

    /// Returns what is to say about trust, if the agent has to trust hooks.
    fn trust(&self) -> Option<&'static str> {
        let waits = self.agent.has_trust() && self.is_installed() && self.calls.is_empty();
        match (self.is_untrusted, waits) {
            (true, _) => Some(
                "sessions since the installation called no hook: it is not trusted; start the \
                 agent without `exec`, and trust the hooks where it asks to review them",
            ),
            (false, true) => Some("no call yet; at its next start it asks to review the hooks"),
            (false, false) => None,
        }
    }

    /// Returns a line about a version that Milepost was not tried with.
    fn untried(&self) -> Option<String> {
        let version = self.version.as_deref();
        let Some(tried) = self.agent.tried_version() else {
            return self.is_found.then(|| UNTRIED.to_owned());
        };
        let version = version.filter(|version| *version != tried)?;
        Some(format!("{version} is not tried: Milepost is tested with {tried}"))
    }

    fn found(&self) -> &'static str {
        match (self.is_found, self.program.is_some()) {
            (_, true) => "yes",
            // Its folder is there.
            (true, false) => "folder",
            (false, false) => "no",
        }
    }

    fn form(&self) -> Value {
        json!({
            "agent": self.agent.name(),
            "found": self.is_found,
            "program": self.program,
            "version": self.version,
            "tried": self.agent.tried_version(),
            "user": self.user.form(self.agent),
            "project": self.project.form(self.agent),
            "untrusted": self.is_untrusted,
            "last_us": self.calls.last().map(|call| Big(call.time_us)),
            "p50_us": percentile_us(&self.calls, 50),
            "p95_us": percentile_us(&self.calls, 95),
            "calls": self.calls.len(),
            "calls_not_taken": self.calls.iter().filter(|call| !call.is_taken).count(),
        })
    }
}

impl Settings {
    fn of(agent: Agent, file: PathBuf) -> Self {
        let read = || {
            let (mut hooks, mut is_off) = (Vec::new(), false);
            for one in agent.hook_files(&file) {
                let at = |error: milepost_agents::Error| error.in_file(&one.path);
                let text = SettingsFile::read(&one.path)?;
                let Some(text) = text.text() else { continue };
                hooks.extend(settings::installed_in(text, &one).map_err(at)?);
                is_off |= settings::are_hooks_off(text, agent)?;
            }
            Ok((hooks, is_off))
        };
        let (hooks, is_off) = match read() {
            Ok(read) => read,
            Err(error) => {
                let error: milepost_agents::Error = error;
                let unreadable = Some(error.to_string());
                return Self { file: Some(file), unreadable, ..Self::default() };
            }
        };
        let mut found = Self { file: Some(file), is_off, ..Self::default() };
        for hook in hooks {
            if !hook.guard.is_alive() && !found.gone.contains(&hook.guard.program) {
                found.gone.push(hook.guard.program);
            }
            if agent.events().contains(&hook.event.as_str())
                && !found.installed.contains(&hook.event)
            {
                found.installed.push(hook.event);
            }
        }
        found
    }

    /// Returns `true` if a session began after the installation, and no hook was called since.
    fn is_unused(&self, agent: Agent, environment: &Environment, calls: &[TimedHook]) -> bool {
        let changed = self.file.as_ref().and_then(|file| file.metadata().ok()?.modified().ok());
        let (Some(changed), Some(session)) = (changed, agent.last_session(environment)) else {
            return false;
        };
        let is_since = |call: &TimedHook| {
            changed < SystemTime::UNIX_EPOCH + Duration::from_micros(call.time_us)
        };
        !self.installed.is_empty() && session > changed && !calls.iter().any(is_since)
    }

    /// Returns `true` if hooks are installed that record nothing.
    fn is_silent(&self) -> bool {
        !self.gone.is_empty() || self.is_off && !self.installed.is_empty()
    }

    fn word(&self, agent: Agent) -> String {
        let (installed, all) = (self.installed.len(), agent.events().len());
        match () {
            () if self.unreadable.is_some() => "unreadable".to_owned(),
            () if !self.gone.is_empty() => "program gone".to_owned(),
            () if installed == 0 => "-".to_owned(),
            () if self.is_off => "turned off".to_owned(),
            () if installed < all => format!("{installed} of {all} hooks"),
            () => "installed".to_owned(),
        }
    }

    /// Returns the events without a hook, if others have one.
    fn missing(&self, agent: Agent) -> Vec<&'static str> {
        let is_missing = |event: &&str| !self.installed.iter().any(|one| one == *event);
        let missing = agent.events().iter().copied().filter(is_missing);
        if self.installed.is_empty() { Vec::new() } else { missing.collect() }
    }

    /// Returns a line for each thing that is wrong.
    fn said(&self, agent: Agent) -> Vec<String> {
        let shown = self.file.as_ref().map(|file| file.display().to_string());
        let shown = shown.unwrap_or_default();
        let mut lines: Vec<String> = self.unreadable.iter().cloned().collect();
        for program in &self.gone {
            let program = program.display();
            lines.push(format!("the hooks of {shown} call {program}, which is gone"));
        }
        if self.is_off && !self.installed.is_empty() {
            lines.push(format!("{shown} turns off all hooks"));
        }
        let missing = self.missing(agent);
        if !missing.is_empty() {
            let (missing, name) = (missing.join(", "), agent.name());
            lines.push(format!(
                "the hooks of {shown} are not complete: {missing}; `milepost agent install {name}` \
                 adds them"
            ));
        }
        lines
    }

    fn form(&self, agent: Agent) -> Value {
        json!({
            "settings": self.file,
            "installed": self.installed,
            "missing": self.missing(agent),
            "gone": self.gone,
            "off": self.is_off,
            "unreadable": self.unreadable,
        })
    }
}
