//! Imports an export: all of it, or nothing.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use data_encoding::HEXLOWER;
use milepost::{Engine, ErrorKind, Options, Task};
use serde_json::{Value, json};

use super::Import;
use crate::error::{CONFLICT, CORRUPT, Failure, Result};
use crate::export::file::{LINE_MAX, Reader, Wrong};
use crate::export::line::{BEGINNING, ExportHeader, Line};
use crate::output::{Out, bar, big, printable};
use crate::store_locator::{StoreArgs, attach};

/// Minimum number of bytes for a progress bar.
const LONG: u64 = 16 << 20;

/// Maximum size of an event, large enough for every store.
const EVENT_MAX: usize = 256 << 20;

/// Size of the read buffer, in bytes.
const BUFFER: usize = 1 << 20;

/// A file or standard input. The length is 0 if it is unknown.
pub struct Input {
    name: String,
    length: u64,
    reader: Box<dyn BufRead>,
}

/// Opens a file, or standard input.
pub fn input(path: &Path) -> Result<Input> {
    if path.as_os_str() == "-" {
        return Ok(Input {
            name: "standard input".to_owned(),
            length: 0,
            reader: Box::new(BufReader::with_capacity(BUFFER, io::stdin())),
        });
    }
    let name = path.display().to_string();
    let failed = |error: io::Error| Failure::new(format!("{name}: {error}"));
    let file = File::open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    Ok(Input { name, length, reader: Box::new(BufReader::with_capacity(BUFFER, file)) })
}

pub fn run(store: &StoreArgs, args: &Import, mut input: Input, out: &mut Out) -> Result<()> {
    if args.user.is_some() {
        return Err(Failure::new("--user is not for an export: it says whose its tasks are")
            .hint("import it without --user"));
    }
    check_beginning(&mut input)?;
    let name = input.name.clone();
    let mut reader = Reader::new(input.reader, LINE_MAX);
    let header = reader.header().map_err(|wrong| said(&name, &wrong))?;
    if args.name.is_some() && header.tasks.0 != 1 {
        return Err(Failure::new(format!(
            "--as names one task, and {name} has {}",
            header.tasks.0
        ))
        .hint("import it without --as, or export the task alone"));
    }
    let engine = store.open_or_create(Options::default().event_max(EVENT_MAX))?;
    let attached = attach(&engine);
    let bar = bar(input.length, "import", input.length >= LONG && !out.json, true);
    let done = take(&engine, args, &header, &mut reader, &mut |read| {
        bar.set_position(read);
    });
    bar.finish_and_clear();
    let reported = match done {
        Ok(tasks) => report(&tasks, &header, args, out),
        Err(Refused::File(wrong)) => Err(said(&name, &wrong)),
        Err(Refused::Store(line, error)) => Err(refused(&name, line, error)),
        Err(Refused::Other(failure)) => Err(failure),
    };
    drop(attached);
    let closed = engine.close();
    reported?;
    Ok(closed?)
}

/// Reason why nothing was imported.
enum Refused {
    File(Wrong),
    Store(u64, milepost::Error),
    Other(Failure),
}

impl From<Wrong> for Refused {
    fn from(wrong: Wrong) -> Self {
        Self::File(wrong)
    }
}

/// Imports all lines, or nothing if one is refused.
fn take(
    engine: &Engine,
    args: &Import,
    header: &ExportHeader,
    reader: &mut Reader<Box<dyn BufRead>>,
    progress: &mut dyn FnMut(u64),
) -> std::result::Result<Vec<Task>, Refused> {
    let copies = header.redacted || args.name.is_some();
    let key = engine.store().key_id().map(|id| HEXLOWER.encode(&id));
    if !copies && key != header.key {
        let failure = Failure::new(
            "the export is of a store with another key, or with none: its hashes would be others",
        );
        let hint = "`--as NAME` imports a task as a copy, with hashes of its own";
        return Err(Refused::Other(failure.hint(hint)));
    }
    let mut import = engine.transfer().import();
    let mut tasks = 0;
    while let Some(line) = reader.next()? {
        let number = reader.number();
        let taken = match line {
            Line::Task(task) => {
                tasks += 1;
                let name = args.name.as_ref().unwrap_or(&task.id);
                match copies {
                    true => import.copy(name, &task),
                    false => import.task(&task),
                }
            }
            Line::Chunk(chunk) => import.chunk(&chunk),
            Line::Event(event) => import.event(&event),
            Line::Header(_) | Line::End(_) => Ok(()),
        };
        taken.map_err(|error| Refused::Store(number, error))?;
        progress(reader.bytes_read());
    }
    if tasks != header.tasks.0 {
        let said = header.tasks.0;
        let why = format!("the first line says that there are {said} tasks, and there are {tasks}");
        return Err(Refused::File(reader.wrong(&why)));
    }
    let number = reader.number();
    milepost::transfer::Import::finish(import).map_err(|error| Refused::Store(number, error))
}

/// Checks that the input begins as an export does.
fn check_beginning(input: &mut Input) -> Result<()> {
    let mut begun = Vec::new();
    let failed = |error: io::Error| Failure::new(format!("{}: {error}", input.name));
    let mut reader = &mut input.reader;
    Read::by_ref(&mut reader)
        .take(BEGINNING.len() as u64)
        .read_to_end(&mut begun)
        .map_err(failed)?;
    if begun == BEGINNING.as_bytes() {
        let rest = std::mem::replace(&mut input.reader, Box::new(io::empty()));
        let whole = io::Cursor::new(begun).chain(rest);
        input.reader = Box::new(BufReader::with_capacity(BUFFER, whole));
        return Ok(());
    }
    Err(Failure::new(format!(
        "{}: not a folder, not an export, and no run of a program that is known",
        input.name
    ))
    .hint(
        "`--format` says how a run is written down; of JSON checkpoints give a project's folder, \
         or the one with the ckpt-*.json files",
    ))
}

fn said(name: &str, Wrong(line, why): &Wrong) -> Failure {
    Failure::new(format!("{name}, line {line}: {why}"))
        .code_of(CORRUPT)
        .hint("nothing was imported: export it again")
}

fn refused(name: &str, line: u64, error: milepost::Error) -> Failure {
    let kind = error.kind();
    let place = format!("{name}, line {line}");
    let failure = Failure::from(error).at(place);
    match kind {
        ErrorKind::Conflict => failure
            .code_of(CONFLICT)
            .hint("nothing was imported; `--as NAME` imports a task as a copy under another name"),
        ErrorKind::Diverged | ErrorKind::Corrupt => failure
            .code_of(CORRUPT)
            .hint("nothing was imported: the file was changed, or damaged; export it again"),
        ErrorKind::Invalid => failure.hint("nothing was imported"),
        _ => failure,
    }
}

fn report(tasks: &[Task], header: &ExportHeader, args: &Import, out: &mut Out) -> Result<()> {
    let copies = header.redacted || args.name.is_some();
    if out.json {
        let mut forms: Vec<Value> = Vec::new();
        for task in tasks {
            let (head, checkpoints) = (task.head()?, task.checkpoints()?);
            forms.push(json!({
                "id": task.id(),
                "format": "export",
                "user": task.user(),
                "events": big(task.info()?.events),
                "checkpoints": big(checkpoints),
                "head": big(head.next),
                "hash": head.hash,
            }));
        }
        return Ok(out.json(&json!({"tasks": forms, "copies": copies}))?);
    }
    let mut rows = Vec::new();
    for task in tasks {
        rows.push(vec![
            printable(task.id()).into_owned(),
            task.info()?.events.to_string(),
            task.checkpoints()?.to_string(),
            format!("@{}", task.head()?.next),
        ]);
    }
    out.table(&["TASK", "EVENTS", "CHECKPOINTS", "HEAD"], &rows)?;
    if copies {
        out.line("with hashes of their own: `milepost show TASK@0` says where each comes from")?;
    }
    Ok(())
}
