//! Jobs that are killed or cancelled: the answer is true, a job is done completely or not at all
//! (an imported session, and a call, up to an event), and the next one ends.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use milepost::calls::Cancel;
use milepost::events::Message;
use milepost::{Engine, Json, Options, Scope};
use milepost_api::{
    CaptureOptions, CaptureRequest, CompactRequest, FilesRequest, FolderRequest, ImportPath,
    ImportRequest, JobProgress, JobRequest, RecoverRequest, ToolCallRequest, UndoRequest,
};
use milepost_formats::export_file::{ExportOptions, export};
use milepost_tests::faults::{self, counts, nightly, spread, temp_dir};
use milepost_tests::seed::{Random, seed};

use super::holding;

const DIR: &str = "MILEPOST_TEST_JOB_DIR";
const KIND: &str = "MILEPOST_TEST_JOB_KIND";
const CHILD: &str = "joints::jobs::child_that_does_a_job";
const SECRET: &str = "the name of the otter is Ottilie";

/// The jobs, and whether they are there whole or not at all.
const KINDS: [(&str, bool); 7] = [
    ("capture", true),
    ("restore", true),
    ("undo", true),
    ("compact", true),
    ("import_export", true),
    ("import_session", false),
    ("tool_call", false),
];

/// The tasks with the kinds of the events of their active lineages, and the files of the folder.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    tasks: BTreeMap<String, Vec<String>>,
    files: BTreeMap<String, String>,
}

impl Seen {
    /// Returns `true` if it is `before`, but for marks and captures of the present: a restore makes
    /// those before it begins.
    fn is_unrestored(&self, before: &Self) -> bool {
        const PRESENT: [&str; 2] = ["workspace_captured", "checkpoint_marked"];
        let is_beginning = |(name, all): (&String, &Vec<String>)| {
            let mut more = before.tasks.get(name).and_then(|known| all.strip_prefix(&known[..]));
            more.as_mut().is_some_and(|more| more.iter().all(|kind| PRESENT.contains(&&kind[..])))
        };
        self.files == before.files
            && self.tasks.len() == before.tasks.len()
            && self.tasks.iter().all(is_beginning)
    }

    /// Returns `true` if each task is the beginning of that of `whole`.
    fn is_part_of(&self, whole: &Self) -> bool {
        self.files == whole.files
            && self.tasks.iter().all(|(name, events)| {
                whole.tasks.get(name).is_some_and(|all| all.starts_with(events))
            })
    }
}

fn folder(dir: &Path) -> FolderRequest {
    FolderRequest { folder: Some(dir.join("work")), ..FolderRequest::default() }
}

fn capture(dir: &Path, label: &str) -> JobRequest {
    JobRequest::Capture(CaptureRequest {
        folder: dir.join("work"),
        task: Some("t".into()),
        label: Some(label.into()),
        ..CaptureRequest::default()
    })
}

fn restore(dir: &Path) -> JobRequest {
    let (to, files) = ("t@first".into(), folder(dir));
    JobRequest::Restore(FilesRequest { to, scope: Scope::All, files, description: None })
}

fn asked(kind: &str, dir: &Path) -> JobRequest {
    let import = |name: &str| {
        let paths = vec![ImportPath { path: dir.join(name), name: None }];
        JobRequest::Import(ImportRequest { paths, ..ImportRequest::default() })
    };
    match kind {
        "capture" => capture(dir, "third"),
        "restore" => restore(dir),
        "undo" => JobRequest::Undo(UndoRequest { task: "t".into(), files: folder(dir) }),
        "compact" => JobRequest::Compact(CompactRequest { dry_run: false, force: true }),
        "import_export" => import("tasks.export"),
        "import_session" => import("session.jsonl"),
        "tool_call" => JobRequest::ToolCall(ToolCallRequest {
            folder: dir.join("work"),
            task: Some("t".into()),
            user: None,
            tool: "edit".into(),
            arguments: Json::string("draft.md"),
            options: Some(CaptureOptions::default()),
            only_if_old: false,
            label: Some("before edit".into()),
        }),
        other => panic!("no job {other}"),
    }
}

fn done(engine: &Engine, asked: &JobRequest) {
    milepost_service::jobs::run(engine, asked, "ana", &|_| {}).unwrap();
}

/// A line of a session of a coding agent: a prompt or an answer.
fn line(n: u32) -> String {
    let (role, parent) = (["user", "assistant"][n as usize % 2], n.checked_sub(1));
    let parent = parent.map_or("null".to_owned(), |parent| format!("\"u{parent}\""));
    format!(
        r#"{{"parentUuid":{parent},"uuid":"u{n}","sessionId":"s1","cwd":"/x","version":"2.0.61","#
    ) + &format!(
        r#""type":"{role}","timestamp":"2025-05-26T07:00:{n:02}.079Z","isSidechain":false,"#
    ) + &format!(r#""message":{{"role":"{role}","id":"m{n}","content":"line {n}"}}}}"#)
        + "\n"
}

/// Makes a folder, a store, and the input of an import.
fn made(kind: &str, dir: &Path) {
    let work = dir.join("work");
    fs::create_dir_all(work.join("notes")).unwrap();
    for n in 0..5 {
        fs::write(work.join(format!("notes/{n}.md")), n.to_string()).unwrap();
    }
    let engine = Engine::open(dir.join("store"), Options::default()).unwrap();
    fs::write(work.join("draft.md"), "first").unwrap();
    done(&engine, &capture(dir, "first"));
    fs::write(work.join("draft.md"), "second").unwrap();
    fs::write(work.join("more.md"), "more").unwrap();
    fs::remove_file(work.join("notes/1.md")).unwrap();
    let task = engine.task("t").unwrap();
    let secret = task.append(Message::text("user", SECRET)).unwrap().first;
    done(&engine, &capture(dir, "second"));
    engine.retention().erase(&task.point(secret).unwrap(), None).unwrap();
    match kind {
        "undo" => done(&engine, &restore(dir)),
        "capture" | "tool_call" => fs::write(work.join("draft.md"), "third").unwrap(),
        _ => {}
    }
    engine.close().unwrap();
    fs::write(dir.join("session.jsonl"), (0..20).map(line).collect::<String>()).unwrap();
    let other = Engine::in_memory(Options::default()).unwrap();
    let names = ["a", "b"].map(str::to_owned);
    for name in &names {
        let task = other.start_task(name, "ana").unwrap();
        task.append(Message::text("user", &"long ".repeat(100_000))).unwrap();
    }
    let (mut text, options) = (Vec::new(), ExportOptions { files: true, redact: false });
    let write = &mut |bytes: &[u8]| {
        text.extend_from_slice(bytes);
        Ok(())
    };
    export(&other, &names, options, write, &mut ()).unwrap();
    fs::write(dir.join("tasks.export"), text).unwrap();
}

/// Undoes interrupted restores, and returns an observation of the store and the folder.
fn seen(engine: &Engine, dir: &Path) -> Seen {
    // The folder is named, since the store is trusted with none, and the task, so that what a
    // restore left in the folder after its end is removed.
    let (task, files) = (Some("t".to_owned()), folder(dir));
    done(engine, &JobRequest::Recover(RecoverRequest { task, files, give_up: false }));
    assert!(engine.restores().pending().unwrap().is_empty());
    let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
    assert_eq!(report.faults, []);
    let mut tasks = BTreeMap::new();
    for name in engine.transfer().export(false).unwrap().tasks().unwrap() {
        let events = engine.task(&name).unwrap().read(0..).unwrap();
        let kind = |body: milepost::Body| body.kind_name().to_string();
        let kinds = events.map(|event| event.unwrap().body.map_or("erased".to_owned(), kind));
        tasks.insert(name, kinds.collect());
    }
    let work = dir.join("work");
    let mut files = BTreeMap::new();
    for name in milepost_tests::sweep::list::files(&work) {
        let text = fs::read_to_string(work.join(&name)).unwrap();
        files.insert(name, text);
    }
    Seen { tasks, files }
}

/// Runs the job again if it is not there, and looks at the end of it.
fn ended(engine: &Engine, dir: &Path, kind: &str, whole: &Seen) {
    let now = seen(engine, dir);
    let is_import = kind.starts_with("import");
    if is_import || kind == "compact" || (kind != "tool_call" && now != *whole) {
        done(engine, &asked(kind, dir));
        assert_eq!(seen(engine, dir), *whole, "{kind}: again");
    }
    if kind == "compact" {
        assert_eq!(
            holding(&dir.join("store"), SECRET.as_bytes()),
            Vec::<std::path::PathBuf>::new()
        );
    }
}

/// Compares the store with the answer of a job; `None` if it gave no answer.
fn judge(
    now: &Seen,
    (before, whole): (&Seen, &Seen),
    (is_atomic, is_restore): (bool, bool),
    answer: Option<bool>,
) -> bool {
    let is_between = match is_atomic {
        true => now == before || is_restore && now.is_unrestored(before),
        false => before.is_part_of(now) && now.is_part_of(whole) && now != whole,
    };
    match answer {
        Some(true) => now == whole,
        Some(false) => is_between,
        None => now == whole || is_between,
    }
}

/// Runs a job without a cut: the observations before, and after it.
fn uncut(kind: &str) -> (Seen, Seen) {
    let dir = temp_dir();
    let dir = dir.path().canonicalize().unwrap();
    made(kind, &dir);
    let engine = Engine::open(dir.join("store"), Options::default()).unwrap();
    let before = seen(&engine, &dir);
    done(&engine, &asked(kind, &dir));
    let whole = seen(&engine, &dir);
    assert!(kind == "compact" || before != whole, "{kind} does something");
    (before, whole)
}

#[test]
fn child_that_does_a_job() {
    let (Ok(dir), Ok(kind)) = (std::env::var(DIR), std::env::var(KIND)) else {
        return;
    };
    let dir = Path::new(&dir);
    let engine = Engine::open(dir.join("store"), Options::default()).unwrap();
    let done = milepost_service::jobs::run(&engine, &asked(&kind, dir), "ana", &|_| {});
    let answer = done.map_or_else(|failed| failed.to_string(), |_| "done".to_owned());
    fs::write(dir.with_extension("answer"), answer).unwrap();
    engine.close().unwrap();
}

#[test]
fn a_job_that_a_kill_cuts_is_there_whole_or_not_at_all_and_its_answer_is_right() {
    let Some(faults) = faults::built() else {
        return;
    };
    let mut random = Random::new(seed());
    let (mut cases, mut killed, mut wrong) = (0, 0, Vec::new());
    for (kind, is_atomic) in KINDS {
        let (before, whole) = uncut(kind);
        let is_restore = ["restore", "undo"].contains(&kind);
        let within = temp_dir();
        let within = within.path().canonicalize().unwrap();
        let count = within.join("count");
        let run = |name: &str, fail: Option<&str>| {
            let dir = within.join(name);
            made(kind, &dir);
            let (path, at) = (dir.to_str().unwrap(), count.to_str().unwrap());
            let mut settings = vec![(DIR, path), (KIND, kind), (faults::COUNT, at)];
            settings.extend(fail.map(|fail| (faults::FAIL, fail)));
            let child = faults::run(faults, CHILD, &dir, &settings);
            assert_eq!(child.fault(fail.is_some()), None, "{kind} {fail:?}");
            let answer = fs::read_to_string(dir.with_extension("answer")).ok();
            (dir, answer)
        };
        let (_, answer) = run("whole", None);
        assert_eq!(answer.as_deref(), Some("done"), "{kind}");
        let calls = counts(&count);
        // Files of the folder change by renames and removals, which are few of all calls.
        let samples = [("any", 2), ("rename", 1), ("unlink", 1)];
        let samples = samples.iter().take(if nightly() { 1 } else { samples.len() });
        let kills = samples.flat_map(|(class, sample)| {
            let chosen = (!nightly()).then_some(*sample);
            let numbers = spread(calls.of(class), chosen, &mut random);
            numbers.into_iter().map(move |n| format!("{class}:{n}:kill:once"))
        });
        for (n, fail) in kills.collect::<Vec<_>>().into_iter().enumerate() {
            let (dir, answer) = run(&format!("kill-{n}"), Some(&fail));
            let engine = Engine::open(dir.join("store"), Options::default()).unwrap();
            let now = seen(&engine, &dir);
            let answer = answer.map(|answer| answer == "done");
            killed += u32::from(answer.is_none());
            if !judge(&now, (&before, &whole), (is_atomic, is_restore), answer) {
                wrong.push(format!("{kind} {fail}: answer {answer:?}, {now:#?}"));
            }
            ended(&engine, &dir, kind, &whole);
            drop(engine);
            fs::remove_dir_all(&dir).unwrap();
            cases += 1;
        }
        println!("{kind}: {} calls", calls.of("any"));
    }
    println!("{cases} kills, {killed} before the answer");
    assert!(killed > cases / 4, "{killed} of {cases} were killed before the answer");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_job_that_is_told_as_cancelled_has_not_happened_and_any_other_has() {
    let (mut cancelled, mut wrong) = (0, Vec::new());
    for (kind, is_atomic) in KINDS {
        let (before, whole) = uncut(kind);
        let is_restore = ["restore", "undo"].contains(&kind);
        for at in 0.. {
            let dir = temp_dir();
            let dir = dir.path().canonicalize().unwrap();
            made(kind, &dir);
            let engine = Engine::open(dir.join("store"), Options::default()).unwrap();
            let (cancel, told) = (Cancel::new(), AtomicUsize::new(0));
            if at == 0 {
                cancel.cancel();
            }
            let listen = |_: JobProgress| {
                if told.fetch_add(1, Ordering::Relaxed) + 1 == at {
                    cancel.cancel();
                }
            };
            let cancelled_by = engine.with_cancel(&cancel);
            let asked = asked(kind, &dir);
            let answer = milepost_service::jobs::run(&cancelled_by, &asked, "ana", &listen);
            let now = seen(&engine, &dir);
            if !judge(&now, (&before, &whole), (is_atomic, is_restore), Some(answer.is_ok())) {
                wrong.push(format!("{kind} at {at}: {answer:?}, {now:#?}"));
            }
            cancelled += u32::from(answer.is_err());
            ended(&engine, &dir, kind, &whole);
            if told.into_inner() < at {
                break;
            }
        }
    }
    println!("{cancelled} cancelled");
    assert!(cancelled > 5, "{cancelled} cancelled");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
