//! The report of `record` and `import`: imported tasks, and what was left out.

use milepost_api::{FailedInput, ImportForm, ImportedForm};
use milepost_formats::Format;
use serde_json::{Value, json};

use super::failures;
use crate::error::{Failure, Result, UNMET};
use crate::output::{Out, count, printable, words};

/// Prints the report.
pub fn print(form: &ImportForm, out: &mut Out) -> Result<()> {
    if out.json {
        return Ok(out.json(&document(form)?)?);
    }
    if form.tasks.is_empty() {
        return Ok(());
    }
    let repeats = form.tasks.iter().any(|task| task.repeated.is_some());
    let mut columns = vec!["TASK", "FORMAT", "LINEAGES", "EVENTS", "CHECKPOINTS"];
    columns.extend(repeats.then_some("REPEATED"));
    columns.push("HEAD");
    let row = |task: &ImportedForm| {
        let mut row = vec![
            printable(&words::encode(&task.id)).into_owned(),
            printable(&task.format).into_owned(),
            task.lineages.to_string(),
            task.events.to_string(),
            task.checkpoints.to_string(),
        ];
        let repeated = task.repeated.map_or(String::new(), |count| count.to_string());
        row.extend(repeats.then_some(repeated));
        row.push(format!("@{}", task.head));
        row
    };
    let rows: Vec<Vec<String>> = form.tasks.iter().map(row).collect();
    out.table(&columns, &rows)?;
    if form.copies {
        out.advice("with hashes of their own: `milepost show TASK@0` says where each comes from")?;
    }
    Ok(())
}

fn document(form: &ImportForm) -> Result<Value> {
    let failed =
        |failed: &FailedInput| json!({"input": failed.input, "message": failures::message(failed)});
    let failed: Vec<Value> = form.failed.iter().map(failed).collect();
    Ok(json!({
        "tasks": serde_json::to_value(&form.tasks)?,
        "bad_lines": form.bad_lines,
        "bad_checkpoints": form.bad_checkpoints,
        "skipped": serde_json::to_value(&form.skipped)?,
        "failed": failed,
        "copies": form.copies,
    }))
}

/// Returns the failure of the command, if there is one: that of the first input that failed.
pub fn end(form: &ImportForm, strict: bool) -> Result<()> {
    match form.failed.first() {
        Some(failed) if failed.is_noted => Err(Failure::reported(failures::of(failed).code())),
        Some(failed) => Err(failures::of(failed)),
        None if form.is_complete() => Ok(()),
        None => Err(left_out(form, strict)),
    }
}

fn left_out(form: &ImportForm, strict: bool) -> Failure {
    let (lines, checkpoints) = (form.bad_lines.0, form.bad_checkpoints.0);
    let files = form.skipped.len() as u64;
    let parts = [(lines, "line"), (checkpoints, "checkpoint"), (files, "file")];
    let parts = parts.into_iter().filter(|(number, _)| *number > 0);
    let parts: Vec<String> = parts.map(|(number, what)| count(number, what)).collect();
    let done = if lines == 0 && checkpoints == 0 { "imported" } else { "recorded" };
    let what = parts.join(" and ");
    let failure = Failure::new(format!("{what} could not be {done}")).code_of(UNMET);
    let of_session = |task: &ImportedForm| {
        let sessions = [
            Format::ClaudeCode,
            Format::Codex,
            Format::GeminiCli,
            Format::QwenCode,
            Format::Copilot,
            Format::Opencode,
        ];
        sessions.iter().any(|format| format.name() == task.format)
    };
    failure.hint(if lines == 0 && checkpoints == 0 {
        "mend them and import the folder again: what is in already stays as it is"
    } else if form.tasks.is_empty() {
        "nothing is recorded; docs/IMPORT.md lists the formats, and --format names one"
    } else if strict {
        "the lines before it are recorded; without --strict the rest is recorded too"
    } else if lines == 0 {
        "the others are recorded; what went on from these went on from those before them"
    } else if form.tasks.iter().any(of_session) {
        "the other lines are recorded; with these corrected it is another session: import it under \
         another name"
    } else if form.unknown_kinds.0 > 0 {
        "the other lines are recorded; correct these and record them alone, or with \
         --allow-unknown, as `application` events"
    } else {
        "the other lines are recorded; correct these and record them alone"
    })
}
