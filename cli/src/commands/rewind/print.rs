//! Prompts and plans of a rewind, printed.

use std::io::{self, IsTerminal as _};

use milepost_api::{Big, FilesForm, TaskForm};
use milepost_workspace::{ConflictWhy, PathConflict, Plan};
use serde_json::{Value, json};

use super::Target;
use super::history::{History, Prompt, UserMark};
use super::place::Named;
use super::route::Route;
use crate::backend::Backend;
use crate::commands::confirm::{agrees, asked};
use crate::error::{Failure, Result};
use crate::output::{Out, age, count, printable, printable_lines, words};
use crate::store_locator::now_us;

/// Reason why the files of a folder stay.
const NOT_COVERED: &str =
    "a call ran there, outside of what captures of this project have; its files stay";

/// Number of prompts that are listed to pick from.
const LISTED: usize = 20;

/// Lists the last prompts and lets the user pick one. `None`: the user picked none.
pub(super) fn pick(
    source: &dyn Backend,
    task: &TaskForm,
    history: &History,
    out: &mut Out,
) -> Result<Option<Named>> {
    let all = &history.prompts;
    if out.json || !io::stdin().is_terminal() {
        let id = words::encode(&task.id);
        return Err(Failure::new("no prompt is named").hint(format!(
            "`milepost rewind {id}~1` takes back the last one, `milepost rewind {id} --list` lists \
             them"
        )));
    }
    let last = all.get(all.len().saturating_sub(LISTED)..);
    list_some(source, task, (history, last), out)?;
    let answer = asked("Back to before which prompt? [number] ", out)?;
    let label = format!("prompt-{}", answer.trim_start_matches("prompt-"));
    let marks = history.marks.iter().map(|mark| &mark.label);
    let mut labels = all.iter().map(|prompt| &prompt.label).chain(marks);
    match labels.find(|known| [&label, &answer].contains(known)) {
        Some(known) => Ok(Some(Named::Label(known.clone()))),
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
        return list_some(source, task, (history, Some(&history.prompts)), out);
    }
    let form = |prompt: &Prompt| {
        let Prompt { label, text, time_us, calls, .. } = prompt;
        let files = prompt.files(source, task);
        let time_us = Big(*time_us);
        json!({ "label": label, "text": text, "time_us": time_us, "calls": calls, "files": files })
    };
    let prompts: Vec<Value> = history.prompts.iter().map(form).collect();
    let mark = |mark: &UserMark| json!({ "label": mark.label, "time_us": Big(mark.time_us) });
    let marks: Vec<Value> = history.marks.iter().map(mark).collect();
    let not_covered = history.not_covered();
    Ok(out.json(&json!({
        "task": task.id, "prompts": prompts, "marks": marks, "not_covered": not_covered,
    }))?)
}

fn list_some(
    source: &dyn Backend,
    task: &TaskForm,
    (history, listed): (&History, Option<&[Prompt]>),
    out: &mut Out,
) -> Result<()> {
    out.line(printable(&format!("session {}", task.id)))?;
    let listed = listed.unwrap_or_default();
    let from = listed.first().map_or(0, |prompt| prompt.at);
    let mut marks: Vec<_> = history.marks.iter().filter(|mark| mark.at >= from).collect();
    marks.sort_by_key(|mark| std::cmp::Reverse(mark.at));
    for prompt in listed {
        while let Some(mark) = marks.pop_if(|mark| mark.at <= prompt.at) {
            mark_line(mark, out)?;
        }
        let files = prompt.files(source, task);
        let files = files.map_or_else(|| "? files".to_owned(), |files| count(files, "file"));
        line(prompt, Some(&files), out)?;
    }
    for mark in marks.into_iter().rev() {
        mark_line(mark, out)?;
    }
    for folder in history.not_covered() {
        let folder = folder.display();
        out.line(printable(&format!("{folder}: not covered; {NOT_COVERED}")))?;
    }
    Ok(())
}

/// Asks whether to restore a path that the agent and others changed, or whose author is unknown.
/// Without a terminal it stays as it is.
pub(super) fn asks_to_take(
    conflict: &PathConflict,
    at_once: &[String],
    out: &mut Out,
) -> Result<bool> {
    let sessions = match conflict.why == ConflictWhy::AuthorUnknown && !at_once.is_empty() {
        true => format!(" (session {} ran at the same time)", at_once.join(", ")),
        false => String::new(),
    };
    agrees(&format!("{conflict}{sessions}. Take it back all the same?"), out)
}

/// Prints a prompt: its label, age, calls, the files that changed where they are counted, its text.
fn line(prompt: &Prompt, files: Option<&str>, out: &mut Out) -> Result<()> {
    let Prompt { label, text, time_us, calls, .. } = prompt;
    let ago = age(now_us().saturating_sub(*time_us));
    let calls = count(*calls, "call");
    let files = files.map(|files| format!("{files:<12}  ")).unwrap_or_default();
    let line = format!("  {label:<10} {ago:>4}  {calls:<9}  {files}{text}");
    Ok(out.line(printable(line.trim_end()))?)
}

/// Prints a mark of the user, which is at the files and the conversation of its place in the list.
fn mark_line(mark: &UserMark, out: &mut Out) -> Result<()> {
    let ago = age(now_us().saturating_sub(mark.time_us));
    Ok(out.line(printable(&format!("  @{:<9} {ago:>4}  your mark", mark.label)))?)
}

/// Returns the folders that calls ran in, and that captures do not have.
fn not_covered(plan: Option<&Plan>) -> Vec<&str> {
    plan.iter().flat_map(|plan| &plan.not_covered).map(|folder| folder.path.as_str()).collect()
}

/// Prints the paths that a rewind restores. As JSON only if nothing else follows.
pub(super) fn plan(
    task: &str,
    (target, gone): (&Target, &[Prompt]),
    route: &Route,
    is_dry: bool,
    out: &mut Out,
) -> Result<()> {
    if out.json {
        let prompt = |prompt: &Prompt| {
            let Prompt { label, text, message, calls, late, .. } = prompt;
            json!({ "label": label, "text": text, "prompt": message, "calls": calls, "late": late })
        };
        let prompts: Vec<Value> = gone.iter().map(prompt).collect();
        let not_covered = not_covered(route.plan.as_ref());
        let form = json!({ "task": task, "to": target.label, "prompts": prompts, "plan": route.plan,
            "stay": route.stay(), "at_the_same_time": route.at_once, "not_covered": not_covered,
            "summary": route.plan.as_ref().map(Plan::summary), "dry_run": true });
        return if is_dry { Ok(out.json(&form)?) } else { Ok(()) };
    }
    let place = match target.is_mark {
        true => format!("mark `{}`", target.label),
        false => format!("before {}", target.label),
    };
    out.line(printable(&format!("back to {place} of {task}")))?;
    for prompt in gone {
        line(prompt, None, out)?;
    }
    out.line("")?;
    if let Some(plan) = &route.plan {
        for line in plan.to_string().lines() {
            out.line(printable_lines(line))?;
        }
        out.line(printable(&plan.summary()))?;
    }
    if let Some(session) = &route.session {
        // A dry run makes no file, and the next one has another name.
        let path = match is_dry {
            true => format!(
                "a new file in {}",
                session.path.parent().unwrap_or(&session.path).display()
            ),
            false => session.path.display().to_string(),
        };
        out.line(printable(&format!("conversation: {path}")))?;
    }
    if route.has_no_file {
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
pub(super) fn went(
    task: &TaskForm,
    form: &FilesForm,
    route: &Route,
    (target, gone): (&Target, &[Prompt]),
    out: &mut Out,
) -> Result<()> {
    let prompt = gone.first();
    let message = prompt.and_then(|prompt| prompt.message.as_ref());
    let restored = form.restored.as_ref();
    let plan = route.plan_of(form)?;
    let lineage = restored.map(|restored| restored.lineage.id);
    let kept = restored.and_then(|restored| restored.kept.as_deref()).unwrap_or_default();
    let command = route.resume.as_ref().map(|resume| resume.line());
    if out.json {
        return Ok(out.json(&json!({
            "task": task.id,
            "to": target.label,
            "summary": plan.as_ref().map(Plan::summary),
            "plan": plan,
            "stay": route.stay(),
            "at_the_same_time": route.at_once,
            "not_covered": not_covered(plan.as_ref()),
            "prompt": message,
            "kept": kept,
            "lineage": lineage,
            "session": route.session.as_ref().map(|session| &session.id),
            "file": route.session.as_ref().map(|session| session.path.display().to_string()),
            "command": command,
        }))?);
    }
    out.line("")?;
    for path in kept {
        out.line(printable(&format!("changed while this ran, and kept: {path}")))?;
    }
    if let Some(plan) = &plan {
        out.line(printable(&plan.summary()))?;
    }
    if let Some(lineage) = lineage {
        out.line(printable(&format!("went back: {} continues in lineage {lineage}", task.id)))?;
    }
    if let Some(command) = command {
        let text = match route.session.is_some() {
            true => "continues the conversation from there",
            false => "starts a new one: nothing was said before",
        };
        out.line(printable(&format!("`{command}` {text}")))?;
    }
    let name = words::encode(&task.id);
    if let Some((prompt, message)) = prompt.zip(message) {
        out.line(format!("{} was:", prompt.label))?;
        for line in message.lines() {
            out.line(format!("  {}", printable_lines(line)))?;
        }
    }
    Ok(out.advice(format!("`milepost undo {name}` takes this back"))?)
}
