//! Cancelled work ends early, or completely once it has begun to change something.

use std::path::Path;
use std::sync::Arc;

use milepost::calls::Cancel;
use milepost::events::Message;
use milepost::restore::{CaptureContext, PendingRestore, PrepareContext};
use milepost::{Body, Engine, Error, ErrorKind, Mark, Options, Participant, Result, Scope};
use milepost_api::{
    CaptureRequest, CompactRequest, FilesRequest, FolderRequest, JobRequest, JobResult,
};
use milepost_codec::RestorePart;
use milepost_workspace::{Choices, Workspace, WorkspaceOptions};

fn engine() -> (tempfile::TempDir, Engine) {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open(dir.path().join("store"), Options::default()).unwrap();
    std::fs::create_dir(dir.path().join("work")).unwrap();
    (dir, engine)
}

fn capture(folder: &Path) -> JobRequest {
    JobRequest::Capture(CaptureRequest {
        folder: folder.to_owned(),
        task: Some("t".into()),
        label: Some("first".into()),
        ..CaptureRequest::default()
    })
}

/// Returns the engine of a caller who has gone.
fn gone(engine: &Engine) -> Engine {
    let cancel = Cancel::new();
    cancel.cancel();
    engine.with_cancel(&cancel)
}

#[test]
fn a_capture_that_is_given_up_appends_nothing_and_the_next_one_is_whole() {
    let (dir, engine) = engine();
    let folder = dir.path().join("work");
    for at in 0..100 {
        std::fs::write(folder.join(format!("{at}.txt")), at.to_string()).unwrap();
    }
    engine.start_task("t", "ana").unwrap();
    let run =
        |engine: &Engine| milepost_service::jobs::run(engine, &capture(&folder), "ana", &|_| {});
    let failed = run(&gone(&engine)).unwrap_err();
    assert_eq!(failed.error.kind(), ErrorKind::Unavailable, "{failed}");
    assert_eq!(engine.task("t").unwrap().head().unwrap().next, 1);
    let JobResult::Capture(form) = run(&engine).unwrap() else { unreachable!() };
    assert_eq!((form.files.0, form.appended.is_some()), (100, true));
}

#[test]
fn a_compaction_that_is_given_up_changes_nothing_and_the_next_one_ends() {
    let (_dir, engine) = engine();
    let task = engine.start_task("t", "ana").unwrap();
    for at in 0..200 {
        task.append(Message::text("user", &format!("message {at}"))).unwrap();
    }
    let state = || engine.run_state(&engine.point("t").unwrap()).unwrap().messages.len();
    let compact = JobRequest::Compact(CompactRequest { dry_run: false, force: true });
    let run = |engine: &Engine| milepost_service::jobs::run(engine, &compact, "ana", &|_| {});
    let failed = run(&gone(&engine)).unwrap_err();
    assert_eq!(failed.error.kind(), ErrorKind::Unavailable, "{failed}");
    assert_eq!(state(), 200);
    let JobResult::Compact(form) = run(&engine).unwrap() else { unreachable!() };
    assert!(form.after.is_some());
    assert_eq!(state(), 200);
    assert!(engine.integrity().verify(None, &mut |_, _| {}).unwrap().is_clean());
}

/// A participant whose caller goes while it changes something, and which may fail then.
struct Left {
    workspace: Arc<dyn Participant>,
    cancel: Cancel,
    fails: bool,
}

impl Participant for Left {
    fn name(&self) -> &str {
        self.workspace.name()
    }

    fn capture(&self, at: &CaptureContext<'_>) -> Result<Vec<Body>> {
        self.workspace.capture(at)
    }

    fn prepare(&self, going: &PrepareContext<'_>) -> Result<RestorePart> {
        self.workspace.prepare(going)
    }

    fn apply(&self, engine: &Engine, pending: &PendingRestore) -> Result<Vec<Body>> {
        self.cancel.cancel();
        // Another thread could take it for an interrupted restore.
        let restores = engine.restores();
        assert!(restores.pending()?.is_empty(), "it is under way");
        for refused in [restores.recover(pending, &[]), restores.abandon(pending, "no")] {
            assert_eq!(refused.unwrap_err().kind(), ErrorKind::Unavailable);
        }
        let bodies = self.workspace.apply(engine, pending)?;
        engine.cancel().check()?;
        match self.fails {
            true => Err(Error::new(ErrorKind::Unavailable, "the disk is full")),
            false => Ok(bodies),
        }
    }

    fn abort(&self, engine: &Engine, pending: &PendingRestore) -> Result<()> {
        self.workspace.abort(engine, pending)
    }

    fn finish(&self, engine: &Engine, pending: &PendingRestore) -> Result<()> {
        self.workspace.finish(engine, pending)
    }
}

#[test]
fn a_restore_that_has_begun_to_change_files_ends_whole_though_its_caller_goes() {
    for fails in [false, true] {
        let (dir, engine) = engine();
        let folder = dir.path().join("work");
        let task = engine.start_task("t", "ana").unwrap();
        let workspace = Workspace::open(&folder, WorkspaceOptions::default()).unwrap();
        let draft = folder.join("draft.md");
        std::fs::write(&draft, "first").unwrap();
        workspace.capture(&engine, &task, Some(Mark::new().label("first"))).unwrap();
        std::fs::write(&draft, "second").unwrap();
        workspace.capture(&engine, &task, None).unwrap();
        let cancel = Cancel::new();
        let left = Left { workspace: workspace.participant(), cancel: cancel.clone(), fails };
        let to = engine.point("t@first").unwrap();
        let cancelled = engine.with_cancel(&cancel);
        let restored = cancelled.restore(&to).scope(Scope::All).with(Arc::new(left)).run();
        let text = std::fs::read_to_string(&draft).unwrap();
        match restored {
            Ok(_) => assert_eq!((fails, &*text), (false, "first")),
            Err(error) => {
                assert_eq!((fails, &*text), (true, "second"));
                assert_eq!(error.to_string(), "the disk is full");
            }
        }
        assert!(engine.restores().pending().unwrap().is_empty());
        assert!(engine.integrity().verify(None, &mut |_, _| {}).unwrap().is_clean());
    }
}

#[test]
fn a_restore_that_is_given_up_before_it_changes_files_changes_none() {
    let (dir, engine) = engine();
    let folder = dir.path().join("work");
    std::fs::write(folder.join("draft.md"), "first").unwrap();
    milepost_service::jobs::run(&engine, &capture(&folder), "ana", &|_| {}).unwrap();
    std::fs::write(folder.join("draft.md"), "second").unwrap();
    milepost_service::jobs::run(&engine, &capture(&folder), "ana", &|_| {}).unwrap();
    let asked = JobRequest::Restore(FilesRequest {
        to: "t@2".into(),
        scope: Scope::All,
        files: FolderRequest { folder: Some(folder.clone()), ..FolderRequest::default() },
        description: None,
    });
    milepost_service::jobs::run(&gone(&engine), &asked, "ana", &|_| {}).unwrap_err();
    assert_eq!(std::fs::read_to_string(folder.join("draft.md")).unwrap(), "second");
    assert!(engine.restores().pending().unwrap().is_empty());
    let workspace = Workspace::open(&folder, WorkspaceOptions::default()).unwrap();
    let to = engine.point("t@2").unwrap();
    assert!(workspace.plan(&engine, &to, &Choices::default()).unwrap().conflicts.is_empty());
}
