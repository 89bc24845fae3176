//! `import --dry-run`: imports exports and shares into memory, with all checks, and prints what an
//! import into the store would add.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use milepost::calls::Cancel;
use milepost::{Engine, ErrorKind};
use milepost_api::Big;
use milepost_api::calls::Task;
use milepost_formats::export_file::{EVENT_MAX, ExportImport, ExportInput, TaskOfExport};
use milepost_formats::look::{Input, look};
use milepost_share::IndexCheck;
use serde_json::{Value, json};

use super::ImportArgs;
use crate::backend::Remote;
use crate::error::{Failure, Result};
use crate::output::words::encode;
use crate::output::{Out, printable, shell_word};
use crate::store_locator::StoreArgs;

/// The store that an import would add to.
enum Target {
    /// An import would create it.
    Missing,
    /// A store on this machine, opened read-only.
    Here(Engine),
    /// A service at an address, which does not tell the origins of its tasks.
    Service(Remote),
}

/// A task that an import would add.
struct WouldAdd {
    input: String,
    /// The comparison of a share's index with its events.
    index: Option<IndexCheck>,
    imported: TaskOfExport,
    is_copy: bool,
    /// True if the store has a task of its name.
    is_named: bool,
    /// The task of the store with the same history.
    same: Option<String>,
}

pub fn run(store: &StoreArgs, args: &ImportArgs, out: &mut Out) -> Result<()> {
    let inputs = exports(args)?;
    let target = target(store)?;
    let options = store.options_in_memory()?;
    let engine = Engine::in_memory(options.event_max(EVENT_MAX).snapshots(false))?;
    let mut all = Vec::new();
    for (path, import) in inputs {
        let input = path.display().to_string();
        let name = args.runs.task.as_deref();
        let tasks = import.header().tasks.0;
        if name.is_some() && tasks != 1 {
            let text = format!("--as names one task, and {input} has {tasks}");
            return Err(Failure::new(text).hint("leave it out, or export the task alone"));
        }
        let imported = import.run(&engine, name, &mut ())?;
        for task in imported.tasks {
            let (is_named, same) = target.found(&task)?;
            let (input, is_copy, index) = (input.clone(), imported.copies, index_of(&path)?);
            all.push(WouldAdd { input, index, imported: task, is_copy, is_named, same });
        }
    }
    match out.json {
        true => print_json(&all, out)?,
        false => print_text(&all, out)?,
    }
    let forged = all.iter().find(|one| !one.is_as_shown());
    forged.map_or(Ok(()), |one| {
        let name = if one.is_named { " --as NAME" } else { "" };
        let file = shell_word(&one.input);
        Err(Failure::new(format!("{}: a browser shows other rows than its events", one.input))
            .hint(format!("`milepost import {file}{name}` imports the events alone")))
    })
}

/// Compares the index of a share with its events. Standard input is read once, and is not compared.
fn index_of(path: &Path) -> Result<Option<IndexCheck>> {
    if path.as_os_str() == "-" {
        return Ok(None);
    }
    let open = || -> io::Result<Box<dyn Read>> { Ok(Box::new(File::open(path)?)) };
    Ok(milepost_share::check(&open)?)
}

impl WouldAdd {
    /// Returns `true` if a browser shows what the events say, as far as the file was compared.
    fn is_as_shown(&self) -> bool {
        self.index.as_ref().is_none_or(|index| index.differing.is_empty())
    }
}

/// Returns the exports, with their files.
fn exports(args: &ImportArgs) -> Result<Vec<(PathBuf, ExportImport)>> {
    let mut exports = Vec::new();
    for path in &args.from {
        for input in look(path, None, &Cancel::NEVER, &mut ())? {
            let shown = input.path().display().to_string();
            let Input::Export(path) = input else {
                return Err(Failure::new(format!(
                    "--dry-run is for exports and shares, and {shown} is neither"
                ))
                .hint(format!(
                    "`milepost --store DIR import {}` without --dry-run imports it into a store \
                     of its own",
                    shell_word(&shown)
                )));
            };
            let import = ExportImport::begin(ExportInput::open(&path)?)?;
            exports.push((path, import));
        }
    }
    if args.runs.task.is_some() && exports.len() > 1 {
        let text = format!("--as names one task, and there are {} inputs", exports.len());
        return Err(Failure::new(text).hint("leave it out, or give one input"));
    }
    Ok(exports)
}

fn target(store: &StoreArgs) -> Result<Target> {
    match store.folder_if_any()? {
        Some(dir) => store.without_anchor().read_only_at(&dir).map(Target::Here),
        None => Ok(store.holder()?.map_or(Target::Missing, Target::Service)),
    }
}

impl Target {
    /// Returns `true` if the store has a task of the name, and the task with the same history.
    fn found(&self, imported: &TaskOfExport) -> Result<(bool, Option<String>)> {
        let id = imported.task.id();
        let is_missing = |kind: Option<ErrorKind>| kind == Some(ErrorKind::NotFound);
        match self {
            Self::Missing => Ok((false, None)),
            Self::Here(engine) => {
                let is_named = match engine.task(id) {
                    Ok(_) => true,
                    Err(error) if is_missing(Some(error.kind())) => false,
                    Err(error) => return Err(error.into()),
                };
                Ok((is_named, engine.transfer().task_of_history(imported.origin)?))
            }
            Self::Service(there) => match there.answer(there.client().call(&Task::new(id))) {
                Ok(_) => Ok((true, None)),
                Err(error) if error.kind() == ErrorKind::NotFound => Ok((false, None)),
                Err(error) => Err(error.into()),
            },
        }
    }
}

fn print_json(all: &[WouldAdd], out: &mut Out) -> Result<()> {
    let tasks = all.iter().map(document).collect::<Result<Vec<Value>>>()?;
    Ok(out.json(&json!({ "dry_run": true, "tasks": tasks }))?)
}

fn document(would_add: &WouldAdd) -> Result<Value> {
    let WouldAdd { input, index, imported, is_copy, is_named, same } = would_add;
    let TaskOfExport { task, origin, head, withheld, trusted } = imported;
    let own = task.head()?;
    Ok(json!({
        "id": task.id(),
        "input": input,
        "user": task.user(),
        "copy": is_copy,
        "lineages": task.lineages()?.len(),
        "events": Big(task.info()?.events),
        "checkpoints": Big(task.checkpoints()?),
        "withheld": Big(*withheld),
        "trusted": Big(*trusted),
        "erased": Big(erased(would_add)),
        "head": Big(own.next),
        "hash": (!is_copy).then_some(own.hash),
        "stated": {"origin": origin, "hash": head.map(|head| head.hash)},
        "name_exists": is_named,
        "same_history": same,
        "index": index.as_ref().map(|index| json!({
            "version": index.version,
            "same": index.differing.is_empty(),
            "differing": index.differing,
        })),
    }))
}

/// Returns the number of events that were erased before they were exported.
fn erased(would_add: &WouldAdd) -> u64 {
    let TaskOfExport { task, withheld, .. } = &would_add.imported;
    // Withheld events of an identical task are erased by the import.
    let by_import = if would_add.is_copy { 0 } else { *withheld };
    task.erased().saturating_sub(by_import)
}

fn print_text(all: &[WouldAdd], out: &mut Out) -> Result<()> {
    let columns =
        ["TASK", "OWNER", "LINEAGES", "EVENTS", "CHECKPOINTS", "WITHHELD", "ERASED", "HEAD"];
    let row = |would_add: &WouldAdd| -> Result<Vec<String>> {
        let TaskOfExport { task, withheld, trusted, .. } = &would_add.imported;
        Ok(vec![
            printable(task.id()).into_owned(),
            printable(task.user()).into_owned(),
            task.lineages()?.len().to_string(),
            task.info()?.events.to_string(),
            task.checkpoints()?.to_string(),
            (withheld + trusted).to_string(),
            erased(would_add).to_string(),
            format!("@{}", task.head()?.next),
        ])
    };
    out.table(&columns, &all.iter().map(row).collect::<Result<Vec<_>>>()?)?;
    for would_add in all {
        for line in facts(would_add)? {
            out.line(line)?;
        }
    }
    Ok(out.line(match all.iter().all(WouldAdd::is_as_shown) {
        true => "verified; nothing was imported",
        false => "the events are verified, what a browser lists is not; nothing was imported",
    })?)
}

/// Returns the lines about a task below the table.
fn facts(would_add: &WouldAdd) -> Result<Vec<String>> {
    let WouldAdd { index, imported, is_copy, is_named, same, .. } = would_add;
    let TaskOfExport { task, head, trusted, .. } = imported;
    let name = printable(task.id()).into_owned();
    let mut lines = Vec::new();
    lines.push(match (is_copy, head) {
        (false, _) => format!("{name}: identical, with the head {}", task.head()?.hash),
        (true, Some(head)) => format!(
            "{name}: a copy, with hashes of its own; the file states the head {}, unverified",
            head.hash
        ),
        (true, None) => format!("{name}: a copy, with hashes of its own"),
    });
    if let Some(index) = index.as_ref().filter(|index| !index.differing.is_empty()) {
        let (first, more) = (index.differing.first(), index.differing.len() - 1);
        let first = printable(first.map_or("", |name| name)).into_owned();
        let others = if more > 0 { format!(" and {more} more") } else { String::new() };
        let written = match index.version == env!("CARGO_PKG_VERSION") {
            true => String::new(),
            false => format!(" (written by {})", printable(&index.version)),
        };
        lines.push(format!("{name}: ✗ the index{written} is not the events': {first}{others}"));
    }
    if *trusted > 0 {
        lines.push(format!("{name}: the file has {trusted} events on trust"));
    }
    if let Some(same) = same {
        let same = printable(same);
        let refused = if *is_copy { "" } else { ": only a copy of it can be imported" };
        lines.push(format!("{name}: this history is in the store, as task {same}{refused}"));
    }
    if *is_named {
        let other = encode(task.id());
        lines.push(format!("{name}: the store has a task {other}: --as NAME is needed"));
    }
    Ok(lines)
}
