//! Every stored input of the fuzz targets: those that found a fault once, and the corpora.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};

use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// The folder of the fuzz targets.
fn fuzz() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz"))
}

/// Length of a tar header; the content of a file is padded to a multiple of it.
const HEADER: usize = 512;

/// Returns the files of a corpus, `corpus/TARGET.tar`, which `fuzz/examples/seeds.rs` writes.
fn unpacked(archive: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let bytes = fs::read(archive).unwrap_or_else(|e| panic!("{}: {e}", archive.display()));
    let (mut rest, mut files) = (&*bytes, Vec::new());
    loop {
        let (header, after) = rest.split_at(HEADER);
        if header.iter().all(|byte| *byte == 0) {
            return files;
        }
        let field = |from: usize, len: usize| {
            let (text, _) = header.split_at(from).1.split_at(len);
            str::from_utf8(text).unwrap().trim_end_matches('\0')
        };
        let (name, len, kind) = (field(0, 100), field(124, 12), field(156, 1));
        assert_eq!(kind, "0", "{name} in {} is no plain file", archive.display());
        let len = usize::from_str_radix(len, 8).unwrap();
        files.push((archive.join(name), after.split_at(len).0.to_vec()));
        rest = after.split_at(len.next_multiple_of(HEADER)).1;
    }
}

/// Returns the regressions of a target, which are plain files. Most targets have none.
fn regressions(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let Ok(entries) = fs::read_dir(fuzz().join("regressions").join(target)) else {
        return Vec::new();
    };
    let mut paths: Vec<_> = entries.map(|e| e.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

/// Returns the names of the files of a folder, without their extensions.
fn stems(dir: &str) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(fuzz().join(dir))
        .unwrap()
        .map(|e| e.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

/// One test: the allocator counts for the whole process, so one target runs at a time.
#[test]
fn every_stored_input_keeps_every_promise() {
    let mut fed = 0;
    for (name, target) in milepost_tests::targets::TARGETS {
        let corpus = unpacked(&fuzz().join("corpus").join(format!("{name}.tar")));
        assert!(!corpus.is_empty(), "{name} has an empty corpus");
        for (path, input) in regressions(name).into_iter().chain(corpus) {
            // A panic is told with the input that it came from.
            println!("{}", path.display());
            target(&input);
            fed += 1;
        }
    }
    println!("{fed} inputs");
}

/// A target that nothing feeds would pass for ever.
#[test]
fn each_target_has_a_binary_and_a_corpus() {
    let names = milepost_tests::targets::TARGETS.map(|(name, _)| name);
    assert_eq!(stems("fuzz_targets"), names);
    assert_eq!(stems("corpus"), names);
}
