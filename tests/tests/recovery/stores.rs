//! The stores that are damaged. They grow in generations, each a copy of the one before as a kill
//! leaves it: so each begins a fresh segment, and the one before becomes an archive file.
//!
//! ```text
//!           archive      journal, first segment                    journal, second segment
//! closed    1, 2, 3      applied, closed                           -
//! killed    1, 2, 3      applied, closed, not applied              not applied
//! held      1, 2, 3      the same, and sled holds all of it        applied
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use milepost::events::Message;
use milepost::ids::Seq;
use milepost::{Append, Engine, LineageId, Mark, Options};
use milepost_codec::{
    AckWatermark, FRAME_HEADER_LEN, FrameHeader, SEGMENT_HEADER_LEN, SegmentHeader,
};
use milepost_tests::{bodies, folder};
use tempfile::TempDir;

/// Generations that end up in the archive.
pub const GENERATIONS: u64 = 3;

/// The stores of one test, in a folder of their own.
pub struct Stores {
    dir: TempDir,
    /// The last commit that sled of the killed store holds.
    pub applied: Seq,
}

/// Damage of a file: its description and its action.
pub type Damage = (&'static str, fn(&Path));

/// No snapshots: the content of sled and packs depends on nothing but the events.
pub fn options() -> Options {
    Options::default().snapshots(false)
}

impl Stores {
    pub fn make() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let stores = Self { dir, applied: 0 };
        for n in 0..GENERATIONS {
            let engine = Engine::open(stores.generation(n), options()).unwrap();
            if n == 0 {
                engine.start_task("essay", "ana").unwrap();
                engine.start_task("tuning", "ben").unwrap();
            }
            write(&engine, n);
            fork(&engine, n);
            engine.store().drain().unwrap();
            folder::copy_store(&stores.generation(n), &stores.generation(n + 1)).unwrap();
            engine.close().unwrap();
        }
        let (work, closed) = (stores.path("work"), stores.path("closed"));
        folder::copy(&stores.generation(GENERATIONS), &work).unwrap();
        let engine = Engine::open(&work, options()).unwrap();
        write(&engine, GENERATIONS);
        engine.close().unwrap();
        folder::copy(&work, &closed).unwrap();
        let applied = last_commit(&segments(&closed)[0]) - 1;
        let engine = Engine::open(&work, options()).unwrap();
        assert_eq!(engine.store().report().recovered, 0);
        tail(&engine);
        assert_eq!(engine.store().stats().unwrap().applied, applied + 1, "the tail waits");
        folder::copy_store(&work, &stores.path("killed")).unwrap();
        remove_spares(&stores.path("killed"));
        engine.close().unwrap();
        stores.hold();
        let archive = folder::files(&closed.join("archive"), ".mpa").unwrap();
        assert_eq!(archive.len() as u64, GENERATIONS);
        assert_eq!(segments(&closed).len(), 1);
        assert_eq!(segments(&stores.path("killed")).len(), 2);
        Self { applied, ..stores }
    }

    /// A kill after sled was synced, and before the journal was archived.
    fn hold(&self) {
        let (held, done) = (self.path("held"), self.path("done"));
        folder::copy(&self.path("killed"), &held).unwrap();
        folder::copy(&self.path("killed"), &done).unwrap();
        Engine::open(&done, options()).unwrap().close().unwrap();
        fs::remove_dir_all(held.join("sled")).unwrap();
        folder::copy(&done.join("sled"), &held.join("sled")).unwrap();
        fs::remove_dir_all(done).unwrap();
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A copy from earlier in the store's life, as a kill leaves it: the first are the oldest.
    pub fn generation(&self, n: u64) -> PathBuf {
        self.path(&format!("generation {n}"))
    }

    /// A copy of a store, to be damaged. Another of the same name is taken away.
    pub fn copy(&self, of: &str, name: &str) -> PathBuf {
        let root = self.path(name);
        if root.exists() {
            fs::remove_dir_all(&root).unwrap();
        }
        folder::copy(&self.path(of), &root).unwrap();
        root
    }
}

/// Removes spare segments, which the applier makes at its own time.
fn remove_spares(root: &Path) {
    for entry in fs::read_dir(root.join("journal")).unwrap() {
        let path = entry.unwrap().path();
        if name(&path).starts_with("spare") {
            fs::remove_file(path).unwrap();
        }
    }
}

/// A generation's events: under 100 KiB, most of them of bytes that do not compress.
fn write(engine: &Engine, n: u64) {
    for name in ["essay", "tuning"] {
        let task = engine.task(name).unwrap();
        for i in 0..6 {
            task.append(bodies::bytes(n * 100 + i, 4000)).unwrap();
            let message = Message::text("assistant", &bodies::text(n * 10 + i, 500));
            task.append(message).unwrap();
        }
        let keyed = Append::from(Message::text("user", "again")).key(format!("key {n}"));
        task.append(keyed.actor("ui")).unwrap();
        task.checkpoint(Mark::new().label(format!("draft-{n}"))).unwrap();
    }
    if n.is_multiple_of(2) {
        let task = engine.task("essay").unwrap();
        task.append(bodies::bytes(n + 1000, 300 << 10)).unwrap();
    }
}

/// A branch, and a restore that is undone.
fn fork(engine: &Engine, n: u64) {
    if n == 1 {
        let point = engine.point("essay@draft-0").unwrap();
        let aside = engine.branch(&point).description("aside").run().unwrap();
        aside.append(bodies::text_message(n)).unwrap();
        let point = engine.point("tuning@draft-0").unwrap();
        engine.restore(&point).description("back").run().unwrap();
        engine.undo("tuning").run().unwrap();
    }
}

/// Commits without applying: to the end of one segment, and on in the next, which a large frame
/// begins.
fn tail(engine: &Engine) {
    let task = engine.task("essay").unwrap();
    let aside = task.lineage_named(LineageId(1)).unwrap();
    for n in 0..8 {
        task.append(bodies::bytes(5000 + n, 1500)).unwrap();
        aside.append(bodies::text_message(5000 + n)).unwrap();
    }
    task.checkpoint(Mark::new().label("unapplied")).unwrap();
    task.append(bodies::bytes(6000, 200 << 10)).unwrap();
    for n in 0..6 {
        task.append(bodies::text_message(6000 + n)).unwrap();
    }
    task.checkpoint(Mark::new().label("last")).unwrap();
}

/// Opens a sled folder as the engine does.
pub fn open_sled(dir: &Path) -> sled::Result<sled::Db> {
    let config = sled::Config::new().path(dir);
    let config = config.mode(sled::Mode::HighThroughput);
    config.flush_every_ms(None).segment_size(256 << 10).open()
}

/// The journal's segments, in order of their names.
pub fn segments(root: &Path) -> Vec<PathBuf> {
    folder::files(&root.join("journal"), ".seg").unwrap()
}

/// The archive's files, in order.
pub fn archive(root: &Path) -> Vec<PathBuf> {
    folder::files(&root.join("archive"), ".mpa").unwrap()
}

/// A frame of a segment: its commit, where it begins and where the next may.
#[derive(Debug, Clone, Copy)]
pub struct Frame {
    pub seq: Seq,
    pub at: usize,
    pub end: usize,
    pub payload: usize,
}

/// The frames of a segment.
pub fn frames(path: &Path) -> Vec<Frame> {
    let bytes = fs::read(path).unwrap();
    let epoch = SegmentHeader::decode(&bytes).unwrap().epoch;
    let (mut at, mut found) = (SEGMENT_HEADER_LEN, Vec::new());
    while let Some(rest) = bytes.get(at..) {
        let Ok((frame, payload)) = FrameHeader::read(rest, None) else {
            break;
        };
        if frame.epoch != epoch {
            break;
        }
        let end = at + frame.stride() as usize;
        found.push(Frame { seq: frame.seq, at, end, payload: payload.len() });
        at = end;
    }
    assert!(!found.is_empty(), "{}", path.display());
    found
}

/// The last commit in a segment.
pub fn last_commit(path: &Path) -> Seq {
    frames(path).last().unwrap().seq
}

/// The frame of a commit in a segment.
pub fn frame_of(path: &Path, seq: Seq) -> Frame {
    *frames(path).iter().find(|frame| frame.seq == seq).unwrap()
}

/// Flips a bit in the payload of a commit's frame.
pub fn flip_commit(path: &Path, seq: Seq) {
    let frame = frame_of(path, seq);
    folder::flip(path, (frame.at + FRAME_HEADER_LEN + frame.payload / 2) as u64).unwrap();
}

/// Cuts a file.
pub fn cut(path: &Path, len: usize) {
    let file = fs::File::options().write(true).open(path).unwrap();
    file.set_len(len as u64).unwrap();
}

/// Writes zeros over a file from a place on.
pub fn zero_from(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at..].fill(0);
    fs::write(path, bytes).unwrap();
}

/// The last commit that was acknowledged.
pub fn acked(root: &Path) -> AckWatermark {
    AckWatermark::decode(&fs::read(root.join("acked")).unwrap()).unwrap()
}

/// Returns the end of a path, as findings and errors have it.
pub fn name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}
