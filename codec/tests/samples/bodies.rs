//! One value of every event kind with all optional fields set, and one with none.

use std::collections::BTreeMap;

use milepost_codec::*;

use super::{LINEAGE, OFFSET, ORIGIN, STORE, checkpoint, chunk, chunk_lists, hash, head};

fn json(text: &str) -> Json {
    Json::new(text).unwrap()
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn parent() -> Parent {
    Parent { lineage: LineageId(2), offset: OFFSET, hash: hash(0x44) }
}

pub fn bodies() -> Vec<(&'static str, Body)> {
    let mut out = run();
    out.extend(changes());
    out.extend(conversation());
    out.extend(marks());
    out
}

fn run() -> Vec<(&'static str, Body)> {
    let opened = LineageOpened {
        lineage_type: LineageType::Root,
        description: None,
        parent: None,
        initial: None,
        copied_from: None,
    };
    let opened_all = LineageOpened {
        lineage_type: LineageType::Branch,
        description: text("a try"),
        parent: Some(parent()),
        initial: Some(json(r#"{"n":1}"#)),
        copied_from: Some(CopiedFrom {
            origin: ORIGIN,
            lineage: LINEAGE,
            offset: 300,
            hash: hash(0x33),
        }),
    };
    let metrics = [
        ("inf", f64::INFINITY),
        ("loss", 0.25),
        ("minus", -0.0),
        ("nan", f64::NAN),
        ("ninf", f64::NEG_INFINITY),
    ];
    let metrics: BTreeMap<_, _> =
        metrics.into_iter().map(|(name, n)| (name.to_owned(), Float(n))).collect();
    vec![
        ("all", opened_all.into()),
        ("none", opened.into()),
        ("all", StepStarted { step: 70_000, name: text("plan"), iteration: Some(3) }.into()),
        ("none", StepStarted { step: 1, ..StepStarted::default() }.into()),
        ("all", StepFinished { step: 2, result: Some(json("[true,null]")), metrics }.into()),
        ("none", StepFinished { step: 2, ..StepFinished::default() }.into()),
        ("all", StepFailed { step: 3, error: "no route".into() }.into()),
        (
            "all",
            PhaseChanged { previous: text("draft"), phase: "review".into(), iteration: 4 }.into(),
        ),
        ("none", PhaseChanged { previous: None, phase: "draft".into(), iteration: 0 }.into()),
        (
            "all",
            ControlChanged {
                from: RunControl::Running,
                to: RunControl::Paused,
                reason: text("lunch"),
            }
            .into(),
        ),
        (
            "none",
            ControlChanged { from: RunControl::Idle, to: RunControl::Stopped, reason: None }.into(),
        ),
    ]
}

fn changes() -> Vec<(&'static str, Body)> {
    let artifacts = [("a.txt", json(r#""text""#)), ("gone", Json::null())];
    let artifacts = artifacts.map(|(name, value)| (name.to_owned(), value)).into();
    let patch = json(r#"[{"op":"remove","path":"/a"}]"#);
    let merge = json(r#"{"a":null}"#);
    vec![
        ("all", GuidanceGiven { text: "shorter".into(), data: Some(json("[1]")) }.into()),
        ("none", GuidanceGiven { text: "shorter".into(), data: None }.into()),
        ("all", PromptChanged { prompt: "You are \u{e9}.".into() }.into()),
        ("all", RulesChanged { rules: json(r#"{"max" : 1.50}"#) }.into()),
        ("all", ArtifactsEdited { artifacts }.into()),
        ("none", ArtifactsEdited { artifacts: BTreeMap::new() }.into()),
        ("patch", VariablesPatched { form: PatchForm::Patch, patch: patch.clone() }.into()),
        ("merge", VariablesPatched { form: PatchForm::Merge, patch: merge.clone() }.into()),
        ("patch", ContextChanged { form: PatchForm::Patch, patch }.into()),
        ("merge", ContextChanged { form: PatchForm::Merge, patch: merge }.into()),
    ]
}

fn conversation() -> Vec<(&'static str, Body)> {
    let message = Message {
        role: "assistant".into(),
        content: Some(json(r#"[{"type":"text","text":"hi"}]"#)),
        name: text("main"),
        extra: Some(Extra(json(r#"{"id":"m1","n":1.0}"#))),
    };
    let called =
        ToolCalled { call: "c1".into(), tool: "shell".into(), arguments: json(r#"{"cmd":"ls"}"#) };
    let returned = ToolReturned {
        call: "c1".into(),
        tool: text("shell"),
        ok: false,
        output: Some(json(r#""denied""#)),
    };
    let captured = WorkspaceCaptured { root: hash(0x77), files: 250, bytes: 1 << 33, skipped: 251 };
    vec![
        ("all", message.into()),
        ("none", Message { role: "user".into(), content: None, name: None, extra: None }.into()),
        ("all", called.into()),
        ("all", returned.into()),
        ("none", ToolReturned { call: "c1".into(), tool: None, ok: true, output: None }.into()),
        ("all", captured.into()),
    ]
}

fn marks() -> Vec<(&'static str, Body)> {
    let attached = |data| CheckpointAttached {
        checkpoint: checkpoint(0xCC),
        writer: "w".into(),
        index: 1,
        name: "channel".into(),
        data,
    };
    let attached_by =
        |index, data| DataAttached { writer: "w".into(), index, name: "channel".into(), data };
    let restored = Restored {
        from: LINEAGE,
        head: 90,
        lineage: LineageId(2),
        offset: OFFSET,
        checkpoint: Some(checkpoint(0xCC)),
        scope: Scope::Files,
    };
    let restored_none = Restored { checkpoint: None, scope: Scope::All, ..restored.clone() };
    let application = |data| Application { name: "tea_break".into(), data };
    vec![
        ("all", mark().into()),
        ("none", CheckpointMarked::default().into()),
        ("all", CheckpointUnmarked { checkpoint: checkpoint(0xCC), mark: 41 }.into()),
        ("bytes", attached(Data::Bytes(vec![0, 255])).into()),
        ("json", attached(Data::Json(json("2"))).into()),
        ("bytes", attached_by(300, Data::Bytes(vec![0, 255])).into()),
        ("json", attached_by(-4, Data::Json(json("2"))).into()),
        ("all", restored.into()),
        ("none", restored_none.into()),
        ("bytes", application(Data::Bytes(vec![0, 255])).into()),
        ("json", application(Data::Json(json(r#"{"minutes": 1.50}"#))).into()),
    ]
}

/// A mark with all fields set.
pub fn mark() -> CheckpointMarked {
    CheckpointMarked {
        at: Some(head()),
        parent: Some(checkpoint(0xBB)),
        label: text("before lunch"),
        cause: MarkCause::BeforeTool,
        status: MarkStatus::Failure,
        metadata: Some(json(r#"{"score":1}"#)),
        aliases: vec!["a1".into(), "a2".into()],
    }
}

#[expect(clippy::too_many_lines, reason = "one table")]
pub fn controls() -> Vec<(&'static str, Control)> {
    let created = StoreCreated { store: STORE, keyed: true, version: "0.1.0".into() };
    let opened = TaskOpened {
        task: TaskNo(7),
        name: "wang1:20250729235038043".into(),
        user: "wang1".into(),
        origin: ORIGIN,
    };
    let registered = |description, parent| LineageRegistered {
        lineage: LINEAGE,
        lineage_type: LineageType::Rollback,
        description,
        parent,
    };
    let activated = |cause, back| Activated { lineage: LINEAGE, epoch: 2, cause, back };
    let erased =
        |reason| Erased { lineage: LINEAGE, offset: OFFSET, body_hash: hash(0xEE), reason };
    let pinned = |reason| Pinned { checkpoint: checkpoint(0xCC), reason };
    let removed =
        |byte| RemovedMark { lineage: LINEAGE, offset: OFFSET, checkpoint: checkpoint(byte) };
    let retained = |removed| Retained { policy: json(r#"{"keep":5}"#), removed };
    let lost = Lost { lineage: Some(LineageId(3)), from: 40, to: 70_000 };
    let part = |place, note| RestorePart {
        participant: "workspace".into(),
        place,
        note,
        plan: chunk_lists()[0].1.clone(),
        roots: vec![chunk(0xC5), chunk(0xC6)],
    };
    let begun = RestoreBegun {
        restore: RestoreId([0x4E; 16]),
        from: LINEAGE,
        head: 90,
        lineage: LineageId(2),
        offset: OFFSET,
        checkpoint: Some(checkpoint(0xCC)),
        scope: Scope::Files,
        undoes: Some(2),
        parts: vec![
            part(Data::Json(json(r#""/home/ana""#)), Some(json(r#"{"inode":7}"#))),
            part(Data::Bytes(vec![b'/', 255]), None),
        ],
    };
    let begun_none =
        RestoreBegun { checkpoint: None, undoes: None, parts: vec![], ..begun.clone() };
    let ended = |outcome, reason| RestoreEnded { restore: RestoreId([0x4E; 16]), outcome, reason };
    let begin = LineageBegin { lineage: LINEAGE, head: Head { next: OFFSET, hash: hash(0x44) } };
    let prepared = |begins| TaskPrepared { task: TaskNo(7), origin: ORIGIN, begins };
    let trimmed = Trimmed { lineage: LINEAGE, offset: OFFSET, hash: hash(0x44), base: chunk(0xBA) };
    vec![
        ("all", created.into()),
        ("all", opened.into()),
        ("all", Deleted { task: TaskNo(7), opened: OFFSET, origin: ORIGIN }.into()),
        ("all", registered(text("a try"), Some(parent())).into()),
        ("none", registered(None, None).into()),
        ("all", activated(ActivationCause::Chosen, Some(1)).into()),
        ("none", activated(ActivationCause::Opened, None).into()),
        ("all", pinned(text("release")).into()),
        ("none", pinned(None).into()),
        ("all", Unpinned { checkpoint: checkpoint(0xCC) }.into()),
        ("all", OwnerSet { user: "li".into() }.into()),
        ("all", retained(vec![removed(0xC1), removed(0xC2)]).into()),
        ("none", retained(vec![]).into()),
        ("all", erased(text("asked for")).into()),
        ("none", erased(None).into()),
        ("all", trimmed.into()),
        ("all", lost.into()),
        ("all", Dropped { lineage: LINEAGE }.into()),
        ("all", begun.clone().into()),
        ("none", begun_none.into()),
        ("all", ended(RestoreOutcome::GivenUp, text("the folder is gone")).into()),
        ("none", ended(RestoreOutcome::Done, None).into()),
        ("all", prepared(vec![begin]).into()),
        ("none", prepared(vec![]).into()),
        ("all", FilesKept { epoch: 2, root: hash(0x55), lineage: LINEAGE, from: OFFSET }.into()),
    ]
}
