//! Test harness: a folder, its plan, and a restore that is killed or fails before any call.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use milepost::Result;
use milepost_codec::{ChunkId, RestoreId, RestoreIntent};
use tempfile::TempDir;

use crate::apply::{Call, Failed, Recovered, Restore, abort, apply, finish};
use crate::fs::Folder;
use crate::fs::{Errno, at_root};
use crate::plan::{Choices, Trees, make};
use crate::testing::fixtures::{
    Random, Thing, Things, at, edit, follow, open_all, path, random_things, read, seeds, temporary,
    write,
};
use crate::testing::memory::MemoryChunks;

pub(super) const ID: RestoreId = RestoreId([7; 16]);

/// Capabilities of a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum System {
    All,
    NoExchange,
    NoMove,
}

pub(super) const SYSTEMS: [System; 3] = [System::All, System::NoExchange, System::NoMove];

/// Action before a call.
#[derive(Clone, Copy)]
pub(super) enum At<'a> {
    Never,
    Kill(usize),
    Fail(usize, Errno),
    Do(usize, &'a (dyn Fn() + Sync)),
}

pub(super) struct Killed;

/// A folder and a plan for it.
pub(super) struct Scene {
    pub(super) chunks: MemoryChunks,
    pub(super) before: Things,
    pub(super) after: Things,
    pub(super) plan: RestoreIntent,
    /// Trees before and after the restore.
    pub(super) present: ChunkId,
    pub(super) tree: ChunkId,
}

impl Scene {
    pub(super) fn of(last: &Things, target: &Things, before: Things) -> Self {
        let chunks = MemoryChunks::default();
        let all = last.keys().chain(target.keys()).chain(before.keys());
        let roots = all.filter(|path| path.parent().is_none());
        let choices = roots.fold(Choices::default(), |c, path| c.theirs(path.clone()));
        let trees = Trees {
            contents: &chunks,
            last: Some(chunks.tree(last)),
            target: chunks.tree(target),
            says: crate::tree::Budget::unbounded(),
            present: chunks.tree(&before),
            skips: &[],
            last_skips: &[],
            target_skips: &[],
            choices: &choices,
            elsewhere: false,
            by_hand: &std::collections::BTreeSet::new(),
            authors: None,
        };
        let made = make(&trees, &mut chunks.keep()).unwrap();
        assert!(made.preview.conflicts.is_empty(), "{:?}", made.preview);
        // Decoded as from the log.
        let plan = RestoreIntent::decode(&made.actions.encode()).unwrap();
        let after = follow(&chunks, &plan, &before);
        let (present, tree) = (trees.present, made.tree);
        Self { chunks, before, after, plan, present, tree }
    }

    pub(super) fn random(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let count = 4 + random.below(10);
        let last = random_things(&mut random, count);
        let (mut target, mut before) = (last.clone(), last.clone());
        for _ in 0..2 + random.below(6) {
            edit(&mut random, &mut target, false);
        }
        for _ in 0..random.below(3) {
            edit(&mut random, &mut before, false);
        }
        Self::of(&last, &target, before)
    }

    /// Returns a scene with each kind in closed folders, and each change of kind.
    pub(super) fn fixed() -> Self {
        let text = |bytes: &str| Thing::File(bytes.into(), 0o644);
        let of = |list: Vec<(&str, Thing)>| -> Things {
            list.into_iter().map(|(at, thing)| (path(at), thing)).collect()
        };
        let last = of(vec![
            ("changed", text("a")),
            ("closed", Thing::Dir(0o555)),
            ("closed/gone", text("a")),
            ("closed/inner", Thing::Dir(0o555)),
            ("closed/inner/gone", text("a")),
            ("file to folder", text("a")),
            ("folder to link", Thing::Dir(0o555)),
            ("folder to link/x", text("a")),
            ("mode", Thing::Dir(0o755)),
            ("mode/x", text("a")),
            ("same", text("a")),
        ]);
        let target = of(vec![
            ("changed", text("b")),
            ("closed", Thing::Dir(0o555)),
            ("closed/new", Thing::Dir(0o555)),
            ("closed/new/x", text("b")),
            ("file to folder", Thing::Dir(0o500)),
            ("file to folder/x", Thing::File(vec![0; 9000], 0o444)),
            ("folder to link", Thing::Link(b"same".to_vec())),
            ("mode", Thing::Dir(0o700)),
            ("mode/x", Thing::File(b"a".to_vec(), 0o755)),
            ("new", text("n")),
            ("same", text("a")),
        ]);
        let mut before = last.clone();
        before.insert(path("own"), text("never captured"));
        before.insert(path("mode/own"), text("never captured"));
        Self::of(&last, &target, before)
    }

    pub(super) fn folder(&self) -> Place {
        let dir = temporary();
        let folder = dir.path().join("work");
        std::fs::create_dir(&folder).unwrap();
        write(&folder, &self.before);
        // Hard links to the files, which keep their content after a restore.
        let outside = dir.path().join("outside");
        std::fs::create_dir(&outside).unwrap();
        for (n, (path, thing)) in self.before.iter().enumerate() {
            if matches!(thing, Thing::File(..)) {
                std::fs::hard_link(at(&folder, path.as_bytes()), outside.join(n.to_string()))
                    .unwrap();
            }
        }
        let found = read(&folder);
        let outside = self.before.values().cloned().enumerate().collect();
        Place { dir, found, outside }
    }

    /// Runs `what` with a restore. Returns its result, `None` if it was killed, and the number of
    /// calls.
    pub(super) fn run<T>(
        &self,
        place: &Place,
        system: System,
        when: At<'_>,
        what: impl FnOnce(&Restore<'_>) -> T,
    ) -> (Option<T>, usize) {
        let count = AtomicUsize::new(0);
        let asked = [false, false, true].map(AtomicBool::new);
        let calls = |call: Call| {
            // The first of these calls is refused; the restore does not repeat it.
            let asked = match call {
                Call::Exchange if system != System::All => &asked[0],
                Call::Move if system == System::NoMove => &asked[1],
                _ => &asked[2],
            };
            if !asked.swap(true, Ordering::Relaxed) {
                return Err(Errno::INVAL);
            }
            let n = count.fetch_add(1, Ordering::Relaxed);
            match when {
                At::Kill(stop) if n == stop => resume_unwind(Box::new(Killed)),
                At::Fail(stop, error) if n == stop => Err(error),
                At::Do(stop, act) if n == stop => {
                    act();
                    Ok(())
                }
                _ => Ok(()),
            }
        };
        let folder = Folder::new(at_root(&place.work()).unwrap(), None).unwrap();
        let restore = Restore {
            plan: &self.plan,
            contents: &self.chunks,
            folder: &folder,
            id: ID,
            stamps: &|_| None,
            calls: &calls,
        };
        let done = catch_unwind(AssertUnwindSafe(|| what(&restore)));
        let done = done.map_err(|payload| assert!(payload.is::<Killed>(), "a panic of its own"));
        (done.ok(), count.load(Ordering::Relaxed))
    }

    pub(super) fn apply(
        &self,
        place: &Place,
        system: System,
        when: At<'_>,
    ) -> (Option<Result<(), Failed>>, usize) {
        self.run(place, system, when, |restore| apply(restore, self.present, self.tree))
    }

    pub(super) fn recover(
        &self,
        place: &Place,
        system: System,
        when: At<'_>,
        how: How,
        choices: &Choices,
    ) -> (Option<Result<Recovered>>, usize) {
        self.run(place, system, when, |restore| match how {
            How::Abort => abort(restore, choices),
            How::Finish => finish(restore),
        })
    }

    /// Recovers a restore. If the `stop`th call exists, kills the recovery before it and recovers
    /// again.
    pub(super) fn recover_twice(
        &self,
        place: &Place,
        system: System,
        stop: usize,
        how: How,
    ) -> bool {
        let choices = Choices::default();
        let (done, _) = self.recover(place, system, At::Kill(stop), how, &choices);
        let killed = done.is_none();
        let done = match done {
            Some(done) => done,
            None => self.recover(place, system, At::Never, how, &choices).0.unwrap(),
        };
        assert_eq!(done.unwrap(), Recovered::Complete(Vec::new()));
        killed
    }
}

/// Both ways to recover a restore.
#[derive(Debug, Clone, Copy)]
pub(super) enum How {
    Abort,
    Finish,
}

pub(super) type Read = BTreeMap<Vec<u8>, (Thing, u64)>;

/// A folder on the disk, with its original entries.
pub(super) struct Place {
    pub(super) dir: TempDir,
    pub(super) found: Read,
    /// Files with a hard link outside, by its name.
    pub(super) outside: Vec<(usize, Thing)>,
}

impl Place {
    pub(super) fn work(&self) -> std::path::PathBuf {
        self.dir.path().join("work")
    }

    pub(super) fn now(&self) -> Read {
        read(&self.work())
    }

    pub(super) fn things(&self) -> Things {
        crate::testing::fixtures::read_things(&self.work())
    }

    /// Checks that the folder is as before, with the same inodes.
    pub(super) fn is_as_before(&self, context: &str) {
        let files = |read: &Read| -> Read {
            let inode = |(thing, ino): &(Thing, u64)| match thing {
                Thing::Dir(_) => (thing.clone(), 0),
                _ => (thing.clone(), *ino),
            };
            read.iter().map(|(path, found)| (path.clone(), inode(found))).collect()
        };
        assert_eq!(files(&self.now()), files(&self.found), "{context}");
        self.outside_is_as_it_was(context);
    }

    pub(super) fn outside_is_as_it_was(&self, context: &str) {
        for (n, thing) in &self.outside {
            if let Thing::File(bytes, mode) = thing {
                let other = self.dir.path().join("outside").join(n.to_string());
                assert_eq!(&std::fs::read(&other).unwrap(), bytes, "{context}");
                let bits = std::os::unix::fs::MetadataExt::mode(&other.metadata().unwrap()) & 0o777;
                assert_eq!(bits, u32::from(*mode), "{context}");
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        open_all(self.dir.path());
    }
}

pub(super) fn scenes(count: u64) -> impl Iterator<Item = (String, Scene)> {
    // Adds seeds that found errors before.
    let found = if std::env::var("MILEPOST_SEED").is_ok() { None } else { Some(1022) };
    let random = seeds(count).into_iter().chain(found);
    let random = random.map(|seed| (format!("MILEPOST_SEED={seed}"), Scene::random(seed)));
    std::iter::once(("fixed".to_owned(), Scene::fixed())).chain(random)
}
