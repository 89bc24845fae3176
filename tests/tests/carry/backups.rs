//! Backups of a cleanup under faults: a file that has the name of a backup is a whole one, and a
//! backup that failed leaves no file.

use std::fs;
use std::path::Path;

use milepost::events::Message;
use milepost::retention::Policy;
use milepost::{Engine, Mark, Options};
use milepost_formats::backup;
use milepost_formats::export_file::{ExportImport, ExportInput};
use milepost_tests::faults::{self, counts, nightly, spread, temp_dir};
use milepost_tests::folder::copy;
use milepost_tests::seed::{Random, seed};

use super::{Given, given};

const STORE: &str = "MILEPOST_TEST_BACKUP_STORE";
const CHILD: &str = "carry::backups::child_that_makes_a_backup";

/// The process whose calls fail: says what its backup came to next to the store.
#[test]
fn child_that_makes_a_backup() {
    let Ok(path) = std::env::var(STORE) else {
        return;
    };
    let path = Path::new(&path);
    let engine = Engine::open(path, Options::default()).unwrap();
    let plan = engine.retention().plan(&Policy::new().keep(1)).unwrap();
    let said = match backup(&engine, &plan) {
        Ok(file) => format!("made {}", file.unwrap().display()),
        Err(error) => format!("failed: {error}"),
    };
    fs::write(path.with_file_name("answer"), said).unwrap();
    engine.close().unwrap();
}

/// A store with more content than one write of a backup.
fn made(path: &Path) -> Vec<Given> {
    let engine = Engine::open(path, Options::default()).unwrap();
    let task = engine.start_task("essay", "ana").unwrap();
    let mut random = Random::new(7);
    for label in ["one", "two"] {
        for _ in 0..40 {
            let part = |_| format!("{:016x}", random.number());
            let text: String = (0..1200).map(part).collect();
            task.append(Message::text("user", &text)).unwrap();
        }
        task.checkpoint(Mark::new().label(label)).unwrap();
    }
    let all = given(&engine, false);
    engine.close().unwrap();
    fs::create_dir(path.join("backups")).unwrap();
    all
}

/// The files of a folder of backups: those with a name of theirs, and those that are no more than
/// begun.
fn files(backups: &Path) -> [Vec<String>; 2] {
    let names = fs::read_dir(backups).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let (begun, named) = names.partition(|name| name.starts_with(".milepost-"));
    [named, begun]
}

/// Returns the faults of the backups of a store; `answer` is that of the process.
fn judge(store: &Path, all: &[Given], answer: Option<&str>) -> Result<(), String> {
    let backups = store.join("backups");
    let [named, begun] = files(&backups);
    for name in &named {
        let to = Engine::in_memory(Options::default()).unwrap();
        let input = ExportInput::open(&backups.join(name)).map_err(|e| e.to_string())?;
        let import = ExportImport::begin(input).map_err(|e| format!("{name} is not whole: {e}"))?;
        import.run(&to, None, &mut ()).map_err(|e| format!("{name} is not whole: {e}"))?;
        if given(&to, false) != all {
            return Err(format!("{name} has something else"));
        }
    }
    let made = answer.map(|answer| answer.strip_prefix("made backups/"));
    let as_told = match made {
        Some(Some(name)) => named == [name] && begun.is_empty(),
        Some(None) => named.is_empty() && begun.is_empty(),
        None => named.len() + begun.len() <= 1,
    };
    match as_told {
        true => Ok(()),
        false => Err(format!("{answer:?}, and there are {named:?} and {begun:?}")),
    }
}

#[test]
fn a_backup_that_is_named_is_whole_and_one_that_failed_leaves_no_file() {
    let Some(faults) = faults::built() else {
        return;
    };
    let dir = temp_dir();
    let dir = dir.path().canonicalize().unwrap();
    let (first, count) = (dir.join("first"), dir.join("count"));
    let all = made(&first);
    // One call of each case fails, among those on the folder of the backups.
    let run = |name: &str, fail: Option<&str>| {
        let within = dir.join(name);
        let store = within.join("store");
        fs::create_dir_all(&store).unwrap();
        copy(&first, &store).unwrap();
        let backups = store.join("backups");
        let mut settings =
            vec![(STORE, store.to_str().unwrap()), (faults::COUNT, count.to_str().unwrap())];
        settings.extend(fail.map(|fail| (faults::FAIL, fail)));
        let ended = faults::run(faults, CHILD, &backups, &settings);
        let killed = fail.is_some_and(|fail| fail.contains(":kill:"));
        let answer = fs::read_to_string(within.join("answer")).ok();
        let done = match ended.fault(killed) {
            Some(fault) => Err(fault),
            None => judge(&store, &all, answer.as_deref()),
        };
        if killed && done.is_ok() {
            // The next compaction of withdrawn content removes the remains of the kill.
            let engine = Engine::open(&store, Options::default()).unwrap();
            engine
                .retention()
                .erase(&engine.task("essay").unwrap().point(2).unwrap(), None)
                .unwrap();
            engine.retention().compact(&mut |_| {}).unwrap();
            engine.close().unwrap();
            assert_eq!(files(&backups)[1], [""; 0], "{fail:?}");
        }
        fs::remove_dir_all(&within).unwrap();
        (done, answer)
    };
    let (done, answer) = run("whole", None);
    assert_eq!(done, Ok(()), "{answer:?}");
    let calls = counts(&count);
    println!("{calls}");
    let (mut random, mut failures, mut cases) = (Random::new(seed()), Vec::new(), 0);
    let most = (!nightly()).then_some(6);
    let errors = [("write", "ENOSPC"), ("write", "torn"), ("sync", "EIO"), ("rename", "EIO")];
    for (class, how) in errors.into_iter().chain([("open", "EMFILE"), ("any", "kill")]) {
        for n in spread(calls.of(class), most, &mut random) {
            let fail = format!("{class}:{n}:{how}:once");
            if let (Err(error), _) = run("case", Some(&fail)) {
                failures.push(format!("{fail}: {error}"));
            }
            cases += 1;
        }
    }
    println!("{cases} cases");
    assert!(cases > 10, "{calls}");
    assert!(failures.is_empty(), "{failures:#?}");
}
