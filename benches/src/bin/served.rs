//! Measures the service under load, compared with direct calls of the engine.
//!
//! `just served [quick] [ROW...]` with rows `appends`, `list`, `streams` and `lasting` (10 minutes;
//! with `quick` only if it is named, for 2). `wrk` has to be installed. Stores are made in the
//! current folder, or in `MILEPOST_BENCH_DIR`; it should be on the disk to be measured.

use milepost_benches::measure;
use milepost_benches::served::rows;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let quick = args.iter().any(|arg| arg == "quick");
    let named = |row: &str| args.iter().any(|arg| arg == row);
    let wanted = |row: &str| args.iter().all(|arg| arg == "quick") || named(row);
    let rounds = if quick { 3 } else { 5 };
    measure::heading();
    if wanted("appends") {
        rows::appended(rounds);
    }
    if wanted("list") {
        rows::listed(rounds);
    }
    if wanted("streams") {
        rows::streamed(1000, if quick { 1000 } else { 6000 });
    }
    if named("lasting") || (wanted("lasting") && !quick) {
        rows::lasting(if quick { 2 } else { 10 });
    }
}
