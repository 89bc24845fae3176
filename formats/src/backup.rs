//! Backups before a cleanup: an export of the concerned tasks, kept in the store's folder.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use milepost::Engine;
use milepost::retention::RetentionPlan;

use crate::error::{Error, Result};
use crate::export_file::{self, ExportOptions};

/// Folder of backups in a store.
const FOLDER: &str = "backups";

/// Size of the write buffer, in bytes.
const BUFFER: usize = 1 << 20;

/// Exports the tasks that a cleanup changes, with their captured files, to a new file of the
/// store's folder: `backups/TIME.jsonl`, which `milepost import` reads. Returns the path within the
/// store's folder, or `None` if nothing would be removed.
///
/// The file is complete and durable when this returns. A failure leaves no file. Compactions report
/// backups, and do not remove them.
///
/// ```
/// use milepost::retention::Policy;
/// use milepost::{Engine, Mark, Options};
/// use milepost_formats::backup;
///
/// let dir = tempfile::tempdir()?;
/// let engine = Engine::open(dir.path(), Options::default())?;
/// let task = engine.start_task("tuning", "ana")?;
/// task.checkpoint(Mark::new().label("first"))?;
/// task.checkpoint(Mark::new().label("second"))?;
/// let plan = engine.retention().plan(&Policy::new().keep(1))?;
/// let file = backup(&engine, &plan)?.expect("a checkpoint goes");
/// assert!(dir.path().join(file).is_file());
/// engine.retention().apply(&plan, &mut |_, _| {})?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// `Io`: the file cannot be written. `Engine`: a task cannot be read. `Invalid`: the store is in
/// memory.
pub fn backup(engine: &Engine, plan: &RetentionPlan) -> Result<Option<PathBuf>> {
    let tasks = plan.tasks.iter().filter(|task| task.removes());
    let tasks: Vec<String> = tasks.map(|task| task.task.clone()).collect();
    if tasks.is_empty() {
        return Ok(None);
    }
    let chunks = engine.store().chunks();
    let store =
        chunks.folder().ok_or_else(|| Error::invalid("a store in memory has no backups"))?;
    let folder = store.join(FOLDER);
    let failed = |error: io::Error| Error::from(error).at(folder.display());
    match DirBuilder::new().mode(0o700).create(&folder) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(failed(e)),
        Err(_) => {}
        Ok(()) => sync_folder(store).map_err(failed)?,
    }
    let mut time_us = engine.store().clock().now_us();
    let (part, name) = loop {
        let name = file_name(time_us);
        let part = folder.join(format!(".milepost-{name}.part"));
        let created = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part);
        match created {
            // Another backup has this name.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Ok(_) if folder.join(&name).exists() => fs::remove_file(&part).map_err(failed)?,
            created => break (Part { file: created.map_err(failed)?, path: part }, name),
        }
        time_us += 1;
    };
    part.write(engine, &tasks)?;
    part.publish(&folder, &name).map_err(failed)?;
    Ok(Some(Path::new(FOLDER).join(name)))
}

/// A backup that is being written. Dropped, it removes its file unless that was published.
struct Part {
    file: File,
    path: PathBuf,
}

impl Part {
    fn write(&self, engine: &Engine, tasks: &[String]) -> Result<()> {
        let mut file = BufWriter::with_capacity(BUFFER, &self.file);
        let options = ExportOptions { files: true, redact: false };
        export_file::export(engine, tasks, options, &mut |bytes| file.write_all(bytes), &mut ())?;
        let synced = file.flush().and_then(|()| self.file.sync_all());
        synced.map_err(|error| Error::from(error).at(self.path.display()))
    }

    /// Gives the file its name, durably. A file whose name may not be durable is removed.
    fn publish(&self, folder: &Path, name: &str) -> io::Result<()> {
        let named = folder.join(name);
        fs::rename(&self.path, &named)?;
        sync_folder(folder).inspect_err(|_| {
            let _ = fs::remove_file(&named);
        })
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Returns the name of a backup: its time in UTC with microseconds.
fn file_name(time_us: u64) -> String {
    let time = i64::try_from(time_us).ok().and_then(|us| Timestamp::from_microsecond(us).ok());
    match time {
        Some(time) => format!("{}.jsonl", time.strftime("%Y%m%dT%H%M%S%.6fZ")),
        None => format!("{time_us}.jsonl"),
    }
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
