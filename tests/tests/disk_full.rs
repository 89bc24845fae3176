//! I1, I11 on a disk that is full, or has become read-only: a clean error, no acknowledgement,
//! reads continue, and once there is room a reopen brings everything back.
//!
//! It takes root, loop devices and `mkfs.ext4`.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use milepost::{Engine, Error, ErrorKind};
use milepost_tests::acked::{Acked, check_engine, check_store};
use milepost_tests::faults::{self, temp_dir};
use milepost_tests::mount::Mounted;
use milepost_tests::seed::seed;
use milepost_tests::skip::skipped;
use milepost_tests::work::{Kind, Step, Work, options};

/// Works until something fails; gives the error.
fn until_it_fails(work: &mut Work, kinds: &[Kind]) -> Error {
    for n in 0..2000 {
        let step = match n % 25 {
            24 => Step::Drain,
            _ => Step::Append(kinds[n % kinds.len()]),
        };
        if let Err(error) = work.step(step) {
            return error;
        }
    }
    panic!("nothing failed");
}

/// Drops an engine; that must not hang.
fn drop_in_time(work: Work) {
    let (done, waiting) = mpsc::channel();
    std::thread::spawn(move || {
        drop(work);
        let _ = done.send(());
    });
    let dropped = waiting.recv_timeout(Duration::from_secs(90));
    assert!(dropped.is_ok(), "dropping the engine hung");
}

/// Checks the promises while nothing can be written; returns the result of an append after the
/// failed one.
fn while_it_lasts(work: &mut Work, error: &Error, acks: &Path, seed: u64) -> Result<(), String> {
    let kind = error.kind();
    assert!(
        matches!(kind, ErrorKind::Unavailable | ErrorKind::Poisoned),
        "no clean error: {kind:?}: {error}"
    );
    let again = [Kind::Small, Kind::Chunked].map(|kind| work.step(Step::Append(kind)));
    check_engine(work.engine(), &Acked::read(acks), seed)
        .map_err(|e| format!("reading after a failed write: {e}"))?;
    // A segment that could not be made refuses one append: a shorter one may find room.
    let refused = error.to_string().starts_with("nothing was appended");
    if !refused && again.iter().any(Result::is_ok) {
        return Err(format!("I11: an append after one that failed with {error}"));
    }
    Ok(())
}

fn start(dir: &Path, acks: &Path, seed: u64) -> Work {
    let acks = File::options().create(true).append(true).open(acks).unwrap();
    let mut work = Work::open_with(dir, acks, seed, 0).unwrap();
    for step in [
        Step::Start,
        Step::Append(Kind::Small),
        Step::Append(Kind::Chunked),
        Step::Mark,
        Step::Drain,
        Step::Append(Kind::Small),
    ] {
        work.step(step).unwrap();
    }
    work
}

fn full(kinds: &[Kind], but: u64) {
    let seed = seed();
    let within = temp_dir();
    let Some(disk) = Mounted::make_or_skip("ext4", within.path(), 48) else {
        return;
    };
    let acks = within.path().join("acks");
    let mut work = start(&disk.dir, &acks, seed);
    let ballast = disk.fill(but).unwrap();
    let error = until_it_fails(&mut work, kinds);
    println!("full: {:?}: {error}", error.kind());
    let lasted = while_it_lasts(&mut work, &error, &acks, seed);
    drop_in_time(work);
    // While it is full a reopen may be refused, but must not take anything.
    match Engine::open(disk.dir.join("store"), options()) {
        Ok(engine) => drop(engine),
        Err(error) => println!("opened while full: {:?}: {error}", error.kind()),
    }
    std::fs::remove_file(ballast).unwrap();
    check_store(&disk.dir.join("store"), &Acked::read(&acks), seed, &[]).unwrap();
    lasted.unwrap();
}

#[test]
fn on_a_full_disk_appends_fail_and_nothing_that_was_acknowledged_goes() {
    full(&[Kind::Small, Kind::Medium, Kind::Chunked], 1 << 20);
}

#[test]
fn on_a_full_disk_small_appends_fail_and_nothing_that_was_acknowledged_goes() {
    full(&[Kind::Small, Kind::Large], 0);
}

#[test]
fn on_a_full_disk_large_bodies_fail_and_nothing_that_was_acknowledged_goes() {
    full(&[Kind::Chunked], 500 << 10);
}

const DIR: &str = "MILEPOST_TEST_FULL_DIR";
const ACKS: &str = "MILEPOST_TEST_FULL_ACKS";
const SEED: &str = "MILEPOST_TEST_FULL_SEED";
const CHILD: &str = "disk_full::child_on_a_disk_that_turns_read_only";

/// A process of its own, since its open files keep the disk mounted: does nothing without its
/// environment.
#[test]
fn child_on_a_disk_that_turns_read_only() {
    let (Ok(dir), Ok(acks), Ok(seed)) =
        (std::env::var(DIR), std::env::var(ACKS), std::env::var(SEED))
    else {
        return;
    };
    let (dir, acks, seed) = (Path::new(&dir), Path::new(&acks), seed.parse().unwrap());
    let mut work = start(dir, acks, seed);
    println!("\nready");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    let error = until_it_fails(&mut work, &[Kind::Small, Kind::Medium, Kind::Chunked]);
    println!("read-only: {:?}: {error}", error.kind());
    let lasted = while_it_lasts(&mut work, &error, acks, seed);
    drop_in_time(work);
    lasted.unwrap();
}

#[test]
fn on_a_disk_that_turned_read_only_appends_fail_and_reading_goes_on() {
    let seed = seed();
    let within = temp_dir();
    let Some(mut disk) = Mounted::make_or_skip("ext4", within.path(), 64) else {
        return;
    };
    let acks = within.path().join("acks");
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", CHILD, "--nocapture", "--test-threads=1"])
        .env(DIR, &disk.dir)
        .env(ACKS, &acks)
        .env(SEED, seed.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = faults::spawn(&mut command);
    let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(said.any(|line| line.unwrap() == "ready"));
    // With files open for writing it cannot be made read-only from outside.
    if let Err(why) = disk.meet_damage() {
        skipped(format_args!("{why}"));
        child.kill().unwrap();
        child.wait().unwrap();
        return;
    }
    child.stdin.take().unwrap().write_all(b"go on\n").unwrap();
    let ended = faults::end(child, Duration::from_secs(90));
    said.for_each(|line| println!("{}", line.unwrap()));
    disk.unmount().unwrap();
    disk.mount().unwrap();
    // A store on a disk that may only be read.
    disk.remount("ro").unwrap();
    let refused = Engine::open(disk.dir.join("store"), options());
    let refused = refused.map(drop).unwrap_err();
    println!("opened read-only: {:?}: {refused}", refused.kind());
    assert_eq!(refused.kind(), ErrorKind::Unavailable, "no clean error");
    disk.remount("rw").unwrap();
    check_store(&disk.dir.join("store"), &Acked::read(&acks), seed, &[]).unwrap();
    assert_eq!(ended.fault(false), None);
}
