//! Inputs that are one document: read and planned as a whole before anything is written.

use std::io::Read;

use milepost::{Engine, ErrorKind, Options};
use serde::de::IgnoredAny;

use super::json_object::{Object, check_depth, compact};
use super::plan::Plan;
use super::{Format, Input, Outcome, Reader, Recorded};
use super::{acknowledge, openai, swe_agent, tau_bench, write};
use crate::error::{CONFLICT, Failure, Result};
use crate::output::{Out, bar};

/// Maximum size of a document. Its text and its plans are in memory at the same time.
const DOCUMENT_MAX: u64 = 512 << 20;
/// Minimum number of items for a progress bar.
const LONG: u64 = 20_000;

/// Records a document: all of it, or nothing. It is written to a store in memory first.
pub fn record(input: &Input<'_>, format: Format, reader: Reader, out: &mut Out) -> Result<Outcome> {
    let text = read(input, reader)?;
    let plans = plans(format, &text).map_err(|why| {
        Failure::new(format!("{}{why}", input.name))
            .hint(format!("it was read as {}; --format names another format", format.name()))
    })?;
    drop(text);
    let plans: Vec<(String, Plan)> =
        plans.into_iter().map(|plan| (task_id(input, format, &plan), plan)).collect();
    for (id, plan) in &plans {
        check(input, id, plan)?;
    }
    try_out(input, &plans)?;
    let items = |plan: &Plan| plan.runs.iter().map(|run| run.items.len() as u64).sum::<u64>();
    let all: u64 = plans.iter().map(|(_, plan)| items(plan)).sum();
    let bar = bar(all, &input.name, all >= LONG && !out.json, false);
    let mut outcome = Outcome::default();
    for (task, plan) in plans {
        let mut tell = |durable| acknowledge(durable, out);
        let heard: write::Heard<'_> = if input.args.ack { Some(&mut tell) } else { None };
        let progress = |done| bar.inc(done);
        let written = write::write_plan(input.engine, &task, input.user, &plan, heard, &progress)
            .map_err(|failure| failure.at(format!("{}: task {task}", input.name)))?;
        outcome.recorded.push(Recorded {
            task,
            input: input.name.clone(),
            format,
            lineages: written.lineages,
            events: written.events,
            checkpoints: written.checkpoints,
            head: written.head,
        });
    }
    bar.finish_and_clear();
    Ok(outcome)
}

fn task_id(input: &Input<'_>, format: Format, plan: &Plan) -> String {
    match (&plan.suffix, input.args.task.as_ref().or(input.stem.as_ref())) {
        (None, _) => input.task_id(),
        (Some(suffix), Some(prefix)) => format!("{prefix}-{suffix}"),
        (Some(suffix), None) => format!("{}-{suffix}", format.name()),
    }
}

fn read(input: &Input<'_>, reader: Reader) -> Result<String> {
    let too_large = || {
        let max = DOCUMENT_MAX >> 20;
        Failure::new(format!("{}: over {max} MiB, too large for one document", input.name))
            .hint("split it, or write it as JSON Lines, which are read a line at a time")
    };
    if input.size.is_some_and(|size| size > DOCUMENT_MAX) {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    let mut limited = reader.take(DOCUMENT_MAX + 1);
    limited.read_to_end(&mut bytes).map_err(|error| Failure::from(error).at(&input.name))?;
    if bytes.len() as u64 > DOCUMENT_MAX {
        return Err(too_large());
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1;
        Failure::new(format!("{}:{line}: invalid UTF-8 at byte {at} of the file", input.name))
            .hint("convert the file to UTF-8")
    })
}

/// Returns the plans of a document, or an error as `:LINE: reason`.
fn plans(format: Format, text: &str) -> Result<Vec<Plan>, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let json = |error: serde_json::Error| {
        let why = error.to_string();
        let why = why.split(" at line ").next().unwrap_or_default();
        format!(":{}:{}: not JSON: {why}", error.line(), error.column())
    };
    let form = |what: &str| format!(": {what}");
    if format == Format::OpenAi {
        let values = values(text).map_err(json)?;
        if values.is_empty() {
            return Err(form("empty: there is nothing to record"));
        }
        for value in &values {
            check_depth(value).map_err(|why| form(&why))?;
        }
        return openai::plans(&values).map_err(|why| form(&why));
    }
    serde_json::from_str::<IgnoredAny>(text).map_err(json)?;
    check_depth(text).map_err(|why| form(&why))?;
    let text = compact(text);
    match format {
        Format::TauBench => {
            let entries: Vec<Object> = serde_json::from_str(&text)
                .map_err(|error| form(&format!("not a list of results: {error}")))?;
            if entries.is_empty() {
                return Err(form("an empty list: there is nothing to record"));
            }
            tau_bench::plans(entries).map_err(|why| form(&why))
        }
        _ => {
            let file: Object = serde_json::from_str(&text)
                .map_err(|error| form(&format!("not a trajectory: {error}")))?;
            swe_agent::plan(file).map(|plan| vec![plan]).map_err(|why| form(&why))
        }
    }
}

/// Returns the JSON values of a text, one after another.
fn values(text: &str) -> serde_json::Result<Vec<String>> {
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    let (mut values, mut begin) = (Vec::new(), 0);
    while let Some(value) = stream.next() {
        value?;
        let end = stream.byte_offset();
        values.push(compact(text.get(begin..end).unwrap_or_default()));
        begin = end;
    }
    Ok(values)
}

/// Checks that the task does not exist, and that no event exceeds the limit.
fn check(input: &Input<'_>, id: &str, plan: &Plan) -> Result<()> {
    match input.engine.task(id) {
        Ok(_) => {
            return Err(Failure::new(format!("{}: the task {id} exists already", input.name))
                .code_of(CONFLICT)
                .hint("record it under another name with --task, or import it with --as"));
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error.into()),
    }
    let largest = plan.runs.iter().map(super::plan::Run::event_max).max().unwrap_or_default();
    let max = input.args.event_max;
    if largest > max {
        return Err(Failure::new(format!(
            "{}: an event of {largest} bytes is over the limit of {max}",
            input.name
        ))
        .hint(format!("allow it with --event-max {largest}")));
    }
    Ok(())
}

/// Writes the plans to a temporary store in memory.
fn try_out(input: &Input<'_>, plans: &[(String, Plan)]) -> Result<()> {
    let options = Options::default().event_max(input.args.event_max);
    let engine = Engine::in_memory(options)?;
    for (task, plan) in plans {
        write::write_plan(&engine, task, input.user, plan, None, &|_| ())
            .map_err(|failure| failure.at(format!("{}: task {task}", input.name)))?;
    }
    Ok(engine.close()?)
}

#[cfg(test)]
mod tests;
