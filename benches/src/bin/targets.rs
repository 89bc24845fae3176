//! Measures the design's targets, each beside its peers, and says how far each is.
//!
//! `cargo run --release -p milepost-benches --bin targets [-- [quick] [ROW...]]` with rows
//! `one`, `many`, `batches`, `load`, `memory`, `marks`, `state`, `open`, `guards`, `verify`, `rebuild`, `list`, `cleanup`. Stores are made in the
//! current folder, or in `MILEPOST_BENCH_DIR`; it should be on the disk that is asked about.

use milepost_benches::{measure, rows};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let quick = args.iter().any(|arg| arg == "quick");
    let wanted =
        |row: &str| args.iter().all(|arg| arg == "quick") || args.iter().any(|arg| arg == row);
    let rounds = if quick { 3 } else { 7 };
    let scale = if quick { 1 } else { 4 };
    measure::heading();
    if wanted("memory") {
        // First: the most memory the process ever held counts.
        rows::memory(1_000_000);
    }
    if wanted("one") {
        rows::one_writer(rounds, 1000 * scale);
    }
    if wanted("many") {
        rows::writers_64(rounds, 200 * scale);
    }
    if wanted("batches") {
        rows::batches(rounds, 25 * scale);
    }
    if wanted("marks") {
        rows::checkpoint_and_fork(rounds, 200 * scale);
    }
    if wanted("state") {
        rows::state(rounds, 20 * scale);
    }
    if wanted("open") {
        rows::open(rounds);
    }
    if wanted("guards") {
        rows::guards(rounds, 1000 * scale);
    }
    if wanted("list") {
        rows::listing(rounds, 25_000 * scale);
    }
    if wanted("cleanup") {
        rows::cleanup(rounds, 2500 * scale);
    }
    let bytes = if quick { 64 << 20 } else { 256 << 20 };
    if wanted("verify") {
        rows::verify(rounds, bytes);
    }
    if wanted("rebuild") {
        rows::rebuild(rounds, bytes);
    }
    if wanted("load") {
        rows::bulk_load(if quick { 1 } else { 3 }, bytes);
    }
}
