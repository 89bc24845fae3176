//! Reads of the next scan: known files are not read again.

use std::fs::{self, FileTimes};
use std::time::{Duration, SystemTime};

use milepost::events::Message;
use milepost::{Append, Hash};

use super::*;
use crate::cache::Cache;
use crate::capture::{self, Storage, Stored};
use crate::chunks::Chunks;
use crate::status::States;
use crate::testing::memory::MemoryChunks;

fn many(scene: &Scene) {
    for n in 0..40 {
        scene.write(format!("d{}/f{n}", n % 7), format!("content {n}"));
    }
    scene.write("large", vec![b'x'; 700 << 10]);
}

#[test]
fn an_unchanged_tree_reads_no_file_and_appends_nothing() {
    let scene = Scene::new();
    many(&scene);
    let first = scene.capture();
    assert_eq!((first.files, first.read), (41, 41));
    let head = scene.task.head().unwrap();
    let second = scene.capture();
    assert_eq!((second.read, second.stored, second.appended), (0, 0, None));
    assert_eq!((second.root, second.files, second.bytes), (first.root, first.files, first.bytes));
    assert_eq!(scene.task.head().unwrap(), head);
}

#[test]
fn what_changed_is_read_and_what_did_not_is_not() {
    let scene = Scene::new();
    many(&scene);
    scene.capture();
    scene.write("d1/f1", "other");
    scene.write("d2/new", "new");
    scene.mode("d3/f3", 0o600);
    fs::rename(scene.path("d4/f4"), scene.path("d4/renamed")).unwrap();
    fs::remove_file(scene.path("d5/f5")).unwrap();
    let report = scene.capture();
    assert_eq!((report.files, report.read), (41, 4));
    assert_eq!(scene.put_back(), things(&scene.folder()));
    assert_eq!(scene.capture().read, 0);
}

#[test]
fn a_same_size_edit_within_a_tick_is_seen() {
    let dir = tempfile::tempdir().unwrap();
    let (folder, beside) = (dir.path().join("work"), dir.path().join("beside"));
    fs::create_dir(&folder).unwrap();
    fs::create_dir(&beside).unwrap();
    // Without a store and syncs, a scan that does not wait for the clock ends within a tick.
    let (chunks, states) = (MemoryChunks::default(), States::default());
    let options = WorkspaceOptions::default();
    let look = |content: String| {
        fs::write(folder.join("f"), content).unwrap();
        let beside = Some(&*beside);
        let storage = Storage::of(&folder, &options, &states, &chunks, beside);
        Stored::durable(&storage).unwrap().tree
    };
    for round in 0..25 {
        let before = look(format!("{round:03} before"));
        let after = look(format!("{round:03} behind"));
        assert_ne!(before, after, "round {round}");
        let f = milepost_codec::TreePath::new(b"f").unwrap();
        let entry = crate::tree::find(&chunks, &after, &f).unwrap().unwrap();
        let content = format!("{round:03} behind");
        assert_eq!(
            entry.item.kind.file_hash(),
            Some(Hash(*blake3::hash(content.as_bytes()).as_bytes()))
        );
    }
}

#[test]
fn a_stamp_that_is_not_settled_is_not_trusted_whatever_the_cache_says() {
    let dir = tempfile::tempdir().unwrap();
    let (folder, beside) = (dir.path().join("work"), dir.path().join("beside"));
    fs::create_dir(&folder).unwrap();
    fs::create_dir(&beside).unwrap();
    fs::write(folder.join("f"), "truth").unwrap();
    let (chunks, states) = (MemoryChunks::default(), States::default());
    let lie = chunks.put(&[b"a lie"]).unwrap()[0];
    // Times in the future are not settled. Old ones are, and then the cache counts.
    let root = crate::fs::at_root(&folder).unwrap();
    for (seconds, read) in [(1_u64 << 33, 1), (1, 0)] {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let file = fs::File::open(folder.join("f")).unwrap();
        file.set_times(FileTimes::new().set_modified(time)).unwrap();
        let probe = crate::fs::Probe::in_folder(&beside).unwrap();
        let stamp = root.look(b"f").unwrap().stamp;
        while seconds == 1 && !stamp.settled(probe.now().unwrap(), 20_000_000) {
            std::thread::yield_now();
        }
        let content = crate::tree::FileContent {
            len: 5,
            hash: Hash(lie.0),
            list: None,
            needs: Box::default(),
        };
        let mut cache = Cache::default();
        cache.add(b"", [(&b"f"[..], &stamp, &content)].into_iter());
        let identity = root.itself().unwrap().identity();
        let path = crate::cache::path_of(&beside, identity);
        cache.belongs_to(lie);
        cache.write(&path, identity).unwrap();
        let options = WorkspaceOptions::default();
        let (_, result) =
            capture::store(&Storage::of(&folder, &options, &states, &chunks, Some(&beside)))
                .unwrap();
        assert_eq!(result.read, read);
    }
}

#[test]
fn a_time_that_was_set_back_deceives_nobody() {
    let scene = Scene::new();
    let old =
        FileTimes::new().set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000));
    scene.write("f", "before");
    fs::File::open(scene.path("f")).unwrap().set_times(old).unwrap();
    let before = scene.capture();
    scene.write("f", "behind");
    fs::File::open(scene.path("f")).unwrap().set_times(old).unwrap();
    let after = scene.capture();
    assert_ne!(before.root, after.root);
    assert_eq!(after.read, 1);
}

#[test]
fn a_time_in_the_future_is_never_trusted_and_never_waited_for() {
    let scene = Scene::new();
    let ahead =
        FileTimes::new().set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 33));
    scene.write("f", "x");
    fs::File::open(scene.path("f")).unwrap().set_times(ahead).unwrap();
    let first = scene.capture();
    for _ in 0..3 {
        let again = scene.capture();
        assert_eq!((again.read, again.root, again.skips), (1, first.root, 0));
    }
}

#[test]
fn a_cache_that_is_damaged_missing_or_of_another_folder_costs_a_look_and_nothing_else() {
    let scene = Scene::new();
    many(&scene);
    let first = scene.capture();
    let good = fs::read(scene.cache()).unwrap();
    let mut bad = good.clone();
    bad[good.len() / 2] ^= 0x40;
    let mut of_another = good[..good.len() - 32].to_vec();
    of_another[6] ^= 1;
    let check = *blake3::hash(&of_another).as_bytes();
    of_another.extend_from_slice(&check);
    for cache in [bad, of_another, good[..100].to_vec(), Vec::new()] {
        fs::write(scene.cache(), cache).unwrap();
        let again = scene.capture();
        assert_eq!((again.root, again.read, again.appended), (first.root, 41, None));
        // All contents are stored already.
        assert_eq!(again.stored, 0);
        assert_eq!(scene.capture().read, 0);
    }
    fs::remove_file(scene.cache()).unwrap();
    assert_eq!(scene.capture().read, 41);
    assert_eq!(fs::read(scene.cache()).unwrap().len(), good.len());
}

#[test]
fn another_task_of_the_store_uses_the_cache_by_asking_for_each_chunk() {
    let scene = Scene::new();
    many(&scene);
    let first = scene.capture();
    let other = scene.engine.start_task("other", "ana").unwrap();
    let report = scene.workspace.capture(&scene.engine, &other, None).unwrap();
    assert_eq!((report.root, report.read, report.stored), (first.root, 0, 0));
    assert!(report.appended.is_some());
    // Events in between change nothing.
    scene.task.append(Append::from(Message::text("user", "hello"))).unwrap();
    assert_eq!(scene.capture().read, 0);
}

#[test]
fn a_cache_of_another_store_says_nothing_about_this_one() {
    let (scene, other) = (Scene::new(), Scene::new());
    many(&scene);
    scene.capture();
    // A cache copied from another store names missing chunks.
    fs::create_dir_all(other.dir.path().join("store/workspace")).unwrap();
    let name = scene.cache().file_name().unwrap().to_owned();
    let there = other.dir.path().join("store/workspace").join(name);
    fs::copy(scene.cache(), there).unwrap();
    let report = scene.workspace.capture(&other.engine, &other.task, None).unwrap();
    assert_eq!(report.read, 41);
    let snapshot = Snapshot::of(&other.engine, report.root).unwrap();
    let empty = tempfile::tempdir().unwrap();
    snapshot.restore_into(empty.path()).unwrap();
    assert_eq!(things(empty.path()), things(&scene.folder()));
}
