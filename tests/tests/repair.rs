//! `repair`: damage that opening does not mend by itself, and losses if both copies are hit. All
//! that can be saved is saved, replaced files are kept, and a dry run changes nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use milepost::events::Message;
use milepost::repair::{RepairReport, repair};
use milepost::{Body, Engine, ErrorKind, Event, Mark, Options, Task};
use milepost_tests::{bodies, folder};
use tempfile::TempDir;

/// Two tasks that are written to in turn, one with a branch and a restore; several archive files,
/// and a tail that is not applied. Gives the folder as a kill leaves it.
fn killed() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let (root, copy) = (dir.path().join("open"), dir.path().join("killed"));
    let engine = Engine::open(&root, options()).unwrap();
    let tasks = ["essay", "tuning"].map(|name| engine.start_task(name, "ana").unwrap());
    for n in 0..60 {
        write(&tasks[n as usize % 2], n, 40_000);
        if n == 20 {
            tasks[0].checkpoint(Mark::new().label("early")).unwrap();
        }
        if n == 30 {
            let point = engine.point("essay@early").unwrap();
            engine.branch(&point).description("aside").run().unwrap();
        }
    }
    engine.store().drain().unwrap();
    for n in 60..90 {
        write(&tasks[n as usize % 2], n, 300);
    }
    folder::copy_store(&root, &copy).unwrap();
    engine.close().unwrap();
    (dir, copy)
}

fn options() -> Options {
    Options::default().backlog_bytes(1 << 20)
}

fn write(task: &Task, n: u64, size: usize) {
    let text = Message::text("user", &format!("message {n}"));
    task.append([text.into(), bodies::bytes(n, size)].to_vec()).unwrap();
}

/// Every event of each lineage.
fn events(engine: &Engine) -> BTreeMap<(String, u32), Vec<Event>> {
    let mut all = BTreeMap::new();
    for name in ["essay", "tuning"] {
        let Ok(task) = engine.task(name) else {
            continue;
        };
        for info in task.lineages().unwrap() {
            let lineage = task.lineage_named(info.id).unwrap();
            let read = lineage.read(..).unwrap().map(|e| e.unwrap()).collect();
            all.insert((name.to_owned(), info.id.0), read);
        }
    }
    all
}

/// The names and contents of all files.
fn content(dir: &Path, all: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            content(&path, all);
        } else if path.file_name().unwrap() != "lock" {
            all.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
}

/// A dry run says the same and changes nothing; then the repair itself.
fn both(root: &Path) -> RepairReport {
    let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
    content(root, &mut before);
    let dry = repair(root, &options(), true).unwrap();
    content(root, &mut after);
    assert!(before == after, "a dry run changes nothing");
    let report = repair(root, &options(), false).unwrap();
    assert!(dry.dry_run && !report.dry_run);
    assert_eq!(dry.lost, report.lost);
    assert_eq!(dry.mended.len(), report.mended.len());
    let again = repair(root, &options(), false).unwrap();
    assert!(again.mended.is_empty(), "{again:?}");
    report
}

/// Asserts that the store is intact: it verifies, can be written to, and comes back without sled.
fn whole(root: &Path) -> BTreeMap<(String, u32), Vec<Event>> {
    let engine = Engine::open(root, options()).unwrap();
    assert!(engine.store().report().findings.is_empty(), "{:?}", engine.store().report());
    let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
    assert!(report.is_clean(), "{report:?}");
    write(&engine.task("tuning").unwrap(), 1000, 10);
    let found = events(&engine);
    engine.close().unwrap();
    fs::remove_dir_all(root.join("sled")).unwrap();
    let engine = Engine::open(root, options()).unwrap();
    assert!(events(&engine) == found, "the other copy is there too");
    engine.close().unwrap();
    found
}

fn archive(root: &Path) -> Vec<PathBuf> {
    let files = folder::files(&root.join("archive"), ".mpa").unwrap();
    assert!(files.len() >= 3, "{files:?}");
    files
}

/// Returns the middle of an archive file's content after its header.
fn middle(len: u64) -> u64 {
    let header = milepost_codec::BlockFileHeader::LEN as u64;
    header + (len - header) / 2
}

#[test]
fn an_archive_file_that_is_damaged_inside_is_written_again_from_sled() {
    let (_dir, root) = killed();
    let file = archive(&root)[1].clone();
    let before = fs::read(&file).unwrap();
    folder::flip(&file, middle(before.len() as u64)).unwrap();
    let engine = Engine::open(&root, options()).unwrap();
    let expected = events(&engine);
    let faults = engine.integrity().verify(None, &mut |_, _| {}).unwrap().faults;
    let name = file.file_name().unwrap().to_str().unwrap();
    assert!(faults.iter().any(|f| f.message.contains(name)), "I4: {faults:?}");
    engine.close().unwrap();
    let report = both(&root);
    assert!(report.lost.is_empty() && report.verified.is_clean(), "{report:?}");
    assert_eq!(report.mended.len(), 1, "{report:?}");
    assert!(root.join("damaged").join(name).exists());
    let mut found = whole(&root);
    for events in found.values_mut() {
        events.retain(|e| e.body != Some(bodies::bytes(1000, 10)));
        events.retain(|e| e.body != Some(Message::text("user", "message 1000").into()));
    }
    assert!(found == expected);
}

#[test]
fn where_the_only_copy_of_commits_is_damaged_the_rest_is_saved_and_the_loss_is_listed() {
    let (_dir, root) = killed();
    let expected = {
        let copy = root.with_extension("copy");
        folder::copy(&root, &copy).unwrap();
        events(&Engine::open(&copy, options()).unwrap())
    };
    // In the middle of what is not applied.
    let segments = folder::files(&root.join("journal"), ".seg").unwrap();
    let segment = segments.last().unwrap();
    let bytes = fs::read(segment).unwrap();
    let text = b"message 70";
    let at = bytes.windows(text.len()).position(|w| w == text).unwrap();
    folder::flip(segment, at as u64).unwrap();
    let refused = Engine::open(&root, options()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Corrupt, "{refused}");
    let report = both(&root);
    // Message 70 was of the first task; what follows it there fits nowhere, the other task is
    // whole.
    assert_eq!(report.lost.len(), 1, "{report:?}");
    let lost = &report.lost[0];
    let history = &expected[&("essay".to_owned(), 0)];
    let hit = |e: &&Event| e.body == Some(Message::text("user", "message 70").into());
    let from = history.iter().find(hit).unwrap().offset;
    assert_eq!(lost.task.as_deref(), Some("essay"));
    assert_eq!((lost.from, lost.to), (from, history.len() as u64));
    assert_eq!(lost.kept, lost.to - lost.from - 2, "all but one append are written down");
    let kept = report.kept.iter().find(|p| p.ends_with("orphans.jsonl")).unwrap();
    let kept = fs::read_to_string(kept).unwrap();
    assert_eq!(kept.lines().count() as u64, lost.kept);
    assert!(kept.contains("message 72") && !kept.contains("message 71"));
    let found = whole(&root);
    let cut = &found[&("essay".to_owned(), 0)];
    assert!(cut.iter().eq(history.iter().take(from as usize)), "I1: all before it");
    assert!(found[&("essay".to_owned(), 1)] == expected[&("essay".to_owned(), 1)]);
    let other = &expected[&("tuning".to_owned(), 0)];
    assert!(found[&("tuning".to_owned(), 0)].starts_with(other), "I1: the other task");
}

#[test]
fn where_archive_and_sled_are_both_damaged_each_gives_what_it_has() {
    let (_dir, root) = killed();
    let expected = {
        let copy = root.with_extension("copy");
        folder::copy(&root, &copy).unwrap();
        events(&Engine::open(&copy, options()).unwrap())
    };
    let file = archive(&root)[1].clone();
    let len = fs::metadata(&file).unwrap().len();
    folder::flip(&file, middle(len)).unwrap();
    fs::remove_dir_all(root.join("sled")).unwrap();
    let refused = Engine::open(&root, options()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Corrupt, "{refused}");
    let report = both(&root);
    assert!(!report.lost.is_empty() && report.verified.is_clean(), "{report:?}");
    let found = whole(&root);
    for (name, history) in &expected {
        let Some(found) = found.get(name) else {
            assert!(report.lost.iter().any(|l| l.task.as_deref() == Some(&name.0)));
            continue;
        };
        let same = found.iter().zip(history).take_while(|(a, b)| a == b).count();
        if same < history.len() {
            let told = report.lost.iter().any(|lost| {
                lost.task.as_deref() == Some(&name.0)
                    && (lost.from..lost.to).contains(&(same as u64))
            });
            assert!(told, "I4: {name:?} from {same} of {}: {:?}", history.len(), report.lost);
        }
    }
}

#[test]
fn a_body_that_is_lost_in_a_pack_is_listed_and_a_snapshot_is_made_again() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let engine = Engine::open(&root, options()).unwrap();
    let task = engine.start_task("tuning", "ana").unwrap();
    for n in 0..40 {
        write(&task, n, 20_000);
    }
    task.append(bodies::bytes(99, 300 << 10)).unwrap();
    engine.store().drain().unwrap();
    engine.close().unwrap();
    let pack = folder::files(&root.join("packs"), ".pack").unwrap()[0].clone();
    let len = fs::metadata(&pack).unwrap().len();
    for at in (0..len).step_by(5000) {
        folder::flip_both(&pack, at).unwrap();
    }
    let report = both(&root);
    assert_eq!(report.lost.len(), 1, "{report:?}");
    let lost = &report.lost[0];
    assert_eq!((lost.task.as_deref(), lost.from, lost.to), (Some("tuning"), 81, 82));
    let engine = Engine::open(&root, options()).unwrap();
    let task = engine.task("tuning").unwrap();
    let events: Vec<_> = task.read(..81).unwrap().map(|e| e.unwrap()).collect();
    assert_eq!(events.len(), 81, "I1: all others");
    let error = task.read(81..).unwrap().next().unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "I4");
    let point = task.point(81).unwrap();
    assert_eq!(engine.run_state(&point).unwrap().messages.len(), 40);
    let faults = engine.integrity().verify(None, &mut |_, _| {}).unwrap().faults;
    assert_eq!(faults.len(), 1, "only what is lost is left: {faults:?}");
    let body: Body = bodies::bytes(99, 300 << 10);
    let again = task.append(body.clone()).unwrap();
    let event = task.read(again.first..).unwrap().next().unwrap().unwrap();
    assert_eq!(event.body, Some(body), "stored again, it is there");
}

#[test]
fn a_store_that_is_whole_has_nothing_to_mend() {
    let (_dir, root) = killed();
    let report = repair(&root, &options(), false).unwrap();
    assert!(report.mended.is_empty() && report.lost.is_empty(), "{report:?}");
    let none = repair(root.join("nothing"), &options(), false).unwrap_err();
    assert_eq!(none.kind(), ErrorKind::NotFound);
}

#[test]
fn where_no_copy_has_the_last_commits_the_loss_is_told_without_their_events() {
    let (_dir, root) = killed();
    for segment in folder::files(&root.join("journal"), ".seg").unwrap() {
        fs::write(segment, b"").unwrap();
    }
    let refused = Engine::open(&root, options()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Corrupt, "{refused}");
    let report = both(&root);
    let unknown = report.unknown.as_deref().unwrap();
    assert!(unknown.ends_with("were acknowledged, and no copy has them"), "{report:?}");
    assert!(report.loses_events() && !report.is_whole(), "{report:?}");
    whole(&root);
}

#[test]
fn a_salvage_without_a_count_of_the_commits_tells_that_the_loss_is_unknown() {
    let (_dir, root) = killed();
    fs::remove_dir_all(root.join("sled")).unwrap();
    fs::remove_dir_all(root.join("archive")).unwrap();
    fs::create_dir(root.join("archive")).unwrap();
    fs::remove_file(root.join("acked")).unwrap();
    let report = both(&root);
    assert!(!report.is_whole() && report.loses_events(), "{report:?}");
}
