//! `bisect start`, `good`, `bad`, `skip` and `reset`: a search by hand, over several commands. Its
//! progress is in `bisect.json` of the store, which is replaced atomically.

use std::fs;
use std::io;
use std::path::Path;

use milepost::query::{AddressTarget, Bisect, Verdict};
use milepost::{Address, Engine, LineageId, Offset, Point};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::ByHand;
use super::{begin, report};
use crate::atomic_file::WholeFile;
use crate::backend::hints::point;
use crate::error::{Failure, Result};
use crate::output::Out;

const FILE: &str = "bisect.json";

/// Most bytes that are read of the file. A search needs far fewer.
const FILE_MAX: u64 = 1 << 20;

/// Progress of a search.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Progress {
    task: String,
    lineage: LineageId,
    good: Offset,
    bad: Offset,
    skipped: Vec<Offset>,
}

pub fn run(engine: &Engine, step: &ByHand, out: &mut Out) -> Result<()> {
    let folder = engine.store().chunks().folder().ok_or_else(none)?.to_owned();
    let file = folder.join(FILE);
    let verdict = match step {
        ByHand::Start { bad, good } => return start(engine, &file, (bad, good), out),
        ByHand::Reset => return reset(&file, out),
        ByHand::Good => Verdict::Good,
        ByHand::Bad => Verdict::Bad,
        ByHand::Skip => Verdict::Skip,
    };
    let mut bisect = load(engine, &file)?;
    if bisect.next_point().is_some() {
        bisect.mark(verdict)?;
        save(&file, &bisect)?;
    }
    say(engine, &bisect, out)
}

fn start(engine: &Engine, file: &Path, (bad, good): (&str, &str), out: &mut Out) -> Result<()> {
    if file.exists() {
        return Err(Failure::conflict("a search by hand is going on")
            .hint("`milepost bisect reset` ends it"));
    }
    let (bad, good) = (point(engine, bad)?, point(engine, good)?);
    let bisect = begin(engine, Some(&good), &bad)?;
    save(file, &bisect)?;
    say(engine, &bisect, out)
}

fn reset(file: &Path, out: &mut Out) -> Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(none()),
        removed => removed.map_err(|error| unusable("remove", file, &error))?,
    }
    match out.json {
        true => Ok(out.json(&json!({"reset": true}))?),
        false => Ok(out.line("the search is ended")?),
    }
}

/// Prints the state to test next, or the event that was found.
fn say(engine: &Engine, bisect: &Bisect, out: &mut Out) -> Result<()> {
    let Some(next) = bisect.next_point() else {
        return report::print(engine, bisect, None, out);
    };
    let place = report::address(&next, next.offset);
    if out.json {
        return Ok(out.json(&json!({"next": place, "left": bisect.left()}))?);
    }
    let left = crate::output::count(bisect.left().into(), "state");
    out.line(format!("look at {place}; at most {left} to look at"))?;
    out.advice(format!("`milepost state {place}` prints it"))?;
    Ok(out.advice(
        "`milepost bisect good`, `milepost bisect bad` or `milepost bisect skip` says what it is",
    )?)
}

fn load(engine: &Engine, file: &Path) -> Result<Bisect> {
    let progress = read(file)?;
    let at = |offset| Address::Task {
        task: progress.task.clone(),
        lineage: Some(progress.lineage),
        place: AddressTarget::Offset(offset),
    };
    let point = |offset| -> Result<Point> {
        let found = engine.resolve(&at(offset)).map_err(Failure::from);
        found.map_err(|failure| failure.hint("`milepost bisect reset` ends the search"))
    };
    let (good, bad) = (point(progress.good)?, point(progress.bad)?);
    let mut bisect = begin(engine, Some(&good), &bad)?;
    for offset in progress.skipped {
        bisect.skip(offset)?;
    }
    Ok(bisect)
}

fn read(file: &Path) -> Result<Progress> {
    let long = match fs::metadata(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(none()),
        metadata => metadata.is_ok_and(|metadata| metadata.len() > FILE_MAX),
    };
    if long {
        return Err(unusable("read", file, &"it is too long"));
    }
    let text = fs::read(file).map_err(|error| unusable("read", file, &error))?;
    serde_json::from_slice(&text).map_err(|error| unusable("read", file, &error))
}

fn save(file: &Path, bisect: &Bisect) -> Result<()> {
    let (good, bad) = (bisect.good(), bisect.bad());
    let progress = Progress {
        task: bad.task.clone(),
        lineage: bad.lineage,
        good: good.offset,
        bad: bad.offset,
        skipped: bisect.skipped().collect(),
    };
    let text = serde_json::to_vec(&progress)?;
    write(file, &text).map_err(|error| unusable("write", file, &error))
}

fn write(file: &Path, text: &[u8]) -> io::Result<()> {
    let mut written = WholeFile::begin(file)?;
    written.write(text)?;
    written.end()
}

fn none() -> Failure {
    Failure::new("no search by hand is going on")
        .hint("`milepost bisect start BAD GOOD` begins one")
}

fn unusable(what: &str, file: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::new(format!("cannot {what} {}: {error}", file.display()))
        .hint("`milepost bisect reset` ends the search and removes the file")
}
