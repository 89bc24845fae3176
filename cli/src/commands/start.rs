//! `start`: a new task, and the store if there is none.

use std::path::{Path, PathBuf};

use milepost::{ErrorKind, Json};
use serde_json::json;

use super::command::{CliCommand, Examples, Needs, Run};
use super::on_store;
use crate::backend::Backend;
use crate::error::{Failure, Result, USAGE};
use crate::output::{Out, printable, words};
use crate::store_locator::StoreArgs;

/// Start a task, and create the store if there is none.
#[derive(Debug, clap::Args)]
pub struct StartArgs {
    /// The id of the new task.
    pub task: String,
    /// The owner. Default: you, by USER or USERNAME; with a service, the user of the token.
    #[arg(long, value_name = "USER")]
    pub user: Option<String>,
    /// The state that the task begins with: a file with a JSON object.
    #[arg(long, value_name = "FILE.json")]
    pub initial: Option<PathBuf>,
}

impl CliCommand for StartArgs {
    const EXAMPLES: Examples = &[
        ("start run", "a new task of yours, without events"),
        ("start run --user bob --initial state.json", "for another user, with a state"),
    ];
    const RUN: Run<Self> = Run::Alone(run);
}

fn run(store: &StoreArgs, args: &StartArgs, out: &mut Out) -> Result<()> {
    // The file of the state is checked before a store is made for the task.
    let initial = args.initial.as_deref().map(state).transpose()?;
    let made = store.to_make()?;
    // Also in a folder that is there.
    let creates = |store: &StoreArgs| matches!(store.to_make(), Ok(Some(_)));
    let needs = Needs { creates, ..Needs::WRITES };
    let work = |source: &dyn Backend, out: &mut Out| {
        start(source, args, initial.clone(), made.as_deref(), out)
    };
    on_store::run(store, needs, &work, out)
}

/// Starts the task. `made` is the folder of the store, if this command created it.
fn start(
    source: &dyn Backend,
    args: &StartArgs,
    initial: Option<Json>,
    made: Option<&Path>,
    out: &mut Out,
) -> Result<()> {
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
    out.line(format!("started the task {name} of {}", printable(&task.user)))?;
    Ok(out.advice(format!(
        "next: `milepost run --task {name} -- COMMAND`, `milepost capture --task {name}` or \
         `milepost mark {name} LABEL`"
    ))?)
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
