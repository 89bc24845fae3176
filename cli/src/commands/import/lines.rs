//! Lines recorded into a store that another program has open: each event is durable there before
//! the next line is read.

use milepost::events::CheckpointMarked;
use milepost::{Body, ErrorKind, LineageId, Mark, Offset};
use milepost_api::calls::{self, Lineages, Point, StartTask, Task};
use milepost_api::{CheckpointRequest, MarkRequest, TaskRequest};
use milepost_client::Append;
use milepost_formats::record::{LineCounts, LineSink, LineStore, RefusedLine};
use milepost_formats::{Durable, Result};

use crate::backend::Remote;
use crate::output::words::encode;

/// A store behind another program.
pub struct RemoteLines<'a> {
    pub there: &'a Remote,
    /// `true` if a task that is started gets the owner of the recording. Default: the caller.
    pub owned: bool,
    /// `true` if each event is acknowledged with its hash.
    pub is_acknowledged: bool,
}

/// A lineage of such a store.
struct RemoteLineage<'a> {
    there: &'a Remote,
    is_acknowledged: bool,
    task: String,
    lineage: u32,
    refused: Vec<RefusedLine>,
    counts: LineCounts,
}

impl LineStore for RemoteLines<'_> {
    fn open(&self, task: &str, user: &str) -> Result<Box<dyn LineSink + '_>> {
        let client = self.there.client();
        let found = match self.there.answer(client.call(&Task::new(task))) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let user = self.owned.then(|| user.to_owned());
                let new = TaskRequest { id: task.to_owned(), user, ..TaskRequest::default() };
                self.there.answer(client.call(&StartTask::new(new)))
            }
            found => found,
        };
        let found = found?;
        Ok(Box::new(RemoteLineage {
            there: self.there,
            is_acknowledged: self.is_acknowledged,
            task: found.id,
            lineage: found.active.0,
            refused: Vec::new(),
            counts: LineCounts::default(),
        }))
    }
}

impl RemoteLineage<'_> {
    /// Returns a durable event, with the hash after it.
    fn durable(&self, offset: Offset) -> Result<Durable> {
        let hash = match self.is_acknowledged {
            true => {
                let address = format!("{}/{}@{}", encode(&self.task), self.lineage, offset + 1);
                self.there.answer(self.there.client().call(&Point::new(&address)))?.hash
            }
            false => milepost::Hash::ZERO,
        };
        Ok(Durable { offset, hash })
    }
}

impl LineSink for RemoteLineage<'_> {
    fn push_alone(
        &mut self,
        number: u64,
        body: Body,
        mark: Option<Mark>,
    ) -> Result<Option<Durable>> {
        let marks = mark.is_some();
        let append = Append::from(body).lineage(self.lineage);
        let append = match mark {
            Some(mark) => append.mark(given(&mark)),
            None => append,
        };
        let appended = self.there.answer(self.there.client().append(&self.task, append));
        match appended {
            Ok(appended) => {
                self.counts.events += 1;
                self.counts.checkpoints += u64::from(marks);
                self.counts.unmarked = !marks;
                self.durable(appended.first.0).map(Some)
            }
            Err(error) if error.kind() == ErrorKind::Invalid => {
                self.refused.push(RefusedLine { number, why: error.to_string() });
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn mark_alone(&mut self, mark: Mark) -> Result<Durable> {
        let MarkRequest { label, status, cause, metadata, aliases } = given(&mark);
        let lineage = Some(LineageId(self.lineage));
        let body = CheckpointRequest { label, status, cause, metadata, aliases, lineage, at: None };
        let mark = calls::Mark::new(&self.task, body);
        let marked = self.there.answer(self.there.client().call(&mark))?;
        self.counts.checkpoints += 1;
        self.counts.unmarked = false;
        self.durable(marked.mark.0)
    }

    fn take_refused(&mut self) -> Vec<RefusedLine> {
        std::mem::take(&mut self.refused)
    }

    fn counts(&self) -> LineCounts {
        self.counts
    }

    fn head(&self) -> Result<Offset> {
        let lineages = self.there.answer(self.there.client().call(&Lineages::new(&self.task)))?;
        let own = lineages.items.iter().find(|lineage| lineage.id.0 == self.lineage);
        Ok(own.map_or(0, |lineage| lineage.head.0))
    }
}

/// Returns the form of a mark.
fn given(mark: &Mark) -> MarkRequest {
    let CheckpointMarked { at: _, parent: _, label, cause, status, metadata, aliases } =
        mark.body().clone();
    MarkRequest { label, status: Some(status), cause: Some(cause), metadata, aliases }
}
