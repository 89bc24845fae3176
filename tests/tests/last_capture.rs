//! Tests: the last capture of a folder, against a model of the folder.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use milepost::clock::Clock;
use milepost::events::{Message, WorkspaceCaptured};
use milepost::restore::{CaptureContext, PendingRestore, PrepareContext};
use milepost::retention::Policy;
use milepost::transfer::ExportItem;
use milepost::{
    Body, Engine, Hash, Lineage, LineageId, Mark, Options, Participant, Point, Result, Task,
};
use milepost_codec::{Capture, ChunkId, ChunkList, Data, Node, PathBytes, RestorePart};
use proptest::prelude::*;

/// A clock that can be set back.
#[derive(Default)]
struct SetBack(AtomicU64);

impl Clock for SetBack {
    fn now_us(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A folder: its content, and the last capture of it.
#[derive(Debug, Clone, Copy, Default)]
struct Content {
    now: u64,
    last: Option<u64>,
}

/// A folder that takes part in restores.
#[derive(Default)]
struct Folder {
    content: Mutex<Content>,
    target: Mutex<Option<u64>>,
}

/// Stores a capture of a folder with this content.
fn stored(engine: &Engine, content: u64) -> WorkspaceCaptured {
    let store = engine.store().chunks();
    let tree = store.put(&[&Node::Directory(Vec::new()).encode()]).unwrap()[0];
    let node = Node::Capture(Capture {
        present: false,
        over: None,
        folder: PathBytes::from(b"/folder".as_slice()),
        tree,
        files: content,
        directories: 0,
        links: 0,
        bytes: 0,
        skipped: 0,
        skips: ChunkList::default(),
    });
    let root = store.put(&[&node.encode()]).unwrap()[0];
    WorkspaceCaptured { root: Hash(root.0), files: content, bytes: 0, skipped: 0 }
}

fn root(engine: &Engine, content: u64) -> Hash {
    stored(engine, content).root
}

/// Returns the content of a capture.
fn content_of(engine: &Engine, Hash(root): Hash) -> u64 {
    let node = engine.store().chunks().get(&ChunkId(root)).unwrap();
    let Node::Capture(capture) = Node::decode(&node).unwrap() else { panic!("no capture") };
    capture.files
}

impl Folder {
    fn event(&self, engine: &Engine) -> Body {
        let mut content = self.content.lock().unwrap();
        content.last = Some(content.now);
        stored(engine, content.now).into()
    }

    /// Captures as a workspace does.
    fn captured(&self, engine: &Engine, known: Option<Hash>, named: Option<Hash>) -> Option<Body> {
        let now = Some(root(engine, self.content.lock().unwrap().now));
        (known != now || named != now).then(|| self.event(engine))
    }
}

impl Participant for Folder {
    fn name(&self) -> &str {
        "folder"
    }
    fn capture(&self, at: &CaptureContext<'_>) -> Result<Vec<Body>> {
        let event = self.captured(at.engine, at.known()?, at.named()?);
        Ok(event.into_iter().collect())
    }
    fn prepare(&self, going: &PrepareContext<'_>) -> Result<RestorePart> {
        *self.target.lock().unwrap() = going.target.map(|root| content_of(going.engine, root));
        Ok(RestorePart {
            participant: "folder".into(),
            place: Data::Bytes(b"/folder".to_vec()),
            note: None,
            plan: ChunkList::default(),
            roots: Vec::new(),
        })
    }
    fn apply(&self, engine: &Engine, pending: &PendingRestore) -> Result<Vec<Body>> {
        let target = *self.target.lock().unwrap();
        let mut content = self.content.lock().unwrap();
        content.now = target.unwrap_or(content.now);
        content.last = Some(content.now);
        drop(content);
        // The lineage that an undo activates names the target already.
        let names_it = pending.begun.undoes.is_some() && target.is_some();
        Ok(if names_it { Vec::new() } else { vec![self.event(engine)] })
    }
    fn finish(&self, _: &Engine, _: &PendingRestore) -> Result<()> {
        Ok(())
    }
    fn abort(&self, _: &Engine, _: &PendingRestore) -> Result<()> {
        Ok(())
    }
}

fn head(task: &Task) -> Point {
    task.point(task.head().unwrap().next).unwrap()
}

#[derive(Debug, Clone)]
enum Step {
    Change(u64),
    Capture,
    Mark,
    Append,
    Restore(usize, usize),
    RestoreFiles(usize, usize),
    Switch(usize),
    Undo,
    Redo,
    SetClock(u64),
    CleanUp,
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..6_u64).prop_map(Step::Change),
        4 => Just(Step::Capture),
        1 => Just(Step::Mark),
        1 => Just(Step::Append),
        2 => any::<(usize, usize)>().prop_map(|(lineage, at)| Step::Restore(lineage, at)),
        2 => any::<(usize, usize)>().prop_map(|(lineage, at)| Step::RestoreFiles(lineage, at)),
        3 => any::<usize>().prop_map(Step::Switch),
        3 => Just(Step::Undo),
        2 => Just(Step::Redo),
        2 => (0..50_u64).prop_map(Step::SetClock),
        1 => Just(Step::CleanUp),
        1 => Just(Step::Reopen),
    ]
}

/// A store with one task, and its folder.
struct Setting {
    dir: tempfile::TempDir,
    clock: Arc<SetBack>,
    engine: Engine,
    folder: Arc<Folder>,
}

impl Setting {
    fn new() -> Self {
        let (dir, clock) = (tempfile::tempdir().unwrap(), Arc::<SetBack>::default());
        let options = Options::default().clock(Arc::clone(&clock) as _);
        let engine = Engine::open(dir.path(), options).unwrap();
        engine.start_task("essay", "ana").unwrap();
        Self { dir, clock, engine, folder: Arc::default() }
    }

    fn task(&self) -> Task {
        self.engine.task("essay").unwrap()
    }

    fn lineage(&self, pick: usize) -> Lineage {
        let all = self.task().lineages().unwrap();
        self.task().lineage_named(all[pick % all.len()].id).unwrap()
    }

    /// Returns a point of a lineage after its beginning.
    fn point(&self, lineage: usize, at: usize) -> Point {
        let lineage = self.lineage(lineage);
        let info = lineage.info().unwrap();
        let from = info.begin.max(1);
        lineage.point(from + at as u64 % (info.head.next - from + 1)).unwrap()
    }

    fn capture(&self) {
        let (engine, task) = (&self.engine, self.task());
        let known = engine.captures().last(&task).unwrap();
        let named = engine.captures().at(&head(&task)).unwrap();
        if let Some(event) = self.folder.captured(engine, known, named) {
            task.append(event).unwrap();
        }
        let mut content = self.folder.content.lock().unwrap();
        content.last = Some(content.now);
        let named = engine.captures().at(&head(&self.task())).unwrap();
        assert_eq!(named, Some(root(engine, content.now)), "the lineage names it");
    }

    fn perform(&mut self, step: &Step) {
        let engine = &self.engine;
        match step {
            Step::Change(content) => self.folder.content.lock().unwrap().now = *content,
            Step::Capture => self.capture(),
            Step::Mark => drop(self.task().checkpoint(Mark::new()).unwrap()),
            Step::Append => {
                self.task().append(Message::text("user", "more")).unwrap();
            }
            Step::Restore(lineage, at) => {
                engine.restore(&self.point(*lineage, *at)).run().unwrap();
            }
            Step::RestoreFiles(lineage, at) => {
                let point = self.point(*lineage, *at);
                engine.restore(&point).with(Arc::clone(&self.folder) as _).run().unwrap();
            }
            Step::Switch(lineage) => drop(engine.switch(&self.lineage(*lineage)).run().unwrap()),
            // There may be nothing to undo or redo, or a cleanup dropped its lineage.
            Step::Undo => drop(engine.undo("essay").with(Arc::clone(&self.folder) as _).run()),
            Step::Redo => drop(engine.redo("essay").run()),
            Step::SetClock(us) => self.clock.0.store(*us, Ordering::Relaxed),
            Step::CleanUp => {
                engine.retention().retain(&Policy::new().keep(1).undo(0)).unwrap();
                engine.retention().compact(&mut |_| {}).unwrap();
            }
            Step::Reopen => self.reopen(),
        }
    }

    /// Opens the store again, with an index that is made from the archive.
    fn reopen(&mut self) {
        let nothing = Engine::in_memory(Options::default()).unwrap();
        std::mem::replace(&mut self.engine, nothing).close().unwrap();
        for entry in std::fs::read_dir(self.dir.path()).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && name.starts_with("sled") {
                std::fs::remove_dir_all(path).unwrap();
            }
        }
        let options = Options::default().clock(Arc::clone(&self.clock) as _);
        self.engine = Engine::open(self.dir.path(), options).unwrap();
    }

    fn check(&self) {
        let expected =
            self.folder.content.lock().unwrap().last.map(|content| root(&self.engine, content));
        let found = self.engine.captures().last(&self.task()).unwrap();
        assert_eq!(found, expected, "the folder has {:?}", self.folder.content.lock().unwrap());
    }

    /// Imports the task into another store, where the folder has the same last capture.
    fn check_import(&self) {
        let to = Engine::in_memory(Options::default()).unwrap();
        let mut import = to.transfer().import();
        let mut take = |item: ExportItem<'_>| match item {
            ExportItem::Task(task) => import.task(task),
            ExportItem::Chunk(chunk) => import.chunk(chunk),
            ExportItem::Event(event) => import.event(event),
            _ => Ok(()),
        };
        self.engine.transfer().export(true).unwrap().task("essay", &mut take).unwrap();
        import.finish().unwrap();
        let imported = to.captures().last(&to.task("essay").unwrap()).unwrap();
        assert_eq!(imported, self.engine.captures().last(&self.task()).unwrap());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_last_capture_is_the_root_that_was_captured_last_by_commit(
        steps in prop::collection::vec(step(), 1..40),
    ) {
        let mut setting = Setting::new();
        for step in &steps {
            setting.perform(step);
            setting.check();
        }
        setting.check_import();
        let report = setting.engine.integrity().verify(None, &mut |_, _| {}).unwrap();
        prop_assert!(report.faults.is_empty(), "{:?}", report.faults);
    }
}

/// Appends a capture to the active lineage, whichever that is by then.
fn capture_on_the_active_lineage(engine: &Engine, content: u64) {
    let event = stored(engine, content);
    while engine.task("essay").unwrap().append(event.clone()).is_err() {}
}

#[test]
fn an_activation_during_a_capture_keeps_the_files_of_the_later_one() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("essay", "ana").unwrap();
    capture_on_the_active_lineage(&engine, 0);
    let begin = task.point(1).unwrap();
    engine.branch(&begin).run().unwrap();
    for content in 1..400 {
        let go = std::sync::Barrier::new(2);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                go.wait();
                capture_on_the_active_lineage(&engine, content);
            });
            go.wait();
            match content % 3 {
                0 => drop(engine.restore(&begin).run().unwrap()),
                1 => {
                    let task = engine.task("essay").unwrap();
                    let other = LineageId(1 - task.lineage().id().0.min(1));
                    engine.switch(&task.lineage_named(other).unwrap()).run().unwrap();
                }
                _ => drop(engine.undo("essay").run().unwrap()),
            }
        });
        let last = engine.captures().last(&engine.task("essay").unwrap()).unwrap();
        assert_eq!(last, Some(root(&engine, content)), "round {content}");
    }
}

#[test]
fn a_cleanup_keeps_the_lineage_that_names_the_last_capture() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("essay", "ana").unwrap();
    let branch = engine.branch(&task.point(1).unwrap()).run().unwrap();
    engine.switch(&branch).run().unwrap();
    capture_on_the_active_lineage(&engine, 7);
    let back = engine.undo("essay").run().unwrap();
    for _ in 0..2 {
        back.checkpoint(Mark::new()).unwrap();
    }
    let cleanup = || engine.retention().retain(&Policy::new().keep(1).undo(0)).unwrap();
    cleanup();
    assert!(back.lineage_named(branch.id()).is_ok(), "the folder has its files");
    assert_eq!(engine.captures().last(&back).unwrap(), Some(root(&engine, 7)));
    back.append(stored(&engine, 8)).unwrap();
    cleanup();
    assert!(back.lineage_named(branch.id()).is_err(), "nothing needs it any more");
}

#[test]
fn a_capture_before_a_base_is_known_after_a_compaction() {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open(dir.path(), Options::default()).unwrap();
    let task = engine.start_task("essay", "ana").unwrap();
    capture_on_the_active_lineage(&engine, 7);
    for _ in 0..2 {
        task.checkpoint(Mark::new()).unwrap();
    }
    engine.retention().retain(&Policy::new().keep(1).undo(0)).unwrap();
    engine.retention().compact(&mut |_| {}).unwrap();
    assert!(task.lineage().info().unwrap().begin > 2, "its event is gone");
    assert_eq!(engine.captures().at(&head(&task)).unwrap(), Some(root(&engine, 7)));
    assert_eq!(engine.captures().last(&task).unwrap(), Some(root(&engine, 7)));
    assert!(engine.transfer().export(false).unwrap().check("essay").is_err(), "it has files");
}
