//! Compares Milepost with the alternatives that its users have: the same work, in turn, in one run.
//!
//! `just compare [quick] [WORK...] [--only WHO] [--to DIR]` with works `appends`, `load`, `steps`,
//! `growth` (of Milepost alone) and `limits`. It prints a page with one table a work; with `--to
//! DIR` it is written there too (`comparison.md`), with all figures as JSON (`comparison.json`) and
//! plots (SVG). Logs are made in the current folder, or in `MILEPOST_BENCH_DIR`; it should be on
//! the disk to be measured. All of it takes half an hour, `quick` five minutes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use milepost_benches::compare::figures::{Figures, machine};
use milepost_benches::compare::{appends, contestants, growth, limits, load, plots, steps};

const WORKS: [&str; 5] = ["appends", "load", "steps", "growth", "limits"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut to, mut only) = (None, None);
    let (mut quick, mut named) = (false, Vec::new());
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "quick" => quick = true,
            "--only" => only = args.next(),
            "--to" => to = args.next().map(PathBuf::from),
            work if WORKS.contains(&work) => named.push(arg),
            other => return Err(format!("`{other}` is none of {WORKS:?}").into()),
        }
    }
    let wanted = |work: &str| named.is_empty() || named.iter().any(|name| name == work);
    let rounds = if quick { 3 } else { 5 };
    let mut figures = Figures {
        machine: machine(),
        durability: contestants::ALL
            .iter()
            .map(|one| (one.name.to_owned(), one.durability.to_owned()))
            .collect(),
        ..Figures::default()
    };
    let only = only.as_deref();
    if wanted("limits") {
        limits::limits(&mut figures, rounds, 64 << 20);
    }
    if wanted("appends") {
        let span = Duration::from_millis(if quick { 300 } else { 1000 });
        appends::appends(&mut figures, rounds, span, only);
    }
    if wanted("load") {
        load::load(&mut figures, rounds, if quick { 128 << 20 } else { 1 << 30 }, only);
    }
    if wanted("steps") {
        steps::steps(
            &mut figures,
            if quick { 1 } else { rounds },
            if quick { 300 } else { 1000 },
            only,
        );
    }
    if wanted("growth") && only.is_none_or(|only| only == "Milepost") {
        let (events, others) = if quick { (100_000, 1000) } else { (10_000_000, 10_000) };
        growth::growth(&mut figures, if quick { 1 } else { 3 }, events, others);
    }
    println!("{}", figures.page());
    if let Some(dir) = to {
        write(&figures, &dir)?;
    }
    Ok(())
}

fn write(figures: &Figures, dir: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let drawn = plots::draw(figures, dir)?;
    let mut page = figures.page();
    for name in drawn {
        page.push_str(&format!("\n![{name}]({name})\n"));
    }
    std::fs::write(dir.join("comparison.md"), page)?;
    let json = serde_json::to_string_pretty(figures)?;
    Ok(std::fs::write(dir.join("comparison.json"), json)?)
}
