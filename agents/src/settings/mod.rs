//! Edits of an agent's settings that keep every other byte.
//!
//! [`install`] inserts our hooks, and [`uninstall`] removes them: the result is the original text,
//! whatever JSON it was. The text itself has all that is needed for that. Our entries follow the
//! existing ones, so that exactly the inserted text can be cut; and the white space around them
//! shows whether the container existed (the module `insert` has the forms).
//!
//! ```text
//! file    the file: read, copied, replaced
//! record  the copy of a file, and whether `install` made it
//! own     files that are ours as a whole
//! remove  cuts
//! insert  insertions, and the form of new text
//! ```

mod file;
mod insert;
mod own;
mod record;
mod remove;
#[cfg(test)]
mod tests;

pub use file::{SettingsFile, SettingsWritten};

use std::ops::Range;
use std::path::Path;

use self::insert::{Layout, New};
use crate::agent::{Agent, HookFile};
use crate::error::Error;
use crate::guard::Guard;
use crate::json::{Json, JsonKind, Part};

/// The text of settings that have nothing in them, as a new file begins.
const NEW: &str = "{}\n";

/// The same for settings with a version.
const VERSIONED: &str = "{\n  \"version\": 1\n}\n";

/// The member that hooks are in.
const HOOKS: &str = "hooks";

/// A text after an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// The whole text.
    pub text: String,
    /// The events whose hooks were added, changed or taken out.
    pub events: Vec<String>,
}

/// An entry of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledHook {
    /// The event.
    pub event: String,
    /// The command.
    pub guard: Guard,
}

/// A place in a text, and what takes it.
type Change = (Range<usize>, String);

/// Adds our hooks for all events of an agent. Those that are there are left as they are, with
/// the path of this program.
pub fn install(text: &str, agent: Agent, program: &Path) -> Result<Edited, Error> {
    let command = Guard::command(program, agent)?;
    let root = parsed(text)?;
    let layout = Layout::of(&root, text);
    let mut changes = Vec::new();
    let mut events = Vec::new();
    let there = root.parts().into_iter().rfind(|part| part.name.as_deref() == Some(HOOKS));
    let Some(hooks) = there else {
        let of = |event: &&str| (quoted(event), New::list(vec![group(agent, event, &command)]));
        let new = New::object(agent.events().iter().map(of).collect());
        changes.push(layout.insertion(&root, "", true, vec![(Some(quoted(HOOKS)), new)]));
        return Ok(Edited {
            text: changed(text, changes),
            events: agent.events().iter().map(|event| (*event).to_owned()).collect(),
        });
    };
    expect(text, &hooks, JsonKind::Object, "`hooks`")?;
    let members = hooks.value.parts();
    let mut missing = Vec::new();
    for event in agent.events() {
        let member = members.iter().rfind(|part| part.name.as_deref() == Some(*event));
        let Some(member) = member else {
            let new = New::list(vec![group(agent, event, &command)]);
            missing.push((Some(quoted(event)), new));
            events.push((*event).to_owned());
            continue;
        };
        expect(text, member, JsonKind::Array, &format!("`hooks.{event}`"))?;
        let ours: Vec<_> = entries_of(&member.value);
        let stale = ours.iter().filter(|(_, at)| at.text().as_deref() != Some(command.as_str()));
        let before = changes.len();
        changes.extend(stale.map(|(_, at)| (at.span.clone(), quoted(&command))));
        if ours.is_empty() {
            let indent = layout.indent_of(member.start, 2);
            let new = vec![(None, group(agent, event, &command))];
            changes.push(layout.insertion(&member.value, &indent, false, new));
        }
        if changes.len() > before {
            events.push((*event).to_owned());
        }
    }
    if !missing.is_empty() {
        let indent = layout.indent_of(hooks.start, 1);
        changes.push(layout.insertion(&hooks.value, &indent, false, missing));
    }
    Ok(Edited { text: changed(text, changes), events })
}

/// Takes out our entries, of every agent, and the containers that [`install`] made for them.
pub fn uninstall(text: &str) -> Result<Edited, Error> {
    let root = parsed(text)?;
    let mut events: Vec<String> = Vec::new();
    for hook in hooks_of(&root) {
        if !events.contains(&hook.event) {
            events.push(hook.event);
        }
    }
    let cuts = remove::cuts(&root, text);
    Ok(Edited { text: changed(text, cuts), events })
}

/// Returns our entries.
pub fn installed(text: &str) -> Result<Vec<InstalledHook>, Error> {
    Ok(hooks_of(&parsed(text)?))
}

/// Returns `true` if the settings turn off all hooks.
pub fn are_hooks_off(text: &str, agent: Agent) -> Result<bool, Error> {
    if matches!(agent, Agent::Codex | Agent::OpenCode | Agent::Cline | Agent::Cursor) {
        return Ok(false);
    }
    let root = parsed(text)?;
    let is = |json: Option<Json<'_>>, word: &str| json.is_some_and(|json| json.raw() == word);
    Ok(match agent {
        Agent::GeminiCli => {
            let config = root.member("hooksConfig");
            is(config.and_then(|config| config.member("enabled")), "false")
        }
        _ => is(root.member("disableAllHooks"), "true"),
    })
}

/// Adds our hooks to a file of an agent: as [`install`] does, or as a file of our own. `None` for a
/// missing file.
///
/// # Errors
///
/// As [`install`]. A file of the user's is in the place of ours.
pub fn install_in(
    text: Option<&str>,
    agent: Agent,
    file: &HookFile,
    program: &Path,
) -> Result<Edited, Error> {
    match file.is_own {
        true => own::install(text, agent, file, program),
        false => {
            let text = text.unwrap_or(if agent.has_versioned_settings() { VERSIONED } else { NEW });
            if agent.has_versioned_settings() && parsed(text)?.member("version").is_none() {
                let next = "add `\"version\": 1` to it; nothing was changed";
                return Err(Error::new("it has no `version`, and the agent needs one", next));
            }
            install(text, agent, program)
        }
    }
}

/// Returns `true` for a text that has nothing but what a new file begins with.
pub fn is_new(text: &str) -> bool {
    text.is_empty() || [NEW, VERSIONED].contains(&text)
}

/// Takes our hooks out of a file of an agent: as [`uninstall`] does. A file of our own gets empty.
///
/// # Errors
///
/// As [`uninstall`].
pub fn uninstall_in(text: &str, file: &HookFile) -> Result<Edited, Error> {
    match file.is_own {
        true => Ok(own::uninstall(text, file)),
        false => uninstall(text),
    }
}

/// Returns our hooks in a file of an agent.
///
/// # Errors
///
/// As [`installed`].
pub fn installed_in(text: &str, file: &HookFile) -> Result<Vec<InstalledHook>, Error> {
    match file.is_own {
        true => Ok(own::installed(text, file)),
        false => installed(text),
    }
}

/// Reads settings: one object.
fn parsed(text: &str) -> Result<Json<'_>, Error> {
    let root = Json::parse(text).map_err(|error| {
        let next = "correct the file, or move it away; nothing was changed";
        Error::new(format!("no JSON: {}", error.reason), next).at(text, error.at)
    })?;
    match root.kind() {
        JsonKind::Object => Ok(root),
        kind => Err(other_kind("the whole", kind, JsonKind::Object).at(text, root.span.start)),
    }
}

fn other_kind(what: &str, is: JsonKind, wanted: JsonKind) -> Error {
    let (is, wanted) = (is.name(), wanted.name());
    let next = format!("make it {wanted}, or take it out; nothing was changed");
    Error::new(format!("{what} is {is}, and the agent expects {wanted}"), next)
}

fn expect(text: &str, part: &Part<'_>, kind: JsonKind, what: &str) -> Result<(), Error> {
    match part.value.kind() {
        is if is == kind => Ok(()),
        is => Err(other_kind(what, is, kind).at(text, part.value.span.start)),
    }
}

/// Returns the entries of ours under an event, each with the place of its command, in groups or
/// without them.
fn entries_of<'a>(event: &Json<'a>) -> Vec<(Guard, Json<'a>)> {
    let of_group = |group: &Part<'a>| {
        let hooks = group.value.member(HOOKS).map(|hooks| hooks.parts()).unwrap_or_default();
        let inner: Vec<_> = hooks.iter().filter_map(|entry| ours(&entry.value)).collect();
        ours(&group.value).into_iter().chain(inner)
    };
    event.parts().iter().flat_map(of_group).collect()
}

/// Returns the command of an entry of ours, and its place.
fn ours<'a>(entry: &Json<'a>) -> Option<(Guard, Json<'a>)> {
    let command = entry.member("command")?;
    Some((Guard::read(&command.text()?)?, command))
}

/// Returns the entries of ours under every `hooks`.
fn hooks_of(root: &Json<'_>) -> Vec<InstalledHook> {
    let mut found = Vec::new();
    for hooks in root.parts().iter().filter(|part| part.name.as_deref() == Some(HOOKS)) {
        for event in hooks.value.parts() {
            let name = event.name.as_deref().unwrap_or_default();
            let entries = entries_of(&event.value).into_iter();
            found.extend(entries.map(|(guard, _)| InstalledHook { event: name.into(), guard }));
        }
    }
    found
}

/// Builds the group of one event, with one hook; without groups, the hook.
fn group(agent: Agent, event: &str, command: &str) -> New {
    let text = |text: &str| New::Raw(quoted(text));
    let mut hook = Vec::new();
    hook.extend(agent.hook_name().map(|name| (quoted("name"), text(name))));
    if !agent.groups_hooks() {
        let limit = New::Raw(agent.time_limit(event).to_string());
        return New::object(vec![(quoted("command"), text(command)), (quoted("timeout"), limit)]);
    }
    hook.push((quoted("type"), text("command")));
    hook.push((quoted("command"), text(command)));
    hook.push((quoted("timeout"), New::Raw(agent.time_limit(event).to_string())));
    New::object(vec![
        (quoted("matcher"), text("*")),
        (quoted(HOOKS), New::list(vec![New::object(hook)])),
    ])
}

/// Returns a text as JSON.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Makes changes that do not overlap.
fn changed(text: &str, mut changes: Vec<Change>) -> String {
    changes.sort_by_key(|(span, _)| (span.start, span.end));
    let mut result = String::with_capacity(text.len());
    let mut at = 0;
    for (span, new) in changes {
        result.push_str(text.get(at..span.start).unwrap_or_default());
        result.push_str(&new);
        at = span.end;
    }
    result.push_str(text.get(at..).unwrap_or_default());
    result
}
