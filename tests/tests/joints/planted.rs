//! The features that keep content, and a way to put a secret through each.

use std::fs;
use std::sync::Arc;

use milepost::events::{
    ArtifactsEdited, CheckpointAttached, ContextChanged, Data, GuidanceGiven, PatchForm,
    PhaseChanged, PromptChanged, RulesChanged, RunControl, StepFailed, StepFinished, StepStarted,
    ToolCalled, ToolReturned, VariablesPatched,
};
use milepost::{Append, Body, Engine, Error, Mark, Options, Participant};
use milepost_runtime::run::{Run, RunOptions};
use milepost_workspace::Choices;
use serde_json::json;

use crate::joints::place::{Part, Place, application, around, based, carry, json, left, said};
use crate::joints::planted::Way::{Cleanup, Delete, Erase};

/// An operation that takes content away. `docs/RETENTION.md` says what each takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Erase,
    Delete,
    Cleanup,
}

/// A feature.
pub struct Row {
    pub name: &'static str,
    /// The part of the store in which it keeps the secret, among others.
    pub within: &'static str,
    /// The operations that promise to take it.
    pub ways: &'static [Way],
    /// Plants it, and gives the offset of its event.
    pub plant: fn(&mut Place, &str) -> u64,
}

macro_rules! row {
    ($name:literal, $within:literal, $ways:expr, $plant:expr) => {
        Row { name: $name, within: $within, ways: &$ways, plant: $plant }
    };
}

pub const ROWS: &[Row] = &[
    row!("a message", "", [Erase, Delete], |p, s| p.say(said(s))),
    row!("an event over 4 KiB", "", [Erase, Delete], |p, s| {
        p.say(application(&around(s, 6000)))
    }),
    row!("a body in chunks", "packs/", [Erase, Delete], |p, s| {
        p.say(application(&around(s, 600_000)))
    }),
    row!("a message in chunks", "packs/", [Erase, Delete], |p, s| {
        p.say(said(&around(s, 600_000)))
    }),
    row!("an event of the application", "", [Erase, Delete, Cleanup], |p, s| {
        p.say(application(s))
    }),
    row!("one of a batch", "", [Erase, Delete], |p, s| {
        let texts = (0..40).map(|n| around(if n == 20 { s } else { "x" }, 900));
        p.say(Append::batch(texts.map(|text| said(&text)))) + 20
    }),
    row!("a keyed event", "", [Erase, Delete], |p, s| { p.say(Append::from(said(s)).key("k")) }),
    row!("a key", "", [Delete], |p, s| p.say(Append::from(said("x")).key(s))),
    row!("an actor", "", [Delete], |p, s| p.say(Append::from(said("x")).actor(s))),
    row!("a user", "", [Delete], |p, s| p.say(Append::from(said("x")).user(s))),
    row!("a correlation", "", [Delete], |p, s| { p.say(Append::from(said("x")).correlation(s)) }),
    row!("a prompt", "", [Erase, Delete], |p, s| { p.say(PromptChanged { prompt: s.into() }) }),
    row!("rules", "", [Erase, Delete], |p, s| { p.say(RulesChanged { rules: json(&json!([s])) }) }),
    row!("an artifact", "", [Erase, Delete], |p, s| {
        let artifacts = [(s.to_owned(), json(&json!(s)))].into();
        p.say(ArtifactsEdited { artifacts })
    }),
    row!("variables", "", [Erase, Delete], |p, s| {
        let (form, patch) = (PatchForm::Merge, json(&json!({ s: s })));
        p.say(VariablesPatched { form, patch })
    }),
    row!("variables by a patch", "", [Erase, Delete], |p, s| {
        let patch = json(&json!([{"op": "add", "path": "/a", "value": s}]));
        let form = PatchForm::Patch;
        p.say(VariablesPatched { form, patch })
    }),
    row!("a context", "", [Erase, Delete], |p, s| {
        let (form, patch) = (PatchForm::Merge, json(&json!({ s: s })));
        p.say(ContextChanged { form, patch })
    }),
    row!("guidance", "", [Erase, Delete], |p, s| {
        let data = Some(json(&json!(s)));
        p.say(GuidanceGiven { text: s.into(), data })
    }),
    row!("a phase", "", [Erase, Delete], |p, s| {
        p.say(PhaseChanged { previous: Some(s.into()), phase: s.into(), iteration: 1 })
    }),
    row!("a step that starts", "", [Erase, Delete], |p, s| {
        p.say(StepStarted { step: 1, name: Some(s.into()), iteration: None })
    }),
    row!("a step that finished", "", [Erase, Delete], |p, s| {
        let result = Some(json(&json!(s)));
        p.say(StepFinished { step: 1, result, ..StepFinished::default() })
    }),
    row!("a step that failed", "", [Erase, Delete], |p, s| {
        p.say(StepFailed { step: 1, error: s.into() })
    }),
    row!("a call of a tool", "", [Erase, Delete], |p, s| {
        let arguments = json(&json!([s]));
        p.say(ToolCalled { call: "c".into(), tool: "sh".into(), arguments })
    }),
    row!("what a tool returned", "", [Erase, Delete], |p, s| {
        let output = Some(json(&json!([s])));
        p.say(ToolReturned { call: "c".into(), tool: None, ok: true, output })
    }),
    row!("the result of work that is done once", "", [Erase, Delete], |p, s| {
        let run = Run::of(p.task(), RunOptions::default()).unwrap();
        let at = p.task().head().unwrap().next;
        run.once("mail", || Ok::<_, Error>(s.to_owned())).unwrap();
        at
    }),
    row!("an event that others inherit", "", [Erase, Delete], |p, s| {
        let at = p.say(said(s));
        p.say(said("more"));
        let point = p.task().point(at + 1).unwrap();
        let branch = p.engine().branch(&point).run().unwrap();
        branch.append(said("on a branch")).unwrap();
        p.engine().restore(&point).run().unwrap();
        p.say(said("after a restore"));
        at
    }),
    row!("an event of a lineage that is dropped", "", [Delete, Cleanup], |p, s| {
        let task = p.task();
        task.append(said("x")).unwrap();
        let to = task.point(task.head().unwrap().next).unwrap();
        let at = task.append(said(s)).unwrap().first;
        p.engine().restore(&to).run().unwrap();
        at
    }),
    row!("the reason of a change of control", "", [Delete], |p, s| {
        let task = p.task();
        task.control().change(RunControl::Running, None).unwrap();
        task.control().change(RunControl::Paused, Some(s)).unwrap();
        0
    }),
    row!("a label", "", [Delete, Cleanup], |p, s| {
        p.task().checkpoint(Mark::new().label(s)).unwrap().mark
    }),
    row!("an alias", "", [Delete, Cleanup], |p, s| {
        p.task().checkpoint(Mark::new().alias(s)).unwrap().mark
    }),
    row!("metadata", "", [Delete, Cleanup], |p, s| {
        let mark = Mark::new().metadata(json(&json!({ s: s })));
        p.task().checkpoint(mark).unwrap().mark
    }),
    row!("an attachment", "", [Delete, Cleanup], |p, s| {
        let checkpoint = p.task().checkpoint(Mark::new()).unwrap().id;
        let data = Data::Bytes(s.into());
        let (writer, name) = (s.into(), s.into());
        p.say(Body::from(CheckpointAttached { checkpoint, writer, index: 0, name, data }))
    }),
    row!("the description of a branch", "", [Delete], |p, s| {
        let at = p.say(said("x"));
        p.engine().branch(&p.task().point(at).unwrap()).description(s).run().unwrap();
        at
    }),
    row!("the reason of a restore", "", [Delete], |p, s| {
        let at = p.say(said("x"));
        p.engine().restore(&p.task().point(at).unwrap()).description(s).run().unwrap();
        at
    }),
    row!("the reason of a pin", "", [Delete], |p, s| {
        let mark = p.task().checkpoint(Mark::new()).unwrap();
        p.engine().retention().pin(&mark.id, Some(s)).unwrap();
        0
    }),
    row!("the reason of an erasure", "", [Delete], |p, s| {
        let at = p.say(said("x"));
        p.engine().retention().erase(&p.task().point(at).unwrap(), Some(s)).unwrap();
        at
    }),
    row!("an initial state", "", [Delete], |p, s| {
        let initial = Some(json(&json!({ "variables": { "a": s } })));
        p.engine().start_task_from("initial", "ana", initial, None).unwrap();
        p.victim = "initial".into();
        0
    }),
    row!("the name of a task", "", [Delete], |p, s| {
        p.engine().start_task(s, "ana").unwrap();
        p.victim = s.into();
        0
    }),
    row!("the user of a task", "", [Delete], |p, s| {
        p.engine().start_task("theirs", s).unwrap();
        p.victim = "theirs".into();
        0
    }),
    row!("a state in snapshots", "packs/", [Erase, Delete], |p, s| {
        let at = p.say(said(s));
        let made = p.engine().store().stats().unwrap().snapshots;
        // Another thread writes snapshots of both reducers.
        while p.engine().store().stats().unwrap().snapshots < made + 4 {
            p.say(said(&around("x", 900)));
        }
        at
    }),
    row!("a state in a base", "packs/", [Delete], |p, s| {
        let patch = json(&json!({ "a": s }));
        let form = PatchForm::Merge;
        p.say(Append::from(VariablesPatched { form, patch }).key("k"));
        based(p)
    }),
    row!("a key in a base", "packs/", [Delete], |p, s| {
        p.say(Append::from(said("x")).key(s));
        based(p)
    }),
    row!("a task that was imported", "", [Erase, Delete], |p, s| {
        let from = Engine::in_memory(Options::default()).unwrap();
        let task = from.start_task("from", "ana").unwrap();
        let at = task.append(said(&around(s, 400_000))).unwrap().first;
        carry(&from, "from", p.engine().transfer().import(), None);
        p.victim = "from".into();
        at
    }),
    row!("a copy of a task", "", [Erase, Delete], |p, s| {
        let from = Engine::in_memory(Options::default()).unwrap();
        let task = from.start_task("from", "ana").unwrap();
        let at = task.append(said(s)).unwrap().first;
        carry(&from, "from", p.engine().transfer().import(), Some("copy"));
        p.victim = "copy".into();
        at
    }),
    row!("a captured file", "packs/", [Delete, Cleanup], |p, s| {
        let (workspace, path) = p.workspace("file", s);
        p.capture(&workspace, "first");
        fs::remove_file(path).unwrap();
        p.capture(&workspace, "second");
        0
    }),
    row!("the name of a captured file", "packs/", [Delete, Cleanup], |p, s| {
        let (workspace, path) = p.workspace(s, "content");
        p.capture(&workspace, "first");
        fs::remove_file(path).unwrap();
        p.capture(&workspace, "second");
        0
    }),
    row!("the name of a captured file in its cache", "workspace/", [Delete], |p, s| {
        let (workspace, _) = p.workspace(s, "content");
        p.capture(&workspace, "first");
        0
    }),
    row!("files that went back", "packs/", [Delete, Cleanup], |p, s| {
        let (workspace, path) = p.workspace("other", "content");
        p.capture(&workspace, "first");
        let to = p.engine().point("t@first").unwrap();
        let secret = path.with_file_name(s);
        fs::write(&secret, s).unwrap();
        p.capture(&workspace, "second");
        let all = milepost::Scope::All;
        // The restore captures the present, and the plan names it.
        workspace.restore(p.engine(), &to, all, None, &Choices::default()).unwrap();
        assert!(!secret.exists());
        0
    }),
    row!("a part of a restore", "", [Delete], |p, s| {
        let at = p.say(said("x"));
        let to = p.task().point(at).unwrap();
        let part: Arc<dyn Participant> = Arc::new(Part(s.into()));
        p.engine().restore(&to).with(part).run().unwrap();
        at
    }),
    row!("a folder that was set aside", "damaged/", [Erase, Delete], |p, s| {
        let at = p.say(said(s));
        p.reopen();
        fs::write(p.root().join("sled-suspect"), b"").unwrap();
        p.reopen();
        at
    }),
    row!("an archive that a repair left", "archive.new/", [Erase, Delete], |p, s| {
        left(p, "archive.new/0000000001.mpa", s)
    }),
    row!("an archive file that a kill left", "archive/", [Erase, Delete], |p, s| {
        left(p, "archive/0000000001.mpa.0123456789abcdef.tmp", s)
    }),
    row!("a cache that a kill left", "workspace/", [Erase, Delete], |p, s| {
        left(p, "workspace/0a.stat.0123456789abcdef.tmp", s)
    }),
    row!("a search by hand", "bisect.json", [Erase, Delete], |p, s| { left(p, "bisect.json", s) }),
];
