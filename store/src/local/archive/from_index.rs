//! Reconstruction of commits from sled, to rewrite a lost archive file.
//!
//! sled has each log's sections in log order, and each section names its commit. So the logs are
//! merged by commit. A reconstructed commit has the sections of the original.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::path::Path;

use milepost_codec::{
    Error, LogId, Offset, Result, SegmentHeader, Seq, StoreId, StoreKey, begin_log_batch,
};

use crate::extent::Extent;
use crate::files::FolderHandle;
use crate::index::LogHead;
use crate::index::keys;
use crate::index::keys::KeyKind;
use crate::local::archive::reader::{Order, order};
use crate::local::archive::writer::Writer;
use crate::local::index::blocks;
use crate::local::index::kv::Kv;
use crate::local::inner::Inner;
use crate::local::markers::applied::UNKNOWN;

/// The bytes of frames after which another file begins, if there is a number for it.
const FILE_TARGET: usize = 8 << 20;

/// The level of zstd: repairs and compactions have the time for a better one.
pub(crate) const LEVEL: i32 = 3;

/// The maximum bytes of unpacked blocks held while logs are merged.
const BLOCKS_MAX: usize = 16 << 20;

/// Writes the commits `first` to `last` from sled into archive files with these numbers. Returns
/// the last number used.
pub(crate) fn range(
    shared: &Inner,
    first: Seq,
    last: Seq,
    numbers: impl Iterator<Item = u64>,
) -> Result<u64> {
    let key = shared.key.as_ref();
    let mut commits = Commits::of(&shared.kv, key, first)?;
    let files = Files { dir: &shared.layout.archive(), store: shared.config.store, key };
    files.write(first, last, numbers, |seq, frame| commits.payload(seq, frame))
}

/// The archive folder, and the properties of the files to rewrite.
pub(crate) struct Files<'a> {
    pub(crate) dir: &'a Path,
    pub(crate) store: StoreId,
    pub(crate) key: Option<&'a StoreKey>,
}

impl Files<'_> {
    /// Writes the commits `first` to `last` into files with these numbers. Returns the last number
    /// used. `groups` appends the remaining log batches of a commit, and may append none.
    pub(crate) fn write(
        &self,
        first: Seq,
        last: Seq,
        numbers: impl Iterator<Item = u64>,
        mut groups: impl FnMut(Seq, &mut Vec<u8>) -> Result<()>,
    ) -> Result<u64> {
        let mut numbers = numbers.peekable();
        let folder = FolderHandle::open(self.dir)?;
        let (mut next, mut number) = (first, 0);
        while next <= last {
            number = numbers.next().ok_or_else(|| {
                let found = "no number between those of its neighbours";
                let expected = format!("a file for commit {next}");
                Error::corrupt(self.dir.display().to_string(), expected, found)
            })?;
            let header = SegmentHeader {
                store: self.store,
                number,
                epoch: 0,
                first: next,
                recycled: false,
                prev: UNKNOWN,
            };
            let path = super::path(self.dir, &header);
            let mut writer = Writer::create(&path, next, (LEVEL, true), self.key)?;
            let (mut payload, mut bytes) = (Vec::new(), 0);
            while next <= last && (bytes < FILE_TARGET || numbers.peek().is_none()) {
                payload.clear();
                groups(next, &mut payload)?;
                writer.commit(&payload, UNKNOWN)?;
                bytes += payload.len();
                next += 1;
            }
            writer.finish(&path, header, &folder)?;
        }
        Ok(number)
    }
}

/// The logs in sled, merged by commit.
pub(crate) struct Commits<'a> {
    kv: &'a Kv,
    key: Option<&'a StoreKey>,
    /// Set if unreadable sections are skipped.
    tolerant: bool,
    /// The next section of each log, by its commit.
    heap: BinaryHeap<Reverse<(Seq, Order)>>,
    cursors: HashMap<Order, Cursor>,
    buffered: usize,
}

/// The read position in a log.
struct Cursor {
    log: LogId,
    end: Offset,
    at: Offset,
    /// The extent that contains `at`, and the byte at which its section begins.
    block: Option<(Extent, usize)>,
}

impl<'a> Commits<'a> {
    /// Starts at a commit. Every section has to be readable.
    fn of(kv: &'a Kv, key: Option<&'a StoreKey>, first: Seq) -> Result<Self> {
        let mut commits = Self::new(kv, key, false);
        let prefix = keys::all(KeyKind::Head);
        for (name, value) in kv.scan(&prefix, &keys::after_prefix(&prefix), false, usize::MAX)? {
            let (log, head) = (keys::log_of(&name), LogHead::decode(&value)?);
            let at = first_with(kv, key, log, &head, first)?;
            let order = commits.add(log, at, head.head.next);
            // The block may begin with sections of earlier commits.
            while let Some(seq) = commits.next_of(order)? {
                if seq >= first {
                    commits.heap.push(Reverse((seq, order)));
                    break;
                }
                commits.take(order, &mut Vec::new())?;
            }
        }
        Ok(commits)
    }

    /// Starts at the beginning and skips unreadable sections.
    pub(crate) fn all_readable(kv: &'a Kv, key: Option<&'a StoreKey>) -> Result<Self> {
        let mut commits = Self::new(kv, key, true);
        let prefix = keys::all(KeyKind::Block);
        let (mut from, to) = (prefix.clone(), keys::after_prefix(&prefix));
        while let Some((name, _)) = kv.scan(&from, &to, false, 1)?.pop() {
            let log = keys::log_of(&name);
            from = keys::after_prefix(&keys::block(log, Offset::MAX));
            let order = commits.add(log, keys::block_first(&name), Offset::MAX);
            if let Some(seq) = commits.next_of(order)? {
                commits.heap.push(Reverse((seq, order)));
            }
        }
        Ok(commits)
    }

    fn new(kv: &'a Kv, key: Option<&'a StoreKey>, tolerant: bool) -> Self {
        Self { kv, key, tolerant, heap: BinaryHeap::new(), cursors: HashMap::new(), buffered: 0 }
    }

    fn add(&mut self, log: LogId, at: Offset, end: Offset) -> Order {
        let order = order(log);
        let block = None;
        self.cursors.insert(order, Cursor { log, end, at, block });
        order
    }

    /// Returns the last commit of any log.
    pub(crate) fn last_commit(&self) -> Seq {
        let last = |cursor: &Cursor| -> Option<Seq> {
            let from = keys::block(cursor.log, 0);
            let to = keys::after_prefix(&keys::block(cursor.log, Offset::MAX));
            let (name, _) = self.kv.scan(&from, &to, true, 1).ok()?.pop()?;
            let first = keys::block_first(&name);
            let block = blocks::read(self.kv, self.key, cursor.log, first).ok()??;
            block.sections().filter_map(Result::ok).map(|s| s.seq).last()
        };
        self.cursors.values().filter_map(last).max().unwrap_or(0)
    }

    /// Appends the log batches of a commit, if any are left.
    pub(crate) fn payload(&mut self, commit: Seq, out: &mut Vec<u8>) -> Result<()> {
        while let Some(Reverse((seq, order))) = self.heap.peek().copied() {
            if seq > commit {
                return Ok(());
            }
            self.heap.pop();
            self.take(order, out)?;
            if let Some(seq) = self.next_of(order)? {
                self.heap.push(Reverse((seq, order)));
            }
        }
        Ok(())
    }

    /// Returns the commit of a log's next section, or `None` at its end.
    fn next_of(&mut self, order: Order) -> Result<Option<Seq>> {
        if self.buffered > BLOCKS_MAX {
            self.cursors.values_mut().for_each(|c| c.block = None);
            self.buffered = 0;
        }
        let Some(cursor) = self.cursors.get_mut(&order) else {
            return Ok(None);
        };
        while cursor.at < cursor.end {
            if cursor.block.is_none() {
                match cursor.load(self.kv, self.key) {
                    Ok(buffered) => self.buffered += buffered,
                    Err(_) if self.tolerant => {
                        cursor.skip_block(self.kv)?;
                        continue;
                    }
                    Err(error) => return Err(error),
                }
            }
            match cursor.section() {
                Ok((seq, ..)) => return Ok(Some(seq)),
                Err(_) if self.tolerant => cursor.skip_block(self.kv)?,
                Err(error) => return Err(error),
            }
        }
        cursor.block = None;
        Ok(None)
    }

    /// Appends a log's next section as a log batch, and advances past it.
    fn take(&mut self, order: Order, out: &mut Vec<u8>) -> Result<()> {
        let Some(cursor) = self.cursors.get_mut(&order) else {
            return Ok(());
        };
        if cursor.block.is_none() {
            self.buffered += cursor.load(self.kv, self.key)?;
        }
        let (_, count, section) = cursor.section()?;
        begin_log_batch(out, cursor.log, cursor.at);
        out.extend_from_slice(section);
        let len = section.len();
        if let Some((block, from)) = &mut cursor.block {
            *from += len;
            cursor.at += u64::from(count);
            if cursor.at >= block.end() {
                cursor.block = None;
            }
        }
        Ok(())
    }
}

impl Cursor {
    fn load(&mut self, kv: &Kv, key: Option<&StoreKey>) -> Result<usize> {
        let read = blocks::read(kv, key, self.log, self.at)?;
        let block = read.ok_or_else(|| self.nothing())?.detached();
        let size = block.section_bytes().len();
        let (mut at, mut from) = (block.first, 0);
        let mut sections = block.sections();
        while at < self.at {
            let section = sections.next().ok_or_else(|| self.nothing())??;
            at += u64::from(section.count);
            from = size - sections.rest().len();
        }
        self.block = Some((block, from));
        Ok(size)
    }

    /// Returns the commit, the number of records and the bytes of the next section.
    fn section(&self) -> Result<(Seq, u32, &[u8])> {
        let (block, from) = self.block.as_ref().ok_or_else(|| self.nothing())?;
        let rest = block.section_bytes().get(*from..).ok_or_else(|| self.nothing())?;
        let mut sections = milepost_codec::Sections::new(rest);
        let section = sections.next().ok_or_else(|| self.nothing())??;
        let (bytes, _) = rest.split_at(rest.len() - sections.rest().len());
        Ok((section.seq, section.count, bytes))
    }

    /// Continues with the next block that exists.
    fn skip_block(&mut self, kv: &Kv) -> Result<()> {
        self.block = None;
        let from = keys::after_prefix(&keys::block(self.log, self.at));
        let to = keys::after_prefix(&keys::block(self.log, Offset::MAX));
        self.at = match kv.scan(&from, &to, false, 1)?.pop() {
            Some((name, _)) => keys::block_first(&name).max(self.at + 1),
            None => self.end,
        };
        Ok(())
    }

    fn nothing(&self) -> Error {
        let expected = format!("a section with offset {}", self.at);
        Error::corrupt(self.log.to_string(), expected, "none")
    }
}

/// Returns the first offset of a log's first block with a section of `commit` or later, or the
/// log's end without one.
fn first_with(
    kv: &Kv,
    key: Option<&StoreKey>,
    log: LogId,
    head: &LogHead,
    commit: Seq,
) -> Result<Offset> {
    let (mut from, mut to) = (head.start, head.head.next);
    let mut found = to;
    while from < to {
        let middle = from + (to - from) / 2;
        let Some(block) = blocks::read(kv, key, log, middle)? else {
            let expected = format!("a block with offset {middle}");
            return Err(Error::corrupt(log.to_string(), expected, "none"));
        };
        let mut last = 0;
        for section in block.sections() {
            last = section?.seq;
        }
        if last >= commit {
            (found, to) = (block.first, block.first);
        } else {
            from = block.end();
        }
    }
    Ok(found)
}
