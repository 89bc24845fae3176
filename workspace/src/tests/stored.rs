//! Reading of stored captures, including hostile ones.

use std::io::Read as _;
use std::sync::Arc;

use milepost::{ErrorKind, Hash};
use milepost_codec::{
    Capture, ChunkEntry, ChunkId, ChunkList, Entry, EntryKind, FileList, FilePart, Item, Name,
    Node, PathBytes, TreePath,
};

use super::*;
use crate::chunks::Chunks;
use crate::testing::memory::MemoryChunks;

fn path(name: &str) -> TreePath {
    TreePath::new(name.as_bytes()).unwrap()
}

#[test]
fn a_diff_lists_what_came_went_changed_and_moved() {
    let scene = Scene::new();
    let large = |seed: u64| -> Vec<u8> {
        (0..120_000_u64).flat_map(|n| (n * n * seed).to_le_bytes()).collect()
    };
    for name in ["same", "changed", "gone", "bits", "moved", "d/x", "turns", "empty"] {
        scene.write(name, format!("content of {name}"));
    }
    scene.write("empty", "");
    scene.write("old/large", large(3));
    let before = scene.snapshot();
    assert!(before.diff(&before).unwrap().is_empty());
    scene.write("changed", "other");
    scene.mode("bits", 0o600);
    for name in ["gone", "turns", "empty"] {
        fs::remove_file(scene.path(name)).unwrap();
    }
    scene.write("turns/into a folder", "x");
    scene.write("new empty", "");
    fs::rename(scene.path("moved"), scene.path("d/there")).unwrap();
    scene.write("new", "new");
    fs::create_dir(scene.path("e")).unwrap();
    fs::rename(scene.path("old/large"), scene.path("e/large")).unwrap();
    let mut content = large(3);
    content.truncate(900_000);
    scene.write("e/large", content);
    let after = scene.snapshot();
    let changes = before.diff(&after).unwrap();
    let names = |entries: &[crate::SnapshotEntry]| -> Vec<String> {
        entries.iter().map(|entry| entry.path.to_string()).collect()
    };
    assert_eq!(names(&changes.added), ["e", "new", "new empty", "turns/into a folder"]);
    assert_eq!(names(&changes.removed), ["empty", "gone"]);
    let of = |changes: &[crate::FileChange]| -> Vec<String> {
        changes.iter().map(|change| change.path.to_string()).collect()
    };
    assert_eq!(of(&changes.changed), ["changed", "turns"]);
    assert_eq!(of(&changes.modes), ["bits"]);
    let renamed = changes.renamed.iter();
    let renamed: Vec<_> =
        renamed.map(|r| (r.from.path.to_string(), r.to.path.to_string())).collect();
    let expected = [("moved", "d/there"), ("old/large", "e/large")];
    assert_eq!(renamed, expected.map(|(from, to)| (from.to_owned(), to.to_owned())));
    // Each of them is counted, a moved file where it was and where it is.
    assert_eq!(before.count_differences(&after, 100).unwrap(), 12);
    assert_eq!(after.count_differences(&before, 5).unwrap(), 5);
    assert_eq!(before.count_differences(&before, 5).unwrap(), 0);
    // The reverse diff is the reverse.
    let back = after.diff(&before).unwrap();
    assert_eq!(names(&back.removed), names(&changes.added));
    assert_eq!(back.renamed.len(), 2);
}

#[test]
fn what_is_no_file_cannot_be_read_and_a_full_folder_is_not_written_to() {
    let scene = Scene::new();
    scene.write("d/f", "text");
    let snapshot = scene.snapshot();
    let mut text = String::new();
    snapshot.read(&path("d/f")).unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "text");
    for (name, kind) in [
        ("d", ErrorKind::Invalid),
        ("x", ErrorKind::NotFound),
        ("d/f/x", ErrorKind::NotFound),
        ("d/g", ErrorKind::NotFound),
    ] {
        assert_eq!(snapshot.read(&path(name)).unwrap_err().kind(), kind, "{name}");
    }
    let error = snapshot.restore_into(scene.folder()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let no_capture = Snapshot::of(&scene.engine, Hash([7; 32])).unwrap_err();
    assert_eq!(no_capture.kind(), ErrorKind::NotFound);
    let point = scene.engine.point("t@0").unwrap();
    assert_eq!(Snapshot::at(&scene.engine, &point).unwrap_err().kind(), ErrorKind::NotFound);
}

/// Returns a forged capture with one entry.
fn forged(chunks: &Arc<MemoryChunks>, kind: EntryKind) -> Snapshot {
    let bytes = kind.file_len().unwrap_or_default();
    let directories = u64::from(kind.is_directory());
    let item = Item { mode: 0o644, kind };
    let name = Name::new(b"f").unwrap();
    let tree = Node::Directory(vec![Entry { name, item }]).encode();
    let capture = Capture {
        present: false,
        over: None,
        folder: PathBytes::default(),
        tree: ChunkEntry::id_of(&tree),
        files: 1,
        directories,
        links: 0,
        bytes,
        skipped: 0,
        skips: ChunkList::default(),
    };
    let root = Node::Capture(capture).encode();
    let ids = chunks.put(&[&tree, &root]).unwrap();
    let chunks: Arc<dyn Chunks> = Arc::clone(chunks) as _;
    Snapshot::stored(chunks, Hash(ids[1].0)).unwrap()
}

#[test]
fn lists_that_lie_are_found_out() {
    let chunks = Arc::new(MemoryChunks::default());
    let ids = chunks.put(&[b"one", b"two", b"three", b""]).unwrap();
    let part = |id: ChunkId, len| FilePart { id, len };
    let all = *blake3::hash(b"onetwo").as_bytes();
    let list_of = |parts: Vec<FilePart>| {
        let node = Node::File(FileList::new(parts)).encode();
        chunks.put(&[&node]).unwrap()[0]
    };
    let good = list_of(vec![part(ids[0], 3), part(ids[1], 3)]);
    let listed =
        |len, hash, list| EntryKind::Listed { len, hash: Hash(hash), list, unstable: false };
    let read = |kind: EntryKind| {
        let mut content = Vec::new();
        let snapshot = forged(&chunks, kind);
        let read = snapshot.read(&path("f")).unwrap().read_to_end(&mut content);
        let empty = tempfile::tempdir().unwrap();
        assert_eq!(snapshot.restore_into(empty.path()).is_ok(), read.is_ok());
        read.map(|_| content).map_err(|e| e.to_string())
    };
    assert_eq!(read(listed(6, all, good)).unwrap(), b"onetwo");
    let swapped = list_of(vec![part(ids[1], 3), part(ids[0], 3)]);
    let lies = [
        listed(7, all, good),
        listed(6, [0; 32], good),
        listed(6, all, swapped),
        listed(6, all, list_of(vec![part(ids[0], 2), part(ids[1], 4)])),
        listed(8, all, list_of(vec![part(ids[0], 3), part(ids[2], 5)])),
        listed(6, all, ids[0]),
        EntryKind::File { len: 4, id: ids[0], unstable: false },
    ];
    for lie in lies {
        let error = read(lie.clone()).unwrap_err();
        // Content in place of a list may look like one of a newer version.
        let found_out = error.contains("damaged") || error.contains("has version");
        assert!(found_out, "{lie:?}: {error}");
    }
    // A list or content in place of a folder is refused.
    let is_wrong = |kind| matches!(kind, ErrorKind::Corrupt | ErrorKind::Unsupported);
    for id in [good, ids[0]] {
        let snapshot = forged(&chunks, EntryKind::Directory { id });
        let mut entries = snapshot.entries();
        let error = entries.find_map(Result::err).unwrap();
        assert!(is_wrong(error.kind()), "{error}");
        assert!(entries.next().is_none());
        let error = snapshot.entry(&path("f/x")).unwrap_err();
        assert!(is_wrong(error.kind()), "{error}");
    }
}
