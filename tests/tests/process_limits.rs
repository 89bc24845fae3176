//! I1, I11 in a process that may not have more files, larger ones, or more memory: each size of the
//! limit is met somewhere else. The process gets a clean error or is ended by the system; nothing
//! that was acknowledged goes, and without the limit the store opens without help.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs, reason = "tests")]

use milepost_tests::faulted::{self, Case, folder, report};
use milepost_tests::faults::{nightly, temp_dir};
use milepost_tests::seed::seed;

/// The process: not a test of its own, it does nothing without its environment.
#[test]
fn child_that_works_within_limits() {
    faulted::child();
}

/// The kinds of errors that a limit gives.
const KINDS: [&str; 2] = ["Unavailable", "Poisoned"];

/// Works once within each of these limits.
/// Its errors are of these kinds.
fn within(
    name: &str,
    limits: impl Iterator<Item = String>,
    class: &str,
    signals: &[i32],
    kinds: &[&str],
) {
    let (seed, dir) = (seed(), temp_dir());
    let (mut failures, mut cases) = (Vec::new(), 0);
    let (mut stopped, mut done) = (0, 0);
    for (n, limit) in limits.enumerate() {
        cases += 1;
        let case = Case {
            child: "child_that_works_within_limits",
            dir: folder(dir.path(), &n.to_string()),
            seed,
        };
        let result = case.run_limited(&limit, class, signals).and_then(|acked| {
            if acked.has_said("done") && !acked.has_said("failed") {
                done += 1;
            } else {
                stopped += 1;
            }
            if let Some(bad) = acked.said.iter().find(|line| is_bad(line, kinds)) {
                return Err(bad.clone());
            }
            case.check().map(|_| ())
        });
        if let Err(error) = result {
            failures.push(format!("{limit}: {error}"));
        }
        std::fs::remove_dir_all(&case.dir).unwrap();
    }
    println!("{stopped} met the limit, {done} were done within it");
    report(name, seed, cases, &failures);
    assert!(stopped > 0, "no limit was met");
}

/// Returns `true` for output that must not occur: an error of another kind than the limit gives, an
/// append that follows one whose outcome is unknown, a wrong answer.
fn is_bad(line: &str, kinds: &[&str]) -> bool {
    let failed = line.starts_with("failed") && !kinds.iter().any(|kind| line.contains(kind));
    failed || line.starts_with("revived") || line.starts_with("unreadable")
}

#[test]
fn a_process_that_may_open_few_files_loses_nothing() {
    let every = if nightly() { 1 } else { 3 };
    let limits = (4..60).step_by(every).map(|n| format!("ulimit -n {n}"));
    within("files", limits, "open", &[], &KINDS);
}

#[test]
fn a_process_whose_files_may_not_grow_loses_nothing() {
    let every = if nightly() { 1 } else { 4 };
    // In units of 512 bytes. The signal is ignored: the call fails with EFBIG, or is short.
    let limits = (6..16 * 4).step_by(every).map(|n| {
        let blocks = (1_u64 << (n / 4)) * (4 + n % 4) / 4;
        format!("trap '' XFSZ; ulimit -f {blocks}")
    });
    within("sizes", limits, "write", &[], &KINDS);
}

#[test]
fn a_process_that_is_ended_since_a_file_may_not_grow_loses_nothing() {
    const SIGXFSZ: i32 = 25;
    let limits = (6..16).map(|n| format!("ulimit -f {}", 1 << n));
    within("ended", limits, "write", &[SIGXFSZ], &KINDS);
}

#[test]
fn a_process_that_runs_out_of_memory_loses_nothing() {
    const SIGABRT: i32 = 6;
    let every = if nightly() { 1 } else { 6 };
    // In KiB, of address space. The process aborts where no memory is left; a process with less
    // than the first of these does not begin.
    let limits = (12..50).step_by(every).map(|n| format!("ulimit -v {}", n * 2048));
    // A panic of sled for want of memory cannot be told from a damaged sled.
    let kinds = [&KINDS[..], &["Corrupt: sled is damaged"]].concat();
    within("memory", limits, "any", &[SIGABRT], &kinds);
}

const OPEN_FILES: &str = "MILEPOST_TEST_OPEN_FILES_STORE";

/// The process that has no file left: it does nothing without its environment.
#[test]
fn child_that_has_no_file_left_for_a_segment() {
    use milepost::events::Message;
    use milepost::{Engine, ErrorKind, Options};
    let Ok(store) = std::env::var(OPEN_FILES) else {
        return;
    };
    // An append that is tried again takes as much room as before.
    let options = Options::default().snapshots(false).share_bodies(false);
    let engine = Engine::open(&store, options).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    let message = |n: u64| Message::text("user", &milepost_tests::bodies::text(n, 20_000));
    let mut n = 1;
    for round in 0..3 {
        let mut held = Vec::new();
        let refused = loop {
            // Threads that work behind the appends may close files at any time.
            while let Ok(file) = std::fs::File::open("/dev/null") {
                held.push(file);
            }
            match task.append(message(n)) {
                Ok(done) => assert_eq!(done.first, n, "round {round}"),
                Err(error) => break error,
            }
            n += 1;
            assert!(n < 40_000, "no segment was begun");
        };
        assert_eq!(refused.kind(), ErrorKind::Unavailable, "{refused}");
        let text = refused.to_string();
        assert!(text.contains("nothing was appended, ask again"), "{text}");
        // The next one tries again, and is refused as well.
        task.append(message(n)).unwrap_err();
        assert_eq!(task.head().unwrap().next, n, "I2: no offset is lost");
        drop(held);
        assert_eq!(task.append(message(n)).unwrap().first, n, "round {round}");
        n += 1;
        engine.store().drain().unwrap();
    }
    assert!(engine.integrity().verify(None, &mut |_, _| {}).unwrap().is_clean());
    engine.close().unwrap();
    let engine = Engine::open(&store, Options::default()).unwrap();
    let read = engine.task("t").unwrap().read(1..).unwrap();
    assert_eq!(read.map(Result::unwrap).count() as u64, n - 1, "I1");
    println!("all of it is there");
}

#[test]
fn a_segment_that_cannot_be_made_refuses_one_append_and_the_next_one_tries_again() {
    let dir = temp_dir();
    let child = std::process::Command::new("sh")
        .args(["-c", "ulimit -n 128 && exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "child_that_has_no_file_left_for_a_segment"])
        .arg("--nocapture")
        .env(OPEN_FILES, dir.path().join("store"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    let wrong = String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success(), "{said}{wrong}");
    assert!(said.contains("all of it is there"), "{said}{wrong}");
}

#[test]
fn a_segment_that_cannot_be_archived_stays_and_is_archived_once_it_can_be() {
    use milepost::events::Message;
    use milepost::{Engine, ErrorKind, Options};
    let dir = temp_dir();
    let store = dir.path().join("store");
    let engine = Engine::open(&store, Options::default().snapshots(false)).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    let fill = || {
        for n in 0..40 {
            let text = milepost_tests::bodies::text(n, 100_000);
            task.append(Message::text("user", &text)).unwrap();
        }
        engine.store().drain()
    };
    let files = || std::fs::read_dir(store.join("archive")).unwrap().count();
    fill().unwrap();
    // A file in place of the folder: no file can be made in it.
    let (archive, away) = (store.join("archive"), dir.path().join("away"));
    std::fs::rename(&archive, &away).unwrap();
    std::fs::write(&archive, b"").unwrap();
    fill().unwrap();
    assert_eq!(engine.retention().compact(&mut |_| {}).unwrap_err().kind(), ErrorKind::Unavailable);
    fill().unwrap();
    std::fs::remove_file(&archive).unwrap();
    std::fs::rename(&away, &archive).unwrap();
    let before = files();
    engine.retention().compact(&mut |_| {}).unwrap();
    assert!(files() > before, "nothing was archived");
    assert!(engine.integrity().verify(None, &mut |_, _| {}).unwrap().is_clean());
    engine.close().unwrap();
    let engine = Engine::open(&store, Options::default()).unwrap();
    let read = engine.task("t").unwrap().read(1..).unwrap();
    assert_eq!(read.map(Result::unwrap).count(), 120, "I1");
}
