//! Damage at any place of any file of a store, and its permitted effects.

use std::fs;
use std::path::{Path, PathBuf};

use milepost::repair::repair;
use milepost::{Engine, ErrorKind};
use milepost_codec::{FRAME_HEADER_LEN, FrameHeader, SEGMENT_HEADER_LEN, seal_frame};

use crate::folder::files;
use crate::seed::Random;

use super::crash;
use super::model::{Model, Recipe};
use super::program::{World, options};
use crate::targets::input::Input;

/// Damage of a store, taken from the beginning of an input.
#[derive(Debug)]
pub(crate) struct How {
    /// The store was killed, not closed.
    killed: bool,
    file: u8,
    kind: u8,
    at: u32,
    len: u16,
    seed: u8,
}

impl How {
    pub(crate) fn take(input: &mut Input<'_>) -> Self {
        let flags = input.byte();
        Self {
            killed: flags & 1 == 1,
            kind: flags >> 1,
            file: input.byte(),
            at: input.word(),
            len: input.short(),
            seed: input.byte(),
        }
    }
}

/// Damages the store and checks the effects.
pub(crate) fn damage(mut world: World, how: &How) {
    world.wait();
    let engine = world.engine.take().expect("it is open");
    let mut store = world.path();
    if how.killed {
        let copy = world.dir.path().join("killed");
        crash::copy(&store, &copy);
        store = copy;
    }
    engine.close().expect("close");
    let done = do_it(&store, how);
    let mut model = world.model;
    match Engine::open(&store, options()) {
        Ok(engine) => judge(engine, &mut model, &store, done),
        Err(error) => {
            let kind = error.kind();
            assert!(kind == ErrorKind::Corrupt, "{done:?}: {kind:?}: {error}");
            repaired(&store, &model, done);
        }
    }
}

/// Damage that was done to the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Done {
    Nothing,
    Damage,
    /// A forged frame with a right check: the store may contain anything now.
    Forged,
}

/// All files of a store but its lock, in order.
fn all_files(dir: &Path, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(dir).expect("a folder");
    let mut paths: Vec<_> = entries.map(|e| e.expect("an entry").path()).collect();
    paths.sort();
    for path in paths {
        match path.is_dir() {
            true => all_files(&path, found),
            false if path.file_name().is_some_and(|n| n != "lock") => found.push(path),
            false => {}
        }
    }
}

fn do_it(store: &Path, how: &How) -> Done {
    if how.kind % 12 == 11 {
        return forge(store, how);
    }
    let mut paths = Vec::new();
    all_files(store, &mut paths);
    let path = &paths[usize::from(how.file) % paths.len()];
    let before = fs::read(path).expect("a file");
    if how.kind % 12 == 10 {
        fs::remove_file(path).expect("remove a file");
        return Done::Damage;
    }
    let mut bytes = before.clone();
    // Files are filled with zeros: there is more to find where they are not.
    let used = bytes.iter().rposition(|b| *b != 0).map_or(0, |at| at + 64);
    let used = used.min(bytes.len());
    let at = if used == 0 { 0 } else { how.at as usize % used };
    let to = (at + 1 + usize::from(how.len)).min(bytes.len());
    let mut random = Random::new(u64::from(how.seed));
    match how.kind % 12 {
        0..=2 if at < bytes.len() => bytes[at] ^= 1 << (how.seed % 8),
        3 => bytes[at..to].fill(0),
        4 => bytes[at..to].fill(how.seed),
        5 => {
            let garbage = random.bytes(to - at);
            bytes[at..to].copy_from_slice(&garbage);
        }
        6 => bytes.truncate(at),
        7 => {
            // A piece of the file at a wrong place of it.
            let from = random.below(used.max(1) as u64) as usize;
            let len = (to - at).min(bytes.len() - from);
            bytes.copy_within(from..from + len, at);
        }
        8 => {
            // Pages of it exchanged.
            let page = at / 4096 * 4096;
            let other = random.below(1 + used as u64 / 4096) as usize * 4096;
            if page + 4096 <= bytes.len() && other + 4096 <= bytes.len() {
                let kept = bytes[page..page + 4096].to_vec();
                bytes.copy_within(other..other + 4096, page);
                bytes[other..other + 4096].copy_from_slice(&kept);
            }
        }
        9 => {
            // Another file of the store in its place.
            let other = &paths[random.below(paths.len() as u64) as usize];
            bytes = fs::read(other).expect("a file");
        }
        _ => bytes.extend_from_slice(&random.bytes(usize::from(how.len))),
    }
    if bytes == before {
        return Done::Nothing;
    }
    fs::write(path, bytes).expect("write a file");
    Done::Damage
}

/// Puts a frame behind the last one of the journal: a right check, and any payload.
fn forge(store: &Path, how: &How) -> Done {
    let segments = files(&store.join("journal"), ".seg").expect("a folder");
    let Some(path) = segments.last() else {
        return Done::Nothing;
    };
    let mut bytes = fs::read(path).expect("a segment");
    let mut at = SEGMENT_HEADER_LEN;
    let mut last = None;
    while let Some(Ok((frame, payload))) = bytes.get(at..).map(|b| FrameHeader::read(b, None)) {
        at += frame.stride() as usize;
        last = Some((frame, payload.to_vec()));
    }
    let Some((last, mut payload)) = last else {
        return Done::Nothing;
    };
    // The payload of the last frame, somewhat changed, decodes further than garbage would.
    if payload.is_empty() {
        payload = Random::new(u64::from(how.at)).bytes(usize::from(how.len) % 512);
    } else {
        let len = payload.len();
        payload[how.at as usize % len] ^= how.seed;
        payload.truncate(len - usize::from(how.len) % len.min(16));
    }
    let mut frame = vec![0; FRAME_HEADER_LEN];
    frame.extend_from_slice(&payload);
    seal_frame(&mut frame, last.seq + 1, last.epoch, how.file == 255, &last.check, None);
    if bytes.len() < at + frame.len() {
        bytes.resize(at + frame.len(), 0);
    }
    bytes[at..at + frame.len()].copy_from_slice(&frame);
    fs::write(path, bytes).expect("write a segment");
    Done::Forged
}

/// A store that opened: everything is there, or something says that it is not.
fn judge(engine: Engine, model: &mut Model, store: &Path, done: Done) {
    if done == Done::Forged {
        // No answer is wrong now, but each is an answer.
        for task in &model.tasks {
            let Ok(task) = engine.task(&task.name) else {
                continue;
            };
            let _ = task.read(..).map(|events| events.count());
        }
        let _ = engine.integrity().verify(None, &mut |_, _| {});
        let _ = engine.close();
        return;
    }
    let look = model.look(&engine, true);
    for error in &look.refused {
        let kind = error.kind();
        assert_eq!(kind, ErrorKind::Corrupt, "{error}");
    }
    let findings = engine.store().report().findings.clone();
    let verified = engine.integrity().verify(None, &mut |_, _| {});
    let faults = match &verified {
        Ok(report) => report.faults.len(),
        Err(error) => {
            let kind = error.kind();
            assert_eq!(kind, ErrorKind::Corrupt, "verify: {error}");
            1
        }
    };
    let told = !findings.is_empty() || faults > 0 || !look.refused.is_empty();
    assert!(look.missing.is_empty() || told, "lost without a word: {:?}", look.missing);
    if done == Done::Nothing {
        assert!(look.missing.is_empty() && !told, "{look:?} {verified:?}");
    }
    let whole = look.missing.is_empty() && look.refused.is_empty();
    go_on(engine, model, store, whole);
}

/// Asserts that the store can be written to, and has its earlier content after another opening.
fn go_on(engine: Engine, model: &mut Model, store: &Path, whole: bool) {
    let recipe = Recipe { kind: 1, salt: 1, size: 10, count: 1 };
    let Some(first) = model.tasks.first_mut() else {
        return;
    };
    let appended = engine.task(&first.name).and_then(|task| task.append(recipe.bodies()));
    match appended {
        Ok(done) if whole => {
            let lineage = &mut first.lineages[first.active as usize];
            assert_eq!(done.first, lineage.next, "I2: where it was appended");
            lineage.own.insert(done.first, recipe);
            (lineage.next, lineage.hash) = (done.head.next, Some(done.head.hash));
        }
        Ok(_) => {}
        Err(error) => assert!(!whole, "append: {error}"),
    }
    let closed = engine.close();
    assert!(closed.is_ok() || !whole, "close: {closed:?}");
    match Engine::open(store, options()) {
        Ok(engine) => {
            if whole {
                let look = model.look(&engine, true);
                assert!(look.missing.is_empty(), "opened again: {look:?}");
                assert!(look.refused.is_empty(), "opened again: {look:?}");
            }
            let _ = engine.close();
        }
        Err(error) => assert!(!whole, "opened again: {error}"),
    }
}

/// A store that did not open: it is repaired, opens then, and has nothing that was not appended.
fn repaired(store: &Path, model: &Model, done: Done) {
    match repair(store, &options(), false) {
        Ok(_) => {
            let engine = Engine::open(store, options());
            let engine = engine.unwrap_or_else(|e| panic!("after a repair: {e}"));
            if done != Done::Forged {
                // The report of a repair lists removed content. The remaining content must be
                // right.
                for task in &model.tasks {
                    for (id, lineage) in (0..).zip(&task.lineages) {
                        lineage.prefix(&engine, &task.name, id);
                    }
                }
            }
            let _ = engine.close();
        }
        Err(error) => {
            let kind = error.kind();
            assert_eq!(kind, ErrorKind::Corrupt, "repair: {error}");
        }
    }
}
