//! I1 on real file systems: ext4 and XFS are cut off under a process that appends, or copied while
//! it does, and the mounted result has everything that was acknowledged.
//!
//! The test starts its own binary. It takes root, loop devices, `mkfs.ext4` and `mkfs.xfs`.

use std::io::{BufRead, BufReader, Lines};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use milepost_tests::acked::{Acked, check_store};
use milepost_tests::faulted;
use milepost_tests::faults::{self, Faults, nightly, spawn, temp_dir};
use milepost_tests::mount::Mounted;
use milepost_tests::seed::{Random, seed};
use milepost_tests::work::{Work, script};

const DIR: &str = "MILEPOST_TEST_CUT_DIR";
const SEED: &str = "MILEPOST_TEST_CUT_SEED";
const FIRST: &str = "MILEPOST_TEST_CUT_FIRST";

const CHILD: &str = "power_cut::child_that_works_until_the_power_is_cut";

/// Flag: content that the file system has not stored yet is lost.
const NO_LOG_FLUSH: &str = "2";
/// Flag: the file system stores its metadata, but not the written content.
const LOG_FLUSH: &str = "1";

/// The process under which the file system is cut off: does nothing without its environment.
#[test]
fn child_that_works_until_the_power_is_cut() {
    let (Ok(dir), Ok(seed), Ok(first)) =
        (std::env::var(DIR), std::env::var(SEED), std::env::var(FIRST))
    else {
        return;
    };
    let (seed, first): (u64, u64) = (seed.parse().unwrap(), first.parse().unwrap());
    // The one who listens is not on the file system that is cut off.
    let acks = std::io::stdout().as_fd().try_clone_to_owned().unwrap().into();
    let mut work = Work::open_with(Path::new(&dir), acks, seed, first).unwrap();
    // A last line of the harness without a line feed ends here.
    work.tell("");
    for round in 0.. {
        for step in script(seed ^ (first + round), 60) {
            work.step(step).unwrap();
        }
    }
}

/// A working process, and its output so far.
struct Worker {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    heard: String,
}

impl Worker {
    fn start(dir: &Path, seed: u64, first: u64, without_syncs: Option<&Faults>) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", CHILD, "--nocapture", "--test-threads=1"])
            .env(DIR, dir)
            .env(SEED, seed.to_string())
            .env(FIRST, first.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            // After the cut it has much to say.
            .stderr(Stdio::null());
        if let Some(faults) = without_syncs {
            command
                .env("LD_PRELOAD", &faults.library)
                .env(faults::DIR, dir)
                .env(faults::NOSYNC, "1");
        }
        let mut child = spawn(&mut command);
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines, heard: String::new() }
    }

    /// Listens until a number of further acknowledgements.
    fn listen(&mut self, count: u64) {
        for _ in 0..count {
            let line = self.lines.next().expect("the process ended").unwrap();
            self.heard.push_str(&line);
            self.heard.push('\n');
        }
    }

    fn acked(&self) -> Acked {
        Acked::parse(self.heard.as_bytes())
    }

    fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        let done = Command::new("kill").args([signal, &pid]).status();
        assert!(done.unwrap().success());
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Works, cuts, mounts again; returns the acknowledgements before the cut.
fn cut(
    faults: &Faults,
    disk: &mut Mounted,
    dir: &Path,
    flag: &str,
    seed: u64,
    first: u64,
    syncs: bool,
) -> Acked {
    let mut luck = Random::new(seed ^ first);
    let mut worker = Worker::start(dir, seed, first, (!syncs).then_some(faults));
    worker.listen(20 + luck.below(200));
    // Before the cut: a sync that is under way while it is made may still say that it went well.
    let acked = worker.acked();
    let done = Command::new(&faults.cut).arg(&disk.dir).arg(flag).status();
    assert!(done.unwrap().success(), "the file system was not cut off");
    drop(worker);
    disk.unmount().unwrap();
    disk.mount().unwrap();
    acked
}

fn add(to: &mut Acked, more: Acked) {
    to.batches.extend(more.batches);
    to.marks.extend(more.marks);
    to.lineages.extend(more.lineages);
    to.active.extend(more.active);
}

fn cuts(kind: &'static str, mib: u64) {
    let Some(faults) = faults::built() else {
        return;
    };
    let seed = seed();
    let within = temp_dir();
    let Some(mut disk) = Mounted::make_or_skip(kind, within.path(), mib) else {
        return;
    };
    let rounds = if nightly() { 25 } else { 2 };
    let (mut count, mut failures) = (0, Vec::new());
    for round in 0..=rounds {
        let flag = if round == rounds { LOG_FLUSH } else { NO_LOG_FLUSH };
        let dir = disk.dir.join(format!("round-{round}"));
        std::fs::create_dir(&dir).unwrap();
        // The folder is there before: what is cut off is what the store itself does.
        std::fs::File::open(&disk.dir).unwrap().sync_all().unwrap();
        let seed = seed.wrapping_add(round);
        let mut acked = cut(faults, &mut disk, &dir, flag, seed, 0, true);
        if round % 2 == 1 {
            // The following process is cut off too.
            let more = cut(faults, &mut disk, &dir, flag, seed, 1_000_000, true);
            add(&mut acked, more);
        }
        count += acked.count();
        if let Err(error) = check_store(&dir.join("store"), &acked, seed, &[]) {
            failures.push(format!("{kind}, round {round}, flag {flag}: {error}"));
        }
        std::fs::remove_dir_all(&dir).unwrap();
    }
    println!("{kind}: {rounds} cuts and one with its log, {count} acknowledgements");
    faulted::report("I1, cuts", seed, rounds as usize + 1, &failures);
}

#[test]
fn what_was_acknowledged_on_ext4_is_there_after_the_power_was_cut() {
    cuts("ext4", 256);
}

#[test]
fn what_was_acknowledged_on_xfs_is_there_after_the_power_was_cut() {
    cuts("xfs", 320);
}

fn copies(kind: &'static str, mib: u64) {
    let seed = seed();
    let within = temp_dir();
    let Some(disk) = Mounted::make_or_skip(kind, within.path(), mib) else {
        return;
    };
    let dir = disk.dir.join("work");
    std::fs::create_dir(&dir).unwrap();
    std::fs::File::open(&disk.dir).unwrap().sync_all().unwrap();
    let mut luck = Random::new(seed);
    let mut worker = Worker::start(&dir, seed, 0, None);
    let copies = if nightly() { 25 } else { 2 };
    let mut failures = Vec::new();
    for n in 0..copies {
        worker.listen(30 + luck.below(60));
        let acked = worker.acked();
        // The stop makes the copy one of a single moment.
        worker.signal("-STOP");
        let copy = disk.copy(&format!("copy-{n}")).unwrap();
        worker.signal("-CONT");
        if let Err(error) = check_store(&copy.dir.join("work/store"), &acked, seed, &[]) {
            failures.push(format!("{kind}, copy {n}: {error}"));
        }
    }
    let count = worker.acked().count();
    println!("{kind}: {copies} copies, the last with {count} acknowledgements");
    drop(worker);
    faulted::report("I1, copies", seed, copies, &failures);
}

#[test]
fn a_copy_of_the_disk_under_a_running_store_has_what_was_acknowledged_on_ext4() {
    copies("ext4", 256);
}

#[test]
fn a_copy_of_the_disk_under_a_running_store_has_what_was_acknowledged_on_xfs() {
    copies("xfs", 320);
}

#[test]
fn without_the_syncs_of_the_engine_a_cut_of_the_power_loses_something() {
    let Some(faults) = faults::built() else {
        return;
    };
    let seed = seed();
    let within = temp_dir();
    let Some(mut disk) = Mounted::make_or_skip("ext4", within.path(), 256) else {
        return;
    };
    for round in 0..5 {
        let dir = disk.dir.join(format!("round-{round}"));
        std::fs::create_dir(&dir).unwrap();
        std::fs::File::open(&disk.dir).unwrap().sync_all().unwrap();
        let acked = cut(faults, &mut disk, &dir, NO_LOG_FLUSH, seed, 0, false);
        if let Err(error) = check_store(&dir.join("store"), &acked, seed, &[]) {
            println!("without syncs, round {round}: {error}");
            return;
        }
    }
    panic!("five cuts without a sync lost nothing: the test sees no losses");
}
