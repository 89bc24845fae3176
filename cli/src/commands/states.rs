//! `states`: a part of the state at each checkpoint of a lineage.

use milepost::state::MessageRange;
use milepost_api::CheckpointForm;
use serde::Serialize;
use serde_json::Value;

use super::command::{CliCommand, Examples, Needs, Run};
use super::last::Last;
use super::pointers;
use crate::args::at_least_one;
use crate::backend::Backend;
use crate::error::{Failure, Result};
use crate::output::{Out, excerpt, printable, words};

/// The part that is printed by default.
const VARIABLES: &str = "/variables";
/// Longest excerpt of a value, in columns.
const EXCERPT: usize = 80;

/// A checkpoint, and the value of the part there. A missing value is left out.
#[derive(Serialize)]
struct Line {
    checkpoint: CheckpointForm,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Value>,
}

/// Print a part of the state at each checkpoint of a lineage, oldest first.
#[derive(Debug, clap::Args)]
pub struct StatesArgs {
    /// The address of a lineage: TASK or TASK/N. With a place, only the checkpoints before it.
    pub address: String,
    /// A part of the state, as a JSON pointer: `/variables/score`. Default: `/variables`.
    pub pointer: Option<String>,
    /// The last N checkpoints only. `-20` is `-n 20`.
    #[arg(short = 'n', long, alias = "last", value_name = "N", value_parser = at_least_one,
          allow_negative_numbers = true)]
    pub limit: Option<usize>,
}

impl CliCommand for StatesArgs {
    const EXAMPLES: Examples = &[
        ("states run", "the variables at each checkpoint"),
        ("states run /variables/score", "how the score went"),
    ];
    const RUN: Run<Self> = Run::OnStore(Needs::GLANCES_LONG, run);
}

fn run(source: &dyn Backend, args: &StatesArgs, out: &mut Out) -> Result<()> {
    let point = source.point(&args.address)?;
    let pointer = args.pointer.as_deref().unwrap_or(VARIABLES);
    let has_messages = pointer.is_empty()
        || ["/messages", "/guidance"].iter().any(|part| pointer.starts_with(part));
    let messages = if has_messages { MessageRange::All } else { MessageRange::None };
    let (mut rows, mut lines) = (Last::new(args.limit), Last::new(args.limit));
    let (mut any, mut last) = (false, Value::Null);
    source.states(&point, messages, &mut |checkpoint, state| {
        let value = state.pointer(pointer).cloned();
        any |= value.is_some();
        last = state;
        match (out.json, args.limit) {
            (false, _) => rows.push(row(&checkpoint, value.as_ref())),
            (true, None) => out.json(&Line { checkpoint, value })?,
            (true, Some(_)) => lines.push(Line { checkpoint, value }),
        }
        Ok(())
    })?;
    if !any && !last.is_null() {
        let address = words::encode(&point.task);
        let failure = Failure::new(format!("no checkpoint has a value at `{pointer}`"));
        let all = format!("`milepost state {address}` prints what there is to point at");
        return Err(match pointers::suggestion(&last, pointer) {
            Some(question) => failure.hint(format!("{question} {all}")),
            None => failure.hint(all),
        });
    }
    let what = "checkpoint";
    let rows = rows.end(what);
    match rows.is_empty() {
        _ if out.json => Ok(lines.end(what).iter().try_for_each(|line| out.json(line))?),
        true => Ok(out.line("no checkpoints")?),
        false => Ok(out.table(&["POINT", "LABEL", "VALUE"], &rows)?),
    }
}

fn row(checkpoint: &CheckpointForm, value: Option<&Value>) -> Vec<String> {
    let CheckpointForm { task, lineage, at, .. } = checkpoint;
    vec![
        printable(&words::address(task, *lineage, at.0)).into_owned(),
        excerpt(checkpoint.label.as_deref().unwrap_or("-"), 40),
        value.map_or_else(|| "-".to_owned(), |value| excerpt(&value.to_string(), EXCERPT)),
    ]
}
