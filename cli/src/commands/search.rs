//! `search`: a text in the events of all tasks.

use std::collections::HashSet;
use std::ops::Range;

use milepost::Body;
use milepost::reading::Items;
use milepost::reading::row;
use milepost_api::{EventForm, LineageForm, TaskForm};
use milepost_service::reader::is_failed;
use serde::Serialize;
use serde_json::Value;

use super::command::{CliCommand, Examples, Needs, Run};
use super::log::kinds;
use super::name_pattern::is_named;
use super::needle::Needle;
use crate::args::whole;
use crate::backend::{Backend, event_of};
use crate::error::{Failure, Result, USAGE};
use crate::output::{Out, Style, big, count, fitted, note, printable, words};

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

/// The hits of a task.
#[derive(Serialize)]
struct CountForm<'a> {
    task: &'a str,
    hits: Value,
}

/// The search, and what it has looked at.
struct Found<'a> {
    asked: &'a SearchArgs,
    text: Option<Needle>,
    /// The ids of open calls of the requested tool.
    calls: HashSet<String>,
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
    #[arg(required_unless_present_any = ["kind", "tool", "failed"])]
    pub text: Option<String>,
    /// Only whole words: `rm` does not find `confirm`.
    #[arg(short = 'w', long, requires = "text")]
    pub word: bool,
    /// Take the text as a regular expression, which each text of an event is matched with: its
    /// values, the names of its fields, its numbers. In upper or lower case unless it begins with
    /// `(?-i)`.
    #[arg(short = 'e', long, requires = "text", conflicts_with = "word")]
    pub regex: bool,
    /// Only tasks of this name; `*` matches any text.
    #[arg(long, value_name = "PATTERN")]
    pub task: Option<String>,
    /// Only tasks of this user.
    #[arg(long)]
    pub user: Option<String>,
    /// Only events of this kind. May be given more than once.
    #[arg(long, value_name = "KIND", value_parser = kinds(), hide_possible_values = true)]
    pub kind: Vec<String>,
    /// Only calls of this tool, and their results; `*` matches any text.
    #[arg(long, value_name = "NAME")]
    pub tool: Option<String>,
    /// Only steps and calls that failed.
    #[arg(long)]
    pub failed: bool,
    /// Print how many hits each task has, in place of the hits.
    #[arg(short = 'c', long, conflicts_with = "last")]
    pub count: bool,
    /// Stop after N hits. `-20` is `-n 20`.
    #[arg(short = 'n', long = "last", alias = "limit", value_name = "N",
          value_parser = whole::<u64>, allow_negative_numbers = true)]
    pub last: Option<u64>,
}

impl SearchArgs {
    fn needle(&self) -> Result<Option<Needle>> {
        let Some(text) = &self.text else { return Ok(None) };
        match (self.word, self.regex) {
            (true, _) => Needle::words(text).map(Some),
            (_, true) => Needle::pattern(text).map(Some),
            _ => Ok(Some(Needle::new(text))),
        }
    }
}

impl CliCommand for SearchArgs {
    const EXAMPLES: Examples = &[
        ("search 'permission denied'", "in all tasks"),
        ("search -w rm --kind tool_called --count", "how often each run called rm"),
        ("search --tool Bash --failed", "calls of a tool that failed"),
        ("search IndentationError --task 'airline-*' --kind tool_returned", "in some results"),
    ];
    const RUN: Run<Self> = Run::OnStore(Needs::GLANCES_LONG, run);
}

fn run(source: &dyn Backend, args: &SearchArgs, out: &mut Out) -> Result<()> {
    if args.text.as_ref().is_some_and(|text| text.trim().is_empty()) {
        return Err(Failure::new("the text to search for is empty")
            .code_of(USAGE)
            .hint("`milepost log TASK --events` prints all events of a task"));
    }
    let mut found = Found {
        asked: args,
        text: args.needle()?,
        calls: HashSet::new(),
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
            let before = found.hits;
            let searched = found.in_task(source, task, out);
            if args.count && found.hits > before {
                found.tell_count(&task.id, found.hits - before, out)?;
            }
            if let Err(failure) = searched {
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
            self.calls.clear();
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

    fn takes(&mut self, event: &EventForm) -> bool {
        // Messages and calls that a program keeps in its variables count as events of their own.
        let items = event.body.as_ref().map(Items::of).unwrap_or_default();
        let bodies: Vec<&Body> = event.body.iter().chain(&items.bodies).collect();
        let asked = self.asked;
        let is_of_kind = asked.kind.is_empty()
            || asked.kind.iter().any(|kind| *kind == event.kind)
            || bodies.iter().any(|body| asked.kind.iter().any(|kind| kind == body.kind_name()));
        // Each body is looked at, since a call is kept for its result.
        let is_of_tool =
            asked.tool.is_none() || bodies.iter().filter(|body| self.is_of_tool(body)).count() > 0;
        let is_failed = !asked.failed || bodies.iter().any(|body| is_failed(body));
        self.left > 0
            && is_of_kind
            && is_of_tool
            && is_failed
            && self.text.as_ref().is_none_or(|text| text.is_in(event))
    }

    /// Returns `true` if a body is a call of the requested tool, or the result of one.
    fn is_of_tool(&mut self, body: &Body) -> bool {
        let pattern = self.asked.tool.as_deref();
        match body {
            Body::ToolCalled(called) if is_named(&called.tool, pattern) => {
                self.calls.insert(called.call.clone());
                true
            }
            Body::ToolReturned(returned) => {
                let tool = returned.tool.as_deref();
                self.calls.remove(&returned.call) || tool.is_some_and(|it| is_named(it, pattern))
            }
            _ => false,
        }
    }

    fn tell_count(&self, task: &str, hits: u64, out: &mut Out) -> Result<()> {
        match out.json {
            true => Ok(out.json(&CountForm { task, hits: big(hits) })?),
            false => Ok(out.line(format!("{hits:>8}  {}", printable(task)))?),
        }
    }

    fn show(&mut self, lineage: &str, event: EventForm, out: &mut Out) -> Result<()> {
        self.left -= 1;
        self.hits += 1;
        if self.asked.count {
            return Ok(());
        }
        let address = format!("{lineage}@{}", event.offset);
        if out.json {
            return Ok(out.json(&HitForm { address: &address, event })?);
        }
        let kind = out.style(Style::Name, &format!("{:KIND$}", printable(&event.kind)));
        let shown = format!("{:ADDRESS$}", printable(&address));
        let room = out.limit().saturating_sub(shown.chars().count() + KIND + 4);
        let row = row(&event_of(event.clone()));
        let text = match &self.text {
            Some(needle) => needle.shown(&row, event.body.as_ref()),
            None => row,
        };
        // On a pipe nothing is cut.
        let text = match out.limit() {
            usize::MAX => printable(&text).into_owned(),
            _ => fitted(&text, room),
        };
        Ok(out.line(format!("{shown}  {kind}  {}", text.trim_end()))?)
    }
}

/// Returns the offsets that a lineage itself recorded: its ancestors have their own.
fn own_events(lineage: &LineageForm) -> Range<u64> {
    let fork = lineage.parent.as_ref().map_or(0, |parent| parent.offset.0);
    fork.max(lineage.begin.0)..lineage.head.0
}
