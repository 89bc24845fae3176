//! `search`: a text in the events of all tasks.

use std::ops::Range;

use milepost::reading::Items;
use milepost::reading::row;
use milepost_api::{EventForm, LineageForm, TaskForm};
use serde::Serialize;

use super::command::{CliCommand, Examples, Needs, Run};
use super::log::{Needle, kinds};
use super::name_pattern::is_named;
use crate::args::whole;
use crate::backend::{Backend, event_of};
use crate::error::{Failure, Result, USAGE};
use crate::output::{Out, Style, count, fitted, note, printable, words};

/// Events of one read.
const WINDOW: usize = 4096;

/// Tasks of one read.
const PAGE: usize = 200;

/// Columns of an address and of a kind, at least.
const ADDRESS: usize = 24;
const KIND: usize = 17;

/// A found event. No `Value`, which cannot hold every body.
#[derive(Serialize)]
struct HitForm<'a> {
    address: &'a str,
    event: EventForm,
}

/// The search, and what it has looked at.
struct Found<'a> {
    asked: &'a SearchArgs,
    text: Needle,
    left: u64,
    tasks: u64,
    events: u64,
    hits: u64,
    /// The first failure of a task. The others are searched.
    failed: Option<Failure>,
}

/// Search the events of all tasks for a text.
#[derive(Debug, clap::Args)]
pub struct SearchArgs {
    /// The text, in upper or lower case. A text with quotes is also found as JSON with other white
    /// space: `"ok": false` finds `"ok":false`.
    pub text: String,
    /// Only tasks of this name; `*` matches any text.
    #[arg(long, value_name = "PATTERN")]
    pub task: Option<String>,
    /// Only tasks of this user.
    #[arg(long)]
    pub user: Option<String>,
    /// Only events of this kind. May be given more than once.
    #[arg(long, value_name = "KIND", value_parser = kinds(), hide_possible_values = true)]
    pub kind: Vec<String>,
    /// Stop after N hits. `-20` is `-n 20`.
    #[arg(short = 'n', long = "last", alias = "limit", value_name = "N",
          value_parser = whole::<u64>, allow_negative_numbers = true)]
    pub last: Option<u64>,
}

impl CliCommand for SearchArgs {
    const EXAMPLES: Examples = &[
        ("search 'permission denied'", "in all tasks"),
        ("search IndentationError --task 'airline-*' --kind tool_returned", "in some results"),
    ];
    const RUN: Run<Self> = Run::OnStore(Needs::GLANCES_LONG, run);
}

fn run(source: &dyn Backend, args: &SearchArgs, out: &mut Out) -> Result<()> {
    if args.text.trim().is_empty() {
        return Err(Failure::new("the text to search for is empty")
            .code_of(USAGE)
            .hint("`milepost log TASK --events` prints all events of a task"));
    }
    let mut found = Found {
        asked: args,
        text: Needle::new(&args.text),
        left: args.last.unwrap_or(u64::MAX),
        tasks: 0,
        events: 0,
        hits: 0,
        failed: None,
    };
    let mut cursor = None;
    loop {
        let page = source.tasks(args.user.as_deref(), PAGE, cursor)?;
        for task in page.items.iter().filter(|task| is_named(&task.id, args.task.as_deref())) {
            if let Err(failure) = found.in_task(source, task, out) {
                // A reader that closed the pipe wants no more.
                if failure.kind().is_none() {
                    return Err(failure);
                }
                note(&format!("{}: {failure}", printable(&task.id)));
                found.failed.get_or_insert(failure);
            }
            if found.left == 0 {
                break;
            }
        }
        match page.next.filter(|_| found.left > 0) {
            Some(next) => cursor = Some(next),
            None => break,
        }
    }
    if let Some(failure) = found.failed {
        return Err(Failure::reported(failure.code()));
    }
    if found.hits == 0 && !out.json {
        let (events, tasks) = (count(found.events, "event"), count(found.tasks, "task"));
        note(&format!("nothing found in {events} of {tasks}"));
    }
    Ok(())
}

impl Found<'_> {
    fn in_task(&mut self, source: &dyn Backend, task: &TaskForm, out: &mut Out) -> Result<()> {
        self.tasks += 1;
        for lineage in source.lineages(&task.id)? {
            let range = own_events(&lineage);
            if range.is_empty() || self.left == 0 {
                continue;
            }
            let address = format!("{}/{}", words::encode(&task.id), lineage.id);
            let point = source.point(&address)?;
            for from in range.clone().step_by(WINDOW) {
                let window = from..(from + WINDOW as u64).min(range.end);
                source.events(&point, window, &mut |event| {
                    self.events += 1;
                    match self.takes(&event) {
                        true => self.show(&address, event, out),
                        false => Ok(()),
                    }
                })?;
                if self.left == 0 {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn takes(&self, event: &EventForm) -> bool {
        let kinds = &self.asked.kind;
        let is_named = |name: &str| kinds.iter().any(|kind| kind == name);
        let is_of_kind = kinds.is_empty() || is_named(&event.kind) || {
            // Messages and calls that a program keeps in its variables.
            let items = event.body.as_ref().map(Items::of).unwrap_or_default();
            items.bodies.iter().any(|body| is_named(body.kind_name()))
        };
        self.left > 0 && is_of_kind && self.text.is_in(event)
    }

    fn show(&mut self, lineage: &str, event: EventForm, out: &mut Out) -> Result<()> {
        self.left -= 1;
        self.hits += 1;
        let address = format!("{lineage}@{}", event.offset);
        if out.json {
            return Ok(out.json(&HitForm { address: &address, event })?);
        }
        let kind = out.style(Style::Name, &format!("{:KIND$}", printable(&event.kind)));
        let shown = format!("{:ADDRESS$}", printable(&address));
        let room = out.limit().saturating_sub(shown.chars().count() + KIND + 4);
        let text = self.around(&row(&event_of(event.clone())), &event);
        // On a pipe nothing is cut.
        let text = match out.limit() {
            usize::MAX => printable(&text).into_owned(),
            _ => fitted(&text, room),
        };
        Ok(out.line(format!("{shown}  {kind}  {}", text.trim_end()))?)
    }

    /// Returns the row if it has the text, and otherwise what is around the text in the event.
    fn around(&self, row: &str, event: &EventForm) -> String {
        if self.text.place_in(&row.to_lowercase()).is_some() {
            return row.to_owned();
        }
        let json = event.body.as_ref().and_then(|body| body.to_json().ok());
        let json = json.unwrap_or_default();
        // Lower case may have another length: the place is approximate, and on a character.
        let at = self.text.place_in(&json.to_lowercase()).unwrap_or(0);
        let from = (0..=at.saturating_sub(30).min(json.len())).rev();
        let from = from.into_iter().find(|from| json.is_char_boundary(*from)).unwrap_or(0);
        format!("…{}", json.get(from..).unwrap_or_default())
    }
}

/// Returns the offsets that a lineage itself recorded: its ancestors have their own.
fn own_events(lineage: &LineageForm) -> Range<u64> {
    let fork = lineage.parent.as_ref().map_or(0, |parent| parent.offset.0);
    fork.max(lineage.begin.0)..lineage.head.0
}
