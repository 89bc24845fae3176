//! Prompts and plans of a rewind, printed.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use milepost_api::{FilesForm, TaskForm};
use milepost_workspace::{Plan, TreePath};
use serde_json::json;

use super::history::{History, NewSession, Prompt};
use crate::commands::confirm::is_yes;
use crate::commands::workspace_args;
use crate::error::{Failure, Result};
use crate::output::{Out, age, count, printable, words};
use crate::store_locator::now_us;

/// Number of prompts that are listed to pick from.
const LISTED: usize = 20;

/// Lists the last prompts and lets the user pick one. `None`: the user picked none.
pub(super) fn pick(task: &TaskForm, history: &History, out: &mut Out) -> Result<Option<usize>> {
    let all = &history.prompts;
    let from = all.len().saturating_sub(LISTED);
    let listed = all.get(from..).unwrap_or_default();
    if out.json || !io::stdin().is_terminal() {
        return Err(Failure::new("no prompt is named")
            .hint("`milepost rewind ~1` takes back the last one; `milepost log` lists them"));
    }
    out.line(printable(&format!("session {}", task.id)))?;
    prompts(listed, out)?;
    out.flush()?;
    let mut stderr = io::stderr().lock();
    write!(stderr, "Back to before which prompt? [number] ")?;
    stderr.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    let label = format!("prompt-{}", answer.trim().trim_start_matches("prompt-"));
    match all.iter().rposition(|prompt| prompt.label == label) {
        Some(place) => Ok(Some(place)),
        None if answer.trim().is_empty() => Ok(None),
        None => Err(Failure::new("no such prompt: nothing was changed")),
    }
}

fn prompts(listed: &[Prompt], out: &mut Out) -> Result<()> {
    let now_us = now_us();
    for prompt in listed {
        let ago = age(now_us.saturating_sub(prompt.time_us));
        let calls = count(prompt.calls, "call");
        let line = format!("  {:<10} {ago:>4}  {calls:<9}  {}", prompt.label, prompt.text);
        out.line(printable(line.trim_end()))?;
    }
    Ok(())
}

/// Asks whether a path goes back that the agent and others changed. Elsewhere than on a terminal it
/// stays as it is.
pub(super) fn asks_to_take(path: &TreePath) -> Result<bool> {
    if !io::stdin().is_terminal() {
        return Ok(false);
    }
    let mut stderr = io::stderr().lock();
    let question = format!("{path} was changed by others, too. Take it back all the same?");
    write!(stderr, "{} [y/N] ", printable(&question))?;
    stderr.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(is_yes(&answer))
}

/// Prints what a rewind takes back.
pub(super) fn plan(
    task: &str,
    gone: &[Prompt],
    plan: Option<&Plan>,
    session: Option<&NewSession>,
    out: &mut Out,
) -> Result<()> {
    if out.json {
        return Ok(());
    }
    out.line(printable(&format!("back to before {} of {task}", first(gone))))?;
    prompts(gone, out)?;
    let uncaptured: u64 = gone.iter().map(|prompt| prompt.uncaptured).sum();
    if uncaptured > 0 {
        let calls = count(uncaptured, "mark");
        out.line(format!("{calls} came late: changes around them may be anybody's"))?;
    }
    if let Some(plan) = plan {
        out.line("")?;
        workspace_args::print(plan, out)?;
    }
    if let Some(session) = session {
        let text = format!("conversation: {}", session.path.display());
        out.line("")?;
        out.line(printable(&text))?;
    }
    Ok(())
}

fn first(gone: &[Prompt]) -> &str {
    gone.first().map_or("", |prompt| &prompt.label)
}

/// Prints that nothing was done.
pub(super) fn dry(out: &mut Out) -> Result<()> {
    Ok(out.line("this was a dry run: nothing was done")?)
}

/// Prints what was done.
pub(super) fn went(
    task: &TaskForm,
    form: &FilesForm,
    session: Option<&NewSession>,
    out: &mut Out,
) -> Result<()> {
    let command = session.map(|session| session.command().join(" "));
    if out.json {
        return Ok(out.json(&json!({
            "task": task.id,
            "plan": workspace_args::plan(form)?,
            "lineage": form.restored.as_ref().map(|restored| restored.lineage.id),
            "session": session.map(|session| &session.id),
            "file": session.map(|session| session.path.display().to_string()),
            "command": command,
        }))?);
    }
    out.line("")?;
    if let Some(restored) = &form.restored {
        let lineage = restored.lineage.id;
        out.line(printable(&format!("went back: {} continues in lineage {lineage}", task.id)))?;
    }
    if let Some(command) = command {
        out.line(printable(&format!("`{command}` continues the conversation from there")))?;
    }
    let name = words::encode(&task.id);
    Ok(out.line(format!("`milepost undo {name}` takes this back"))?)
}
