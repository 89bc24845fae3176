//! `log`: the events before a point, newest first.
//!
//! ```text
//! steps    a line a turn: actions and their results
//! walk     a lineage read backwards, some events at a time
//! filter   selection of events
//! entry    output of one event
//! graph    all lineages of a task, side by side
//! follow   events as they come
//! ```

mod entry;
mod filter;
mod follow;
mod graph;
mod steps;
mod walk;

use std::collections::VecDeque;

use milepost_api::PointForm;

use super::command::{CliCommand, Examples, Needs, Run};
use crate::args::whole;
use crate::backend::{Backend, Each, point_at};
use crate::commands::turn_text::begin_of;
use crate::error::Result;
use crate::output::{Out, count, note};
pub use entry::Entry;
pub use filter::kinds;
use filter::{EventFilter, LogFilter};
use walk::Walk;

/// Print the events before a point, newest first.
#[derive(Debug, clap::Args)]
pub struct LogArgs {
    /// The address of the point; see `milepost --help`.
    pub address: String,
    /// Print single events, not steps. Options that select events imply it.
    #[arg(long)]
    pub events: bool,
    /// Print at most N steps, or events. `-20` is `-n 20`.
    #[arg(short = 'n', long = "last", alias = "limit", value_name = "N",
          value_parser = whole::<u64>, allow_negative_numbers = true)]
    pub last: Option<u64>,
    /// Print times in UTC, not as ages.
    #[arg(long)]
    pub utc: bool,
    /// Print the oldest one first.
    #[arg(long)]
    pub reverse: bool,
    /// Print each event in full, not as one line.
    #[arg(long, conflicts_with = "graph")]
    pub full: bool,
    /// As --full, with the body as JSON.
    #[arg(long, conflicts_with = "graph")]
    pub raw: bool,
    /// Draw all lineages of the task side by side.
    #[arg(long, conflicts_with_all = ["reverse", "follow"])]
    pub graph: bool,
    /// Continue to print new events until Ctrl-C. The last 10 events are printed first, unless -n
    /// is given.
    #[arg(short, long, conflicts_with = "reverse")]
    pub follow: bool,
    #[command(flatten)]
    pub filter: LogFilter,
}

impl CliCommand for LogArgs {
    const EXAMPLES: Examples = &[
        ("log run -n 20", "the last twenty events"),
        ("log run --step 3 --full", "all of what step 3 said"),
        ("log run --graph", "all lineages as a graph"),
        ("log run --kind tool_called --grep search", "calls that have to do with a search"),
        ("log run --since 10m --follow", "what comes, too"),
    ];
    const RUN: Run<Self> = Run::OnStore(Needs::GLANCES_LONG, run);

    fn needs(&self, usual: Needs, _can_pick: bool) -> Needs {
        if self.follow { Needs::FOLLOWS } else { usual }
    }
}

fn run(source: &dyn Backend, args: &LogArgs, out: &mut Out) -> Result<()> {
    let point = source.point(&args.address)?;
    if args.graph {
        return graph::run(source, &point, args, out);
    }
    let begin = begin_of(source, &point)?;
    if is_read_by_step(args, out) {
        let asked = (args.last, args.reverse);
        let layout = steps::LineLayout::of(out, args.utc);
        return steps::run(source, &point, begin, asked, &layout, out);
    }
    let log = Log {
        source,
        begin,
        filter: &args.filter,
        most: args.last.unwrap_or(match args.follow {
            true => follow::LAST,
            false => u64::MAX,
        }),
        point: &point,
    };
    let entry = Entry::new(&point, args.full || args.raw, args.raw, args.utc);
    if args.follow {
        return follow::run(&log, &entry, out);
    }
    let mut found = 0_u64;
    let each: Each<'_> = &mut |event| {
        found += 1;
        entry.print(&event, out)
    };
    match (args.reverse, args.last, EventFilter::is_ordered(&args.filter)) {
        (true, None, _) => log.oldest_first(each),
        (true, Some(_), _) => log.last(each, false),
        // The step and the iteration of an event are only known oldest first.
        (false, _, true) => log.last(each, true),
        (false, _, false) => log.newest_first(each),
    }?;
    if found == 0 && log.most > 0 && !out.json && args.filter != LogFilter::default() {
        let events = count(point.offset.0.saturating_sub(begin), "event");
        note(&format!("nothing found in {events}"));
    }
    Ok(())
}

/// Returns `true` if steps are printed, and not events.
fn is_read_by_step(args: &LogArgs, out: &Out) -> bool {
    let of_events = args.events || args.full || args.raw || args.follow || out.json;
    !of_events && args.filter == LogFilter::default()
}

/// The requested events.
struct Log<'a> {
    source: &'a dyn Backend,
    point: &'a PointForm,
    /// The first existing offset.
    begin: u64,
    filter: &'a LogFilter,
    /// Largest number of events.
    most: u64,
}

impl Log<'_> {
    fn newest_first(&self, each: Each<'_>) -> Result<()> {
        let mut filter = EventFilter::new(self.filter);
        let mut walk = Walk::new(self.source, self.point, self.begin..self.point.offset.0);
        let mut left = self.most;
        while left > 0
            && let Some(event) = walk.next(left)?
        {
            if filter.takes(&event) {
                left -= 1;
                each(event)?;
            }
        }
        Ok(())
    }

    fn oldest_first(&self, each: Each<'_>) -> Result<()> {
        let mut filter = EventFilter::new(self.filter);
        let begin = point_at(&self.point.task, self.point.lineage, self.begin);
        filter.begin(self.source, &begin)?;
        let range = self.begin..self.point.offset.0;
        self.source.events(self.point, range, &mut |event| match filter.takes(&event) {
            true => each(event),
            false => Ok(()),
        })
    }

    /// Passes on the last events that the filter takes. The step and the iteration of an event are
    /// only known from the beginning on.
    fn last(&self, each: Each<'_>, newest_first: bool) -> Result<()> {
        let mut kept = VecDeque::new();
        if !EventFilter::is_ordered(self.filter) {
            self.newest_first(&mut |event| {
                kept.push_front(event);
                Ok(())
            })?;
            return match newest_first {
                true => kept.into_iter().rev().try_for_each(each),
                false => kept.into_iter().try_for_each(each),
            };
        }
        self.oldest_first(&mut |event| {
            if kept.len() as u64 == self.most {
                kept.pop_front();
            }
            if self.most > 0 {
                kept.push_back(event);
            }
            Ok(())
        })?;
        match newest_first {
            true => kept.into_iter().rev().try_for_each(each),
            false => kept.into_iter().try_for_each(each),
        }
    }
}
