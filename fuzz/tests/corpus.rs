//! Every stored input goes through its target: those that found something once, and the corpora.

use std::fs;
use std::path::Path;

/// One test: the allocator counts for the whole process, so one target runs at a time.
#[test]
fn every_stored_input_keeps_every_promise() {
    let mut fed = 0;
    for (name, target) in milepost_fuzz::TARGETS {
        for kind in ["regressions", "corpus"] {
            let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join(kind).join(name);
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
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files: Vec<_> = fs::read_dir(root.join("fuzz_targets"))
        .unwrap()
        .map(|e| e.unwrap().path().file_stem().unwrap().to_os_string())
        .collect();
    files.sort();
    let names: Vec<_> = milepost_fuzz::TARGETS.map(|(name, _)| name).into();
    assert_eq!(files, names);
}
