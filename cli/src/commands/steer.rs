//! `pause`, `resume`, `stop`, `guide` and `edit`: instructions of a person to a run.

use milepost::events::RunControl;
use milepost::state::MessageRange;
use milepost::{ErrorKind, Json};
use milepost_api::TaskForm;
use serde_json::{Value, json};

use super::command::{CliCommand, Examples, Needs, Run};
use crate::backend::Backend;
use crate::error::{CONFLICT, Failure, Result, USAGE};
use crate::output::{Out, big, printable, words};

/// Pause the run of a task at its next safe point.
#[derive(Debug, clap::Args)]
pub struct PauseArgs {
    #[command(flatten)]
    pub control: Control,
}

impl CliCommand for PauseArgs {
    const EXAMPLES: Examples = &[("pause run", "it stops at its next safe point")];
    const RUN: Run<Self> = Run::OnStore(Needs::WRITES, |source, args, out| {
        control(source, &args.control, RunControl::Paused, out)
    });
}

#[derive(Debug, clap::Args)]
pub struct Control {
    /// The task's id.
    pub task: String,
    /// The reason.
    #[arg(short = 'm', long, value_name = "TEXT")]
    pub reason: Option<String>,
}

/// Resume a paused run.
#[derive(Debug, clap::Args)]
pub struct ResumeArgs {
    #[command(flatten)]
    pub control: Control,
}

impl CliCommand for ResumeArgs {
    const EXAMPLES: Examples = &[("resume run", "continue the run")];
    const RUN: Run<Self> = Run::OnStore(Needs::WRITES, |source, args, out| {
        control(source, &args.control, RunControl::Running, out)
    });
}

/// Stop the run of a task at its next safe point.
#[derive(Debug, clap::Args)]
pub struct StopArgs {
    #[command(flatten)]
    pub control: Control,
}

impl CliCommand for StopArgs {
    const EXAMPLES: Examples = &[("stop run", "it ends at its next safe point")];
    const RUN: Run<Self> = Run::OnStore(Needs::WRITES, |source, args, out| {
        control(source, &args.control, RunControl::Stopped, out)
    });
}

/// Send an instruction to the run of a task.
#[derive(Debug, clap::Args)]
pub struct GuideArgs {
    /// The task's id.
    pub task: String,
    /// The instruction. Several words need no quotes.
    #[arg(required = true)]
    pub text: Vec<String>,
    /// The subject of the instruction, as the running program names it.
    #[arg(long, value_name = "NAME")]
    pub target: Option<String>,
}

impl CliCommand for GuideArgs {
    const EXAMPLES: Examples =
        &[("guide run 'leave the tests alone'", "it is told with its next step")];
    const RUN: Run<Self> = Run::OnStore(Needs::WRITES, guide);
}

/// Set artifacts of a task.
#[derive(Debug, clap::Args)]
pub struct EditArgs {
    /// The task's id.
    pub task: String,
    /// New values by name. A value that is not JSON is a string.
    #[arg(required = true, value_name = "NAME=JSON")]
    pub artifacts: Vec<String>,
}

impl CliCommand for EditArgs {
    const EXAMPLES: Examples = &[("edit run plan='\"shorter\"'", "set an artifact")];
    const RUN: Run<Self> = Run::OnStore(Needs::WRITES, edit);
}

/// Pauses, resumes or stops a run, at its next safe point.
fn control(source: &dyn Backend, args: &Control, to: RunControl, out: &mut Out) -> Result<()> {
    let task = source.task(&args.task)?;
    if to == RunControl::Running {
        check_is_driven(source, &task)?;
    }
    let changed = source.control(&task, to, args.reason.clone());
    changed.map_err(|failure| match failure.kind() {
        // The present status of the run does not allow the change.
        Some(ErrorKind::Invalid | ErrorKind::Conflict) => {
            let name = words::encode(&task.id);
            let hint =
                format!("`milepost log {name} --kind control_changed -n 3` says what came before");
            failure.code_of(CONFLICT).hint(hint)
        }
        _ => failure,
    })?;
    if out.json {
        return Ok(out.json(&json!({ "task": task.id, "control": to }))?);
    }
    let name = printable(&task.id).into_owned();
    Ok(out.line(format!("{name} is {}", to.name()))?)
}

/// Refuses to resume a run that no program has started: none would go on.
fn check_is_driven(source: &dyn Backend, task: &TaskForm) -> Result<()> {
    let name = words::encode(&task.id);
    let state = source.state(&source.point(&name)?, MessageRange::None)?;
    if state.get("control").and_then(Value::as_str) != Some(RunControl::Idle.name()) {
        return Ok(());
    }
    let shown = printable(&task.id);
    Err(Failure::conflict(format!("{shown} is idle: no program drives it, so none can go on"))
        .hint(format!(
            "the program that works on it starts it; `milepost log {} -n 5` shows what it did last",
            printable(&name)
        )))
}

/// Sends guidance to a run.
fn guide(source: &dyn Backend, args: &GuideArgs, out: &mut Out) -> Result<()> {
    let task = source.task(&args.task)?;
    let text = args.text.join(" ");
    let appended = source.guide(&task, text, args.target.clone())?;
    report(&task.id, appended.first.0, "guided", out)
}

/// Sets artifacts.
fn edit(source: &dyn Backend, args: &EditArgs, out: &mut Out) -> Result<()> {
    let artifacts = args.artifacts.iter().map(|text| artifact(&args.task, text));
    let artifacts = artifacts.collect::<Result<Vec<_>>>()?;
    let task = source.task(&args.task)?;
    let appended = source.edit(&task, artifacts)?;
    report(&task.id, appended.first.0, "edited", out)
}

/// Parses `NAME=JSON`. A value that is not JSON is a string.
fn artifact(task: &str, text: &str) -> Result<(String, Json)> {
    let (name, value) = text.split_once('=').ok_or_else(|| {
        Failure::new(format!("`{text}` is not NAME=JSON"))
            .code_of(USAGE)
            .hint(format!("as in `milepost edit {task} title=\"a walk\"`"))
    })?;
    let value = match Json::new(value) {
        Ok(value) => value,
        Err(_) => Json::from_value(value)?,
    };
    Ok((name.to_owned(), value))
}

fn report(task: &str, offset: u64, what: &str, out: &mut Out) -> Result<()> {
    if out.json {
        return Ok(out.json(&json!({ "task": task, "offset": big(offset) }))?);
    }
    let name = words::encode(task);
    out.advice(format!("{what}: `milepost show {name}@{offset}` prints the event"))?;
    Ok(())
}
