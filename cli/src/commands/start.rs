//! `start`: a new task, and the store if there is none.

use std::path::Path;

use milepost::{ErrorKind, Json};
use serde_json::json;

use crate::args;
use crate::backend::Backend;
use crate::error::{Failure, Result, USAGE};
use crate::output::{Out, printable, words};

/// Starts the task. `made` is the folder of the store, if this command created it.
pub fn run(
    source: &dyn Backend,
    args: &args::Start,
    made: Option<&Path>,
    out: &mut Out,
) -> Result<()> {
    let initial = args.initial.as_deref().map(state).transpose()?;
    let name = words::encode(&args.task);
    let task = source.start(&args.task, args.user.as_deref(), initial);
    let task = task.map_err(|failure| match failure.kind() {
        Some(ErrorKind::Conflict) => failure.hint(format!(
            "`milepost log {name}` shows it; `milepost start OTHER` starts a task of another name"
        )),
        _ => failure,
    })?;
    if out.json {
        let mut form = serde_json::to_value(&task)?;
        if let Some(fields) = form.as_object_mut() {
            fields.insert("store_made".into(), json!(made));
        }
        return Ok(out.json(&form)?);
    }
    if let Some(dir) = made {
        out.line(format!("made the store {}", dir.display()))?;
    }
    out.line(format!("started the task {} of {}", printable(&task.id), printable(&task.user)))?;
    Ok(out.advice(format!(
        "next: `milepost run --task {name} -- COMMAND`, `milepost capture --task {name}` or \
         `milepost mark {name} LABEL`"
    ))?)
}

/// Checks the file of the state, before a store is made for the task.
pub fn check(args: &args::Start) -> Result<()> {
    args.initial.as_deref().map_or(Ok(()), |file| state(file).map(drop))
}

/// Reads the state that a task begins with.
fn state(file: &Path) -> Result<Json> {
    let shown = file.display();
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::new(format!("cannot read {shown}: {error}")).code_of(USAGE))?;
    Json::new(text).map_err(|error| {
        Failure::new(format!("{shown} is not JSON: {error}"))
            .code_of(USAGE)
            .hint("the file has the state that the task begins with, as one JSON object")
    })
}
