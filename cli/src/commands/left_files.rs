//! Files that stay as they are when a task continues elsewhere without its folder.

use milepost::LineageId;
use milepost_api::{RestoredForm, TaskForm};
use serde_json::{Value, json};

use crate::backend::Backend;
use crate::error::Result;
use crate::output::{count, note, words};

/// Most files to count.
const COUNTED_MAX: u64 = 10_000;

/// Files that differ between the last capture of the folder and the capture at the point that a
/// task went to.
pub struct LeftFiles {
    /// Their number, at most one more than [`COUNTED_MAX`].
    differing: u64,
    /// The address of the point that the task went to.
    address: String,
}

impl LeftFiles {
    /// Compares the last capture of the folder with the one at an address. `None`: no file differs,
    /// or there is no capture.
    pub fn of(source: &dyn Backend, restored: &RestoredForm, address: String) -> Option<Self> {
        let name = words::encode(&restored.task.id);
        let left = format!("{name}/{}", restored.files_lineage);
        let differing = || -> Result<Option<u64>> {
            let (left, to) = (source.point(&left)?, source.point(&address)?);
            source.differing_files(&left, &to, COUNTED_MAX + 1)
        };
        match differing() {
            Ok(differing) => differing.map(|differing| Self { differing, address }),
            Err(failure) => {
                // The task continues there by now.
                note(&format!("the captured files cannot be compared: {failure}"));
                None
            }
        }
    }

    /// Returns the line about them, with the command that restores them.
    pub fn line(&self) -> String {
        let number = match self.differing > COUNTED_MAX {
            true => format!("more than {}", count(COUNTED_MAX, "file")),
            false => count(self.differing, "file"),
        };
        let (verb, address) =
            (if self.differing == 1 { "differs" } else { "differ" }, &self.address);
        format!(
            "the files stay as they are: {number} {verb} from those of {address}, which \
             `milepost rollback {address}` restores"
        )
    }

    /// Returns the same facts as JSON.
    pub fn form(&self) -> Value {
        json!({
            "differing": self.differing.min(COUNTED_MAX),
            "more": self.differing > COUNTED_MAX,
            "address": self.address,
        })
    }
}

/// Facts about the lineage that a task left, for the output of the commands.
pub struct Left {
    pub lineage: LineageId,
    /// Files that differ there.
    pub files: Option<LeftFiles>,
}

impl Left {
    /// The lineage that a task had, and the files that differ at an address.
    pub fn of(
        source: &dyn Backend,
        had: &TaskForm,
        restored: &RestoredForm,
        address: String,
    ) -> Self {
        Self { lineage: had.active, files: LeftFiles::of(source, restored, address) }
    }
}
