//! A project with a recorder, and hooks that say things to it.

use std::time::Duration;

use milepost::clock::{Clock as _, SystemClock};
use milepost::{Engine, Event, Options};
use milepost_agents::{Environment, HookCall, Spool};
use milepost_api::HookRequest;
use milepost_sessions::{Recorder, RecorderOptions};
use milepost_workspace::Snapshot;
use serde_json::{Value, json};

pub struct Scene {
    dir: tempfile::TempDir,
    pub engine: Engine,
    pub spool: Spool,
    options: RecorderOptions,
    recorder: Recorder,
}

impl Scene {
    pub fn new() -> Self {
        Self::with(|options| options)
    }

    pub fn with(options: impl FnOnce(RecorderOptions) -> RecorderOptions) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        for folder in ["home/.claude/projects/p", "project"] {
            std::fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        let engine = Engine::open(dir.path().join("store"), Options::default()).unwrap();
        let environment = Environment::new(|name| (name == "HOME").then(|| home.clone().into()));
        let spool = Spool::of(&environment).unwrap();
        let own = RecorderOptions::new(dir.path().join("project"), "ana")
            .environment(environment)
            .spool(spool.clone())
            .file_wait(Duration::ZERO);
        let own = options(own);
        let recorder = Recorder::start(&engine, own.clone()).unwrap();
        Self { dir, engine, spool, options: own, recorder }
    }

    pub fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    pub fn project(&self) -> std::path::PathBuf {
        self.dir.path().join("project")
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.project().join(name), text).unwrap();
    }

    /// Returns the session file of a session.
    pub fn session_file(&self, session: &str) -> std::path::PathBuf {
        self.dir.path().join("home/.claude/projects/p").join(format!("{session}.jsonl"))
    }

    /// Returns the document of a hook of Gemini CLI, whose calls have no ids.
    pub fn without_id(&self, event: &str, session: &str) -> HookRequest {
        let document = json!({
            "hook_event_name": event,
            "session_id": session,
            "tool_name": "run_shell_command",
            "tool_input": { "command": "true" },
        });
        self.hook("gemini-cli", &document)
    }

    /// Returns the document of a hook, called now.
    pub fn asked(&self, event: &str, session: &str, call: Option<(&str, &str)>) -> HookRequest {
        let mut document = json!({
            "hook_event_name": event,
            "session_id": session,
            "transcript_path": self.session_file(session),
            "cwd": self.project(),
            "prompt": "do it",
        });
        if let Some((id, tool)) = call {
            document["tool_use_id"] = id.into();
            document["tool_name"] = tool.into();
            document["tool_input"] = json!({ "command": "true" });
        }
        self.hook("claude-code", &document)
    }

    pub fn hook(&self, agent: &str, document: &Value) -> HookRequest {
        let call = HookCall {
            agent: agent.into(),
            time_us: SystemClock.now_us(),
            payload: serde_json::to_vec(document).unwrap(),
            is_cut: false,
        };
        HookRequest { parents: Vec::new(), ..call.with(&self.project(), |_| None) }
    }

    /// Starts another recorder, as a daemon that starts anew.
    pub fn restart(&mut self) {
        self.recorder.stop();
        self.recorder = Recorder::start(&self.engine, self.options.clone()).unwrap();
    }

    pub fn take(&self, asked: HookRequest) {
        self.recorder.take(asked).unwrap();
    }

    pub fn before(&self, session: &str, call: &str, tool: &str) {
        self.take(self.asked("PreToolUse", session, Some((call, tool))));
    }

    pub fn after(&self, session: &str, call: &str, tool: &str) {
        self.take(self.asked("PostToolUse", session, Some((call, tool))));
    }

    /// Says something until it is taken: documents may wait from before.
    pub fn take_at_last(&self, asked: &HookRequest) {
        while self.recorder.take(asked.clone()).is_err() {
            std::thread::yield_now();
        }
    }

    pub fn spool(&self, asked: &HookRequest) {
        self.spool.put(asked).unwrap();
    }

    pub fn waiting(&self) -> Vec<std::path::PathBuf> {
        self.spool.waiting(&self.project()).unwrap()
    }

    /// Waits for all that was said: a document of an unknown kind is answered behind it.
    pub fn settle(&self) {
        self.take(self.asked("Notification", "none", None));
    }

    pub fn events(&self, session: &str) -> Vec<Event> {
        let task = self.engine.task(session).unwrap();
        task.read(..).unwrap().map(|event| event.unwrap()).collect()
    }

    /// Waits until the events of a task are as wanted.
    pub fn until(&self, session: &str, wanted: impl Fn(&[Event]) -> bool) {
        while !wanted(&self.events(session)) {
            std::thread::yield_now();
        }
    }

    /// Returns the text of a file in the capture of a point.
    pub fn file_at(&self, point: &str, name: &str) -> Option<String> {
        let point = self.engine.point(point).unwrap();
        let root = self.engine.captures().at(&point).unwrap()?;
        let snapshot = Snapshot::of(&self.engine, root).unwrap();
        let to = tempfile::tempdir().unwrap();
        let path = to.path().join("out");
        std::fs::create_dir(&path).unwrap();
        snapshot.restore_into(&path).unwrap();
        std::fs::read_to_string(path.join(name)).ok()
    }
}
