//! `record`: turns runs of other programs into tasks.

use std::path::PathBuf;

use milepost::Options;
use milepost_formats::Format;
use milepost_formats::input::RunInput;
use milepost_formats::record::{RecordOptions, RecordReport, RecordedTask, record};
use serde_json::{Value, json};

use super::conversion::Bars;
use crate::args::Record;
use crate::backend::hints::current_user;
use crate::error::{Failure, Result, UNMET};
use crate::output::{Out, big, count, printable};
use crate::store_locator::{StoreArgs, attach};

/// Minimum number of bytes for a progress bar.
const LONG: u64 = 8 << 20;

/// A recorded task, and the name of its input.
struct Recorded {
    input: String,
    task: RecordedTask,
}

/// Result of all inputs: the recorded tasks, the numbers of lines and checkpoints that could not be
/// recorded, and the first failure.
#[derive(Default)]
struct Outcome {
    recorded: Vec<Recorded>,
    bad_lines: u64,
    /// Checkpoints of a database that could not be recorded, and their writes.
    bad_checkpoints: u64,
    worst: Option<Failure>,
}

impl Outcome {
    fn is_complete(&self) -> bool {
        self.bad_lines == 0 && self.bad_checkpoints == 0 && self.worst.is_none()
    }

    fn add(&mut self, input: &str, report: RecordReport) {
        let RecordReport { tasks, bad_lines, bad_checkpoints, failed } = report;
        self.bad_lines += bad_lines;
        self.bad_checkpoints += bad_checkpoints;
        let recorded = tasks.into_iter().map(|task| Recorded { input: input.to_owned(), task });
        self.recorded.extend(recorded);
        if let Some(error) = failed {
            // It is printed already.
            let said = Failure::reported(Failure::from(error).code());
            self.worst.get_or_insert(said);
        }
    }
}

pub fn run(store: &StoreArgs, args: &Record, out: &mut Out) -> Result<()> {
    if args.task.is_some() && args.files.len() > 1 {
        return Err(Failure::new("--task names one task, and there are several files")
            .hint("record the files one by one, or leave --task out"));
    }
    // A pipe may stay open for days, so other processes can attach.
    let long = args.files.iter().any(|path| path.as_os_str() == "-");
    let all = record_all(store, args, long, out)?;
    report(&all.recorded, args, out)?;
    end(all, args)
}

/// Records for `import`, which prints JSON of another form.
pub fn import(store: &StoreArgs, args: &Record, out: &mut Out) -> Result<()> {
    let all = record_all(store, args, true, out)?;
    if out.json {
        let tasks: Vec<Value> = all.recorded.iter().map(form).collect();
        out.json(&json!({
            "tasks": tasks,
            "bad_lines": big(all.bad_lines),
            "bad_checkpoints": big(all.bad_checkpoints),
        }))?;
    } else {
        report(&all.recorded, args, out)?;
    }
    end(all, args)
}

/// Records all files. With `attached`, other processes can query the store during the recording.
fn record_all(store: &StoreArgs, args: &Record, attached: bool, out: &mut Out) -> Result<Outcome> {
    // Without a readable file, no store is created.
    let mut only = match args.files.as_slice() {
        [path] => Some(RunInput::open(path)?),
        paths => {
            check_any_opens(paths, out)?;
            None
        }
    };
    let options = RecordOptions {
        user: args.user.clone().unwrap_or_else(current_user),
        task: args.task.clone(),
        format: args.format.into_format(),
        strict: args.strict,
        acknowledge: args.ack,
        event_max: args.event_max,
    };
    let engine = store.open_or_create_with_hooks(Options::default().event_max(args.event_max))?;
    let attached = attached.then(|| attach(&engine));
    let mut all = Outcome::default();
    for path in &args.files {
        let input = only.take().map_or_else(|| RunInput::open(path), Ok);
        let done = input.and_then(|input| {
            let name = input.name().to_owned();
            let mut bars = Bars::acknowledging(LONG, out);
            Ok((name, record(&engine, input, &options, &mut bars)?))
        });
        match done {
            Ok((name, report)) => all.add(&name, report),
            Err(error) => {
                let failure = Failure::from(error);
                // With several files, a failure is printed here and the other files are recorded.
                if args.files.len() > 1 {
                    failure.print(out.error_style());
                }
                all.worst.get_or_insert(failure);
            }
        }
        if args.strict && !all.is_complete() {
            break;
        }
    }
    drop(attached);
    let closed = engine.close();
    if all.is_complete() {
        closed?;
    }
    Ok(all)
}

/// Checks that at least one of the files can be read.
fn check_any_opens(paths: &[PathBuf], out: &Out) -> Result<()> {
    let mut failures = Vec::new();
    for path in paths {
        match RunInput::open(path) {
            Ok(_) => return Ok(()),
            Err(error) => failures.push(Failure::from(error)),
        }
    }
    for failure in &failures {
        failure.print(out.error_style());
    }
    Err(Failure::reported(failures.first().map_or(UNMET, Failure::code)))
}

fn end(all: Outcome, args: &Record) -> Result<()> {
    match all.worst {
        Some(failure) if args.files.len() > 1 => Err(Failure::reported(failure.code())),
        Some(failure) => Err(failure),
        None if !all.is_complete() => Err(left_out(&all, args)),
        None => Ok(()),
    }
}

fn left_out(outcome: &Outcome, args: &Record) -> Failure {
    let lines = count(outcome.bad_lines, "line");
    let checkpoints = count(outcome.bad_checkpoints, "checkpoint");
    let what = match (outcome.bad_lines, outcome.bad_checkpoints) {
        (_, 0) => lines,
        (0, _) => checkpoints,
        _ => format!("{lines} and {checkpoints}"),
    };
    let failure = Failure::new(format!("{what} could not be recorded")).code_of(UNMET);
    let of_session = |recorded: &Recorded| recorded.task.format == Format::ClaudeCode;
    if args.strict {
        failure.hint("the lines before it are recorded; without --strict the rest is recorded too")
    } else if outcome.bad_lines == 0 {
        failure
            .hint("the others are recorded; what went on from these went on from those before them")
    } else if outcome.recorded.iter().any(of_session) {
        failure.hint(
            "the other lines are recorded; with these corrected it is another session: \
            import it under another name",
        )
    } else {
        failure.hint("the other lines are recorded; correct these and record them alone")
    }
}

fn report(recorded: &[Recorded], args: &Record, out: &mut Out) -> Result<()> {
    if args.ack {
        return Ok(());
    }
    if out.json {
        return Ok(out.json(&Value::Array(recorded.iter().map(form).collect()))?);
    }
    if recorded.is_empty() {
        return Ok(());
    }
    let row = |Recorded { task, .. }: &Recorded| {
        vec![
            printable(&task.task).into_owned(),
            task.format.name().to_owned(),
            task.lineages.to_string(),
            task.events.to_string(),
            task.checkpoints.to_string(),
            format!("@{}", task.head),
        ]
    };
    let rows: Vec<Vec<String>> = recorded.iter().map(row).collect();
    Ok(out.table(&["TASK", "FORMAT", "LINEAGES", "EVENTS", "CHECKPOINTS", "HEAD"], &rows)?)
}

fn form(Recorded { input, task }: &Recorded) -> Value {
    json!({
        "id": task.task,
        "input": input,
        "format": task.format.name(),
        "lineages": task.lineages,
        "events": big(task.events),
        "checkpoints": big(task.checkpoints),
        "head": big(task.head),
    })
}
