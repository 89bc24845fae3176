//! Restores and undos with a folder while a restore of the task is interrupted.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use milepost::restore::{CaptureContext, PendingRestore, PrepareContext};
use milepost::{Body, Engine, Error, ErrorKind, Mark, Options, Participant, Result};
use milepost_api::{FilesRequest, FolderRequest, JobRequest};
use milepost_codec::{RestorePart, Scope};
use milepost_server::ServerOptions;
use milepost_workspace::{Workspace, WorkspaceOptions};
use serde_json::{Value, json};

use crate::changing::{Three, problem};
use crate::served::{Came, Served};

const RESTORES: &str = "/v1/restores";
const PLAN: &str = "/v1/restores/plan";
const UNDO: &str = "/v1/tasks/hers/undo";
const PLAN_UNDO: &str = "/v1/tasks/hers/undo/plan";

/// A workspace that changes its folder and then fails, as if its process died.
struct Dying(Arc<dyn Participant>);

fn dead<T>() -> Result<T> {
    Err(Error::new(ErrorKind::Unavailable, "it died"))
}

impl Participant for Dying {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn capture(&self, at: &CaptureContext<'_>) -> Result<Vec<Body>> {
        self.0.capture(at)
    }

    fn prepare(&self, going: &PrepareContext<'_>) -> Result<RestorePart> {
        self.0.prepare(going)
    }

    fn apply(&self, engine: &Engine, pending: &PendingRestore) -> Result<Vec<Body>> {
        self.0.apply(engine, pending)?;
        dead()
    }

    fn abort(&self, _: &Engine, _: &PendingRestore) -> Result<()> {
        dead()
    }

    fn finish(&self, _: &Engine, _: &PendingRestore) -> Result<()> {
        dead()
    }
}

fn open(folder: &Path) -> Workspace {
    Workspace::open(folder, WorkspaceOptions::default()).unwrap()
}

/// A store with ana's task, and its folder, captured as `one`, `two` and `three`.
struct Scene {
    three: Three,
    dir: tempfile::TempDir,
}

impl Scene {
    /// In a store of the user's own.
    fn new() -> Self {
        let engine = Engine::in_memory(Options::default()).unwrap();
        let served = Served::on(engine, tempfile::tempdir().unwrap(), ServerOptions::default());
        Self::of(Three::on(served))
    }

    fn of(three: Three) -> Self {
        let scene = Self { three, dir: tempfile::tempdir().unwrap() };
        fs::create_dir(scene.folder()).unwrap();
        fs::create_dir(scene.other()).unwrap();
        let (engine, workspace) = (&scene.three.served.engine, open(&scene.folder()));
        let task = engine.task("hers").unwrap();
        for (label, notes) in [("one", "one"), ("two", "two"), ("three", "two")] {
            scene.write("essay.md", label);
            scene.write("notes.md", notes);
            workspace.capture(engine, &task, Some(Mark::new().label(label))).unwrap();
        }
        scene
    }

    fn folder(&self) -> std::path::PathBuf {
        self.dir.path().join("work")
    }

    fn other(&self) -> std::path::PathBuf {
        self.dir.path().join("other")
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.folder().join(name), text).unwrap();
    }

    fn text(&self) -> String {
        fs::read_to_string(self.folder().join("essay.md")).unwrap()
    }

    /// Restores `two`, as a process that dies.
    fn interrupt(&self) {
        let engine = &self.three.served.engine;
        let to = engine.point("hers/0@two").unwrap();
        let dying = Arc::new(Dying(open(&self.folder()).participant()));
        engine.restore(&to).with(dying).run().unwrap_err();
        assert_eq!((self.text().as_str(), self.pending()), ("two", 1));
    }

    fn interrupted() -> Self {
        let scene = Self::new();
        scene.interrupt();
        scene
    }

    fn pending(&self) -> usize {
        self.three.served.engine.restores().pending().unwrap().len()
    }

    async fn ask(&self, path: &str, body: Value) -> Came {
        self.three.ask("POST", path, &self.three.root, &body.to_string()).await
    }

    fn to(&self, label: &str, folder: &Path) -> Value {
        let choices = json!({"moved": folder != self.folder()});
        json!({"to": format!("hers@{label}"), "scope": "all", "folder": folder, "choices": choices})
    }

    /// Asserts that a restore and its plan are refused, with these words, and change nothing.
    async fn refuses(&self, folder: &Path, step: &str, says: &[&str]) {
        for path in [PLAN, RESTORES] {
            let came = self.ask(path, self.to("one", folder)).await;
            assert_eq!(problem(&came), (503, "unavailable".into()), "{path} {came:?}");
            let refused = came.json();
            let detail = refused["detail"].as_str().unwrap();
            for words in says {
                assert!(detail.contains(words), "{path} {words}: {detail}");
            }
            assert_eq!(refused["remedy"]["step"], step, "{path} {refused}");
            assert_eq!(self.pending(), 1, "{path}");
        }
    }
}

#[tokio::test]
async fn a_restore_first_undoes_one_that_was_interrupted_in_its_folder_and_says_so() {
    let scene = Scene::interrupted();
    let (folder, body) = (scene.folder(), scene.to("one", &scene.folder()));
    let plan = scene.ask(PLAN, body.clone()).await;
    assert_eq!(plan.status, 200, "{plan:?}");
    let plan = plan.json();
    assert_eq!(plan["recovers"], json!(folder), "{plan}");
    let changes = plan["files"]["changes"].clone();
    assert_eq!(
        (&changes[0]["path"], &changes[1]["path"]),
        (&json!("essay.md"), &json!("notes.md"))
    );
    assert_eq!(plan["files"]["conflicts"], json!([]));
    assert_eq!((scene.text().as_str(), scene.pending()), ("two", 1));
    let came = scene.ask(RESTORES, body).await;
    assert_eq!(came.status, 201, "{came:?}");
    let form = came.json();
    assert_eq!(form["recovered"], json!({"folder": folder, "taken_back": true}), "{form}");
    assert_eq!(form["files"]["changes"], changes, "as planned: {form}");
    assert_eq!((scene.text().as_str(), scene.pending()), ("one", 0));
    let undone = scene.ask(UNDO, json!({"folder": folder})).await;
    assert_eq!((undone.status.as_u16(), undone.json().get("recovered")), (200, None));
    assert_eq!(scene.text(), "three");
}

#[tokio::test]
async fn a_restore_of_a_folder_leaves_another_one_that_was_interrupted_and_names_it() {
    let scene = Scene::interrupted();
    let shown = scene.folder().display().to_string();
    scene.refuses(&scene.other(), "recover", &[&shown, "`milepost recover hers`"]).await;
    assert_eq!(scene.text(), "two");
    assert_eq!(fs::read_dir(scene.other()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_restore_says_that_the_folder_of_an_interrupted_one_is_gone_or_another() {
    let scene = Scene::interrupted();
    let shown = scene.folder().display().to_string();
    fs::rename(scene.folder(), scene.dir.path().join("away")).unwrap();
    for folder in [scene.folder(), scene.other()] {
        let says = [shown.as_str(), "is no folder now", "`milepost recover hers --give-up`"];
        scene.refuses(&folder, "name_begun", &says).await;
        assert!(!scene.folder().exists());
    }
    fs::create_dir(scene.folder()).unwrap();
    for folder in [scene.folder(), scene.other()] {
        let says = [shown.as_str(), "is another folder now", "`milepost recover hers --give-up`"];
        scene.refuses(&folder, "name_begun", &says).await;
    }
    fs::remove_dir(scene.folder()).unwrap();
    let engine = &scene.three.served.engine;
    let pending = engine.restores().pending().unwrap();
    engine.restores().abandon(&pending[0], "it is gone").unwrap();
    // A folder that was captured, and is gone, comes back.
    let came = scene.ask(RESTORES, scene.to("one", &scene.folder())).await;
    assert_eq!(came.status, 201, "{came:?}");
    assert_eq!(scene.text(), "one");
}

#[tokio::test]
async fn in_a_store_that_is_not_trusted_nothing_is_undone_unasked() {
    let scene = Scene::of(Three::new());
    scene.interrupt();
    let command = format!("`milepost recover hers --files {}`", scene.folder().display());
    for folder in [scene.folder(), scene.other()] {
        scene.refuses(&folder, "name_begun", &["only on request", &command]).await;
    }
    assert_eq!(scene.text(), "two");
}

#[tokio::test]
async fn what_is_refused_after_a_recovery_says_that_it_was_done() {
    let scene = Scene::new();
    let folder = scene.folder();
    let said = format!("the interrupted restore of {} is undone; ", folder.display());
    let came = scene.ask(RESTORES, scene.to("one", &folder)).await;
    assert_eq!(came.status, 201, "{came:?}");
    scene.interrupt();
    // An undo would be of the restore before.
    let plan = scene.ask(PLAN_UNDO, json!({"folder": folder})).await;
    assert_eq!(problem(&plan), (503, "unavailable".into()), "{plan:?}");
    assert_eq!(scene.pending(), 1);
    let undo = scene.ask(UNDO, json!({"folder": folder})).await;
    assert_eq!(problem(&undo), (409, "conflict".into()), "{undo:?}");
    let undo = undo.json();
    assert!(undo["detail"].as_str().unwrap().starts_with(&said), "{undo}");
    assert_eq!(undo["remedy"]["step"], "look_again", "{undo}");
    assert_eq!(undo["result"]["recovered"]["taken_back"], true, "{undo}");
    assert_eq!((scene.text().as_str(), scene.pending()), ("one", 0));

    let scene = Scene::interrupted();
    // The interrupted restore did not change these.
    scene.write("notes.md", "mine");
    let folder = scene.folder();
    let said = format!("the interrupted restore of {} is undone; ", folder.display());
    let refused = scene.ask(RESTORES, scene.to("one", &folder)).await;
    assert_eq!(problem(&refused), (409, "conflict".into()), "{refused:?}");
    let refused = refused.json();
    assert!(refused["detail"].as_str().unwrap().starts_with(&said), "{refused}");
    assert_eq!(refused["remedy"]["step"], "choose", "{refused}");
    let result = &refused["result"];
    assert_eq!(result["recovered"]["taken_back"], true, "{refused}");
    assert_eq!(result["files"]["conflicts"][0]["path"], "notes.md", "{refused}");
    assert_eq!((scene.text().as_str(), scene.pending()), ("three", 0));
}

#[tokio::test]
async fn an_undo_that_was_interrupted_is_planned_and_done_again() {
    let scene = Scene::new();
    let folder = scene.folder();
    let came = scene.ask(RESTORES, scene.to("one", &folder)).await;
    assert_eq!(came.status, 201, "{came:?}");
    let dying = Arc::new(Dying(open(&folder).participant()));
    scene.three.served.engine.undo("hers").with(dying).run().unwrap_err();
    assert_eq!((scene.text().as_str(), scene.pending()), ("three", 1));
    let plan = scene.ask(PLAN_UNDO, json!({"folder": folder})).await;
    assert_eq!(plan.status, 200, "{plan:?}");
    assert_eq!(plan.json()["recovers"], json!(folder));
    let undo = scene.ask(UNDO, json!({"folder": folder})).await;
    assert_eq!(undo.status, 200, "{undo:?}");
    assert_eq!(undo.json()["recovered"]["taken_back"], true);
    assert_eq!((scene.text().as_str(), scene.pending()), ("three", 0));
}

#[tokio::test]
async fn a_conflict_has_the_same_plan_and_remedy_as_a_job_and_as_an_answer() {
    let scene = Scene::new();
    let folder = scene.folder();
    scene.write("essay.md", "mine");
    let refused = scene.ask(RESTORES, scene.to("one", &folder)).await;
    assert_eq!(problem(&refused), (409, "conflict".into()), "{refused:?}");
    let asked = FilesRequest {
        to: "hers@one".into(),
        scope: Scope::All,
        files: FolderRequest { folder: Some(folder), ..FolderRequest::default() },
        description: None,
    };
    let engine = &scene.three.served.engine;
    let job = milepost_service::jobs::run(engine, &JobRequest::Restore(asked), "root", &|_| {});
    let job = job.unwrap_err();
    let refused = refused.json();
    assert_eq!(refused["detail"], job.to_string());
    assert!(job.to_string().starts_with(&job.error.to_string()));
    assert!(job.to_string().contains("; `essay.md`: it was changed"), "{job}");
    assert_eq!(refused["remedy"], serde_json::to_value(&job.remedy).unwrap());
    assert_eq!(refused["remedy"]["step"], "choose");
    let files = |result: Value| {
        let mut files = result["files"].clone();
        // The disk is used by others, too.
        files.as_object_mut().unwrap().remove("free");
        files
    };
    let as_job = serde_json::to_value(job.result.unwrap().restore()).unwrap();
    let plan = files(refused["result"].clone());
    assert_eq!(plan["conflicts"][0]["path"], "essay.md", "{refused}");
    assert_eq!(plan, files(as_job));
    assert_eq!(scene.text(), "mine");
}
