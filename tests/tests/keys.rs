//! I12: the memory of a cleanup is bounded for any number of idempotency keys. The test counts the
//! allocations of its process, so it has a binary of its own.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

use milepost::retention::Policy;
use milepost::{Append, Engine, Mark, Options};
use milepost_tests::bodies;
use peak_alloc::PeakAlloc;

/// Counts the allocated memory.
#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Writers, so that appends share syncs.
const WRITERS: usize = 64;

#[test]
fn a_cleanup_of_many_keys_takes_bounded_memory() {
    let nightly = std::env::var_os("MILEPOST_NIGHTLY").is_some();
    let (count, most) = if nightly { (1_000_000, 200 << 20) } else { (100_000, 80 << 20) };
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open(dir.path().join("store"), Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    let key = |n: u64| format!("{n:08x}-9d3b-4c61-8f2e-{:012x}", n.wrapping_mul(0x9E37_79B9) >> 8);
    std::thread::scope(|scope| {
        for writer in (0..count).take(WRITERS) {
            let (task, key) = (&task, &key);
            scope.spawn(move || {
                for n in (writer..count).step_by(WRITERS) {
                    task.append(Append::from(bodies::bytes(n, 40)).key(key(n))).unwrap();
                }
            });
        }
    });
    task.checkpoint(Mark::new()).unwrap();
    task.append(bodies::bytes(count, 40)).unwrap();
    task.checkpoint(Mark::new()).unwrap();
    let head = task.head().unwrap().next;
    engine.store().drain().unwrap();

    MEMORY.reset_peak_usage();
    let plan = engine.retention().plan(&Policy::new().keep(1)).unwrap();
    let report = engine.retention().apply(&plan, &mut |_, _| {}).unwrap();
    let peak = MEMORY.peak_usage();
    println!("{count} keys: peak {} MiB", peak >> 20);
    assert_eq!(report.tasks.len(), 1);
    assert!(peak < most, "I12: {peak} bytes for a cleanup of {count} keys");
    // Trimmed events keep their keys: an old one and a new one are repeated, not appended.
    for n in [0, count - 1] {
        let again = Append::from(bodies::bytes(n, 40)).key(key(n));
        assert!(task.append(again).unwrap().first < head, "key {n} was taken twice");
    }
}
