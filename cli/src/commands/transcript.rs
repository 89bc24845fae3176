//! `transcript`: a whole run as a document.

use milepost::Body;
use milepost::reading::{Items, row};
use milepost_api::EventForm;

use super::command::{CliCommand, Examples, Needs, Run};
use super::last::Last;
use super::turn_text::begin_of;
use crate::args::at_least_one;
use crate::backend::{Backend, event_of};
use crate::error::Result;
use crate::output::{Out, Style, print_body, printable, time_short};

/// Print a whole run as a document: what was said, called and returned.
#[derive(Debug, clap::Args)]
pub struct TranscriptArgs {
    /// The address of the end of the run; see `milepost --help`.
    pub address: String,
    /// The last N entries only: headings, messages, calls, results; with --json, events. `-20` is
    /// `-n 20`.
    #[arg(short = 'n', long, alias = "last", value_name = "N", value_parser = at_least_one,
          allow_negative_numbers = true)]
    pub limit: Option<usize>,
}

impl CliCommand for TranscriptArgs {
    const EXAMPLES: Examples = &[
        ("transcript fix", "what was said, called and returned, in a pager"),
        ("transcript fix -n 5", "the last five entries"),
    ];
    const RUN: Run<Self> = Run::OnStore(Needs::GLANCES_LONG, run);
}

fn run(source: &dyn Backend, args: &TranscriptArgs, out: &mut Out) -> Result<()> {
    let point = source.point(&args.address)?;
    let range = begin_of(source, &point)?..point.offset.0;
    let mut last = Last::new(args.limit);
    source.events(&point, range, &mut |event| match args.limit {
        _ if !out.json && !has_entry(&event) => Ok(()),
        None => print(event, out),
        Some(_) => {
            last.push(event);
            Ok(())
        }
    })?;
    last.end(if out.json { "event" } else { "entry" })
        .into_iter()
        .try_for_each(|event| print(event, out))
}

/// Returns `false` for an event that is no entry of a transcript: a state change, an end of a step,
/// a capture or an event of an application, without messages or calls in it.
fn has_entry(event: &EventForm) -> bool {
    match &event.body {
        None
        | Some(Body::StepStarted(_) | Body::LineageOpened(_) | Body::Restored(_))
        | Some(Body::ControlChanged(_) | Body::PhaseChanged(_) | Body::CheckpointMarked(_))
        | Some(Body::Message(_) | Body::ToolCalled(_) | Body::ToolReturned(_))
        | Some(Body::PromptChanged(_) | Body::GuidanceGiven(_) | Body::StepFailed(_)) => true,
        Some(body) => !Items::of(body).bodies.is_empty(),
    }
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
        Some(body) => {
            Items::of(body).bodies.iter().try_for_each(|item| print_body(item, out))?;
        }
    }
    Ok(out.line("")?)
}
