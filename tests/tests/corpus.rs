//! Every stored input of the fuzz targets: those that found a fault once, and the corpora.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

use std::fs;
use std::path::Path;

use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// The folder of the fuzz targets.
fn fuzz() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz"))
}

/// One test: the allocator counts for the whole process, so one target runs at a time.
#[test]
fn every_stored_input_keeps_every_promise() {
    let mut fed = 0;
    for (name, target) in milepost_tests::targets::TARGETS {
        for kind in ["regressions", "corpus"] {
            let dir = fuzz().join(kind).join(name);
            let Ok(entries) = fs::read_dir(&dir) else {
                assert_eq!(kind, "regressions", "{name} has no corpus");
                continue;
            };
            let mut paths: Vec<_> = entries.map(|e| e.unwrap().path()).collect();
            paths.sort();
            assert!(!paths.is_empty(), "{} is empty", dir.display());
            for path in paths {
                // A panic is told with the input that it came from.
                println!("{}", path.display());
                target(&fs::read(&path).unwrap());
                fed += 1;
            }
        }
    }
    println!("{fed} inputs");
}

/// A target that nothing feeds would pass for ever.
#[test]
fn each_target_has_a_binary_and_a_corpus() {
    let mut files: Vec<_> = fs::read_dir(fuzz().join("fuzz_targets"))
        .unwrap()
        .map(|e| e.unwrap().path().file_stem().unwrap().to_os_string())
        .collect();
    files.sort();
    let names: Vec<_> = milepost_tests::targets::TARGETS.map(|(name, _)| name).into();
    assert_eq!(files, names);
}
