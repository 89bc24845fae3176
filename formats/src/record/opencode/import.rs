//! The import of an export of opencode.

use milepost::Json;

use super::{SESSIONS, parts, written};
use crate::error::{Error, Remedy, Result};
use crate::format::Format;
use crate::input::Reader;
use crate::json_object::check_depth;
use crate::progress::{Note, Progress, Unit, Work};
use crate::record::exclusive::Exclusive;
use crate::record::session::line::is_name;
use crate::record::session::writer::{NewLine, Session};
use crate::record::write::Refused;
use crate::record::{Job, RecordReport, RecordedTask, document};

/// The reason why the end of a session that still runs is left out.
const OPEN: &str = "it is not complete: what of it may still change, and what follows it, is left \
                    out; an export that is made later has it";

/// Records an export. Parts that were recorded before are not recorded again.
pub(in crate::record) fn record(
    job: &Job<'_>,
    reader: Reader,
    progress: &mut dyn Progress,
) -> Result<RecordReport> {
    let text = document::read(job, reader)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let document = check_depth(text).and_then(|()| parts::read(text)).map_err(|why| {
        Error::invalid(format!("{}: {why}", job.name))
            .remedied_by(Remedy::NameOtherFormat(Format::Opencode))
    })?;
    let mut report = RecordReport::default();
    let mut skip = |progress: &mut dyn Progress, what: String, why: &str| {
        report.bad_lines += 1;
        let place = format!("{}: {what}", job.name);
        progress.note(Note::Skipped { place: &place, reason: why });
    };
    for (number, why) in &document.bad {
        skip(progress, format!("message {number}"), why);
    }
    if let Some(number) = document.open {
        let place = format!("{}: message {number}", job.name);
        progress.note(Note::Skipped { place: &place, reason: OPEN });
    }
    if job.options.strict && !document.bad.is_empty() {
        return Ok(report);
    }
    let id = match job.options.task.is_none() && is_name(&document.id) {
        true => document.id,
        false => job.task_id(),
    };
    let failed = |error: Error| error.at(job.name);
    let _alone = Exclusive::wait(job.store, &id)?;
    let mut session = Session::new(job.store, &SESSIONS, &id, &job.options.user).map_err(failed)?;
    let total = Some(document.lines.len() as u64);
    progress.begin(Work { name: job.name, unit: Unit::Items, total });
    for (number, line) in (1..).zip(document.lines) {
        job.store.cancel().check()?;
        let text = written(&line.events).unwrap_or_else(Json::null);
        let written = NewLine {
            text: text.text(),
            line,
            number,
            alone: job.options.acknowledge,
            listener: match job.options.acknowledge {
                true => Some(&mut *progress),
                false => None,
            },
        };
        session.write(written).map_err(failed)?;
        progress.advance(1);
    }
    let head = session.finish().map_err(failed)?;
    progress.end();
    for Refused { number, why } in session.take_refused() {
        skip(progress, format!("part {number}"), &why);
    }
    report.tasks.push(RecordedTask {
        task: session.task().to_owned(),
        format: Format::Opencode,
        lineages: session.lineages(),
        events: session.events,
        checkpoints: session.checkpoints,
        head,
    });
    Ok(report)
}
