//! Inputs that are one document: read and planned as a whole before anything is written.

use std::io::Read;

use milepost::calls::Cancel;
use milepost::internals::json_reason;
use milepost::{Engine, ErrorKind, Options};
use serde::de::IgnoredAny;

use super::exclusive::Exclusive;
use super::plan::{Plan, Run};
use super::{Job, RecordOptions, RecordReport, RecordedTask, openai, swe_agent, tau_bench, write};
use crate::error::{Error, Remedy, Result};
use crate::format::Format;
use crate::input::Reader;
use crate::json_object::{Object, check_depth, compact};
use crate::progress::{Progress, Unit, Work};

/// Maximum size of a document. Its import takes about four times its size in memory.
const DOCUMENT_MAX: u64 = 512 << 20;

/// Records a document: all of it, or nothing. It is written to a store in memory first.
pub(super) fn record(
    job: &Job<'_>,
    format: Format,
    reader: Reader,
    progress: &mut dyn Progress,
) -> Result<RecordReport> {
    let plans = plans(format, read(job, reader)?).map_err(|why| {
        let error = Error::invalid(format!("{}{why}", job.name));
        error.remedied_by(Remedy::NameOtherFormat(format))
    })?;
    let plans: Vec<(String, Plan)> =
        plans.into_iter().map(|plan| (task_id(job, format, &plan), plan)).collect();
    for (id, plan) in &plans {
        check(job, id, plan)?;
    }
    try_out(job, &plans)?;
    job.store.cancel().check()?;
    let items = |plan: &Plan| plan.runs.iter().map(|run| run.items.len() as u64).sum::<u64>();
    let all: u64 = plans.iter().map(|(_, plan)| items(plan)).sum();
    progress.begin(Work { name: job.name, unit: Unit::Items, total: Some(all) });
    let mut report = RecordReport::default();
    let RecordOptions { user, acknowledge, .. } = job.options;
    for (task, plan) in plans {
        let _alone = Exclusive::wait(job.store, &task)?;
        // A document that is begun is written whole.
        let whole = job.store.with_cancel(&Cancel::NEVER);
        let written = write::write_plan(&whole, &task, user, &plan, *acknowledge, &mut *progress)
            .map_err(|error| error.at(format!("{}: task {task}", job.name)))?;
        report.tasks.push(RecordedTask {
            task,
            format,
            lineages: written.lineages,
            events: written.events,
            checkpoints: written.checkpoints,
            head: written.head,
        });
    }
    progress.end();
    Ok(report)
}

fn task_id(job: &Job<'_>, format: Format, plan: &Plan) -> String {
    match (&plan.suffix, job.options.task.as_deref().or(job.stem)) {
        (None, _) => job.task_id(),
        (Some(suffix), Some(prefix)) => format!("{prefix}-{suffix}"),
        (Some(suffix), None) => format!("{}-{suffix}", format.name()),
    }
}

/// Reads a whole document.
pub(super) fn read(job: &Job<'_>, reader: Reader) -> Result<String> {
    let too_large = || {
        let max = DOCUMENT_MAX >> 20;
        Error::invalid(format!("{}: over {max} MiB, too large for one document", job.name))
            .remedied_by(Remedy::SplitDocument)
    };
    if job.size.is_some_and(|size| size > DOCUMENT_MAX) {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    let mut limited = reader.take(DOCUMENT_MAX + 1);
    limited.read_to_end(&mut bytes).map_err(|error| Error::from(error).at(job.name))?;
    if bytes.len() as u64 > DOCUMENT_MAX {
        return Err(too_large());
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1;
        Error::invalid(format!("{}:{line}: invalid UTF-8 at byte {at} of the file", job.name))
            .remedied_by(Remedy::ConvertToUtf8)
    })
}

/// Reads the JSON values of a whole document.
pub(super) fn read_values(job: &Job<'_>, reader: Reader) -> Result<Vec<String>> {
    let text = read(job, reader)?;
    values(text.strip_prefix('\u{feff}').unwrap_or(&text))
        .map_err(|error| Error::invalid(format!("{}{}", job.name, no_json(&error))))
}

/// Returns the place and the reason of an error, as `:LINE:COLUMN: reason`.
fn no_json(error: &serde_json::Error) -> String {
    let why = json_reason(error);
    let why = why.split(" at line ").next().unwrap_or_default();
    format!(":{}:{}: not JSON: {why}", error.line(), error.column())
}

/// Returns the plans of a document, or an error as `:LINE: reason`.
pub fn plans(format: Format, whole: impl Into<String>) -> Result<Vec<Plan>, String> {
    let whole = whole.into();
    let text = whole.strip_prefix('\u{feff}').unwrap_or(&whole);
    let json = |error: serde_json::Error| no_json(&error);
    let form = |what: &str| format!(": {what}");
    if format == Format::OpenAi {
        let values = values(text).map_err(json)?;
        if values.is_empty() {
            return Err(form("empty: there is nothing to record"));
        }
        drop(whole);
        for value in &values {
            check_depth(value).map_err(|why| form(&why))?;
        }
        return openai::plans(&values).map_err(|why| form(&why));
    }
    serde_json::from_str::<IgnoredAny>(text).map_err(json)?;
    check_depth(text).map_err(|why| form(&why))?;
    let text = compact(text);
    drop(whole);
    match format {
        Format::TauBench => {
            let entries: Vec<Object> = serde_json::from_str(&text)
                .map_err(|error| form(&format!("not a list of results: {error}")))?;
            drop(text);
            if entries.is_empty() {
                return Err(form("an empty list: there is nothing to record"));
            }
            tau_bench::plans(entries).map_err(|why| form(&why))
        }
        Format::SweAgent
        | Format::Jsonl
        | Format::ClaudeCode
        | Format::Codex
        | Format::GeminiCli
        | Format::QwenCode
        | Format::Copilot
        | Format::Opencode
        | Format::OpenAi
        | Format::LangGraph
        | Format::CheckpointTable
        | Format::PauseState => {
            let file: Object = serde_json::from_str(&text)
                .map_err(|error| form(&format!("not a trajectory: {error}")))?;
            drop(text);
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
fn check(job: &Job<'_>, id: &str, plan: &Plan) -> Result<()> {
    match job.store.task(id) {
        Ok(_) => {
            return Err(Error::conflict(format!("{}: the task {id} exists already", job.name))
                .remedied_by(Remedy::NameOtherTask));
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error.into()),
    }
    let largest = plan.runs.iter().map(Run::event_max).max().unwrap_or_default();
    let max = job.options.event_max;
    if largest > max {
        return Err(Error::invalid(format!(
            "{}: an event of {largest} bytes is over the limit of {max}",
            job.name
        ))
        .remedied_by(Remedy::RaiseEventMax(largest)));
    }
    Ok(())
}

/// Writes the plans to a temporary store in memory.
fn try_out(job: &Job<'_>, plans: &[(String, Plan)]) -> Result<()> {
    let options = Options::default().event_max(job.options.event_max);
    let engine = Engine::in_memory(options)?.with_cancel(job.store.cancel());
    for (task, plan) in plans {
        write::write_plan(&engine, task, &job.options.user, plan, false, &mut ())
            .map_err(|error| error.at(format!("{}: task {task}", job.name)))?;
    }
    Ok(engine.close()?)
}

#[cfg(test)]
mod tests;
