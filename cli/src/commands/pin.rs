//! `pin`, `unpin` and `pins`: checkpoints that every cleanup keeps.

use milepost::CheckpointId;
use milepost_api::calls::{Pin, Pins, Unpin};
use milepost_api::{PinForm, PinRequest, PointForm};
use serde_json::json;

use super::command::{CliCommand, Examples, Needs, Run};
use crate::backend::Backend;
use crate::error::{Failure, Result};
use crate::output::{Out, excerpt, printable, time_short, words};

/// Protect a checkpoint, and the events it needs, from `cleanup`.
#[derive(Debug, clap::Args)]
pub struct PinArgs {
    /// The address of a checkpoint: TASK@LABEL, TASK~N or @HEX.
    pub address: String,
    /// The reason.
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

impl CliCommand for PinArgs {
    const EXAMPLES: Examples = &[("pin run@good", "no cleanup takes it")];
    const RUN: Run<Self> = Run::OnStore(Needs::NONE, pin);
}

/// Remove a pin.
#[derive(Debug, clap::Args)]
pub struct UnpinArgs {
    /// The address of a checkpoint: TASK@LABEL, TASK~N or @HEX.
    pub address: String,
}

impl CliCommand for UnpinArgs {
    const EXAMPLES: Examples = &[("unpin run@good", "cleanups may take it again")];
    const RUN: Run<Self> =
        Run::OnStore(Needs::NONE, |source, args, out| unpin(source, &args.address, out));
}

/// List the pinned checkpoints of a task.
#[derive(Debug, clap::Args)]
pub struct PinsArgs {
    /// The task's id.
    pub task: String,
}

impl CliCommand for PinsArgs {
    const EXAMPLES: Examples = &[("pins run", "what no cleanup takes")];
    const RUN: Run<Self> =
        Run::OnStore(Needs::GLANCES_LONG, |source, args, out| list(source, &args.task, out));
}

fn pin(source: &dyn Backend, args: &PinArgs, out: &mut Out) -> Result<()> {
    let (point, id) = checkpoint(source, &args.address)?;
    let body = PinRequest { reason: args.reason.clone() };
    let pin = source.call(Pin::new(id.to_string(), body))?;
    if out.json {
        return Ok(out.json(&pin)?);
    }
    let place = words::address(&point.task, point.lineage, point.offset.0);
    out.line(printable(&format!("pinned {place}, checkpoint @{id}")))?;
    let hint = format!("`milepost unpin @{}` takes this back", words::short_id(&id));
    Ok(out.advice(hint)?)
}

fn unpin(source: &dyn Backend, address: &str, out: &mut Out) -> Result<()> {
    let (point, id) = checkpoint(source, address)?;
    let pins = source.call(Pins::new(&point.task))?.items;
    let was_pinned = pins.iter().any(|pin| pin.checkpoint == id);
    source.call(Unpin::new(id.to_string()))?;
    if out.json {
        return Ok(out.json(&json!({
            "checkpoint": id,
            "task": point.task,
            "was_pinned": was_pinned,
        }))?);
    }
    let place = words::address(&point.task, point.lineage, point.offset.0);
    let said = match was_pinned {
        true => format!("no longer pinned: {place}, checkpoint @{id}"),
        false => format!("was not pinned: {place}, checkpoint @{id}"),
    };
    Ok(out.line(printable(&said))?)
}

fn list(source: &dyn Backend, id: &str, out: &mut Out) -> Result<()> {
    let pins = source.call(Pins::new(source.task(id)?.id))?.items;
    if out.json {
        return Ok(out.json(&pins)?);
    }
    if pins.is_empty() {
        return Ok(out.line("no pins")?);
    }
    let rows: Vec<Vec<String>> = pins.iter().map(row).collect();
    Ok(out.table(&["CHECKPOINT", "POINT", "LABEL", "PINNED", "REASON"], &rows)?)
}

/// Returns the checkpoint that an address names.
fn checkpoint(source: &dyn Backend, address: &str) -> Result<(PointForm, CheckpointId)> {
    let point = source.point(address)?;
    match point.checkpoint {
        Some(id) => Ok((point, id)),
        None => {
            let place = words::address(&point.task, point.lineage, point.offset.0);
            let task = words::encode(&point.task);
            Err(Failure::new(format!("`{address}` names no checkpoint")).hint(format!(
                "`milepost checkpoints {task}` lists them, `milepost mark {place} LABEL` makes \
                     one there"
            )))
        }
    }
}

fn row(pin: &PinForm) -> Vec<String> {
    let place = words::address(&pin.task, pin.lineage, pin.at.0);
    vec![
        format!("@{}", words::short_id(&pin.checkpoint)),
        printable(&place).into_owned(),
        excerpt(pin.label.as_deref().unwrap_or("-"), 40),
        time_short(pin.time_us.0),
        excerpt(pin.reason.as_deref().unwrap_or("-"), 60),
    ]
}
