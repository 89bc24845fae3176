//! External commands: their input, their timing, and the effects of their results.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use milepost::clock::ManualClock;
use milepost::events::{Message, StepFinished};
use milepost::hooks::AlertKind;
use milepost::state::StateCacheOptions;
use milepost::{Detail, Engine, ErrorKind, Json, Mark, Options};
use milepost_runtime::hooks::{CommandHook, CommandHooks, HookPoint};
use serde_json::{Value, json};

use super::processes::fifo;
use super::{Listener, append, lines};

const NOW: u64 = 1_700_000_000_000_000;

/// Any state that is kept is an alert.
const ALERTS: StateCacheOptions = StateCacheOptions { count: 10, bytes: 64 << 20, alert_bytes: 1 };

fn sh(script: &str) -> CommandHook {
    CommandHook::new("sh").args(["-c", script])
}

/// Makes a hook that appends its input to a file.
fn scribe(file: &Path) -> CommandHook {
    sh("cat >> \"$0\"").args([file.display().to_string()])
}

/// Adds a line to a file, and fails.
fn failing(file: &Path) -> CommandHook {
    sh("echo ran >> \"$0\"; exit 1").args([file.display().to_string()])
}

fn with(hooks: impl IntoIterator<Item = CommandHook>) -> Options {
    let none = CommandHooks::default();
    let hooks = hooks.into_iter().fold(none, CommandHooks::with);
    hooks.add_to(Options::default().clock(Arc::new(ManualClock::at(NOW)))).unwrap()
}

fn documents(file: &Path) -> Vec<Value> {
    let lines = lines(file);
    lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn each_hook_gets_its_document() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    let file = |name: &str| dir.path().join(name);
    let hooks = [
        scribe(&file("bc")).on(HookPoint::BeforeCheckpoint),
        scribe(&file("ac")).on(HookPoint::AfterCheckpoint),
        scribe(&file("br")).on(HookPoint::BeforeRestore),
        scribe(&file("ar")).on(HookPoint::AfterRestore),
        scribe(&file("ev")).on(HookPoint::Event).kinds(["message"]),
        scribe(&file("al")).on(HookPoint::Alert),
    ];
    let engine = Engine::open(&store, with(hooks).keep_states(ALERTS)).unwrap();
    let task = engine.start_task("tuning", "ana").unwrap();
    let odd = Json::new("{\"n\": 1.50, \"big\": 18446744073709551615}").unwrap();
    task.append(Message::text("user", "hel\nlo \"you\"")).unwrap();
    let mark = task.checkpoint(Mark::new().label("good").metadata(odd)).unwrap();
    let point = engine.point("tuning@good").unwrap();
    engine.run_state(&point).unwrap();
    let back = engine.restore(&point).run().unwrap();
    append(&back, 1);
    engine.close().unwrap();

    let common = |hook: &str, lineage: u32, offset: u64| {
        json!({"hook": hook, "store": store.display().to_string(), "task": "tuning",
            "lineage": lineage, "offset": offset, "time_us": NOW})
    };
    let of = |name: &str, about: &str| {
        let mut all = documents(&file(name));
        assert_eq!(all.len(), 1, "{name}: {all:?}");
        let mut document = all.remove(0);
        let about = document.as_object_mut().unwrap().remove(about).unwrap();
        (document, about)
    };
    let (document, checkpoint) = of("bc", "checkpoint");
    assert_eq!(document, common("before_checkpoint", 0, 2));
    assert_eq!((&checkpoint["label"], &checkpoint["cause"]), (&json!("good"), &json!("manual")));
    assert_eq!(checkpoint.get("id"), None);
    let text = std::fs::read_to_string(file("bc")).unwrap();
    assert!(text.contains("{\"n\": 1.50, \"big\": 18446744073709551615}"), "{text}");
    let (document, checkpoint) = of("ac", "checkpoint");
    assert_eq!(document, common("after_checkpoint", 0, 2));
    assert_eq!(checkpoint["id"], json!(mark.id.to_string()));
    assert_eq!((&checkpoint["at"], &checkpoint["mark"]), (&json!(2), &json!(2)));
    let (document, restore) = of("br", "restore");
    assert_eq!(document, common("before_restore", 0, 2));
    assert_eq!(restore, json!({"address": "tuning/0@2", "checkpoint": mark.id.to_string()}));
    let (document, restore) = of("ar", "restore");
    let head = back.head().map_or(5, |head| head.next - 1);
    assert_eq!(document, common("after_restore", 1, head));
    assert_eq!(restore, json!({"address": format!("tuning/1@{head}"), "epoch": 2}));
    let events = documents(&file("ev"));
    assert_eq!(events.len(), 2, "messages only: {events:?}");
    assert_eq!(events[0]["offset"], 1);
    assert_eq!(
        events[0]["event"],
        json!({"kind": "message", "time_us": NOW,
            "body": {"kind": "message", "role": "user", "content": "hel\nlo \"you\""}})
    );
    assert_eq!(events[1]["lineage"], 1);
    let alerts = documents(&file("al"));
    assert_eq!(alerts[0]["alert"]["kind"], "states_kept");
    assert_eq!((&alerts[0]["task"], &alerts[0]["offset"]), (&Value::Null, &Value::Null));
}

#[test]
fn a_command_with_a_veto_refuses_by_failing_and_says_why() {
    let no = sh("cat > /dev/null; printf 'not\\033 on a\\nFriday' >&2; exit 7");
    let no = no.on(HookPoint::BeforeCheckpoint).on(HookPoint::BeforeRestore).veto();
    let engine = Engine::in_memory(with([no])).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    let refused = task.checkpoint(Mark::new()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Invalid);
    assert_eq!(refused.detail(), Some(&Detail::Refused { hook: "sh".into() }));
    assert!(refused.to_string().ends_with("by the hook sh: not on a Friday"), "{refused}");
    let refused = engine.restore(&task.point(1).unwrap()).run().unwrap_err();
    assert!(refused.to_string().contains("a restore was refused"), "{refused}");
    assert_eq!(task.head().unwrap().next, 1);
}

#[test]
fn with_a_veto_a_program_that_is_late_or_not_there_refuses_too() {
    let late = sh("sleep 600").timeout(Duration::from_millis(50));
    for (hook, why) in
        [(late, "took longer than 50 ms"), (CommandHook::new("/no/such"), "cannot be started")]
    {
        let hook = hook.on(HookPoint::BeforeCheckpoint).veto();
        let engine = Engine::in_memory(with([hook])).unwrap();
        let task = engine.start_task("t", "ana").unwrap();
        let refused = task.checkpoint(Mark::new()).unwrap_err();
        assert!(refused.to_string().contains(why), "{refused}");
    }
}

#[test]
fn a_command_that_ends_well_or_has_no_veto_refuses_nothing_and_its_failure_is_told() {
    let fine = sh("cat > /dev/null").on(HookPoint::BeforeCheckpoint).veto();
    let bad = sh("echo broken >&2; exit 3").on(HookPoint::BeforeCheckpoint);
    let (listener, heard) = Listener::new();
    let engine = Engine::in_memory(with([fine, bad]).hook(listener)).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    task.checkpoint(Mark::new()).unwrap();
    let alert = heard.alerts.recv().unwrap();
    assert_eq!((alert.kind, alert.task.as_deref()), (AlertKind::HookFailed, Some("t")));
    let said = "the hook sh at before_checkpoint failed: ended with exit code 3: broken";
    assert_eq!(alert.message, said);
    engine.close().unwrap();
    assert_eq!(heard.alerts.try_iter().count(), 0, "one failure, one alert");
}

#[test]
fn a_failure_after_something_or_at_an_event_is_told_and_fatal_to_nothing() {
    let bad = CommandHook::new("/no/such").on(HookPoint::AfterCheckpoint);
    let bad = bad.on(HookPoint::AfterRestore).on(HookPoint::Event);
    let (listener, heard) = Listener::new();
    let engine = Engine::in_memory(with([bad]).hook(listener)).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    task.checkpoint(Mark::new()).unwrap();
    engine.restore(&task.point(1).unwrap()).run().unwrap();
    engine.close().unwrap();
    let alerts: Vec<_> = heard.alerts.try_iter().collect();
    let at = |point: &str| alerts.iter().filter(|a| a.message.contains(point)).count();
    // Opened, marked; opened and restored.
    assert_eq!((at("at after_checkpoint"), at("at after_restore"), at("at event")), (1, 1, 4));
}

#[test]
fn commands_that_fail_at_hearing_of_failures_do_not_tell_each_other_for_ever() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (dir.path().join("a"), dir.path().join("b"));
    let hooks = [
        failing(&a).on(HookPoint::Alert),
        failing(&b).on(HookPoint::Alert),
        sh("exit 1").on(HookPoint::Event).kinds(["step_finished"]),
    ];
    let (listener, heard) = Listener::new();
    let options = with(hooks).hook(listener).keep_states(ALERTS);
    let engine = Engine::in_memory(options).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    task.append(StepFinished::default()).unwrap();
    task.checkpoint(Mark::new().label("good")).unwrap();
    engine.run_state(&engine.point("t@good").unwrap()).unwrap();
    engine.close().unwrap();
    // Each hears of the step's hook, of the states, and of the other's failure at those.
    assert_eq!((lines(&a).len(), lines(&b).len()), (3, 3));
    let kinds: Vec<_> = heard.alerts.try_iter().map(|alert| alert.kind).collect();
    let failed = kinds.iter().filter(|kind| **kind == AlertKind::HookFailed);
    assert_eq!((failed.count(), kinds.len()), (3, 4));
}

#[test]
fn calls_that_find_too_many_waiting_are_left_out_and_events_never_are() {
    let dir = tempfile::tempdir().unwrap();
    let (after, events) = (dir.path().join("after"), dir.path().join("events"));
    let (begun, gate) = (dir.path().join("begun"), dir.path().join("gate"));
    fifo(&begun);
    fifo(&gate);
    let gated =
        sh("echo > \"$0\"; cat \"$1\"").args([&begun, &gate].map(|it| it.display().to_string()));
    let hooks = [
        gated.on(HookPoint::AfterRestore).timeout(Duration::from_secs(60)),
        scribe(&after).on(HookPoint::AfterCheckpoint),
        scribe(&events).on(HookPoint::Event),
    ];
    let engine = Engine::in_memory(with(hooks)).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    let task = engine.restore(&task.point(1).unwrap()).run().unwrap();
    std::fs::read(&begun).unwrap();
    for _ in 0..70 {
        task.checkpoint(Mark::new()).unwrap();
    }
    std::fs::write(&gate, "").unwrap();
    engine.close().unwrap();
    assert_eq!(lines(&after).len(), 64);
    let events = documents(&events).into_iter().filter(|event| event["lineage"] == 1);
    let offsets = events.map(|event| event["offset"].clone());
    assert!(offsets.eq((1..73).map(|offset| json!(offset))));
}

#[test]
fn commands_run_for_each_store_that_is_opened_with_the_options_and_for_none_only_to_read() {
    let dir = tempfile::tempdir().unwrap();
    let (store, alerts) = (dir.path().join("store"), dir.path().join("alerts"));
    let options = with([scribe(&alerts).on(HookPoint::Alert)]).keep_states(ALERTS);
    let mark = |engine: &Engine, label: &str| {
        engine.task("t").unwrap().checkpoint(Mark::new().label(label)).unwrap();
    };
    let look = |engine: &Engine, label: &str| {
        let point = engine.point(&format!("t@{label}")).unwrap();
        engine.run_state(&point).unwrap();
    };
    let engine = Engine::open(&store, options.clone()).unwrap();
    append(&engine.start_task("t", "ana").unwrap(), 1);
    for label in ["one", "two"] {
        mark(&engine, label);
        look(&engine, label);
    }
    engine.close().unwrap();
    let told = lines(&alerts).len();
    assert!(told > 0);
    let engine = Engine::open(&store, options.clone()).unwrap();
    look(&engine, "one");
    engine.close().unwrap();
    assert_eq!(lines(&alerts).len(), told + 1);
    let engine = Engine::open(&store, options.read_only(true)).unwrap();
    look(&engine, "one");
    engine.close().unwrap();
    assert_eq!(lines(&alerts).len(), told + 1);
}

#[test]
fn two_stores_opened_with_the_same_options_have_commands_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let (marks, other) = (dir.path().join("marks"), dir.path().join("other"));
    let on = HookPoint::AfterCheckpoint;
    let options = with([scribe(&marks).on(on), scribe(&other).on(on)]);
    let open = |name: &str| Engine::open(dir.path().join(name), options.clone()).unwrap();
    let (first, second) = (open("first"), open("second"));
    for engine in [&first, &second, &first] {
        let task = engine.task("t").or_else(|_| engine.start_task("t", "ana")).unwrap();
        task.checkpoint(Mark::new()).unwrap();
    }
    first.close().unwrap();
    // The close of one store ends the commands of that store only.
    second.task("t").unwrap().checkpoint(Mark::new()).unwrap();
    second.close().unwrap();
    for file in [marks, other] {
        let stores = documents(&file).into_iter().map(|document| document["store"].clone());
        let of = |name: &str| {
            let store = json!(dir.path().join(name));
            stores.clone().filter(|of| *of == store).count()
        };
        assert_eq!((of("first"), of("second")), (2, 2));
    }
}

#[test]
fn a_hook_that_cannot_be_is_refused_where_it_is_added() {
    let hooks = CommandHooks::default().with(sh("true").on(HookPoint::Event)).with(sh("true"));
    let error = hooks.add_to(Options::default()).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("hooks[1]: `on` says nothing"), "{error}");
}
