//! `pin`, `unpin` and `pins`: checkpoints that are kept whatever a cleanup is asked for.

use milepost::{Checkpoint, CheckpointId, Engine, Pin, Point};
use serde_json::{Value, json};

use super::{point, task, words};
use crate::args;
use crate::error::{Failure, Result};
use crate::output::{Out, big, excerpt, printable, time, time_short};

/// How many digits of an id people are shown; addresses take 8 or more.
const DIGITS: usize = 12;

pub fn pin(engine: &Engine, args: &args::Pin, out: &mut Out) -> Result<()> {
    let (point, id) = checkpoint(engine, &args.address)?;
    engine.pin(&id, args.reason.as_deref())?;
    if out.json {
        let pins = engine.pins(&point.task)?;
        let pin = pins.iter().find(|pin| pin.checkpoint == id);
        return Ok(out.json(&pin.map(|pin| form(engine, pin)).transpose()?)?);
    }
    let place = words::address(&point.task, point.lineage, point.offset);
    out.line(printable(&format!("pinned {place}, checkpoint @{id}")))?;
    let hint = format!("`milepost unpin @{}` takes this back", short(&id));
    Ok(out.line(hint)?)
}

pub fn unpin(engine: &Engine, address: &str, out: &mut Out) -> Result<()> {
    let (point, id) = checkpoint(engine, address)?;
    let pins = engine.pins(&point.task)?;
    let was_pinned = pins.iter().any(|pin| pin.checkpoint == id);
    engine.unpin(&id)?;
    if out.json {
        return Ok(out.json(&json!({
            "checkpoint": id,
            "task": point.task,
            "was_pinned": was_pinned,
        }))?);
    }
    let place = words::address(&point.task, point.lineage, point.offset);
    let said = match was_pinned {
        true => format!("no longer pinned: {place}, checkpoint @{id}"),
        false => format!("was not pinned: {place}, checkpoint @{id}"),
    };
    Ok(out.line(printable(&said))?)
}

pub fn list(engine: &Engine, id: &str, out: &mut Out) -> Result<()> {
    let pins = engine.pins(task(engine, id)?.id())?;
    if out.json {
        let forms = pins.iter().map(|pin| form(engine, pin));
        return Ok(out.json(&forms.collect::<Result<Vec<_>>>()?)?);
    }
    if pins.is_empty() {
        return Ok(out.line("no pins")?);
    }
    let rows = pins.iter().map(|pin| row(engine, pin));
    let rows = rows.collect::<Result<Vec<_>>>()?;
    Ok(out.table(&["CHECKPOINT", "POINT", "LABEL", "PINNED", "REASON"], &rows)?)
}

/// The checkpoint that an address names.
fn checkpoint(engine: &Engine, address: &str) -> Result<(Point, CheckpointId)> {
    let point = point(engine, address)?;
    match point.checkpoint {
        Some(id) => Ok((point, id)),
        None => {
            let place = words::address(&point.task, point.lineage, point.offset);
            let task = words::encode(&point.task);
            Err(
                Failure::new(format!("`{address}` names no checkpoint")).hint(format!(
                    "`milepost checkpoints {task}` lists them, `milepost mark {place} LABEL` makes \
                     one there"
                )),
            )
        }
    }
}

fn found(engine: &Engine, pin: &Pin) -> Result<Checkpoint> {
    Ok(engine.checkpoint(&pin.checkpoint.to_string())?)
}

fn form(engine: &Engine, pin: &Pin) -> Result<Value> {
    let checkpoint = found(engine, pin)?;
    Ok(json!({
        "checkpoint": pin.checkpoint,
        "task": checkpoint.task,
        "lineage": checkpoint.lineage,
        "at": big(checkpoint.at),
        "label": checkpoint.label,
        "reason": pin.reason,
        "time": time(pin.time_us),
        "time_us": big(pin.time_us),
    }))
}

fn row(engine: &Engine, pin: &Pin) -> Result<Vec<String>> {
    let checkpoint = found(engine, pin)?;
    let place = words::address(&checkpoint.task, checkpoint.lineage, checkpoint.at);
    Ok(vec![
        format!("@{}", short(&pin.checkpoint)),
        printable(&place).into_owned(),
        excerpt(checkpoint.label.as_deref().unwrap_or("-"), 40),
        time_short(pin.time_us),
        excerpt(pin.reason.as_deref().unwrap_or("-"), 60),
    ])
}

fn short(id: &CheckpointId) -> String {
    id.to_string().chars().take(DIGITS).collect()
}
