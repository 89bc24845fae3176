//! The chunks of states, as folds and readers use them. A piece of a run's messages or guidance is
//! not stored: it is made again of its events.

use std::any::TypeId;
use std::sync::Arc;

use milepost_codec::{
    ChunkEntry, ChunkId, Error, ErrorKind, LineageId, Offset, Piece, PieceSource, Result, TaskNo,
};
use milepost_replay::{Chunks, Reducer, RunReducer, piece_items, piece_source};
use milepost_store::index::keys;

use super::events::{Ancestry, Events};
use crate::history::catalog::Catalog;
use crate::history::pieces::Folding;

/// The chunks of a log, as read and stored by a fold of a task.
pub(crate) struct LogChunks {
    catalog: Catalog,
    folding: Option<Folding>,
    /// The folded lineage and the first offset of its history; `None` if pieces are stored whole.
    source: Option<(TaskNo, LineageId, Offset)>,
}

impl LogChunks {
    /// Returns the chunks for reading only.
    pub(crate) fn reading(catalog: &Catalog) -> Self {
        Self { catalog: catalog.clone(), folding: None, source: None }
    }

    /// Returns the chunks for a fold of a lineage. Of the pieces of the built-in reducer's states,
    /// only the sources are stored.
    pub(crate) fn folding<R: Reducer>(
        catalog: &Catalog,
        reducer: &R,
        (task, lineage): (TaskNo, LineageId),
    ) -> Result<Self> {
        let folding = Some(catalog.pieces.folding(task));
        Ok(Self { folding, ..Self::storing(catalog, reducer, (task, lineage))? })
    }

    /// Returns the chunks for a snapshot, which keeps them: no reader of the state does.
    pub(crate) fn storing<R: Reducer>(
        catalog: &Catalog,
        _: &R,
        (task, lineage): (TaskNo, LineageId),
    ) -> Result<Self> {
        let of_run = TypeId::of::<R>() == TypeId::of::<RunReducer>();
        let begin = Ancestry::of(catalog, task, lineage)?.begin();
        let source = of_run.then_some((task, lineage, begin));
        Ok(Self { source, ..Self::reading(catalog) })
    }

    /// Stores the source of a piece. Returns `None` if the piece cannot be made of events.
    fn put_source(&self, items: &[u8]) -> Result<Option<ChunkId>> {
        let log = self.catalog.log();
        let (Some((task, lineage, begin)), (_, 0)) = (self.source, log.damaged_chunks()) else {
            return Ok(None);
        };
        let source = piece_source(items)?;
        if source.first < begin {
            return Ok(None);
        }
        let id = ChunkEntry::id_of(items);
        let key = keys::piece_source(&id, task, lineage);
        if log.get(&key)?.is_none() {
            log.put_note(key, source.encode())?;
        }
        Ok(Some(id))
    }

    /// Makes a piece again of the events of one of its sources.
    fn made_again(&self, id: &ChunkId) -> Result<Arc<[u8]>> {
        let prefix = keys::piece_sources(id);
        let end = keys::after_prefix(&prefix);
        for (key, value) in self.catalog.log().scan(&prefix, &end, false, usize::MAX)? {
            let (task, lineage) = keys::source_lineage(&key);
            let source = PieceSource::decode(&value)?;
            let events = Events::new(&self.catalog, task, lineage, source.first..=source.last);
            match events.and_then(|events| piece_items(&source, events)) {
                Ok(items) if ChunkEntry::id_of(&items) == *id => return Ok(items.into()),
                // An event was erased since.
                Ok(_) => {}
                // Retention removed the events.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Err(Error::corrupt(format!("chunk {id}"), "it", "nothing"))
    }

    /// Stores the pieces that chunks are, or list, so that they no longer need the events.
    pub(crate) fn keep_pieces(&self, chunks: &[ChunkId]) -> Result<()> {
        let (log, mut pending) = (self.catalog.log(), chunks.to_vec());
        while let Some(id) = pending.pop() {
            if log.has_chunks(&[id])? != [true] {
                log.put_chunk(&self.get(&id)?, false)?;
            } else if log.lists_pieces(&id)? {
                let listed = Piece::decode_list(&self.get(&id)?)?;
                pending.extend(listed.iter().map(|piece| piece.id));
            }
        }
        Ok(())
    }

    fn stored(&self, id: ChunkId) -> ChunkId {
        if let Some(folding) = &self.folding {
            folding.stored(id);
        }
        id
    }
}

impl Chunks for LogChunks {
    fn put(&self, content: &[u8], pieces: bool) -> Result<ChunkId> {
        self.catalog.log().put_chunk(content, pieces).map(|id| self.stored(id))
    }

    fn put_piece(&self, items: &[u8]) -> Result<ChunkId> {
        match self.put_source(items)? {
            Some(id) => Ok(self.stored(id)),
            None => self.put(items, false),
        }
    }

    fn get(&self, id: &ChunkId) -> Result<Arc<[u8]>> {
        self.catalog.cancel().check()?;
        if let Some(content) = self.catalog.log().get_chunk(id)? {
            return Ok(content.into());
        }
        let at = self.catalog.withdrawals();
        self.catalog.made_pieces.get((at, *id), || self.made_again(id))
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

    use super::*;
    use crate::events::Message;
    use crate::{Append, Engine, Mark, Options, Task};

    fn say(task: &Task) {
        let text = "word ".repeat(4000);
        let message = |n| Message::text("user", &format!("{n} {text}"));
        task.append(Append::batch((0..20).map(message))).unwrap();
    }

    #[test]
    fn a_piece_is_made_again_once_until_content_is_withdrawn() {
        let engine = Engine::in_memory(Options::default().snapshots(false)).unwrap();
        let task = engine.start_task("t", "ana").unwrap();
        say(&task);
        let id = task.state().unwrap().messages.refers()[0];
        let chunks = LogChunks::reading(&engine.inner.catalog);
        let made = chunks.get(&id).unwrap();
        assert!(Arc::ptr_eq(&made, &chunks.get(&id).unwrap()));
        engine.retention().erase(&task.point(1).unwrap(), None).unwrap();
        assert_eq!(chunks.get(&id).unwrap_err().kind(), ErrorKind::Corrupt);
    }

    #[test]
    fn a_piece_of_two_lineages_is_made_again_of_either() {
        let engine = Engine::in_memory(Options::default().snapshots(false)).unwrap();
        let task = engine.start_task("t", "ana").unwrap();
        let mark = task.checkpoint(Mark::new().label("begin")).unwrap();
        let begin = engine.point(&format!("@{}", mark.id)).unwrap();
        let mut pieces = Vec::new();
        for _ in 0..2 {
            let task = engine.restore(&begin).run().unwrap();
            say(&task);
            pieces.push(task.state().unwrap().messages.refers());
        }
        let [first, second] = pieces.try_into().unwrap();
        assert_eq!(first, second, "the same was said at the same offsets");
        let catalog = &engine.inner.catalog;
        let chunks = LogChunks::reading(catalog);
        for id in &first {
            assert!(catalog.log().get_chunk(id).unwrap().is_none());
            let prefix = keys::piece_sources(id);
            let end = keys::after_prefix(&prefix);
            let sources = catalog.log().scan(&prefix, &end, false, 9).unwrap();
            assert_eq!(sources.len(), 2);
            for (gone, value) in &sources {
                let mut wrong = PieceSource::decode(value).unwrap();
                wrong.first += 1;
                catalog.log().put_note(gone.clone(), wrong.encode()).unwrap();
                assert_eq!(ChunkEntry::id_of(&chunks.made_again(id).unwrap()), *id);
                catalog.log().put_note(gone.clone(), value.clone()).unwrap();
            }
            sources.iter().for_each(|(key, _)| catalog.log().drop_note(key.clone()).unwrap());
            assert_eq!(chunks.made_again(id).unwrap_err().kind(), ErrorKind::Corrupt);
        }
    }
}
