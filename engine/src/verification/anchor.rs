//! Anchors: the heads of a store, recorded in another place. A person with write access to the
//! store's files can recompute its chains or put an old copy back; an anchor reveals that.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use milepost_codec::{
    Error, ErrorKind, Hash, LineageId, LogId, LogKind, Offset, Origin, Result, Seq, StoreId,
    TaskNo, json_reason,
};
use milepost_store::Fault;
use milepost_store::clock::Clock;
use milepost_store::files;
use milepost_store::index::LogHead;
use milepost_store::index::keys::{self, KeyKind};
use milepost_store::liveness::Liveness;
use milepost_store::threads;
use serde::{Deserialize, Serialize};

use crate::history::catalog::Catalog;

/// The version of the JSON form.
const VERSION: u32 = 1;

/// The prefix of the digest's input.
const DOMAIN: &[u8; 16] = b"milepost.anchor1";

/// The minimum interval between writes of an anchor file.
const EVERY: Duration = Duration::from_secs(1);

/// Writing anchors takes at most 1/20 of the time.
const SHARE: u32 = 20;

/// The heads of a store at a moment: of each lineage, each control log, and the store's own.
///
/// ```
/// use milepost::events::Message;
/// use milepost::integrity::Anchor;
/// use milepost::{Engine, Options};
///
/// let engine = Engine::in_memory(Options::default())?;
/// let task = engine.start_task("tuning", "ana")?;
/// let anchor = engine.integrity().anchor()?;
/// task.append(Message::text("user", "later"))?;
///
/// let kept: Anchor = anchor.to_json().parse()?;
/// assert!(engine.integrity().verify_anchor(&kept)?.is_empty(), "the store has grown from it");
/// # Ok::<(), milepost::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Anchor {
    milepost_anchor: u32,
    /// The store.
    pub store: StoreId,
    /// The last commit.
    #[serde(with = "text")]
    pub seq: Seq,
    /// The time of the anchor, in microseconds since the Unix epoch.
    #[serde(with = "text")]
    pub time_us: u64,
    /// The heads: the store's own log first, then by task.
    pub logs: Vec<AnchoredLog>,
    /// BLAKE3 over the store's id and all heads. Anchors with the same digest have the same heads.
    pub digest: Hash,
}

/// The head of one log in an anchor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AnchoredLog {
    /// The task's number in the store; 0 is the store itself.
    pub task: TaskNo,
    /// The origin of the task's history.
    pub origin: Origin,
    /// The lineage; `None` for a control log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lineage: Option<LineageId>,
    /// The next offset.
    #[serde(with = "text")]
    pub next: Offset,
    /// The chain hash of everything before `next`.
    pub hash: Hash,
}

impl AnchoredLog {
    fn id(&self) -> LogId {
        match self.lineage {
            Some(lineage) => LogId::lineage(self.task, lineage),
            None => LogId::control(self.task),
        }
    }
}

impl Anchor {
    pub(crate) fn take(catalog: &Catalog, store: Origin, now_us: u64) -> Result<Self> {
        let seq = catalog.log().seq();
        let prefix = keys::all(KeyKind::Head);
        let mut logs = Vec::new();
        let heads =
            (catalog.log()).scan(&prefix, &keys::after_prefix(&prefix), false, usize::MAX)?;
        let mut origin = (TaskNo::STORE, store);
        let live = catalog.log().live()?;
        for (key, value) in heads {
            let (id, head) = (keys::log_of(&key), LogHead::decode(&value)?.head);
            if live.is_gone(id) {
                continue;
            }
            if origin.0 != id.task {
                let entry = catalog.task_ever(id.task)?;
                // An imported task becomes visible when it is complete.
                if entry.is_prepared() {
                    continue;
                }
                origin = (id.task, entry.origin);
            }
            logs.push(AnchoredLog {
                task: id.task,
                origin: origin.1,
                lineage: match id.kind {
                    LogKind::Lineage(lineage) => Some(lineage),
                    LogKind::Control => None,
                },
                next: head.next,
                hash: head.hash,
            });
        }
        let mut anchor = Self {
            milepost_anchor: VERSION,
            store: StoreId(store.0),
            seq,
            time_us: now_us,
            logs,
            digest: Hash([0; 32]),
        };
        anchor.digest = anchor.computed();
        Ok(anchor)
    }

    /// Returns the anchor as JSON, with a line feed at the end.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("an anchor is plain data");
        text.push('\n');
        text
    }

    /// Reads an anchor from a file.
    ///
    /// # Errors
    ///
    /// - `NotFound`, `Unavailable`: the file cannot be read.
    /// - Otherwise errors of parsing a string.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path).map_err(|e| files::io("read", path, &e))?;
        text.parse().map_err(|e: Error| e.at(path.display()))
    }

    fn computed(&self) -> Hash {
        let mut hasher = blake3::Hasher::new();
        hasher.update(DOMAIN).update(&self.store.0);
        for log in &self.logs {
            hasher
                .update(&log.task.0.to_le_bytes())
                .update(&log.origin.0)
                .update(&log.id().kind.number().to_le_bytes())
                .update(&log.next.to_le_bytes())
                .update(&log.hash.0);
        }
        Hash(*hasher.finalize().as_bytes())
    }

    /// Returns the differences between the store and the anchor.
    pub(crate) fn check(&self, catalog: &Catalog, store: Origin) -> Result<Vec<Fault>> {
        if self.store.0 != store.0 {
            return Err(Error::invalid(format!(
                "the anchor is of store {}, this is store {}",
                self.store,
                StoreId(store.0)
            )));
        }
        let mut faults = Vec::new();
        let live = catalog.log().live()?;
        for log in &self.logs {
            match log.check(catalog, store, &live) {
                Ok(()) => {}
                Err(error) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::NotFound) => {
                    faults.push(Fault::of(log.id(), &error));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(faults)
    }
}

impl AnchoredLog {
    fn check(&self, catalog: &Catalog, store: Origin, live: &Liveness) -> Result<()> {
        let id = self.id();
        // The event that removed them is in an anchored log, or in a log that was itself removed by
        // such an event.
        let trimmed = live.base(id).is_some_and(|base| base.next > self.next);
        if live.is_gone(id) || trimmed {
            let origin = catalog.task_ever(self.task)?.origin;
            return match origin == self.origin {
                true => Ok(()),
                false => Err(Error::corrupt(id.to_string(), self.origin, origin)),
            };
        }
        let place = || format!("{id} at offset {}", self.next);
        let head = catalog.log().head(id)?.map(|head| head.head);
        let Some(head) = head.filter(|head| head.next >= self.next) else {
            let found = match head {
                Some(head) => format!("a head at {}: it was cut off or put back", head.next),
                None => "no such log: it was taken away or put back".into(),
            };
            let expected = format!("a head at {} or later, as anchored", self.next);
            return Err(Error::corrupt(place(), expected, found));
        };
        let origin = match self.task {
            TaskNo::STORE => store,
            task => catalog.task(task)?.origin,
        };
        if origin != self.origin {
            return Err(Error::corrupt(place(), self.origin, origin));
        }
        let hash = if head.next == self.next {
            head.hash
        } else {
            crate::history::chain_hash::hash_at(catalog, origin, id, self.next)?
        };
        if hash != self.hash {
            let expected = format!("{}, as anchored", self.hash);
            return Err(Error::corrupt(place(), expected, hash));
        }
        Ok(())
    }
}

impl std::str::FromStr for Anchor {
    type Err = Error;

    /// Reads the JSON form.
    ///
    /// `Corrupt`: the text is not an anchor, or its digest differs. `Unsupported`: a newer version
    /// wrote it.
    fn from_str(text: &str) -> Result<Self> {
        #[derive(Deserialize)]
        struct Version {
            milepost_anchor: u32,
        }
        let damaged = |e: serde_json::Error| {
            let found = format!("another text: {}", json_reason(&e));
            Error::corrupt("anchor", "the JSON of an anchor", found)
        };
        let Version { milepost_anchor } = serde_json::from_str(text).map_err(damaged)?;
        if milepost_anchor > VERSION {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!("the anchor has version {milepost_anchor}, this reads up to {VERSION}"),
            ));
        }
        let anchor: Self = serde_json::from_str(text).map_err(damaged)?;
        let digest = anchor.computed();
        if digest != anchor.digest {
            return Err(Error::corrupt("anchor", digest, anchor.digest));
        }
        Ok(anchor)
    }
}

/// Numbers are strings of digits: the file has one form, whatever their size.
mod text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(n: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(n)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

/// Keeps an anchor file up to date on its own thread.
pub(crate) struct AnchorWriter {
    path: PathBuf,
    catalog: Catalog,
    store: Origin,
    clock: Arc<dyn Clock>,
    /// The last anchored commit.
    anchored: AtomicU64,
}

impl AnchorWriter {
    /// Compares the store with the existing anchor and writes a new one. Fails with `Corrupt` if
    /// the store is older than the anchor or differs from it.
    pub(crate) fn start(
        path: PathBuf,
        catalog: Catalog,
        store: Origin,
        clock: Arc<dyn Clock>,
    ) -> Result<(Arc<Self>, Sender<()>, JoinHandle<()>)> {
        Self::compare(&path, &catalog, store)?;
        let writer = Arc::new(Self { path, catalog, store, clock, anchored: AtomicU64::new(0) });
        writer.write()?;
        let (stop, stopped) = crossbeam_channel::bounded(1);
        let thread = {
            let writer = Arc::clone(&writer);
            threads::start("anchor", move || writer.run(&stopped))?
        };
        Ok((writer, stop, thread))
    }

    /// Compares a store with the anchor at a path, if there is one.
    pub(crate) fn compare(path: &Path, catalog: &Catalog, store: Origin) -> Result<()> {
        if !path.exists() {
            return Ok(());
        }
        let faults = Anchor::read(path)?.check(catalog, store)?;
        match faults.first() {
            Some(first) => Err(Error::new(
                ErrorKind::Corrupt,
                format!(
                    "the store is not as it was anchored in {}: {} ({} of its logs)",
                    path.display(),
                    first.message,
                    faults.len()
                ),
            )),
            None => Ok(()),
        }
    }

    fn run(&self, stopped: &Receiver<()>) {
        let mut wait = EVERY;
        while stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
            #[expect(
                clippy::disallowed_methods,
                reason = "how long a write took is no event's time"
            )]
            let begun = Instant::now();
            // A failed write does not stop appends. It is retried and logged.
            if let Err(error) = self.write() {
                tracing::warn!("the anchor is not up to date: {error}");
            }
            wait = EVERY.max(begun.elapsed() * SHARE);
        }
    }

    /// Writes the anchor, if there were commits since the last one.
    pub(crate) fn write(&self) -> Result<()> {
        let seq = self.catalog.log().seq();
        if self.anchored() == seq {
            return Ok(());
        }
        let anchor = Anchor::take(&self.catalog, self.store, self.clock.now_us())?;
        files::write_whole(&self.path, anchor.to_json().as_bytes())?;
        self.anchored.store(anchor.seq, Ordering::Release);
        Ok(())
    }

    /// Returns the last anchored commit.
    pub(crate) fn anchored(&self) -> Seq {
        self.anchored.load(Ordering::Acquire)
    }
}
