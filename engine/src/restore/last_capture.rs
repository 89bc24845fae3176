//! The last capture of a task's folder, also where the active lineage changed without the files.

use milepost_codec::{Body, ErrorKind, Hash, Offset, Result};

use crate::handles::engine::Engine;
use crate::handles::lineage::Lineage;
use crate::handles::task::Task;

/// Events of the first block that is searched from the head backwards. Each further one is twice
/// as large.
const BLOCK: Offset = 64;

impl Engine {
    /// Returns the root of the last capture of a task's folder. Usually that is the last one before
    /// the head. A [switch](Engine::switch), a redo, and an undo of the state leave the files as
    /// they are: until the next capture, the last one is that of the lineage before.
    ///
    /// # Errors
    ///
    /// As [`Engine::run_state`].
    pub fn last_capture(&self, task: &Task) -> Result<Option<Hash>> {
        let (catalog, no) = (&self.inner.catalog, task.no());
        if !catalog.tally(no)?.captured {
            return Ok(None);
        }
        let (mut epoch, active) = catalog.active(no)?;
        if catalog.is_opened_by(no, epoch)? {
            let lineage = Lineage::new(self, no, active.lineage, None)?;
            return self.workspace_at(&lineage.point(lineage.head()?.next)?);
        }
        let all = catalog.activations(no)?;
        while catalog.leaves_files(no, &all, epoch)? {
            let entry = catalog.activation(no, epoch)?;
            let lineage = match Lineage::new(self, no, entry.lineage, None) {
                Ok(lineage) => lineage,
                // Retention dropped it.
                Err(error) if error.kind() == ErrorKind::NotFound => break,
                Err(error) => return Err(error),
            };
            if let Some(root) = self.captured_since(&lineage, entry.time_us)? {
                return Ok(Some(root));
            }
            epoch -= 1;
        }
        let of_epoch = catalog.activation(no, epoch)?.lineage;
        let lineage = match Lineage::new(self, no, of_epoch, None) {
            Err(error) if error.kind() == ErrorKind::NotFound => task.renewed()?.lineage().clone(),
            lineage => lineage?,
        };
        self.workspace_at(&lineage.point(lineage.head()?.next)?)
    }

    /// Returns the root of the last capture in a lineage since a time, in microseconds since the
    /// Unix epoch.
    fn captured_since(&self, lineage: &Lineage, time_us: u64) -> Result<Option<Hash>> {
        let (opened, readable) = (lineage.first_behind_opening()?, lineage.info()?.begin);
        let head = lineage.head()?.next;
        let (first, mut end, mut size) = (opened.max(readable), head, BLOCK);
        while end > first {
            let from = end.saturating_sub(size).max(first);
            let (mut found, mut is_before) = (None, false);
            for event in lineage.read(from..end)? {
                let event = event?;
                is_before |= event.header.time_us < time_us;
                if event.header.time_us >= time_us
                    && let Some(Body::WorkspaceCaptured(captured)) = event.body
                {
                    found = Some(captured.root);
                }
            }
            if found.is_some() || is_before {
                return Ok(found);
            }
            (end, size) = (from, size * 2);
        }
        match readable > opened {
            // A capture may be among the trimmed events.
            true => self.workspace_at(&lineage.point(head)?),
            false => Ok(None),
        }
    }
}
