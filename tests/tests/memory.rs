//! I12: memory is bounded by configuration, whatever the size of the log. A test of its own
//! process, since it measures the memory of the process.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs, reason = "tests")]

use milepost::{Engine, Options};
use milepost_tests::bodies;
use peak_alloc::PeakAlloc;

/// Counts the allocated memory: the value in `/proc` also depends on the time at which the
/// allocator gives pages back.
#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

#[test]
fn a_backlog_of_one_mib_takes_fifty_mib_and_reading_them_holds_no_more_than_a_block() {
    // A backlog smaller than what made the applier begin a round kept writers waiting for ever.
    let dir = tempfile::tempdir().unwrap();
    let options = Options::default().backlog_bytes(1 << 20).cache_bytes(1 << 20);
    let engine = Engine::open(dir.path().join("store"), options.snapshots(false)).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    for n in 0..50_u64 {
        let batch: Vec<_> = (0..64).map(|i| bodies::bytes(n * 64 + i, 16 << 10)).collect();
        task.append(batch).unwrap();
    }
    assert!(engine.store().stats().unwrap().event_bytes > 50 << 20);
    engine.store().drain().unwrap();
    let (mut before, mut next) = (0, 0);
    for event in task.read(..).unwrap() {
        assert_eq!(event.unwrap().offset, next);
        next += 1;
        if next == 640 {
            // sled's cache is full by now.
            before = MEMORY.current_usage();
            MEMORY.reset_peak_usage();
        }
    }
    let most = MEMORY.peak_usage();
    println!("before {before} most {most}");
    assert_eq!(next, 50 * 64 + 1);
    assert!(
        most < before + (20 << 20),
        "I12: from {before} bytes to {most} while 40 MiB were read"
    );
}
