//! `export --format checkpoints`: writes checkpoints as a folder of JSON files.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use milepost::Engine;
use milepost_formats::checkpoint_folder::{self, ExportedFiles};
use serde_json::json;
use tempfile::TempPath;

use super::conversion::Bars;
use crate::args::Export;
use crate::error::{Failure, Result, USAGE};
use crate::output::{Out, big, count, note};

/// Exports the checkpoints of these tasks into a folder.
pub fn run(
    engine: &Engine,
    tasks: &[String],
    folder: &Path,
    args: &Export,
    out: &mut Out,
) -> Result<()> {
    if args.files || args.redact || args.output.is_some() {
        let message = "--files, --redact and --output are not for --format checkpoints";
        return Err(Failure::new(message)
            .code_of(USAGE)
            .hint("`milepost export TASK DIR --format checkpoints`"));
    }
    check_empty(folder)?;
    let mut files = Files { folder, written: Vec::new() };
    let mut bars = Bars::new(0, out);
    let mut sink = |name: &str, bytes: &[u8]| files.write(name, bytes);
    let exported =
        checkpoint_folder::export(engine, tasks, args.all_lineages, &mut sink, &mut bars)?;
    let ExportedFiles { tasks: with_files, files: checkpoints, elsewhere } = exported;
    if checkpoints == 0 {
        return Err(Failure::new("there is no checkpoint to export")
            .hint("`milepost checkpoints` lists them, `milepost mark TASK LABEL` marks one"));
    }
    files.end()?;
    if elsewhere > 0 {
        let others = count(elsewhere, "checkpoint");
        note(&format!(
            "{others} left out: not in the history of an active lineage; `--all-lineages` takes \
             them too"
        ));
    }
    if out.json {
        return Ok(out.json(&json!({
            "folder": folder.display().to_string(),
            "tasks": big(with_files),
            "checkpoints": big(checkpoints),
            "elsewhere": big(elsewhere),
        }))?);
    }
    let (tasks, files) = (count(with_files, "task"), count(checkpoints, "checkpoint"));
    Ok(out.line(format!("exported {tasks}: {files}"))?)
}

/// Refuses a folder with checkpoint files: none of them may be replaced, and an import could not
/// tell them from the new ones.
fn check_empty(folder: &Path) -> Result<()> {
    let failed = |error: io::Error| {
        Failure::new(format!("{}: {error}", folder.display()))
            .hint("give a new folder, or one that may be written to")
    };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(error)),
    };
    for entry in entries {
        let name = entry.map_err(failed)?.file_name();
        if checkpoint_folder::is_checkpoint(&name) {
            let message =
                format!("{}: checkpoint files are there already", folder.join(name).display());
            return Err(Failure::new(message)
                .hint("give a new folder, or move them away: nothing was written"));
        }
    }
    Ok(())
}

/// Files that are written, and get their names when all of them are complete.
struct Files<'a> {
    folder: &'a Path,
    written: Vec<(TempPath, PathBuf)>,
}

impl Files<'_> {
    fn write(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let place = self.folder.join(name);
        let named = |error: io::Error| io::Error::other(format!("{}: {error}", place.display()));
        fs::create_dir_all(self.folder).map_err(named)?;
        let mut file = tempfile::Builder::new();
        file.prefix(".milepost-").suffix(".part");
        let mut file = file.tempfile_in(self.folder).map_err(named)?;
        file.write_all(bytes).map_err(named)?;
        file.as_file().sync_all().map_err(named)?;
        self.written.push((file.into_temp_path(), place.clone()));
        Ok(())
    }

    /// Renames all files. After a failure none of them is left.
    fn end(self) -> Result<()> {
        let folder = self.folder;
        let mut done: Vec<PathBuf> = Vec::new();
        for (from, to) in self.written {
            if let Err(error) = from.persist_noclobber(&to) {
                for path in &done {
                    // The next export names a file that cannot be removed.
                    let _ = fs::remove_file(path);
                }
                let message = format!("{}: {}", to.display(), error.error);
                return Err(Failure::new(message).hint("give a new folder: nothing was written"));
            }
            done.push(to);
        }
        Ok(File::open(folder)?.sync_all()?)
    }
}
