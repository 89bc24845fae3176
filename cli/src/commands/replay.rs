//! `replay`: prints events again, at their pace or faster.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::{Command, Stdio};
use std::time::Duration;

use milepost_api::{EventForm, PointForm};

use super::command::{CliCommand, Examples, Needs, Run};
use super::log::Entry;
use super::on_store::needed;
use crate::args::span;
use crate::backend::Backend;
use crate::error::{CORRUPT, Failure, Result};
use crate::output::{Out, Style, count, printable};
use crate::secrets;

const MORE: &str = "\
On a terminal each event is a line; elsewhere it is a line of JSON. The command behind `--` gets
each event as JSON on its standard input; where it fails the replay ends.";

/// Print events again, at their original pace or faster, or pass each to a command.
#[derive(Debug, clap::Args)]
#[command(after_long_help = MORE)]
pub struct ReplayArgs {
    /// The address of the point to stop before; see `milepost --help`.
    pub address: String,
    /// A factor of the original pace, or `max` for no waiting.
    #[arg(long, value_name = "N|max", default_value = "1", value_parser = speed)]
    pub speed: Speed,
    /// The longest wait between two events.
    #[arg(long, value_name = "SPAN", default_value = "5s", value_parser = longest)]
    pub longest: Duration,
    /// The offset to start from.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub from: u64,
    /// Replay nothing: fold the task's events from the beginning, and from each snapshot, and
    /// compare the states.
    #[arg(long, conflicts_with_all = ["speed", "longest", "from", "command"])]
    pub check: bool,
    /// The command and its arguments.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

impl CliCommand for ReplayArgs {
    const EXAMPLES: Examples = &[
        (
            "replay run --speed 10 --longest 1s",
            "ten times as fast, and never waiting for more than a second",
        ),
        ("replay run --speed max -- ./handle", "each event to a command"),
        ("replay run --check", "fold it in two ways, and compare"),
    ];
    const RUN: Run<Self> = Run::OnStore(Needs::GLANCES, run);

    fn needs(&self, usual: Needs, _can_pick: bool) -> Needs {
        if self.check { Needs { store: true, ..Needs::READS } } else { usual }
    }
}

/// Speed of a replay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Speed {
    Times(f64),
    Max,
}

fn speed(text: &str) -> Result<Speed, String> {
    match text.parse::<f64>() {
        _ if text == "max" => Ok(Speed::Max),
        Ok(times) if times.is_finite() && times > 0.0 => Ok(Speed::Times(times)),
        _ => Err("neither a number over 0 nor `max`".into()),
    }
}

fn longest(text: &str) -> Result<Duration, String> {
    span(text).ok_or_else(|| "a span is a whole number and ms, s, m, h or d, as in 500ms".into())
}

fn run(source: &dyn Backend, args: &ReplayArgs, out: &mut Out) -> Result<()> {
    let point = source.point(&args.address)?;
    if args.check {
        return check(source, &point, out);
    }
    let lineages = source.lineages(&point.task)?;
    let begin = lineages.iter().find(|lineage| lineage.id == point.lineage);
    let begin = begin.map_or(0, |lineage| lineage.begin.0).max(args.from);
    let entry = Entry::new(&point, false, false, true);
    // A program that reads the output gets JSON.
    out.json |= !out.is_terminal();
    let mut before = None;
    source.events(&point, begin..point.offset.0, &mut |event| {
        let time = event.time_us.0;
        if let Some(wait) = wait(before.replace(time), time, args) {
            out.flush()?;
            std::thread::sleep(wait);
        }
        match args.command.split_first() {
            Some((program, rest)) => hand_over(program, rest, &event),
            None => entry.print(&event, out),
        }
    })
}

/// Returns the wait until the next event. A clock that was set back gives no wait.
fn wait(before: Option<u64>, now: u64, args: &ReplayArgs) -> Option<Duration> {
    let Speed::Times(times) = args.speed else {
        return None;
    };
    let passed = Duration::from_micros(now.saturating_sub(before?));
    let wait = Duration::try_from_secs_f64(passed.as_secs_f64() / times).unwrap_or(args.longest);
    Some(wait.min(args.longest)).filter(|wait| !wait.is_zero())
}

/// Runs a command with an event on its standard input.
fn hand_over(program: &OsString, rest: &[OsString], event: &EventForm) -> Result<()> {
    let name = program.to_string_lossy();
    let started = Command::new(program)
        .args(rest)
        .env_remove(secrets::TOKEN)
        .env_remove(secrets::KEY)
        .stdin(Stdio::piped())
        .spawn();
    let mut child = started.map_err(|error| {
        let hint = "check the name of the program; a line for a shell is `-- sh -c 'LINE'`";
        Failure::from(error).at(&name).hint(hint)
    })?;
    if let Some(mut stdin) = child.stdin.take() {
        let text = serde_json::to_string(event)?;
        match writeln!(stdin, "{text}") {
            // The command need not read it.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => return Err(error.into()),
            _ => {}
        }
    }
    let status = child.wait()?;
    match status.success() {
        true => Ok(()),
        false => Err(Failure::new(format!(
            "`{}` ended with {status} at event @{}",
            printable(&name),
            event.offset
        ))
        .hint(format!("`--from {}` continues there", event.offset))),
    }
}

/// Folds each lineage of a task from its beginning, and compares the snapshots.
fn check(source: &dyn Backend, point: &PointForm, out: &mut Out) -> Result<()> {
    let engine = needed(source, "`replay --check`")?;
    let faults = engine.integrity().verify_states(Some(&point.task))?;
    for fault in &faults {
        let place = out.style(Style::Bad, &printable(&fault.place));
        out.line(format!("{place}: {}", printable(&fault.message)))?;
    }
    if !faults.is_empty() {
        let faults = count(faults.len() as u64, "fault");
        return Err(Failure::new(format!("{faults} found"))
            .code_of(CORRUPT)
            .hint("`milepost verify` checks the events themselves"));
    }
    // Two folds of the same events must be equal.
    let place = engine.point(&point.address)?;
    let [once, again] = [(); 2].map(|()| engine.run_state(&place));
    if once? != again? {
        return Err(Failure::bug("two folds of the same events are different".into()));
    }
    let lineages = source.lineages(&point.task)?.len() as u64;
    let said =
        format!("{} folded from the beginning: as the snapshots say", count(lineages, "lineage"));
    Ok(out.line(out.style(Style::Good, &said))?)
}
