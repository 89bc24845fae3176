//! The export of a share, in pieces, and a copy of the task as the pieces have it.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io::{self, BufReader, Read};

use data_encoding::HEXLOWER;
use milepost::calls::Cancel;
use milepost::events::{Control, Parent};
use milepost::ids::LogKind;
use milepost::transfer::{ExportBody, ExportEvent, ExportItem, ExportTask, Import};
use milepost::{CheckpointId, Engine, ErrorKind, Header, LineageId, Offset, Options};
use milepost_api::Big;
use milepost_formats::export_file::{
    self, Content, EVENT_MAX, ExportHeader, ExportLine, ExportReader, ExportWriter,
    VERSION_WITHHELD, Withheld, Withholding,
};
use milepost_formats::share_file::PIECE;
use milepost_formats::{Error, Progress, Result, Unit, Work};
use serde::Serialize;

use crate::pieces::Pieces;

/// Maximum bytes of an export: the index is built from a copy of it in memory.
const UNPACKED_MAX: u64 = 1 << 30;

/// The longest line of an export.
pub const LINE_MAX: usize = 512 << 20;

/// A task that is packed, and the rules for that.
pub struct Packing<'a> {
    pub engine: &'a Engine,
    pub task: &'a str,
    /// Withhold what resembles a secret.
    pub secrets: bool,
    /// Regular expressions of withheld content, too.
    pub withhold: &'a [String],
}

/// An export in pieces.
pub struct Packed {
    pub pieces: Pieces,
    pub directory: Vec<PieceForm>,
    pub withheld: Withheld,
    /// Number of captured folders.
    pub captures: u64,
    /// Set if the hashes of the store have a key.
    pub is_keyed: bool,
    /// Number of events of all logs.
    pub events: u64,
}

/// A piece of the export, for its reader.
#[derive(Debug, Default, Serialize)]
pub struct PieceForm {
    bytes: usize,
    lines: u64,
    /// The offset of the first event of each log.
    logs: BTreeMap<String, Big>,
}

impl Packing<'_> {
    /// Packs the export of the task, with texts of at most `longest` bytes. Returns `None` if the
    /// pieces have more than `most` bytes in base64.
    pub fn pack(
        &self,
        (longest, most): (usize, u64),
        progress: &mut dyn Progress,
    ) -> Result<Option<Packed>> {
        let mut pack = |copy_only| self.pack_as(copy_only, (longest, most), progress);
        match pack(false)? {
            Some(packed) if packed.withheld.copy_only => pack(true),
            packed => Ok(packed),
        }
    }

    fn pack_as(
        &self,
        copy_only: bool,
        (longest, most): (usize, u64),
        progress: &mut dyn Progress,
    ) -> Result<Option<Packed>> {
        let key = self.engine.store().key_id();
        let header = ExportHeader {
            milepost_export: VERSION_WITHHELD,
            tasks: export_file::Big(1),
            files: false,
            redacted: copy_only,
            key: key.map(|id| HEXLOWER.encode(&id)),
        };
        let total = self.engine.task(self.task)?.info()?.events;
        progress.begin(Work { name: "share", unit: Unit::Events, total: Some(total) });
        let filling = Filling { most, ..Filling::default() };
        let mut sink = |line: &[u8]| filling.line(line);
        let mut withholding = Withholding::new(self.secrets, self.withhold, longest)?;
        let mut captures = 0;
        let mut writer =
            ExportWriter::begin(&mut sink, &header, Content::Withheld(&mut withholding))?;
        let mut export = self.engine.transfer().export(false)?;
        let done = export.task(self.task, &mut |item| -> Result<()> {
            self.engine.cancel().check()?;
            if let ExportItem::Event(event) = &item {
                filling.note(event);
                captures += u64::from(export_file::is_capture(event));
                progress.advance(u64::from(event.log != LogKind::Control));
            }
            // The pieces are in memory: what fails is a line.
            Ok(writer.write(&item).map_err(|error| milepost::Error::invalid(error.to_string()))?)
        });
        progress.end();
        let counts = match done.and_then(|()| Ok(writer.end()?)) {
            _ if filling.is_over.get() => return Ok(None),
            Err(error) => return Err(error),
            Ok(counts) => counts,
        };
        let (pieces, directory) = filling.end()?;
        let withheld = withholding.withheld().clone();
        Ok(Some(Packed {
            pieces,
            directory,
            withheld,
            captures,
            is_keyed: key.is_some(),
            events: counts.events.0,
        }))
    }
}

/// Pieces that are being filled with lines.
#[derive(Default)]
struct Filling {
    /// The most bytes of the pieces in base64.
    most: u64,
    pieces: RefCell<Pieces>,
    directory: RefCell<Vec<PieceForm>>,
    now: RefCell<PieceForm>,
    is_over: Cell<bool>,
    /// The length of all lines so far.
    unpacked: Cell<u64>,
}

impl Filling {
    /// Notes the event of the next line.
    fn note(&self, event: &ExportEvent) {
        let log = match event.log {
            LogKind::Control => "control".to_owned(),
            LogKind::Lineage(lineage) => lineage.to_string(),
        };
        self.now.borrow_mut().logs.entry(log).or_insert(Big(event.offset));
    }

    fn line(&self, line: &[u8]) -> io::Result<()> {
        let mut pieces = self.pieces.borrow_mut();
        pieces.open().extend_from_slice(line);
        let mut now = self.now.borrow_mut();
        (now.bytes, now.lines) = (now.bytes + line.len(), now.lines + 1);
        self.unpacked.set(self.unpacked.get() + line.len() as u64);
        if (now.bytes as u64) < PIECE {
            return Ok(());
        }
        self.directory.borrow_mut().push(std::mem::take(&mut *now));
        pieces.close()?;
        if pieces.encoded_len() > self.most || self.unpacked.get() > UNPACKED_MAX {
            self.is_over.set(true);
            return Err(io::Error::other("the export is longer than the share may be"));
        }
        Ok(())
    }

    fn end(self) -> io::Result<(Pieces, Vec<PieceForm>)> {
        let (mut pieces, mut directory) = (self.pieces.into_inner(), self.directory.into_inner());
        let now = self.now.into_inner();
        if now.lines > 0 {
            directory.push(now);
            pieces.close()?;
        }
        Ok((pieces, directory))
    }
}

/// A copy of the task in memory, with the share's content.
pub struct Shown {
    pub engine: Engine,
    /// The task as the export has it.
    pub task: ExportTask,
    /// The ids of the checkpoints by the places of their marks, as the export has them: those of a
    /// copy differ.
    ids: BTreeMap<(LineageId, Offset), CheckpointId>,
    /// The forks of lineages, with their hashes.
    pub forks: BTreeMap<LineageId, Parent>,
}

impl Shown {
    /// Returns the id of the checkpoint that an event of a lineage's history marks.
    pub fn id_of(&self, mut lineage: LineageId, mark: Offset) -> Option<CheckpointId> {
        while let Some(parent) = self.forks.get(&lineage).filter(|parent| mark < parent.offset) {
            lineage = parent.lineage;
        }
        self.ids.get(&(lineage, mark)).copied()
    }
}

impl Packed {
    /// Imports the export into a store in memory.
    pub fn shown(&self, cancel: &Cancel) -> Result<Shown> {
        // The store in memory has no key.
        let is_copy =
            self.is_keyed || self.captures + self.withheld.events + self.withheld.trusted > 0;
        Shown::of(self.pieces.reader(), is_copy, cancel)
    }
}

impl Shown {
    /// Imports an export into a store in memory. `is_copy` is set if that has other hashes.
    pub fn of(export: impl Read, is_copy: bool, cancel: &Cancel) -> Result<Self> {
        let options = Options::default().event_max(EVENT_MAX);
        let engine = Engine::in_memory(options)?.with_cancel(cancel);
        let mut reader = ExportReader::new(BufReader::new(export), LINE_MAX);
        reader.header().map_err(damaged)?;
        let mut import = engine.transfer().import();
        let (mut found, mut ids, mut forks) = (None, BTreeMap::new(), BTreeMap::new());
        while let Some(line) = reader.next_line().map_err(damaged)? {
            cancel.check()?;
            match line {
                ExportLine::Task(task) if is_copy => {
                    import.copy(&task.id, &task)?;
                    found = Some(task);
                }
                ExportLine::Task(task) => {
                    import.task(&task)?;
                    found = Some(task);
                }
                ExportLine::Chunk(chunk) => import.chunk(&chunk)?,
                ExportLine::Event(event) => {
                    if let (LogKind::Lineage(lineage), Some(id)) = (event.log, event.checkpoint) {
                        ids.insert((lineage, event.offset), id);
                    }
                    if let Some(fork) = fork_of(&event)? {
                        forks.insert(fork.0, fork.1);
                    }
                    import.event(&event)?;
                }
                ExportLine::Header(_) | ExportLine::End(_) => {}
            }
        }
        Import::finish(import)?;
        let none = || milepost::Error::new(ErrorKind::Corrupt, "an export without a task");
        Ok(Shown { engine, task: found.ok_or_else(none)?, ids, forks })
    }
}

/// Returns `true` if the hashes of an export have a key, and if a store without a key can have the
/// export as a copy only.
pub fn kind_of(export: impl Read, cancel: &Cancel) -> Result<(bool, bool)> {
    let mut reader = ExportReader::new(BufReader::new(export), LINE_MAX);
    let is_keyed = reader.header().map_err(damaged)?.key.is_some();
    let mut is_copy = is_keyed;
    while let Some(line) = reader.next_line().map_err(damaged)? {
        cancel.check()?;
        if let ExportLine::Event(event) = line {
            is_copy |= matches!(event.body, ExportBody::Withheld { .. });
            is_copy |= export_file::is_capture(&event);
        }
    }
    Ok((is_keyed, is_copy))
}

fn damaged(line: export_file::InvalidLine) -> Error {
    let why = format!("line {} of the share's own export: {}", line.line, line.reason);
    milepost::Error::new(ErrorKind::Corrupt, why).into()
}

/// Returns the lineage that an event registers, and its fork.
fn fork_of(event: &ExportEvent) -> Result<Option<(LineageId, Parent)>> {
    // If a description is withheld, the fork is shown.
    let (ExportBody::Inline(payload) | ExportBody::Withheld { shown: Some(payload), .. }) =
        &event.body
    else {
        return Ok(None);
    };
    if event.log != LogKind::Control {
        return Ok(None);
    }
    let kind = Header::decode(&event.header)?.kind;
    Ok(match Control::decode(kind, payload)? {
        Control::LineageRegistered(opened) => opened.parent.map(|parent| (opened.lineage, parent)),
        _ => None,
    })
}
