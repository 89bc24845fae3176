//! `recover`: restores that were cut short.

use std::fs;
use std::sync::Arc;

use milepost::{
    Body, Capturing, Engine, Error, ErrorKind, Going, Options, Participant, PendingRestore, Result,
    Scope, Stand,
};
use milepost_workspace::{Workspace, WorkspaceOptions};
use serde_json::json;

use crate::common::{Place, text};
use crate::place;
use crate::rollback::{edited, held};

/// A workspace that goes back and then is as one whose process died.
struct Dying(Arc<dyn Participant>, When);

/// When it dies.
enum When {
    /// Before the commit.
    Applied,
    /// After the commit.
    Clearing,
}

fn dead<T>() -> Result<T> {
    Err(Error::new(ErrorKind::Unavailable, "it died"))
}

impl Participant for Dying {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn capture(&self, at: &Capturing<'_>) -> Result<Vec<Body>> {
        self.0.capture(at)
    }

    fn prepare(&self, going: &Going<'_>) -> Result<milepost_codec::RestorePart> {
        self.0.prepare(going)
    }

    fn apply(&self, engine: &Engine, pending: &PendingRestore) -> Result<Vec<Body>> {
        let bodies = self.0.apply(engine, pending)?;
        match self.1 {
            When::Applied => dead(),
            When::Clearing => Ok(bodies),
        }
    }

    fn recover(&self, _: &Engine, _: &PendingRestore, _: Stand) -> Result<()> {
        dead()
    }
}

/// The place with a restore to `first` that was cut short after all of the folder had gone back.
fn cut_short() -> Place {
    let place = edited();
    let engine = Engine::open(place.store(), Options::default()).unwrap();
    let workspace = Workspace::open(place.path("work"), WorkspaceOptions::default()).unwrap();
    let dying: Arc<dyn Participant> = Arc::new(Dying(workspace.participant(), When::Applied));
    let to = engine.point("essay@first").unwrap();
    engine
        .restore_with(&to, Scope::All, None, &[dying])
        .unwrap_err();
    engine.close().unwrap();
    assert!(place.path("work/gone.txt").exists());
    place
}

#[test]
fn with_nothing_pending_it_says_so() {
    let place = place();
    let nothing = "nothing is pending: no restore was cut short\n";
    for command in ["recover", "recover essay", "recover essay --give-up"] {
        assert_eq!(place.say(command).ok(), nothing);
    }
    assert_eq!(place.json("recover"), json!([]));
    place.say("recover nobody").failed(1, "nobody");
    assert_eq!(place.say("recover --give-up").code, 2);
}

#[test]
fn a_restore_that_was_cut_short_is_taken_back() {
    let place = edited();
    let before = held(&place, "work");
    drop(place);
    let place = cut_short();
    let out = place.say("recover").ok();
    assert!(out.starts_with("essay: the restore of "), "{out}");
    assert!(out.ends_with(" was taken back\n"), "{out}");
    assert_eq!(held(&place, "work"), before);
    assert_eq!(left_over(&place), 0);
    let out = place.say("recover essay").ok();
    assert!(out.starts_with("nothing is pending"), "{out}");
    place.say("rollback essay@first").ok();
    place.say("verify").ok();
}

/// What is in staging of the folder, or was kept.
fn left_over(place: &Place) -> usize {
    let names = fs::read_dir(place.path("work")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name());
    names
        .filter(|name| name.as_encoded_bytes().starts_with(b".milepost"))
        .count()
}

#[test]
fn what_a_restore_left_that_had_ended_is_cleared_up() {
    let place = edited();
    let engine = Engine::open(place.store(), Options::default()).unwrap();
    let workspace = Workspace::open(place.path("work"), WorkspaceOptions::default()).unwrap();
    let dying: Arc<dyn Participant> = Arc::new(Dying(workspace.participant(), When::Clearing));
    let to = engine.point("essay@first").unwrap();
    let went = engine.restore_with(&to, Scope::All, None, &[dying]);
    went.unwrap();
    engine.close().unwrap();
    drop(workspace);
    assert_eq!(left_over(&place), 1);
    let gone_back = fs::read(place.path("work/gone.txt")).unwrap();
    let out = place.say("recover essay").ok();
    assert!(out.starts_with("nothing is pending"), "{out}");
    assert_eq!(left_over(&place), 0);
    assert_eq!(fs::read(place.path("work/gone.txt")).unwrap(), gone_back);
}

#[test]
fn until_then_commands_that_write_say_what_to_do() {
    let place = cut_short();
    for command in [
        "mark essay here",
        "capture work --task essay",
        "restore essay@first",
        "undo essay",
        "record --task essay --user ada more.jsonl",
        "rollback essay@first --dry-run",
        "cleanup --keep 1",
        "delete essay --yes",
    ] {
        let ran = place.say(command);
        assert_eq!(ran.code, 1, "{command}: {ran:?}");
        assert!(
            ran.err.contains("milepost recover essay"),
            "{command}: {ran:?}"
        );
    }
    // Reading goes on.
    place.say("log essay").ok();
    // A rollback takes back first what was cut short. The cleanup took the checkpoint `first`.
    let out = place.say("rollback essay@4").ok();
    assert!(out.starts_with("first, a restore that was cut short was taken back\n"));
}

#[test]
fn what_was_changed_since_is_decided() {
    let place = cut_short();
    place.write("work/draft.md", "since\n");
    let ran = place.say("recover essay");
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.out.ends_with(" is still pending\n"), "{ran:?}");
    assert!(ran.err.contains("draft.md"), "{ran:?}");
    assert!(ran.err.contains("milepost recover essay --keep-mine PATH"));
    place.say("recover essay --keep-mine draft.md").ok();
    let draft = fs::read_to_string(place.path("work/draft.md")).unwrap();
    assert_eq!(draft, "since\n");
    assert!(place.path("work/new/a.txt").exists());
}

#[test]
fn a_folder_that_was_moved_is_recovered_where_it_is() {
    let place = cut_short();
    fs::rename(place.path("work"), place.path("moved")).unwrap();
    let gone = place.say("recover essay");
    assert_eq!(gone.code, 1, "{gone:?}");
    assert!(gone.err.contains("is no folder now"), "{gone:?}");
    assert!(gone.err.contains("--give-up"), "{gone:?}");
    fs::create_dir(place.path("other")).unwrap();
    let other = place.say("recover essay --files other");
    assert_eq!(other.code, 4, "{other:?}");
    assert!(other.err.contains("is another folder"), "{other:?}");
    place.say("recover essay --files moved").ok();
    assert!(place.path("moved/new/a.txt").exists());
    assert!(!place.path("moved/gone.txt").exists());
}

#[test]
fn giving_up_ends_it_and_leaves_the_folder() {
    let place = cut_short();
    let before = held(&place, "work");
    let given_up = place.json("recover essay --give-up");
    assert_eq!(text(&given_up[0], "outcome"), "given_up");
    assert!(text(&given_up[0], "folder").ends_with("/work"));
    assert_eq!(held(&place, "work"), before);
    place.say("mark essay here").ok();
}
