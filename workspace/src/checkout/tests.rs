use std::path::Path;
use std::sync::Arc;

use milepost::ErrorKind;
use milepost_codec::ChunkEntry;

use super::*;
use crate::fs::at_root;
use crate::testing::fixtures::{
    Random, Thing, Things, open_all, path, read_things, seeds, temporary,
};
use crate::testing::memory::MemoryChunks;

fn fill_in(chunks: &Arc<MemoryChunks>, things: &Things, into: &Path, writers: usize) -> Result<()> {
    let tree = chunks.tree(things);
    let chunks: Arc<dyn Chunks> = Arc::clone(chunks) as _;
    let says = Budget::unbounded();
    fill(&chunks, (&tree, says), at_root(into).unwrap(), writers)
}

/// Writes entries to a folder and reads them back.
fn filled(things: &Things, writers: usize) -> Things {
    let folder = temporary();
    fill_in(&Arc::default(), things, folder.path(), writers).unwrap();
    let found = read_things(folder.path());
    open_all(folder.path());
    found
}

/// Returns folders with a few small files each, more than a job may keep open.
fn many_folders(bits: u16) -> Things {
    let mut things = Things::new();
    for folder in 0..60 {
        things.insert(path(format!("d-{folder}")), Thing::Dir(bits));
        things.insert(path(format!("d-{folder}/inner")), Thing::Dir(bits));
        for at in ["", "inner/"] {
            let content = format!("of {folder} {at}").into_bytes();
            let name = path(format!("d-{folder}/{at}file"));
            things.insert(name, Thing::File(content, 0o440));
        }
    }
    things
}

#[test]
fn any_tree_is_written_as_it_is_by_one_thread_and_by_four() {
    for seed in seeds(12) {
        let mut random = Random::new(seed);
        let mut things = Things::new();
        let mut folders = vec![String::new()];
        for n in 0..400 {
            let name = format!("{}{n}", random.of(&folders));
            let thing = match random.below(10) {
                0..2 => {
                    folders.push(format!("{name}/"));
                    Thing::Dir(random.of(&[0o755, 0o700, 0o555, 0o500]))
                }
                2 => Thing::Link(b"some/where".to_vec()),
                kind => {
                    // A few files are larger than a job.
                    let most = if kind == 3 && n % 40 == 0 { 700_000 } else { 9000 };
                    let (len, byte) = (random.below(most), random.below(256) as u8);
                    let content = (0..len).map(|at| (at / 300) as u8 ^ byte).collect();
                    Thing::File(content, random.of(&[0o644, 0o755, 0o400, 0o600]))
                }
            };
            things.insert(path(name), thing);
        }
        for writers in [1, 2, 4] {
            assert_eq!(filled(&things, writers), things, "seed {seed}, {writers}");
        }
    }
}

#[test]
fn a_folder_that_nobody_may_write_to_has_all_that_is_in_it() {
    let things = many_folders(0o555);
    for writers in [1, 4] {
        assert_eq!(filled(&things, writers), things);
    }
}

#[test]
fn a_deep_tree_is_written_and_few_of_its_folders_are_open_at_once() {
    let mut things = Things::new();
    for chain in 0..12 {
        let mut at = format!("chain-{chain}");
        for _ in 0..50 {
            things.insert(path(&at), Thing::Dir(0o750));
            at.push_str("/d");
        }
        things.insert(path(at), Thing::File(vec![chain], 0o600));
    }
    let mut deepest = "deep".to_owned();
    while deepest.len() < 400 {
        things.insert(path(&deepest), Thing::Dir(0o700));
        deepest.push_str("/d");
    }
    for writers in [1, 4] {
        assert_eq!(filled(&things, writers), things);
    }
}

#[test]
fn damage_in_the_middle_ends_it_and_is_told_with_its_path() {
    let things = many_folders(0o755);
    for (writers, gone) in [(1, true), (1, false), (4, true), (4, false)] {
        let (chunks, folder) = (Arc::<MemoryChunks>::default(), temporary());
        let tree = chunks.tree(&things);
        let hit = ChunkEntry::id_of(b"of 37 inner/");
        let before = chunks.all.lock().remove(&hit);
        assert!(before.is_some());
        if !gone {
            chunks.all.lock().insert(hit, Arc::from(&b"others"[..]));
        }
        let chunks: Arc<dyn Chunks> = chunks;
        let dir = at_root(folder.path()).unwrap();
        let error = fill(&chunks, (&tree, Budget::unbounded()), dir, writers).unwrap_err();
        let kind = if gone { ErrorKind::NotFound } else { ErrorKind::Corrupt };
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains("d-37/inner/file"), "{error}");
        let first = std::fs::read(folder.path().join("d-0/file")).unwrap();
        assert_eq!(first, b"of 0 ", "what was written stays");
        assert!(!folder.path().join("d-59").exists() || writers > 1, "it ended");
    }
}
