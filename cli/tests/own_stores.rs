//! A store that the user neither created here nor trusts changes no folder that was not named,
//! undoes no restore unasked and gives no access.

use std::fs;
use std::process::Command;

use milepost::{Engine, Options};
use milepost_workspace::{Workspace, WorkspaceOptions};
use serde_json::json;

use crate::common::{Place, Ran};

/// A store that was made elsewhere, two captures of `work` in it, and the folder as the second
/// found it.
fn from_elsewhere() -> Place {
    let place = own();
    let to = place.path("copy");
    let copied = Command::new("cp").arg("-r").arg(place.store()).arg(&to).status();
    assert!(copied.unwrap().success());
    fs::remove_dir_all(place.store()).unwrap();
    fs::rename(to, place.store()).unwrap();
    place
}

fn own() -> Place {
    let place = Place::new();
    let line = r#"{"kind":"message","role":"user","content":"hello"}"#;
    place.write("r.jsonl", line);
    place.say("record --task t r.jsonl").ok();
    fs::create_dir(place.path("work")).unwrap();
    place.write("work/a.txt", "one");
    place.say("capture work --task t --label first").ok();
    place.write("work/a.txt", "two");
    place.say("capture work --task t --label second").ok();
    place
}

fn content(place: &Place) -> String {
    fs::read_to_string(place.path("work/a.txt")).unwrap()
}

#[test]
fn a_folder_that_only_a_foreign_store_names_does_not_go_back() {
    let place = from_elsewhere();
    let refused = place.say("rollback t@first");
    refused.failed(1, "you do not trust the store");
    assert!(refused.err.contains("milepost trust"), "{refused:?}");
    assert_eq!(content(&place), "two");
    place.say("rollback t@first --files work").ok();
    assert_eq!(content(&place), "one");
    place.say("undo t").failed(1, "you do not trust the store");
    assert_eq!(content(&place), "one");
    place.say("undo t --files work").ok();
    assert_eq!(content(&place), "two");
    place.say("trust --yes").ok();
    place.say("rollback t@first").ok();
    assert_eq!(content(&place), "one");
    place.say("trust --revoke").ok();
    place.say("undo t").failed(1, "you do not trust the store");
}

#[test]
fn a_store_that_the_command_made_is_the_users_own_until_it_is_moved() {
    let place = own();
    place.say("rollback t@first").ok();
    assert_eq!(content(&place), "one");
    let kept = fs::read_to_string(place.path("data/milepost/stores.json")).unwrap();
    assert!(kept.contains(&place.store().canonicalize().unwrap().display().to_string()));
    fs::rename(place.store(), place.path("moved")).unwrap();
    let moved = place.say("--store moved undo t");
    moved.failed(1, "you do not trust the store");
    fs::rename(place.path("moved"), place.store()).unwrap();
    place.say("undo t").ok();
    assert_eq!(content(&place), "two");
}

#[test]
fn a_store_made_where_something_was_already_is_not_the_users_own() {
    let place = Place::new();
    fs::create_dir_all(place.store().join("server")).unwrap();
    place.write("r.jsonl", r#"{"kind":"message","role":"user","content":"hello"}"#);
    place.say("record --task t r.jsonl").ok();
    assert_eq!(place.json("trust --show")["trusted"], false);
}

#[test]
fn an_imported_task_names_no_folder() {
    let place = own();
    place.say("export t --files -o t.jsonl").ok();
    place.say("delete t --yes").ok();
    place.say("compact").ok();
    place.say("import t.jsonl").ok();
    assert_eq!(place.json("trust --show")["trusted"], true);
    place.say("rollback t@first").failed(1, "was imported");
    assert_eq!(content(&place), "two");
    place.say("rollback t@first --files work").ok();
    assert_eq!(content(&place), "one");
    place.say("undo t").failed(1, "was imported");
}

#[test]
fn the_home_goes_back_only_with_anyway_on_the_command_line() {
    let place = own();
    let at_home = |line: &str| {
        let mut command = place.command(line.split(' '));
        Ran::of(command.env("HOME", place.path("work")).output().unwrap())
    };
    at_home("rollback t@first").failed(1, "it is your home");
    at_home("rollback t@first --files work").failed(1, "it is your home");
    assert_eq!(content(&place), "two");
    at_home("rollback t@first --anyway").ok();
    assert_eq!(content(&place), "one");
    at_home("undo t").failed(1, "it is your home");
    at_home("undo t --anyway").ok();
    assert_eq!(content(&place), "two");
}

/// A restore to `first` whose process died after the folder was restored.
fn cut(place: &Place) {
    let engine = Engine::open(place.store(), Options::default()).unwrap();
    let workspace = Workspace::open(place.path("work"), WorkspaceOptions::default()).unwrap();
    let dying = std::sync::Arc::new(Dying(workspace.participant()));
    let to = engine.point("t@first").unwrap();
    engine.restore(&to).with(dying).run().unwrap_err();
    engine.close().unwrap();
    assert_eq!(content(place), "one");
}

/// A workspace that restores and then fails like one whose process died.
struct Dying(std::sync::Arc<dyn milepost::Participant>);

fn dead<T>() -> milepost::Result<T> {
    Err(milepost::Error::new(milepost::ErrorKind::Unavailable, "it died"))
}

impl milepost::Participant for Dying {
    fn name(&self) -> &str {
        self.0.name()
    }
    fn capture(
        &self,
        at: &milepost::restore::CaptureContext<'_>,
    ) -> milepost::Result<Vec<milepost::Body>> {
        self.0.capture(at)
    }
    fn prepare(
        &self,
        going: &milepost::restore::PrepareContext<'_>,
    ) -> milepost::Result<milepost_codec::RestorePart> {
        self.0.prepare(going)
    }
    fn apply(
        &self,
        engine: &Engine,
        pending: &milepost::restore::PendingRestore,
    ) -> milepost::Result<Vec<milepost::Body>> {
        self.0.apply(engine, pending)?;
        dead()
    }
    fn abort(&self, _: &Engine, _: &milepost::restore::PendingRestore) -> milepost::Result<()> {
        dead()
    }
    fn finish(&self, _: &Engine, _: &milepost::restore::PendingRestore) -> milepost::Result<()> {
        dead()
    }
}

#[test]
fn a_restore_that_was_cut_short_in_a_foreign_store_is_not_taken_back_unasked() {
    let place = from_elsewhere();
    cut(&place);
    for line in [
        "capture work --task t",
        "run --task t -- true",
        "restore t@1",
        "undo t",
        "rollback t@first --files work",
        "mark t m",
    ] {
        let ran = place.say(line);
        assert_ne!(ran.code, 0, "{ran:?}");
        assert_eq!(content(&place), "one", "{line}");
    }
    let refused = place.say("recover");
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.err.contains("--files DIR"), "{refused:?}");
    assert_eq!(content(&place), "one");
    place.say("recover t --files work").ok();
    assert_eq!(content(&place), "two");
    cut(&place);
    place.say("trust --yes").ok();
    place.say("recover").ok();
    assert_eq!(content(&place), "two");
}

#[test]
fn tokens_of_a_foreign_store_let_nobody_in_until_it_is_trusted() {
    let place = own();
    assert_eq!(place.say("token create --user eve --admin").code, 0);
    let away = place.path("away");
    fs::rename(place.store(), &away).unwrap();
    let copied = Command::new("cp").arg("-rp").arg(&away).arg(place.store()).status();
    assert!(copied.unwrap().success());
    let listen = "serve --listen 127.0.0.1:0";
    place.say(listen).failed(1, "you do not trust the store");
    place.say("token create --user ana").failed(1, "you do not trust the store");
    let shown = place.say("trust --show").ok();
    assert!(shown.contains("admins: eve ("), "{shown}");
    assert!(shown.ends_with("not trusted: `milepost trust` trusts it\n"), "{shown}");
    let asked = place.say("trust");
    assert_eq!(asked.code, 1, "{asked:?}");
    assert!(asked.out.contains("admins: eve (") && asked.err.contains("--yes"), "{asked:?}");
    assert_eq!(place.json("trust --show")["trusted"], false);
    place.say("trust --yes").ok();
    place.say("token create --user ana").ok();
}

#[test]
fn what_a_foreign_store_holds_can_be_looked_at_and_appended_to() {
    let place = from_elsewhere();
    for line in ["tasks", "log t", "state t", "files t", "verify", "stats", "mark t m"] {
        place.say(line).ok();
    }
    let shown = place.json("trust --show");
    assert_eq!((&shown["trusted"], &shown["hooks"]), (&json!(false), &json!([])));
}

#[test]
fn no_store_here_takes_the_place_of_a_service_that_is_named() {
    let place = own();
    for line in ["token create --user eve", "token list", "doctor", "trust --show", "repair"] {
        let refused = place.say(&format!("--server http://127.0.0.1:9 {line}"));
        refused.failed(1, "a service is named");
        assert!(refused.err.contains("--store names"), "{refused:?}");
    }
    assert_eq!(place.json("token list"), json!([]));
    let refused = place.say("--server http://127.0.0.1:9 export t");
    refused.failed(1, "a service cannot do it");
}

#[test]
fn a_near_name_is_offered_also_where_the_project_has_another_store() {
    let place = own();
    let data = place.path("data");
    let say = |words: &[&str]| {
        let mut command = place.command(words);
        Ran::of(command.env("XDG_DATA_HOME", &data).output().unwrap())
    };
    let store = place.store();
    let aside = place.path("aside");
    fs::rename(&store, &aside).unwrap();
    say(&["init", "--outside"]).ok();
    fs::rename(&aside, &store).unwrap();
    let missing = say(&["log", "none-like-it"]);
    missing.failed(1, "in another store");
    let near = say(&["log", "tt"]);
    near.failed(1, "did you mean `t`?");
    let label = say(&["show", "t@firs"]);
    label.failed(1, "did you mean `t@first`?");
}
