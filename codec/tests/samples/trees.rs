//! Trees, and groups of chunks.

use milepost_codec::{
    Action, ActionKind, Capture, ChunkEntry, ChunkGroup, ChunkList, Entry, EntryKind, FileList,
    FilePart, Item, Leaf, Name, Node, RestoreIntent, Skip, SkipReason, TreePath,
};

use super::{chunk, hash, incompressible};

fn entry(name: &[u8], mode: u16, kind: EntryKind) -> Entry {
    Entry { name: Name::new(name).unwrap(), item: Item { mode, kind } }
}

/// One entry of each kind.
fn entries() -> Vec<Entry> {
    let file = |unstable| EntryKind::File { len: 300, id: chunk(0xC1), unstable };
    let empty = EntryKind::File { len: 0, id: ChunkEntry::id_of(&[]), unstable: false };
    let listed = |unstable| EntryKind::Listed {
        len: 1_500_000,
        hash: hash(0xF1),
        list: chunk(0xC2),
        unstable,
    };
    let target = (*b"../a\xff").into();
    vec![
        entry(b"\x01", 0o777, EntryKind::Link { target }),
        entry(b".gitignore", 0o644, file(false)),
        entry(b"a", 0o600, file(true)),
        entry(b"a.empty", 0o444, empty),
        entry(b"b", 0o755, listed(false)),
        entry(b"c", 0, listed(true)),
        entry(b"d", 0o700, EntryKind::Directory { id: chunk(0xD1) }),
        entry(b"\xff", 0o700, EntryKind::Directory { id: chunk(0xD2) }),
    ]
}

pub fn nodes() -> Vec<(&'static str, Node)> {
    let capture = Capture {
        present: false,
        over: None,
        folder: b"/home/ana/work"[..].into(),
        tree: chunk(0x7E),
        files: 3000,
        directories: 100,
        links: 2,
        bytes: 32_000_000,
        skipped: 14,
        skips: ChunkList { len: 700, chunks: vec![chunk(0xC3)] },
    };
    let present = Capture { present: true, over: Some(chunk(0xCA)), ..capture.clone() };
    let none = Capture {
        folder: Default::default(),
        files: 0,
        directories: 0,
        links: 0,
        bytes: 0,
        skipped: 0,
        skips: ChunkList::default(),
        ..capture.clone()
    };
    let leaf =
        |first: &[u8], entries| Leaf { first: Name::new(first).unwrap(), id: chunk(0xD3), entries };
    let part = |len| FilePart { id: chunk(0xC4), len };
    vec![
        ("capture", Node::Capture(capture)),
        ("capture, a present", Node::Capture(present)),
        ("capture, of nothing", Node::Capture(none)),
        ("directory", Node::Directory(entries())),
        ("directory, empty", Node::Directory(vec![])),
        ("leaves", Node::Leaves(vec![leaf(b"a", 256), leaf(b"b\xff", 1), leaf(b"c", 1024)])),
        ("file", Node::File(FileList::new(vec![part(65_536), part(1 << 20), part(1)]))),
        ("long file", Node::LongFile(FileList::new(vec![part(29_000 << 20), part(2)]))),
    ]
}

pub fn skips() -> Vec<u8> {
    let mut out = Vec::new();
    for (path, reason, size) in [
        (&b".git"[..], SkipReason::Git, 0),
        (b"a/large", SkipReason::Large, 1 << 30),
        (b"a-b", SkipReason::Staging, 0),
        (b"\xff", SkipReason::Ignored, 300),
    ] {
        let path = path.into();
        Skip { path, reason, size }.encode(&mut out);
    }
    out
}

pub fn plan() -> RestoreIntent {
    let items: Vec<_> = entries().into_iter().map(|entry| entry.item).collect();
    let item = |n: usize| Some(items[n].clone());
    let action = |kind, path: &[u8], slot, before, after| Action {
        kind,
        path: TreePath::new(path).unwrap(),
        slot,
        before,
        after,
    };
    let actions = vec![
        action(ActionKind::Mode, b"d", 0, item(6), item(7)),
        action(ActionKind::Remove, b"d/a", 1, item(1), None),
        action(ActionKind::MakeRoom, b"d", 2, item(6), None),
        action(ActionKind::Create, b"d", 300, None, item(4)),
        action(ActionKind::Replace, b"\x01/\xff", 70_000, item(0), item(5)),
    ];
    RestoreIntent { actions }
}

pub fn chunk_group(contents: &[&[u8]]) -> Vec<u8> {
    let members: Vec<_> =
        (contents.iter()).map(|content| (ChunkEntry::id_of(content), *content)).collect();
    let mut out = Vec::new();
    ChunkGroup::encode(&members, 3, &mut out).unwrap();
    out
}

/// One that is not packed, so that no version of zstd matters, and one that is.
pub fn chunk_groups() -> [Vec<u8>; 2] {
    [chunk_group(&[&incompressible(20), b"", b"second"]), chunk_group(&[&[7; 3000], &[8; 2000]])]
}
