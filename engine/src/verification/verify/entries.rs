//! The number of index entries, compared with the number that events account for.

use milepost_codec::{Error, Result, TaskNo};
use milepost_store::Fault;
use milepost_store::index::MarkPlace;
use milepost_store::index::keys::{self, KeyKind};

use super::Verification;

impl Verification<'_> {
    /// Compares the number of entries with the number that events account for. A commit during the
    /// count makes the count worthless. Its entries are visible slightly before its sequence
    /// number, so a difference is counted twice.
    pub(super) fn forged_entries(&mut self, kinds: &[u64; 256]) -> Result<()> {
        for kind in KeyKind::OF_RECORDS {
            let expected = kinds.get(kind as usize).copied().unwrap_or(0);
            let mut count = self.entries_of(kind)?;
            if count != expected {
                count = self.entries_of(kind)?;
            }
            if self.catalog.log().seq() != self.until {
                return Ok(());
            }
            if count != expected {
                let error = Error::corrupt(
                    "index",
                    format!("{expected} entries of kind {kind:?}, which follow from events"),
                    count,
                );
                self.report.faults.push(Fault::of("index", &error));
            }
        }
        Ok(())
    }

    fn entries_of(&self, kind: KeyKind) -> Result<u64> {
        let mut count = 0;
        self.catalog.log().walk(&keys::all(kind), &mut |key, value| {
            let task = task_of(kind, key, value)?;
            count += u64::from(!task.is_some_and(|task| self.live.is_given_up(task)));
            Ok(())
        })?;
        Ok(count)
    }
}

/// Returns the task whose records an entry follows from; `None` for entries of the store's own log.
fn task_of(kind: KeyKind, key: &[u8], value: &[u8]) -> Result<Option<TaskNo>> {
    Ok(match kind {
        KeyKind::TaskName | KeyKind::Task | KeyKind::Prepared => None,
        KeyKind::MarkId => Some(MarkPlace::decode(value)?.task),
        KeyKind::StoreMark => Some(TaskNo(keys::second_u64(key))),
        _ => Some(TaskNo(keys::first_u64(key))),
    })
}
