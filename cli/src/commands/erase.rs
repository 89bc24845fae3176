//! `erase`: removes the content of one event, for good.

use milepost::ErrorKind;
use milepost_api::{EraseRequest, ErasedForm, calls};

use super::command::{CliCommand, Examples, Needs, Run};
use super::confirm::confirm;
use super::show;
use crate::backend::Backend;
use crate::error::{Failure, Result};
use crate::output::{Out, printable, time_short, words};

/// Erase the content of one event, for good.
#[derive(Debug, clap::Args)]
pub struct EraseArgs {
    /// The address of the event, as for `show`: TASK@N.
    pub address: String,
    /// The reason. It is kept.
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// Do not ask.
    #[arg(long)]
    pub yes: bool,
}

impl CliCommand for EraseArgs {
    const EXAMPLES: Examples =
        &[("erase run@17", "what event 17 says, for good; that it was there stays")];
    const RUN: Run<Self> = Run::OnStore(Needs::NONE, run);

    fn left_to_user(&self) -> Option<&'static str> {
        Some("what it removes is gone for good: ask the user, who runs the same command")
    }
}

fn run(source: &dyn Backend, args: &EraseArgs, out: &mut Out) -> Result<()> {
    let point = source.point(&args.address)?;
    let event = show::event(source, &point)?.event;
    let place = words::address(&point.task, point.lineage, event.offset.0);
    let erased = ErasedForm::of(&point.task, event);
    let what = format!("event {place}, {} of {}", erased.kind, time_short(erased.time_us.0));
    if !erased.was_erased {
        let note = "what it says goes for good; its kind, time, actor and key stay, and its hash";
        confirm(args.yes, note, &format!("Erase {what}?"), out)?;
        let body = EraseRequest { reason: args.reason.clone() };
        let done = source.call(calls::Erase::new(&point.address, body));
        done.map_err(|failure| refused(failure, &point.task))?;
    }
    if out.json {
        return Ok(out.json(&erased)?);
    }
    let said = match erased.was_erased {
        true => format!("was erased before: {what}"),
        false => format!("erased: {what}"),
    };
    out.line(printable(&said))?;
    Ok(out.advice("`milepost compact` takes what it said off the disk")?)
}

fn refused(failure: Failure, task: &str) -> Failure {
    let task = words::encode(task);
    match failure.kind() {
        Some(ErrorKind::Conflict) => failure.hint(format!(
            "it goes with the lineage that is named, or with the task: `milepost delete {task}`"
        )),
        Some(ErrorKind::Invalid) => {
            failure.hint(format!("`milepost log {task}` lists the events and their kinds"))
        }
        _ => failure,
    }
}
