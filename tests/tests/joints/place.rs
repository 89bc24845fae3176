//! Stores in which a secret is planted, and helpers that plant it.

use std::fs;
use std::path::PathBuf;

use milepost::events::{Application, Data, Message};
use milepost::retention::Policy;
use milepost::state::Chunks;
use milepost::transfer::{ExportItem, Import};
use milepost::{
    Append, Body, Engine, Error, Event, Json, Mark, Options, Participant, Reducer, Result, Task,
};
use milepost_tests::bodies;
use milepost_workspace::{Workspace, WorkspaceOptions};
use serde_json::json;

/// A store, and the task with the secret.
pub struct Place {
    dir: tempfile::TempDir,
    engine: Option<Engine>,
    pub victim: String,
}

impl Place {
    pub fn begin() -> Self {
        let mut place =
            Self { dir: tempfile::tempdir().unwrap(), engine: None, victim: "t".into() };
        place.reopen();
        place.engine().start_task("t", "ana").unwrap();
        let other = place.engine().start_task("other", "bob").unwrap();
        other.append(Message::text("user", "hello")).unwrap();
        other.checkpoint(Mark::new().label("first")).unwrap();
        place
    }

    /// Opens the store, closing it before.
    pub fn reopen(&mut self) {
        if let Some(engine) = self.engine.take() {
            engine.close().unwrap();
        }
        let options = Options::default().reducer(Hoard);
        self.engine = Some(Engine::open(self.root(), options).unwrap());
    }

    pub fn root(&self) -> PathBuf {
        self.dir.path().join("store")
    }

    pub fn engine(&self) -> &Engine {
        self.engine.as_ref().unwrap()
    }

    pub fn task(&self) -> Task {
        self.engine().task(&self.victim).unwrap()
    }

    pub fn say(&self, append: impl Into<Append>) -> u64 {
        self.task().append(append).unwrap().first
    }

    /// A workspace with a file.
    pub fn workspace(&self, file: &str, content: &str) -> (Workspace, PathBuf) {
        let folder = self.dir.path().join("work");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("other"), "another file").unwrap();
        let path = folder.join(file);
        fs::write(&path, content).unwrap();
        let options = WorkspaceOptions::default();
        (Workspace::open(&folder, options).unwrap(), path)
    }

    pub fn capture(&self, workspace: &Workspace, label: &str) {
        let mark = Some(Mark::new().label(label));
        workspace.capture(self.engine(), &self.task(), mark).unwrap();
    }
}

/// Keeps all messages: in its encoding and, once more, in chunks that it refers to.
struct Hoard;

impl Reducer for Hoard {
    type State = Vec<Vec<u8>>;
    fn name(&self) -> &str {
        "test.hoard"
    }
    fn version(&self) -> u32 {
        1
    }
    fn initial(&self) -> Self::State {
        Vec::new()
    }
    fn apply(&self, state: &mut Self::State, event: &Event, chunks: &dyn Chunks) -> Result<()> {
        if let Some(Body::Message(message)) = &event.body {
            let text = format!("{message:?}").into_bytes();
            let part = &text[..text.len().min(1000)];
            chunks.put(&[b"hoarded ", part].concat(), false)?;
            state.push(part.to_vec());
        }
        Ok(())
    }
    fn encode(&self, state: &Self::State) -> Result<Vec<u8>> {
        Ok(serde_json::to_vec(state).unwrap())
    }
    fn decode(&self, bytes: &[u8]) -> Result<Self::State> {
        serde_json::from_slice(bytes).map_err(|e| Error::corrupt("hoard", "JSON", e))
    }
    fn refers(&self, state: &Self::State) -> Vec<milepost::ids::ChunkId> {
        let id = |part: &Vec<u8>| {
            milepost_codec::ChunkEntry::id_of(&[b"hoarded ", part.as_slice()].concat())
        };
        state.iter().map(id).collect()
    }
}

pub fn json(value: &serde_json::Value) -> Json {
    Json::from_value(value).unwrap()
}

pub fn said(text: &str) -> Body {
    Message::text("user", text).into()
}

pub fn application(text: &str) -> Body {
    let data = Data::Bytes(text.into());
    let name = "test.note".into();
    Application { name, data }.into()
}

/// A text of some length with the secret inside.
pub fn around(secret: &str, len: usize) -> String {
    let half = bodies::text(7, len / 2);
    format!("{half} {secret} {half}")
}

/// A task that was trimmed.
pub fn based(place: &Place) -> u64 {
    for n in 0..3 {
        place.say(application(&n.to_string()));
        place.task().checkpoint(Mark::new()).unwrap();
    }
    let policy = Policy::new().keep(1).undo(0);
    place.engine().retention().retain(&policy).unwrap();
    place.engine().retention().compact(&mut |_| {}).unwrap();
    assert!(place.task().read(..).unwrap().next().unwrap().unwrap().offset > 0);
    0
}

/// A file with the secret that another process left.
pub fn left(place: &Place, name: &str, secret: &str) -> u64 {
    let path = place.root().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, secret).unwrap();
    place.say(said(secret))
}

pub fn carry(from: &Engine, task: &str, mut import: Import, name: Option<&str>) {
    let export = &mut from.transfer().export(true).unwrap();
    let take = &mut |carried: ExportItem<'_>| match (carried, name) {
        (ExportItem::Task(task), None) => import.task(task),
        (ExportItem::Task(task), Some(name)) => import.copy(name, task),
        (ExportItem::Chunk(chunk), _) => import.chunk(chunk),
        (ExportItem::Event(event), _) => import.event(event),
        _ => Ok(()),
    };
    export.task(task, take).unwrap();
    import.finish().unwrap();
}

/// Takes part in a restore, and notes a text.
pub struct Part(pub String);

impl Participant for Part {
    fn name(&self) -> &str {
        "part"
    }
    fn capture(&self, _: &milepost::restore::CaptureContext<'_>) -> Result<Vec<Body>> {
        Ok(vec![application(&self.0)])
    }
    fn prepare(
        &self,
        going: &milepost::restore::PrepareContext<'_>,
    ) -> Result<milepost_codec::RestorePart> {
        let text = self.0.clone();
        let plan = going.engine.store().chunks().put(&[text.as_bytes()])?;
        Ok(milepost_codec::RestorePart {
            participant: "part".into(),
            place: Data::Json(json(&json!(text))),
            note: Some(json(&json!(text))),
            plan: milepost_codec::ChunkList { len: text.len() as u64, chunks: plan },
            roots: Vec::new(),
        })
    }
    fn apply(&self, _: &Engine, _: &milepost::restore::PendingRestore) -> Result<Vec<Body>> {
        Ok(vec![application(&self.0)])
    }
    fn abort(&self, _: &Engine, _: &milepost::restore::PendingRestore) -> Result<()> {
        Ok(())
    }
    fn finish(&self, _: &Engine, _: &milepost::restore::PendingRestore) -> Result<()> {
        Ok(())
    }
}
