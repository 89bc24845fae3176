//! `agent status`: the agents, and where the hooks are installed.

use std::path::{Path, PathBuf};

use milepost_agents::settings::{self, SettingsFile};
use milepost_agents::{Agent, Environment, SettingsScope, Spool};
use serde_json::{Value, json};

use super::{environment, project, version};
use crate::error::{Failure, Result, UNMET};
use crate::output::{Out, count, hint, printable};

/// One agent.
struct Seen {
    agent: Agent,
    is_found: bool,
    program: Option<PathBuf>,
    version: Option<String>,
    user: Settings,
    project: Settings,
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
    let seen: Vec<Seen> = Agent::ALL
        .into_iter()
        .map(|agent| Seen::of(agent, &environment, SettingsScope::Project(&project)))
        .collect();
    let waits = Waits::of(&environment, &project);
    if out.json {
        let agents: Vec<Value> = seen.iter().map(Seen::form).collect();
        out.json(&json!({ "agents": agents, "project": project, "spool": waits.form() }))?;
    } else {
        let row = |one: &Seen| {
            let mut row = vec![one.agent.name().to_owned(), one.found().to_owned()];
            row.push(one.version.clone().unwrap_or_else(|| "-".to_owned()));
            row.extend([&one.user, &one.project].map(|settings| settings.word(one.agent)));
            row
        };
        let rows: Vec<_> = seen.iter().map(row).collect();
        out.table(&["AGENT", "FOUND", "VERSION", "YOURS", "PROJECT"], &rows)?;
        for one in &seen {
            for line in [&one.user, &one.project].into_iter().flat_map(Settings::said) {
                out.line(printable(&format!("{}: {line}", one.agent.name())))?;
            }
        }
        if let Some(line) = waits.line() {
            out.line(printable(&line))?;
        }
    }
    let is_silent = |one: &Seen| one.user.is_silent() || one.project.is_silent();
    if seen.iter().any(is_silent) {
        out.flush()?;
        if !out.json {
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
        Self {
            agent,
            is_found: agent.is_found(environment),
            version: program.as_deref().and_then(version::of),
            program,
            user: settings(SettingsScope::User),
            project: settings(project),
        }
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
            "user": self.user.form(),
            "project": self.project.form(),
        })
    }
}

impl Settings {
    fn of(agent: Agent, file: PathBuf) -> Self {
        let read = || {
            let text = SettingsFile::read(&file)?;
            let Some(text) = text.text() else { return Ok((Vec::new(), false)) };
            let hooks = settings::installed(text).map_err(|error| error.in_file(&file))?;
            Ok((hooks, settings::are_hooks_off(text, agent)?))
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

    /// Returns a line for each thing that is wrong.
    fn said(&self) -> Vec<String> {
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
        lines
    }

    fn form(&self) -> Value {
        json!({
            "settings": self.file,
            "installed": self.installed,
            "gone": self.gone,
            "off": self.is_off,
            "unreadable": self.unreadable,
        })
    }
}
