//! `agent install` and `agent uninstall`: the change is printed, then made.

use std::path::{Path, PathBuf};

use milepost_agents::settings::{self, Edited, SettingsFile, SettingsWritten};
use milepost_agents::{Agent, Environment, Error as AgentError, HookFile, SettingsScope};
use serde_json::{Value, json};

use super::extra_files::ExtraFiles;
use super::project::{environment, has_no_files, project};
use crate::commands::text_diff::Texts;
use crate::error::{Failure, Result};
use crate::output::{Out, count, note, printable};
use crate::outside;
use crate::program;
use crate::store_locator::{StoreArgs, in_other};

#[derive(Debug, clap::Args)]
pub struct AgentChange {
    /// The agents.
    #[arg(value_name = "NAME", required_unless_present = "all", conflicts_with = "all")]
    pub names: Vec<AgentName>,
    /// All agents. `install` takes those that are found: their folder or their program is there.
    #[arg(long)]
    pub all: bool,
    /// Change the settings of the current project, not your own.
    #[arg(long)]
    pub project: bool,
    /// Print the change, and write nothing.
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, clap::Args)]
pub struct AgentInstall {
    #[command(flatten)]
    pub change: AgentChange,
    /// A path of the current project to capture though a rule or the default list leaves it out: a
    /// line `!PATH` is added to the project's `.milepostignore`. May be given several times.
    #[arg(long, value_name = "PATH")]
    pub also: Vec<std::path::PathBuf>,
}

/// Note about an agent of which no version was tried.
pub(super) const UNTRIED: &str =
    "no version of it was tried with Milepost: the hooks follow its documentation";

/// The name of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum AgentName {
    ClaudeCode,
    Codex,
    GeminiCli,
    QwenCode,
    Copilot,
    #[value(name = "opencode")]
    OpenCode,
    Cline,
    Cursor,
}

impl From<AgentName> for Agent {
    fn from(name: AgentName) -> Self {
        match name {
            AgentName::ClaudeCode => Self::ClaudeCode,
            AgentName::Codex => Self::Codex,
            AgentName::GeminiCli => Self::GeminiCli,
            AgentName::QwenCode => Self::QwenCode,
            AgentName::Copilot => Self::Copilot,
            AgentName::OpenCode => Self::OpenCode,
            AgentName::Cline => Self::Cline,
            AgentName::Cursor => Self::Cursor,
        }
    }
}

/// A change to the settings of one agent.
struct Planned {
    agent: Agent,
    /// The file, or the folder with several files.
    settings: PathBuf,
    files: Vec<PlannedFile>,
}

/// A change to one file.
struct PlannedFile {
    file: SettingsFile,
    edited: Edited,
}

/// The change that is made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verb {
    Install,
    Uninstall,
}

pub fn install(args: &AgentInstall, out: &mut Out) -> Result<()> {
    let environment = environment();
    let extra = ExtraFiles::plan(&args.also)?;
    let args = &args.change;
    let program = program()?;
    let mut agents = chosen(args);
    if args.all {
        agents.retain(|agent| agent.is_found(&environment));
        if agents.is_empty() {
            let text = "no agent is found: neither a folder of one in your home nor its program";
            return Err(Failure::new(text).hint("`milepost agent install NAME` needs none of them"));
        }
        agents.retain(|agent| match agent.tried_version() {
            Some(_) => true,
            None if has_hooks(*agent, &environment) => true,
            None => {
                let name = agent.name();
                note(&format!("{name}: {UNTRIED}; its name in place of --all installs them"));
                false
            }
        });
    }
    let edit = |agent: Agent, file: &HookFile, text: Option<&str>| {
        settings::install_in(text, agent, file, &program)
    };
    let planned = planned(&environment, args, (&agents, false), edit)?;
    for one in &planned {
        if one.agent.tried_version().is_none() && !args.all {
            note(&format!("{}: {UNTRIED}", one.agent.name()));
        }
        for file in &one.files {
            if settings::are_hooks_off(&file.edited.text, one.agent)? {
                let shown = file.file.path().display();
                note(&format!("{shown} turns off all hooks: none runs until that is changed"));
            }
        }
    }
    change(Verb::Install, &environment, args, (&planned, extra.as_ref()), out)
}

/// Returns `true` if hooks of ours are in the user's settings of an agent.
fn has_hooks(agent: Agent, environment: &Environment) -> bool {
    let settings = agent.settings(environment, SettingsScope::User);
    let files = settings.map(|settings| agent.hook_files(&settings)).unwrap_or_default();
    files.iter().any(|one| {
        let file = SettingsFile::read(&one.path).ok();
        let hooks = file.and_then(|file| settings::installed_in(file.text()?, one).ok());
        hooks.is_some_and(|hooks| !hooks.is_empty())
    })
}

pub fn uninstall(args: &AgentChange, out: &mut Out) -> Result<()> {
    let environment = environment();
    let edit = |_, file: &HookFile, text: Option<&str>| match text {
        Some(text) => settings::uninstall_in(text, file),
        None => Ok(Edited { text: String::new(), events: Vec::new() }),
    };
    let planned = planned(&environment, args, (&chosen(args), true), edit)?;
    change(Verb::Uninstall, &environment, args, (&planned, None), out)
}

/// Returns the path of this program.
fn program() -> Result<PathBuf> {
    let gone = "the path of this program is not known";
    let program = program::current()
        .map_err(|error| Failure::new(format!("{gone}: {error}")).hint("call it by its path"))?;
    let file = program.file().map(Path::to_path_buf).ok_or_else(|| {
        Failure::new("an agent calls a program by one path, and this one is a module of Python")
            .hint("install the package into a virtual environment, and call its bin/milepost")
    })?;
    match file.is_file() {
        true => Ok(file),
        // The program was replaced while it ran.
        false => Err(Failure::new(format!("{gone}: {} is gone", file.display()))
            .hint("run this again with the new program")),
    }
}

/// Returns the agents that are named, each once, or all.
fn chosen(args: &AgentChange) -> Vec<Agent> {
    let is_named = |agent: &Agent| args.names.iter().any(|name| Agent::from(*name) == *agent);
    Agent::ALL.into_iter().filter(|agent| args.all || is_named(agent)).collect()
}

/// Reads and edits all settings, before any is written.
fn planned(
    environment: &Environment,
    args: &AgentChange,
    (agents, skips_unreadable): (&[Agent], bool),
    edit: impl Fn(Agent, &HookFile, Option<&str>) -> std::result::Result<Edited, AgentError>,
) -> Result<Vec<Planned>> {
    let project = if args.project { Some(project()?) } else { None };
    let scope = project.as_deref().map_or(SettingsScope::User, SettingsScope::Project);
    let mut planned = Vec::new();
    for agent in agents.iter().copied() {
        let settings = agent.settings(environment, scope).ok_or_else(no_home)?;
        let mut files = Vec::new();
        for one in agent.hook_files(&settings) {
            let file = match &project {
                Some(project) => SettingsFile::read_in(project, &one.path),
                None => SettingsFile::read(&one.path),
            };
            let file = match file {
                // A program of the user in the place of a script.
                Err(error) if one.is_own && skips_unreadable => {
                    note(&format!("left as it is: {error}"));
                    continue;
                }
                read => read?,
            };
            let edited = edit(agent, &one, file.text());
            let edited = edited.map_err(|error| error.in_file(&one.path))?;
            files.push(PlannedFile { file, edited });
        }
        planned.push(Planned { agent, settings, files });
    }
    Ok(planned)
}

fn no_home() -> Failure {
    Failure::new("HOME names no folder, so there is no place for settings")
        .hint("set HOME to the path of your home folder")
}

fn change(
    verb: Verb,
    environment: &Environment,
    args: &AgentChange,
    (planned, extra): (&[Planned], Option<&ExtraFiles>),
    out: &mut Out,
) -> Result<()> {
    let state = environment.state_folder().ok_or_else(no_home)?;
    if !out.json {
        for one in planned {
            let name = one.agent.name();
            for one in one.files.iter().filter(|one| one.is_change()) {
                let path = one.file.path().display();
                if args.dry_run {
                    out.line(printable(&format!("{name}: {path}")))?;
                    let before = one.file.text().unwrap_or_default().to_owned();
                    Texts::new(before, one.edited.text.clone()).print(out)?;
                } else {
                    let events = one.edited.events.join(", ");
                    out.line(printable(&format!("{name}: {path}: {events}")))?;
                }
            }
        }
        out.flush()?;
    }
    let mut listed = Vec::new();
    for one in planned {
        let written = match args.dry_run {
            true => Vec::new(),
            false => one.write(verb, &state)?,
        };
        if out.json {
            listed.push(one.form(&written));
            continue;
        }
        for line in one.said(verb, args.dry_run, &written) {
            out.line(printable(&line))?;
        }
    }
    if let Some(extra) = extra.filter(|_| !args.dry_run) {
        extra.write(&state)?;
    }
    let (store, project) = store_here()?;
    if out.json {
        let also = extra.map(|extra| &extra.lines);
        let form =
            json!({ "agents": listed, "dry_run": args.dry_run, "store": store, "also": also });
        return Ok(out.json(&form)?);
    }
    if let Some(extra) = extra.filter(|extra| !extra.lines.is_empty()) {
        let (path, lines) = (extra.path().display(), extra.lines.join(", "));
        out.line(printable(&format!("{path}: {lines}")))?;
    }
    let Some(store_dir) = store else { return Ok(()) };
    let (store, project) = (store_dir.display(), project.display());
    let line = match verb {
        Verb::Install => format!("store: {store}, for sessions in {project}"),
        Verb::Uninstall if store_is_there(&project.to_string()) => {
            format!("what was recorded in {project} stays in {store}")
        }
        Verb::Uninstall => return Ok(()),
    };
    out.line(printable(&line))?;
    let found = StoreArgs::default().other_than(&store_dir);
    if let Some(found) = found.filter(|_| verb == Verb::Install) {
        let found = found.display();
        note(&format!("other commands here use {found}; {}", in_other(&store_dir)));
    }
    Ok(())
}

fn store_is_there(project: &str) -> bool {
    outside::store_of(Path::new(project)).is_some_and(|store| store.is_dir())
}

/// Returns the store of the current project and the project. A home folder and `/` have none.
fn store_here() -> Result<(Option<PathBuf>, PathBuf)> {
    let project = project()?;
    let store = if has_no_files(&project) { None } else { outside::store_of(&project) };
    Ok((store, project))
}

impl PlannedFile {
    fn is_change(&self) -> bool {
        !self.edited.events.is_empty()
    }

    fn write(&self, verb: Verb, state: &Path) -> Result<SettingsWritten> {
        let text = self.edited.text.as_str();
        let is_whole = verb == Verb::Uninstall && settings::is_new(text);
        Ok(self.file.replace(text, is_whole, state)?)
    }
}

impl Planned {
    /// Writes the files that change.
    fn write(&self, verb: Verb, state: &Path) -> Result<Vec<(&Path, SettingsWritten)>> {
        let mut changed: Vec<_> = self.files.iter().filter(|one| one.is_change()).collect();
        if verb == Verb::Uninstall {
            // The file that was made together with the folder goes last.
            changed.reverse();
        }
        changed.into_iter().map(|one| Ok((one.file.path(), one.write(verb, state)?))).collect()
    }

    /// Returns the events whose hooks change.
    fn events(&self) -> Vec<&String> {
        self.files.iter().flat_map(|one| &one.edited.events).collect()
    }

    fn form(&self, written: &[(&Path, SettingsWritten)]) -> Value {
        json!({
            "agent": self.agent.name(),
            "settings": self.settings,
            "events": self.events(),
            "changed": !written.is_empty(),
            "copy": written.iter().find_map(|(_, written)| written.copy.as_ref()),
            "removed": !written.is_empty() && written.iter().all(|(_, written)| written.is_removed),
        })
    }

    /// Returns the lines that say what was done.
    fn said(
        &self,
        verb: Verb,
        is_dry_run: bool,
        written: &[(&Path, SettingsWritten)],
    ) -> Vec<String> {
        let (name, shown) = (self.agent.name(), self.settings.display());
        let events = self.events();
        if events.is_empty() {
            return vec![match verb {
                Verb::Install => format!("{name}: the hooks are in {shown} already"),
                Verb::Uninstall => format!("{name}: there is no hook of Milepost in {shown}"),
            }];
        }
        let hooks = count(events.len() as u64, "hook");
        let done = match (verb, is_dry_run) {
            (Verb::Install, false) => "installed",
            (Verb::Install, true) => "would be installed",
            (Verb::Uninstall, false) => "taken out",
            (Verb::Uninstall, true) => "would be taken out",
        };
        let mut lines = vec![format!("{name}: {hooks} {done}")];
        for (path, SettingsWritten { copy, is_removed }) in written {
            if *is_removed {
                lines.push(format!("  {} is removed: `install` had made it", path.display()));
            }
            if let Some(copy) = copy {
                lines.push(format!("  the file from before: {}", copy.display()));
            }
        }
        if verb == Verb::Install && self.agent == Agent::Codex {
            let asks = "Codex asks at its next start (\"Hooks need review\")";
            lines.push(format!("  {asks}: until you trust them, it runs none"));
        }
        lines
    }
}
