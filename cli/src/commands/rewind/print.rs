//! Prompts and plans of a rewind, printed.

use std::io::{self, IsTerminal as _};

use milepost_api::{Big, FilesForm, TaskForm};
use milepost_workspace::TreePath;
use serde_json::{Value, json};

use super::history::{History, Prompt};
use super::way::Way;
use crate::backend::Backend;
use crate::commands::confirm::{agrees, asked};
use crate::commands::workspace_args;
use crate::error::{Failure, Result};
use crate::output::{Out, age, count, printable, words};
use crate::store_locator::now_us;

/// Number of prompts that are listed to pick from.
const LISTED: usize = 20;

/// Lists the last prompts and lets the user pick one. `None`: the user picked none.
pub(super) fn pick(
    source: &dyn Backend,
    task: &TaskForm,
    history: &History,
    out: &mut Out,
) -> Result<Option<usize>> {
    let all = &history.prompts;
    if out.json || !io::stdin().is_terminal() {
        return Err(Failure::new("no prompt is named")
            .hint("`milepost rewind ~1` takes back the last one; `--list` lists them"));
    }
    list_some(source, task, all.get(all.len().saturating_sub(LISTED)..), out)?;
    let answer = asked("Back to before which prompt? [number] ", out)?;
    let label = format!("prompt-{}", answer.trim_start_matches("prompt-"));
    match all.iter().rposition(|prompt| prompt.label == label) {
        Some(place) => Ok(Some(place)),
        None if answer.is_empty() => Ok(None),
        None => Err(Failure::new("no such prompt: nothing was changed")),
    }
}

/// Lists all prompts of a session.
pub(super) fn list(
    source: &dyn Backend,
    task: &TaskForm,
    history: &History,
    out: &mut Out,
) -> Result<()> {
    if !out.json {
        return list_some(source, task, Some(&history.prompts), out);
    }
    let form = |prompt: &Prompt| {
        let Prompt { label, text, time_us, calls, .. } = prompt;
        let files = prompt.files(source, task);
        let time_us = Big(*time_us);
        json!({ "label": label, "text": text, "time_us": time_us, "calls": calls, "files": files })
    };
    let prompts: Vec<Value> = history.prompts.iter().map(form).collect();
    Ok(out.json(&json!({ "task": task.id, "prompts": prompts }))?)
}

fn list_some(
    source: &dyn Backend,
    task: &TaskForm,
    listed: Option<&[Prompt]>,
    out: &mut Out,
) -> Result<()> {
    out.line(printable(&format!("session {}", task.id)))?;
    for prompt in listed.unwrap_or_default() {
        let files = prompt.files(source, task);
        let files = files.map_or_else(|| "? files".to_owned(), |files| count(files, "file"));
        line(prompt, Some(&files), out)?;
    }
    Ok(())
}

/// Asks whether a path goes back that the agent and others changed. Elsewhere than on a terminal it
/// stays as it is.
pub(super) fn asks_to_take(path: &TreePath, out: &mut Out) -> Result<bool> {
    let question = format!("{path} was changed by others, too. Take it back all the same?");
    agrees(&question, out)
}

/// Prints a prompt: its label, age, calls, the files that changed where they are counted, its text.
fn line(prompt: &Prompt, files: Option<&str>, out: &mut Out) -> Result<()> {
    let Prompt { label, text, time_us, calls, .. } = prompt;
    let ago = age(now_us().saturating_sub(*time_us));
    let calls = count(*calls, "call");
    let files = files.map(|files| format!("{files:<10}  ")).unwrap_or_default();
    let line = format!("  {label:<10} {ago:>4}  {calls:<9}  {files}{text}");
    Ok(out.line(printable(line.trim_end()))?)
}

/// Prints what a rewind takes back. As JSON only if nothing else follows.
pub(super) fn plan(
    task: &str,
    gone: &[Prompt],
    way: &Way,
    is_dry: bool,
    out: &mut Out,
) -> Result<()> {
    if out.json {
        let prompt = |prompt: &Prompt| {
            let Prompt { label, text, calls, late, .. } = prompt;
            json!({ "label": label, "text": text, "calls": calls, "late": late })
        };
        let prompts: Vec<Value> = gone.iter().map(prompt).collect();
        let form = json!({ "task": task, "prompts": prompts, "plan": way.plan, "stay": way.stay,
            "dry_run": true });
        return if is_dry { Ok(out.json(&form)?) } else { Ok(()) };
    }
    let first = gone.first().map_or("", |prompt| &prompt.label);
    out.line(printable(&format!("back to before {first} of {task}")))?;
    for prompt in gone {
        line(prompt, None, out)?;
    }
    let late: u64 = gone.iter().map(|prompt| prompt.late).sum();
    if late > 0 {
        let captures = count(late, "capture");
        out.line(format!("{captures} came late: whose the changes around them are is not known"))?;
    }
    out.line("")?;
    if let Some(plan) = &way.plan {
        workspace_args::print(plan, out)?;
        for path in &way.stay {
            out.line(printable(&format!("= {path}  stays: others changed it, too")))?;
        }
    }
    if let Some(session) = &way.session {
        out.line(printable(&format!("conversation: {}", session.path.display())))?;
    }
    if way.has_no_file {
        out.line(
            "the agent's conversation stays: its hooks told it, and no file of it is written",
        )?;
    }
    if is_dry {
        out.line("this was a dry run: nothing was done")?;
    }
    Ok(())
}

/// Prints what was done.
pub(super) fn went(task: &TaskForm, form: &FilesForm, way: &Way, out: &mut Out) -> Result<()> {
    let restored = form.restored.as_ref();
    let lineage = restored.map(|restored| restored.lineage.id);
    let kept = restored.and_then(|restored| restored.kept.as_deref()).unwrap_or_default();
    let command = way.resume.as_ref().map(|resume| resume.line());
    if out.json {
        return Ok(out.json(&json!({
            "task": task.id,
            "plan": workspace_args::plan(form)?,
            "stay": way.stay,
            "kept": kept,
            "lineage": lineage,
            "session": way.session.as_ref().map(|session| &session.id),
            "file": way.session.as_ref().map(|session| session.path.display().to_string()),
            "command": command,
        }))?);
    }
    out.line("")?;
    for path in kept {
        out.line(printable(&format!("changed while this ran, and kept: {path}")))?;
    }
    if let Some(lineage) = lineage {
        out.line(printable(&format!("went back: {} continues in lineage {lineage}", task.id)))?;
    }
    if let Some(command) = command {
        let text = match way.session.is_some() {
            true => "continues the conversation from there",
            false => "starts a new one: nothing was said before",
        };
        out.line(printable(&format!("`{command}` {text}")))?;
    }
    let name = words::encode(&task.id);
    Ok(out.advice(format!("`milepost undo {name}` takes this back"))?)
}
