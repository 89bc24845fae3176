//! Audit: each operation is reported to `tracing` with user, kind, source and target; payloads are
//! not.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Once};

use milepost::calls::Context;
use milepost::events::{GuidanceGiven, PhaseChanged, RunControl, StepFinished};
use milepost::retention::Policy;
use milepost::{Append, Engine, Hook, Mark, Options, Task};
use milepost_runtime::run::{FailedSave, Run, RunOptions};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

type Fields = BTreeMap<String, String>;

thread_local! {
    /// Audit events of this thread, if a test collects them.
    static TOLD: RefCell<Option<Vec<Fields>>> = const { RefCell::new(None) };
}

/// Keeps the events of the audit, by threads: one for the whole process, since other threads do not
/// see a temporary one at once.
struct Listener;

struct Reader<'a>(&'a mut Fields);

impl Visit for Reader<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }
}

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "milepost::audit"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let level = event.metadata().level();
        let mut fields = Fields::from([("level".to_owned(), level.to_string())]);
        event.record(&mut Reader(&mut fields));
        TOLD.with_borrow_mut(|told| {
            if let Some(told) = told {
                told.push(fields);
            }
        });
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Returns the audit events during some work.
fn told(work: impl FnOnce()) -> Vec<Fields> {
    static LISTENING: Once = Once::new();
    LISTENING.call_once(|| tracing::subscriber::set_global_default(Listener).unwrap());
    TOLD.set(Some(Vec::new()));
    work();
    TOLD.take().unwrap()
}

fn brief(told: &[Fields]) -> Vec<String> {
    let line = |fields: &Fields| {
        let [action, before, after, from, to, phase] =
            ["action", "prev_control", "new_control", "prev_state", "new_state", "iteration_state"]
                .map(|name| &fields[name]);
        assert_eq!(to, phase, "{fields:?}");
        format!("{action}: {before} -> {after} [{from} -> {to}]")
    };
    told.iter().map(line).collect()
}

#[test]
fn each_operation_is_told_with_its_states_and_whose_it_is() {
    let (engine, _) = crate::run::engine();
    let told = told(|| {
        let options = RunOptions::default().correlation("req-7").autosave_after(None);
        let run = Run::of(engine.start_task("t", "ana").unwrap(), options).unwrap();
        run.begin().unwrap();
        run.enter_phase("search", 1).unwrap();
        run.checkpoint(Mark::new().label("good")).unwrap();
        let (text, data) = ("the secret word is plum".to_owned(), None);
        run.append(GuidanceGiven { text, data }).unwrap();
        run.pause("look").unwrap();
        engine.restore(&engine.point("t@good").unwrap()).run().unwrap();
        run.safe_point().unwrap();
        run.stop("enough").unwrap();
        engine.undo("t").run().unwrap();
        engine.branch(&engine.point("t@good").unwrap()).run().unwrap();
        // Control, phase and checkpoint in one append.
        let batch = Append::batch([milepost::Body::from(PhaseChanged {
            phase: "end".into(),
            ..Default::default()
        })]);
        let task = engine.task("t").unwrap();
        task.append(batch.mark(Mark::new())).unwrap();
    });
    let expected = [
        "task_started: idle -> idle [ -> ]",
        "control_changed: idle -> running [ -> ]",
        "phase_changed: running -> running [ -> search]",
        "checkpoint_marked: running -> running [search -> search]",
        "control_changed: running -> paused [search -> search]",
        "restored: paused -> running [search -> search]",
        "control_changed: running -> stopped [search -> search]",
        "undone: stopped -> paused [search -> search]",
        "branched: running -> running [search -> search]",
        "phase_changed: paused -> paused [search -> end]",
        "checkpoint_marked: paused -> paused [end -> end]",
    ];
    assert_eq!(brief(&told), expected);
    for fields in &told {
        assert_eq!((fields["task_id"].as_str(), fields["user_id"].as_str()), ("t", "ana"));
        assert_eq!(fields["level"], "INFO");
        assert_eq!(fields["time_us"], "1700000000000000");
        assert!(!format!("{fields:?}").contains("plum"), "a payload: {fields:?}");
    }
    let marked = &told[3];
    assert_eq!((marked["cause"].as_str(), marked["iteration"].as_str()), ("manual", "1"));
    assert_eq!(marked["checkpoint_id"].len(), 64);
    let runs: Vec<_> = told[1..4].iter().map(|fields| fields["correlation_id"].as_str()).collect();
    assert_eq!(runs, ["req-7"; 3]);
}

/// Tests that a restore, a cleanup and an erasure take their user from the context of the handle.
#[test]
fn what_is_done_on_somebodys_behalf_says_so_in_events_and_audit() {
    let (engine, _) = crate::run::engine();
    let task = engine.start_task("t", "ana").unwrap();
    for step in 0..4 {
        task.append(StepFinished { step, ..Default::default() }).unwrap();
        task.checkpoint(Mark::new().label(format!("c{step}"))).unwrap();
    }
    let told = told(|| {
        {
            let engine = engine.with_context(Context::of("ben", "req-1"));
            let back = engine.restore(&engine.point("t@c2").unwrap()).run().unwrap();
            // A named actor takes precedence.
            let step = StepFinished { step: 9, ..Default::default() };
            let named = Append::from(step).user("eve").correlation("req-2");
            back.append(named).unwrap();
            back.checkpoint(Mark::new()).unwrap();
            engine.undo("t").run().unwrap();
            engine.retention().erase(&engine.point("t@1").unwrap(), None).unwrap();
            let plan = engine.retention().plan(&Policy::new().keep(1)).unwrap();
            engine.retention().apply(&plan, &mut |_, _| {}).unwrap();
        }
        let other = engine.with_context(Context::of("eve", "req-5"));
        let last = other.with_context(Context::of("ben", "req-4"));
        last.retention().delete_task("t").unwrap();
        engine.start_task("u", "ana").unwrap();
    });
    let whose: Vec<_> = told
        .iter()
        .map(|fields| ["action", "user_id", "correlation_id"].map(|name| fields[name].as_str()))
        .collect();
    let expected = [
        ["restored", "ben", "req-1"],
        ["checkpoint_marked", "ben", "req-1"],
        ["undone", "ben", "req-1"],
        ["event_erased", "ben", "req-1"],
        ["retained", "ben", "req-1"],
        ["task_deleted", "ben", "req-4"],
        ["task_started", "ana", ""],
    ];
    assert_eq!(whose, expected);
    let retained = ["keep_count", "deleted_count"].map(|name| told[4][name].as_str());
    assert_eq!(retained, ["1", "4"]);
    let (engine, _) = crate::run::engine();
    let task = engine.start_task("t", "ana").unwrap();
    task.checkpoint(Mark::new().label("c")).unwrap();
    let ben = engine.with_context(Context::of("ben", "req-6"));
    let back = ben.restore(&engine.point("t@c").unwrap()).run().unwrap();
    let headers = back.read(2..).unwrap().map(|event| event.unwrap().header);
    let whose: Vec<_> = headers.map(|header| (header.user, header.correlation)).collect();
    let ben = (Some("ben".to_owned()), Some("req-6".to_owned()));
    assert!(whose.len() >= 2 && whose.iter().all(|whose| *whose == ben), "{whose:?}");
}

#[test]
fn a_checkpoint_that_is_queued_is_told_once_it_is_durable() {
    let (engine, _) = crate::run::engine();
    let task = engine.start_task("t", "ana").unwrap();
    let append = |step| {
        let step = StepFinished { step, ..Default::default() };
        Append::from(step).mark(Mark::new().label("queued"))
    };
    let told = told(|| {
        let ticket = task.lineage().submit(append(1)).unwrap();
        assert!(ticket.wait().unwrap().checkpoint.is_some());
        let [first, second] =
            [(); 2].map(|()| task.submit(append(2).key("once")).unwrap().wait().unwrap());
        assert_eq!((first.repeated, second.repeated), (false, true));
    });
    let marked = "checkpoint_marked: idle -> idle [ -> ]";
    assert_eq!(brief(&told), [marked, marked]);
}

#[test]
fn one_append_may_change_control_and_phase_and_be_marked() {
    let (engine, _) = crate::run::engine();
    let task = engine.start_task("t", "ana").unwrap();
    let told = told(|| {
        let change = milepost::events::ControlChanged {
            from: RunControl::Idle,
            to: RunControl::Running,
            reason: None,
        };
        let phase = PhaseChanged { phase: "search".into(), ..Default::default() };
        let bodies: [milepost::Body; 2] = [change.into(), phase.into()];
        let append = Append::batch(bodies).mark(Mark::new()).user("bob");
        task.append(append).unwrap();
    });
    // Asked again under its key nothing is done, and nothing told.
    let keyed = || {
        let change = milepost::events::ControlChanged {
            from: RunControl::Running,
            to: RunControl::Paused,
            reason: None,
        };
        task.append(Append::from(change).key("pause")).unwrap();
    };
    keyed();
    assert!(self::told(keyed).is_empty());
    let expected = [
        "phase_changed: running -> running [ -> search]",
        "checkpoint_marked: running -> running [search -> search]",
        "control_changed: idle -> running [search -> search]",
    ];
    assert_eq!(brief(&told), expected);
    assert_eq!((&*told[0]["user_id"], &*told[2]["user_id"]), ("bob", "bob"));
}

struct Refusing;

impl Hook for Refusing {
    fn name(&self) -> &str {
        "refusing"
    }

    fn before_checkpoint(&self, _: &Task, _: &Mark) -> Result<(), String> {
        Err("the disk is full".into())
    }
}

#[test]
fn a_failed_save_is_told_as_an_error() {
    let engine = Engine::in_memory(Options::default().hook(Arc::new(Refusing))).unwrap();
    let run = crate::run::run(&engine, RunOptions::default().failed_save(FailedSave::Continue));
    let told = told(|| {
        run.finish_step(StepFinished::default()).unwrap();
    });
    assert_eq!(brief(&told), ["checkpoint_failed: idle -> idle [ -> ]"]);
    assert_eq!(told[0]["level"], Level::ERROR.to_string());
    assert!(told[0]["error"].contains("the disk is full"));
}
