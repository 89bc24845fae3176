//! The export file of Milepost: tasks as JSON Lines, as `docs/EXPORT.md` defines them.
//!
//! ```text
//! read      reads an export, and imports it
//! write     writes an export
//! withhold  events without what has a secret or is too long
//! redact    redaction of secrets
//! line      the lines, and how they are parsed
//! ```

pub(crate) mod line;
mod read;
mod redact;
mod sparse;
mod withhold;
pub(crate) mod write;

use data_encoding::HEXLOWER;
use milepost::events::WorkspaceCaptured;
use milepost::ids::LogKind;
use milepost::transfer::{ExportBody, ExportEvent, ExportItem};
use milepost::{Engine, ErrorKind, Header};

use crate::error::{Error, Remedy, Result};
use crate::progress::{Progress, Unit, Work};
pub(crate) use line::BEGINNING;
pub use line::{Big, Counts, End, ExportHeader, ExportLine, VERSION, VERSION_WITHHELD};
pub use read::{
    ExportImport, ExportInput, ExportReader, ImportedExport, InvalidLine, TaskOfExport,
};
use redact::Patterns;
pub use withhold::{Find, Withheld, Withholding};
pub use write::{Content, ExportWriter, Redact, Sink};

/// The largest event of an import, in bytes: large enough for every store.
pub const EVENT_MAX: usize = 256 << 20;

/// Settings of an export.
#[derive(Debug, Clone, Copy, Default)]
pub struct ExportOptions {
    /// Include the captured files.
    pub files: bool,
    /// Replace text that looks like a secret. A redacted export is imported as a copy.
    pub redact: bool,
}

/// Result of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exported {
    /// The counts of the lines.
    pub counts: Counts,
    /// The number of captured folders whose files are missing, so that the tasks can be imported as
    /// copies only. 0 for a redacted export, which is imported as a copy anyway.
    pub captures: u64,
    /// The number of texts that were replaced because they look like secrets.
    pub redacted: u64,
}

/// Checks that tasks can be exported, before anything is written.
///
/// # Errors
///
/// `Invalid`: a task cannot be redacted. `Engine`: a task does not exist, or needs its files.
pub fn check(engine: &Engine, tasks: &[String], options: ExportOptions) -> Result<()> {
    let export = engine.transfer().export(options.files)?;
    for task in tasks {
        if options.redact {
            check_redact(engine, task)?;
        }
        export.check(task).map_err(|error| match error.kind() {
            ErrorKind::Invalid => Error::from(error).remedied_by(Remedy::IncludeFiles),
            _ => Error::from(error),
        })?;
    }
    Ok(())
}

/// Refuses a task with texts that cannot be redacted.
fn check_redact(engine: &Engine, task: &str) -> Result<()> {
    let lineages = engine.task(task)?.lineages()?;
    let Some(trimmed) = lineages.iter().find(|lineage| lineage.begin > 0) else {
        return Ok(());
    };
    let (lineage, begin) = (trimmed.id, trimmed.begin);
    Err(Error::invalid(format!(
        "task `{task}` cannot be redacted: lineage {lineage} was trimmed at offset {begin}, \
         and what stands for its beginning is no text"
    ))
    .remedied_by(Remedy::ExportUnredacted))
}

/// Exports tasks to `sink`.
///
/// # Errors
///
/// `Io`: the destination failed, or an event has no line. `Engine`: a task cannot be read.
pub fn export(
    engine: &Engine,
    tasks: &[String],
    options: ExportOptions,
    sink: &mut Sink<'_>,
    progress: &mut dyn Progress,
) -> Result<Exported> {
    let patterns = match options.redact {
        true => {
            let patterns = Patterns::new(milepost::internals::new_secret()?);
            Some(patterns.map_err(|error| Error::bug(error.to_string()))?)
        }
        false => None,
    };
    let content = match &patterns {
        Some(patterns) => Content::Redacted(patterns),
        None => Content::Whole,
    };
    let header = ExportHeader {
        milepost_export: VERSION,
        tasks: Big(tasks.len() as u64),
        files: options.files,
        redacted: options.redact,
        key: engine.store().key_id().map(|id| HEXLOWER.encode(&id)),
    };
    let mut all = 0;
    for task in tasks {
        all += engine.task(task)?.info()?.events;
    }
    progress.begin(Work { name: "export", unit: Unit::Events, total: Some(all) });
    let mut captures = 0;
    let mut writer = ExportWriter::begin(sink, &header, content)?;
    let mut export = engine.transfer().export(options.files)?;
    let done = tasks.iter().try_for_each(|task| {
        export.task(task, &mut |item| -> Result<()> {
            if let ExportItem::Event(event) = &item {
                captures += u64::from(is_capture(event));
                progress.advance(u64::from(event.log != LogKind::Control));
            }
            Ok(writer.write(&item)?)
        })
    });
    progress.end();
    done?;
    let redacted = writer.redacted();
    let counts = writer.end()?;
    let are_missing = !options.files && !options.redact;
    let captures = if are_missing { captures } else { 0 };
    Ok(Exported { counts, captures, redacted })
}

/// Returns `true` for a captured folder.
pub fn is_capture(event: &ExportEvent) -> bool {
    let kind = || Header::decode(&event.header).map(|header| header.kind);
    let is_there = !matches!(event.body, ExportBody::Erased(_));
    event.log != LogKind::Control
        && is_there
        && kind().is_ok_and(|kind| kind == WorkspaceCaptured::KIND)
}
