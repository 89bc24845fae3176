//! Strategies for trees.

use std::collections::{BTreeMap, BTreeSet};

use milepost_codec::{
    Action, ActionKind, Capture, ChunkEntry, ChunkList, Entry, EntryKind, FileList, FilePart, Item,
    Leaf, Name, Node, PathBytes, RestoreIntent, Skip, SkipReason, TreePath,
};
use proptest::collection::{btree_map, btree_set, vec};
use proptest::option;
use proptest::prelude::*;

use super::{chunk, hash, number};

/// Names of bytes that matter in them, and of any.
fn name_bytes() -> impl Strategy<Value = Vec<u8>> {
    let close = prop::sample::select(b".gitGIT-a \n\xff\x01".to_vec());
    prop_oneof![
        vec(close, 1..6),
        vec(any::<u8>(), 1..12),
        (1..=255_usize).prop_map(|len| vec![b'n'; len]),
    ]
}

pub fn name() -> impl Strategy<Value = Name> {
    name_bytes().prop_filter_map("a name", |bytes| Name::new(&bytes).ok())
}

pub fn path() -> impl Strategy<Value = TreePath> {
    vec(name(), 1..5).prop_filter_map("a path", |names| {
        let names: Vec<_> = names.iter().map(Name::as_bytes).collect();
        TreePath::new(&names.join(&b'/')).ok()
    })
}

pub fn item() -> impl Strategy<Value = Item> {
    let file = (0..=1_u64 << 20, chunk(), any::<bool>()).prop_map(|(len, id, unstable)| {
        let id = if len == 0 { ChunkEntry::id_of(&[]) } else { id };
        EntryKind::File { len, id, unstable }
    });
    let listed = (number(), hash(), chunk(), any::<bool>())
        .prop_map(|(len, hash, list, unstable)| EntryKind::Listed { len, hash, list, unstable });
    let link = vec(1..=255_u8, 1..300).prop_map(|target| EntryKind::Link { target: target.into() });
    let directory = chunk().prop_map(|id| EntryKind::Directory { id });
    let kind = prop_oneof![file, listed, link, directory];
    (0..=0o777_u16, kind).prop_map(|(mode, kind)| Item { mode, kind })
}

pub fn entries(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Entry>> {
    btree_map(name(), item(), count).prop_map(|entries: BTreeMap<_, _>| {
        let entries = entries.into_iter();
        entries.map(|(name, item)| Entry { name, item }).collect()
    })
}

fn capture() -> impl Strategy<Value = Capture> {
    let numbers = (number(), number(), number(), number());
    let skips = option::of((1..1000_u64, vec(chunk(), 1..4)));
    let over = option::of(option::of(chunk()));
    (over, vec(any::<u8>(), 0..40), chunk(), numbers, skips).prop_map(
        |(over, folder, tree, (files, directories, links, bytes), skips)| {
            let (skipped, chunks) = skips.unwrap_or_default();
            Capture {
                present: over.is_some(),
                over: over.flatten(),
                folder: PathBytes(folder.into()),
                tree,
                files,
                directories,
                links,
                bytes,
                skipped,
                skips: ChunkList { len: skipped * 20, chunks },
            }
        },
    )
}

fn list(most: u64) -> impl Strategy<Value = FileList> {
    let part = (chunk(), 1..=most).prop_map(|(id, len)| FilePart { id, len });
    vec(part, 2..6).prop_map(FileList::new)
}

fn leaves() -> impl Strategy<Value = Vec<Leaf>> {
    let leaf = (chunk(), 1..2000_u64);
    btree_map(name(), leaf, 2..6).prop_map(|leaves| {
        let leaf = |(first, (id, entries))| Leaf { first, id, entries };
        leaves.into_iter().map(leaf).collect()
    })
}

pub fn node() -> impl Strategy<Value = Node> {
    prop_oneof![
        capture().prop_map(Node::Capture),
        entries(0..6).prop_map(Node::Directory),
        leaves().prop_map(Node::Leaves),
        list(1 << 20).prop_map(Node::File),
        list(29_000 << 20).prop_map(Node::LongFile),
    ]
}

pub fn skips() -> impl Strategy<Value = Vec<Skip>> {
    let paths = btree_set(path().prop_map(|path| PathBytes::from(&path)), 0..6);
    let git = prop::sample::select(vec![SkipReason::Git, SkipReason::Large, SkipReason::Staging]);
    (paths, git, number()).prop_map(|(paths, reason, size): (BTreeSet<_>, _, _)| {
        let skip = |path| Skip { path, reason, size };
        paths.into_iter().map(skip).collect()
    })
}

pub fn plan() -> impl Strategy<Value = RestoreIntent> {
    let folder = chunk().prop_map(|id| Item { mode: 0o755, kind: EntryKind::Directory { id } });
    let items = prop_oneof![
        item().prop_map(|after| (ActionKind::Create, None, Some(after))),
        (item(), item()).prop_map(|(b, a)| (ActionKind::Replace, Some(b), Some(a))),
        item().prop_map(|before| (ActionKind::Remove, Some(before), None)),
        folder.prop_map(|before| (ActionKind::MakeRoom, Some(before), None)),
        (item(), 0..=0o777_u16).prop_filter_map("no link", |(before, mode)| {
            let link = matches!(before.kind, EntryKind::Link { .. });
            let after = Item { mode, ..before.clone() };
            (!link).then_some((ActionKind::Mode, Some(before), Some(after)))
        }),
    ];
    let action = (path(), any::<u32>(), items)
        .prop_map(|(path, slot, (kind, before, after))| Action { kind, path, slot, before, after });
    vec(action, 0..5).prop_map(|actions| RestoreIntent { actions })
}
