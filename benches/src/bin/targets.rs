//! Measures the design's targets against the alternatives, and prints the distance to each target.
//!
//! `just targets [quick] [ROW...]` with rows `one`, `many`, `batches`, `load`, `memory`, `marks`,
//! `state`, `states`, `open`, `guards`, `verify`, `rebuild`, `same`, `list`, `cleanup`, `commands`
//! and `sessions` (they need the command in the same target folder), and of workspaces compared
//! with a shadow git repository `files` (3,000 files, 32 MB; with `quick` 1,000), `files-large`
//! (50,000 files, 1 GB) and `one-file` (100 MB); `restic` compares a folder of 3,000 files with it,
//! if it is installed. `quick` leaves the last two out unless they are named. Stores and trees are
//! made in the current folder, or in `MILEPOST_BENCH_DIR`; it should be on the disk to be measured.
//! `hooks` and `agent` are the hooks of coding agents, as whole processes, and a session of Claude
//! Code, which `MILEPOST_AGENTS` has to name (`tests/agents/install`); with `quick` only if they
//! are named.

use std::path::Path;

use milepost_benches::rows::workspace::{self, Size};
use milepost_benches::{measure, rows};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [first, dir, tree] = &args[..]
        && first == workspace::PEAK
    {
        return workspace::peak_of_capture(Path::new(dir), Path::new(tree));
    }
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
    if wanted("states") {
        rows::states(rounds, 300);
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
    if wanted("commands") && (!quick || std::env::args().any(|arg| arg == "commands")) {
        rows::commands(rounds);
    }
    if wanted("sessions") && (!quick || std::env::args().any(|arg| arg == "sessions")) {
        rows::sessions(rounds.min(3), if quick { 100 << 20 } else { 400 << 20 });
    }
    if wanted("verify") {
        rows::verify(rounds, bytes);
    }
    if wanted("rebuild") {
        rows::rebuild(rounds, bytes);
    }
    if wanted("load") {
        rows::bulk_load(if quick { 1 } else { 3 }, bytes);
    }
    if wanted("same") {
        rows::same_result();
    }
    let named = |row: &str| wanted(row) && (!quick || std::env::args().any(|arg| arg == row));
    if named("hooks") {
        rows::hooks(if quick { 40 } else { 100 }, !quick);
    }
    if named("agent") {
        rows::agent_session(rounds);
    }
    of_workspaces(quick, wanted);
}

fn of_workspaces(quick: bool, wanted: impl Fn(&str) -> bool) {
    // Rows that take minutes run with `quick` only if they are named.
    let named = |row: &str| wanted(row) && (!quick || std::env::args().any(|arg| arg == row));
    if wanted("files") {
        let size = Size::of(if quick { 1000 } else { 3000 });
        workspace::files(if quick { 3 } else { 7 }, size);
        workspace::disk(size, 100);
    }
    if wanted("restic") {
        workspace::beside_restic(if quick { 1 } else { 3 }, Size::of(3000));
    }
    if named("one-file") {
        workspace::one_file(if quick { 1 } else { 3 }, 100_000_000);
    }
    if named("files-large") {
        let size = Size::of(50_000);
        workspace::files(if quick { 1 } else { 3 }, size);
        workspace::memory_of_capture(size);
    }
}
