//! `transcript`: a whole run as a document.

use milepost::Body;
use milepost::reading::{Items, row};
use milepost_api::EventForm;

use super::command::{CliCommand, Examples, Needs, Run};
use super::turn_text::begin_of;
use crate::backend::{Backend, event_of};
use crate::error::Result;
use crate::output::{Out, Style, print_body, printable, time_short};

/// Print a whole run as a document: what was said, called and returned.
#[derive(Debug, clap::Args)]
pub struct TranscriptArgs {
    /// The address of the end of the run; see `milepost --help`.
    pub address: String,
}

impl CliCommand for TranscriptArgs {
    const EXAMPLES: Examples =
        &[("transcript fix", "what was said, called and returned, in a pager")];
    const RUN: Run<Self> = Run::OnStore(Needs::GLANCES_LONG, run);
}

fn run(source: &dyn Backend, args: &TranscriptArgs, out: &mut Out) -> Result<()> {
    let point = source.point(&args.address)?;
    let begin = begin_of(source, &point)?;
    source.events(&point, begin..point.offset.0, &mut |event| print(event, out))
}

fn print(event: EventForm, out: &mut Out) -> Result<()> {
    if out.json {
        return Ok(out.json(&event)?);
    }
    let (offset, time) = (event.offset, time_short(event.time_us.0));
    let heading = |text: &str, out: &Out| {
        out.style(Style::Name, &printable(&format!("── {text} ── @{offset} {time}")))
    };
    match &event.body {
        Some(Body::StepStarted(_) | Body::LineageOpened(_) | Body::Restored(_))
        | Some(Body::ControlChanged(_) | Body::PhaseChanged(_)) => {
            let heading = heading(&row(&event_of(event.clone())), out);
            out.line(heading)?;
        }
        Some(Body::CheckpointMarked(_)) => {
            let text = format!("◆ @{offset} {}", row(&event_of(event.clone())));
            let text = out.style(Style::Dim, &printable(&text));
            out.line(text)?;
        }
        Some(body @ (Body::Message(_) | Body::ToolCalled(_) | Body::ToolReturned(_)))
        | Some(body @ (Body::PromptChanged(_) | Body::GuidanceGiven(_) | Body::StepFailed(_))) => {
            print_body(body, out)?;
        }
        None => out.line(format!("@{offset} {}: the body was erased", printable(&event.kind)))?,
        // State changes, ends of steps, captures and events of applications: only the messages and
        // calls that a program keeps in them.
        Some(body) => {
            let items = Items::of(body).bodies;
            if items.is_empty() {
                return Ok(());
            }
            items.iter().try_for_each(|item| print_body(item, out))?;
        }
    }
    Ok(out.line("")?)
}
