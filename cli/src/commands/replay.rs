//! `replay`: prints events again, at their pace or faster.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::{Command, Stdio};
use std::time::Duration;

use milepost_api::{EventForm, PointForm};

use super::log::Entry;
use super::needed;
use crate::args::{Replay, Speed};
use crate::backend::Backend;
use crate::error::{CORRUPT, Failure, Result};
use crate::output::{Out, Style, count, printable};
use crate::secrets;

pub fn run(source: &dyn Backend, args: &Replay, out: &mut Out) -> Result<()> {
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
fn wait(before: Option<u64>, now: u64, args: &Replay) -> Option<Duration> {
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
