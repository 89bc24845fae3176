//! I1 through a power cut at any moment: a process's changes to its files are traced, and for every
//! sync a disk is simulated that loses, keeps and mixes unstored content.
//!
//! The test starts its own binary, with the library of `tests/faults` preloaded.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use milepost_tests::acked::{Acked, check_store};
use milepost_tests::disk::{Disk, Op, VARIANTS, Variant, read_trace};
use milepost_tests::faulted;
use milepost_tests::faults::{self, Faults, nightly, temp_dir};
use milepost_tests::folder::copy;
use milepost_tests::seed::{Random, seed};
use milepost_tests::work::{
    Kind, Step, Work, compacting_script, recycling_script, script, short_script,
};

const DIR: &str = "MILEPOST_TEST_POWER_DIR";
const SEED: &str = "MILEPOST_TEST_POWER_SEED";
const WHAT: &str = "MILEPOST_TEST_POWER_WHAT";

const CHILD: &str = "power_simulated::child_that_works_until_it_ends_without_closing";

/// The process whose files are observed: does nothing without its environment.
#[test]
fn child_that_works_until_it_ends_without_closing() {
    let (Ok(dir), Ok(seed), Ok(what)) =
        (std::env::var(DIR), std::env::var(SEED), std::env::var(WHAT))
    else {
        return;
    };
    let seed = seed.parse().unwrap();
    let (first, steps) = match what.as_str() {
        "recycling" => (0, recycling_script()),
        // A store after a crash is opened and written to.
        "again" => (
            10_000,
            vec![
                Step::Append(Kind::Small),
                Step::Append(Kind::Chunked),
                Step::Append(Kind::Medium),
                Step::Drain,
                Step::Append(Kind::Small),
            ],
        ),
        "short" => (0, short_script()),
        "compacting" => (0, compacting_script()),
        "threads" => (0, script(seed, 25)),
        "chunk" => (
            0,
            vec![
                Step::Start,
                Step::Append(Kind::Small),
                Step::Append(Kind::Chunked),
                Step::Append(Kind::Small),
                Step::Append(Kind::Chunked),
            ],
        ),
        steps => (0, script(seed, steps.parse().unwrap())),
    };
    let retries = std::env::var_os(faults::FAIL).is_some();
    let mut work = match Work::open(Path::new(&dir), seed, first) {
        Err(_) if retries => std::process::exit(0),
        work => work.unwrap(),
    };
    work.retries = retries;
    if what == "threads" {
        let begun: Vec<Work> = (1..6).map(|n| work.beside(n)).collect();
        std::thread::scope(|scope| {
            for mut beside in begun {
                let steps = steps.iter().copied();
                let steps = steps.filter(|step| *step != Step::Reopen);
                scope.spawn(move || steps.for_each(|step| beside.step(step).unwrap()));
            }
        });
        std::process::exit(0);
    }
    for step in steps {
        match work.step(step) {
            Err(_) if retries => {}
            done => done.unwrap(),
        }
        if !work.is_open() {
            break;
        }
    }
    // No destructor runs: the store is left as a kill leaves it.
    std::process::exit(0);
}

/// Trace of a process, and its folder.
struct Run {
    dir: tempfile::TempDir,
    seed: u64,
    ops: Vec<Op>,
}

impl Run {
    fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }
}

fn record(faults: &Faults, root: &Path, seed: u64, what: &str, more: &[(&str, &str)]) -> Vec<Op> {
    let trace = root.with_extension("trace");
    let (dir, text) = (root.to_str().unwrap(), seed.to_string());
    let mut settings = vec![
        (DIR, dir),
        (SEED, text.as_str()),
        (WHAT, what),
        (faults::RECORD, trace.to_str().unwrap()),
    ];
    settings.extend_from_slice(more);
    let ended = faults::run(faults, CHILD, root, &settings);
    let killed = more.iter().any(|(name, what)| *name == faults::FAIL && what.contains(":kill:"));
    assert_eq!(ended.fault(killed), None, "seed {seed}");
    let ops = read_trace(&trace).unwrap();
    std::fs::remove_file(trace).unwrap();
    ops
}

fn run(faults: &Faults, seed: u64, what: &str, more: &[(&str, &str)]) -> Run {
    let dir = temp_dir();
    let root = dir.path().canonicalize().unwrap().join("work");
    std::fs::create_dir(&root).unwrap();
    let ops = record(faults, &root, seed, what, more);
    Run { dir, seed, ops }
}

/// Selection of the images to build.
#[derive(Clone, Copy)]
struct Sampling {
    /// The interval of tested moments next to a sync.
    syncs: u64,
    /// The interval of other tested moments.
    others: u64,
    /// Variants of each moment.
    variants: usize,
    /// Nothing is built before this operation.
    from: usize,
}

impl Sampling {
    fn new(syncs: u64, others: u64, variants: usize) -> Self {
        Self { syncs, others, variants, from: 1 }
    }
}

/// A crash image for a check.
struct Image<'a> {
    store: &'a Path,
    root: &'a Path,
    acked: &'a Acked,
    acks: &'a [u8],
    place: String,
}

/// Walks through a trace and builds images; gives how many.
fn images(
    run: &Run,
    mut disk: Disk,
    before: &[u8],
    sampling: Sampling,
    random: &mut Random,
    look: &mut dyn FnMut(&Image<'_>),
) -> usize {
    let mut acks_inode = None;
    let mut acks = before.to_vec();
    let mut count = 0;
    let total = run.ops.len();
    for (at, op) in run.ops.iter().enumerate() {
        let beside = |op: Option<&Op>| op.is_some_and(Op::is_sync);
        let one_of = if beside(Some(op)) || beside(at.checked_sub(1).map(|i| &run.ops[i])) {
            sampling.syncs
        } else {
            sampling.others
        };
        if at >= sampling.from && random.below(one_of) == 0 {
            let acked = Acked::parse(&acks);
            let chosen = choose(sampling.variants, disk.is_pending(), random);
            for variant in chosen {
                let image = run.root().join(format!("image-{count}"));
                disk.image(variant, random, &image).unwrap();
                look(&Image {
                    store: &image.join("store"),
                    root: &image,
                    acked: &acked,
                    acks: &acks,
                    place: format!("{variant:?} before operation {at} of {total}"),
                });
                std::fs::remove_dir_all(&image).unwrap();
                count += 1;
            }
        }
        match op {
            Op::Create { inode, path, .. } if path == "acks" => acks_inode = Some(*inode),
            Op::Write { inode, data, .. } if Some(*inode) == acks_inode => {
                acks.extend_from_slice(data);
            }
            op => disk.apply(op),
        }
    }
    count
}

fn choose(count: usize, pending: bool, random: &mut Random) -> Vec<Variant> {
    if !pending {
        return vec![Variant::None];
    }
    let mut all = VARIANTS.to_vec();
    while all.len() > count {
        all.remove(random.below(all.len() as u64) as usize);
    }
    all
}

/// Checks every image, some without sled, which is to come back from the rest; returns their
/// number, and those that lost something. `MILEPOST_KEEP` names a folder that keeps the first such
/// image as it was before it was opened.
fn check_all(run: &Run, disk: Disk, sampling: Sampling) -> (usize, Vec<String>) {
    let mut random = Random::new(run.seed ^ 0xd15c);
    let mut luck = random.clone();
    let mut failures = Vec::new();
    let keep = std::env::var_os("MILEPOST_KEEP").map(PathBuf::from);
    let count = images(run, disk, b"", sampling, &mut random, &mut |image| {
        let sled = image.store.join("sled");
        let without = luck.below(3) == 0 && sled.exists();
        if without {
            std::fs::remove_dir_all(&sled).unwrap();
        }
        let keep = keep.as_ref().filter(|keep| !keep.exists());
        if let Some(keep) = keep {
            copy(image.root, keep).unwrap();
        }
        let damaged: &[&str] = if without { &["sled"] } else { &[] };
        if let Err(error) = check_store(image.store, image.acked, run.seed, damaged) {
            let sled = if without { ", without sled" } else { "" };
            failures.push(format!("{}{sled}: {error}", image.place));
        } else if let Some(keep) = keep {
            std::fs::remove_dir_all(keep).unwrap();
        }
    });
    (count, failures)
}

fn report(what: &str, run: &Run, count: usize, failures: &[String]) {
    let syncs = run.ops.iter().filter(|op| op.is_sync()).count();
    let ops = run.ops.len();
    println!("{what}: {count} images of {ops} operations with {syncs} syncs were checked");
    faulted::report(what, run.seed, count, failures);
}

#[test]
fn whatever_a_power_cut_leaves_of_what_was_not_synced_everything_acknowledged_is_there() {
    let Some(faults) = faults::built() else {
        return;
    };
    let seed = seed();
    let rounds = if nightly() { 10 } else { 1 };
    for round in 0..rounds {
        let run = run(faults, seed.wrapping_add(round), "70", &[]);
        let sampling = if nightly() { Sampling::new(1, 5, 6) } else { Sampling::new(16, 120, 3) };
        let (count, failures) = check_all(&run, Disk::new(), sampling);
        report("power cuts", &run, count, &failures);
    }
}

#[test]
fn what_several_writers_share_a_sync_for_is_there_after_a_power_cut() {
    let Some(faults) = faults::built() else {
        return;
    };
    let run = run(faults, seed(), "threads", &[]);
    let sampling = if nightly() { Sampling::new(1, 5, 6) } else { Sampling::new(36, 200, 2) };
    let (count, failures) = check_all(&run, Disk::new(), sampling);
    report("several writers", &run, count, &failures);
}

#[test]
fn a_segment_that_is_used_again_does_not_bring_back_what_it_held_before() {
    let Some(faults) = faults::built() else {
        return;
    };
    let recycled = |op: &Op| matches!(op, Op::Rename { from, .. } if from.contains("spare-00"));
    // A reuse depends on the progress of the applier when the next segment begins.
    let seed = seed();
    let mut runs = (0..20).map(|n| run(faults, seed.wrapping_add(n), "recycling", &[]));
    let run = runs.find(|run| run.ops.iter().any(recycled));
    let run = run.expect("no segment was used again in 20 runs");
    let from = run.ops.iter().position(recycled).unwrap();
    let sampling = if nightly() { Sampling::new(1, 20, 6) } else { Sampling::new(36, 120, 2) };
    let sampling = Sampling { from, ..sampling };
    let (count, failures) = check_all(&run, Disk::new(), sampling);
    report("recycling", &run, count, &failures);
}

#[test]
fn a_power_cut_while_a_store_lets_go_of_events_and_is_compacted_loses_nothing_that_is_kept() {
    let Some(faults) = faults::built() else {
        return;
    };
    let run = run(faults, seed(), "compacting", &[]);
    let sampling = if nightly() { Sampling::new(1, 5, 6) } else { Sampling::new(36, 200, 2) };
    let (count, failures) = check_all(&run, Disk::new(), sampling);
    report("compacting", &run, count, &failures);
}

#[test]
fn a_power_cut_while_a_store_recovers_from_one_loses_nothing() {
    let Some(faults) = faults::built() else {
        return;
    };
    let run_one = run(faults, seed(), "60", &[]);
    let first = Sampling::new(if nightly() { 20 } else { 60 }, 1000, 2);
    let second = if nightly() { Sampling::new(1, 5, 6) } else { Sampling::new(32, 400, 2) };
    let mut random = Random::new(run_one.seed ^ 0x2d);
    let (seen, mut failures) = (AtomicUsize::new(0), Vec::new());
    let mut luck = random.clone();
    let firsts = images(&run_one, Disk::new(), b"", first, &mut random, &mut |image| {
        std::fs::write(image.root.join("acks"), image.acks).unwrap();
        let disk = Disk::load(image.root).unwrap();
        let ops = record(faults, image.root, run_one.seed, "again", &[]);
        let dir = temp_dir();
        let run = Run { dir, seed: run_one.seed, ops };
        // The acknowledgements go on in the file that was there.
        let mut ops = vec![Op::Create {
            inode: inode(&image.root.join("acks")),
            mode: 0o600,
            path: "acks".into(),
        }];
        ops.extend(run.ops);
        let run = Run { ops, ..run };
        let count = images(&run, disk, image.acks, second, &mut luck, &mut |again| {
            if let Err(error) = check_store(again.store, again.acked, run.seed, &[]) {
                let place = format!("{}, then {}", image.place, again.place);
                failures.push(format!("{place}: {error}"));
            }
        });
        seen.fetch_add(count, Ordering::Relaxed);
    });
    let count = seen.into_inner();
    println!("crashes in recovery: {firsts} first images");
    report("crashes in recovery", &run_one, count, &failures);
}

fn inode(path: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).unwrap().ino()
}

#[test]
fn without_the_syncs_of_the_engine_the_simulated_power_cuts_find_losses() {
    let Some(faults) = faults::built() else {
        return;
    };
    let run = run(faults, seed(), "40", &[(faults::NOSYNC, "1")]);
    let sampling = Sampling::new(1, 20, 2);
    let (count, failures) = check_all(&run, Disk::new(), sampling);
    println!("without syncs: {} of {count} images lost something", failures.len());
    let lost = failures.iter().filter(|failure| failure.contains("I1"));
    assert!(lost.count() > 0, "no image of {count} lost an acknowledged event");
}

#[test]
fn what_a_process_did_not_sync_is_not_taken_for_stored_by_the_next_one() {
    // A process that is killed before a sync leaves unstored content, and the next one reads it. A
    // sync that fails is worse: the kernel takes its pages for stored, and the next sync succeeds.
    // Appends that fail are tried again, and the next process opens the store and continues.
    let Some(faults) = faults::built() else {
        return;
    };
    let seed = seed();
    let count = temp_dir();
    let count = count.path().join("count");
    let whole = run(faults, seed, "short", &[(faults::COUNT, count.to_str().unwrap())]);
    drop(whole);
    let syncs = faults::counts(&count).of("sync");
    let mut random = Random::new(seed);
    let sample = (!nightly()).then_some(4);
    let (mut images_seen, mut failures) = (0, Vec::new());
    let failing = faults::spread(syncs, sample, &mut random);
    let failing = failing.into_iter().map(|n| format!("sync:{n}:EIO:once"));
    let killed = faults::spread(syncs, sample, &mut random);
    let killed = killed.into_iter().map(|n| format!("sync:{n}:kill:once"));
    for fail in failing.chain(killed) {
        let mut run = run(faults, seed, "short", &[(faults::FAIL, &fail)]);
        let failed = |op: &Op| matches!(op, Op::SyncFailed { .. });
        let from = run.ops.iter().position(failed).unwrap_or(run.ops.len());
        let root = run.root().join("work");
        let more = record(faults, &root, seed, "again", &[]);
        run.ops.extend(more);
        let sampling = if nightly() { Sampling::new(2, 20, 2) } else { Sampling::new(32, 400, 2) };
        let (count, failed) = check_all(&run, Disk::new(), Sampling { from, ..sampling });
        images_seen += count;
        failures.extend(failed.into_iter().map(|f| format!("{fail}, {f}")));
    }
    println!("not synced: {images_seen} images");
    faulted::report("I1 after what was not synced", seed, images_seen, &failures);
}

#[test]
fn a_large_body_whose_chunks_were_not_synced_is_not_acknowledged_when_it_is_appended_again() {
    let Some(faults) = faults::built() else {
        return;
    };
    let seed = seed();
    let whole = run(faults, seed, "chunk", &[]);
    let pack = whole.ops.iter().find_map(|op| match op {
        Op::Create { inode, path, .. } if path.contains("/packs/") => Some(*inode),
        _ => None,
    });
    let pack = pack.expect("a pack");
    // Finds the syncs of the pack, after the one of the empty file.
    let syncs = whole.ops.iter().filter(|op| op.is_sync());
    let of_pack = |op: &Op| match op {
        Op::Sync { inode } | Op::SyncData { inode } => *inode == pack,
        _ => false,
    };
    let ours = (1_u64..).zip(syncs).filter(|(_, op)| of_pack(op));
    let ours: Vec<u64> = ours.map(|(n, _)| n).skip(1).collect();
    assert!(!ours.is_empty(), "no sync of a pack");
    let (mut images_seen, mut failures) = (0, Vec::new());
    for n in ours {
        let fail = format!("sync:{n}:EIO:once");
        let run = run(faults, seed, "chunk", &[(faults::FAIL, &fail)]);
        let failed = |op: &Op| matches!(op, Op::SyncFailed { .. });
        let from = run.ops.iter().position(failed).expect("a failed sync");
        let sampling = Sampling { from, ..Sampling::new(1, 2, 2) };
        let (count, failed) = check_all(&run, Disk::new(), sampling);
        images_seen += count;
        failures.extend(failed.into_iter().map(|f| format!("{fail}, {f}")));
    }
    faulted::report("I1, I11, packs", seed, images_seen, &failures);
}
