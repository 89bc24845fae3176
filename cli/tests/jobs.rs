//! Work in folders and on the disk while another program has the store open: the same words,
//! through its socket.

use std::fs;

use crate::common::{Place, Ran, Serving};

/// A place with a folder that has two captures.
fn place() -> Place {
    let place = Place::new();
    fs::create_dir(place.path("work")).unwrap();
    place.write("work/essay.md", "It was a dark night.\n");
    place.write("work/keep.md", "keep\n");
    place.say("init").ok();
    place
}

/// Returns the output without paths, ids, durations and blocks of the disk.
fn plain(place: &Place, text: &str) -> String {
    let here = fs::canonicalize(place.dir.path()).unwrap().display().to_string();
    let text = text.replace(&here, "HERE").replace(&place.dir.path().display().to_string(), "HERE");
    let word = |word: &str| {
        let bare = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let is_id = bare.len() >= 12 && bare.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_size = bare.contains('.') && bare.parse::<f64>().is_ok();
        match (is_id, is_size) {
            (true, _) => "ID".to_owned(),
            (_, true) => "SIZE".to_owned(),
            _ => word.to_owned(),
        }
    };
    // A duration follows the outcome of a command.
    let outcome = |line: &str| match line.split_once(", ") {
        Some((said, _)) if said.contains("exit code") || said.contains("started:") => {
            said.to_owned()
        }
        _ => line.to_owned(),
    };
    let lines = text.lines().filter(|line| !line.contains(" -> ") && !line.contains(" takes "));
    let line = |line: &str| outcome(line).split(' ').map(word).collect::<Vec<_>>().join(" ") + "\n";
    lines.map(line).collect()
}

/// The output of a command that may print notes.
#[track_caller]
fn done(ran: Ran) -> String {
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.out
}

fn both(here: &Place, there: &Place, line: &str) -> Ran {
    let (one, other) = (here.say(line), there.say(line));
    let seen =
        |place: &Place, ran: &Ran| (ran.code, plain(place, &ran.out), plain(place, &ran.err));
    assert_eq!(seen(here, &one), seen(there, &other), "{line}");
    other
}

#[test]
fn folders_are_captured_restored_and_undone_through_the_socket_as_here() {
    let (here, there) = (place(), place());
    let serving = Serving::of(&there);
    let write = |name: &str, text: &str| {
        here.write(name, text);
        there.write(name, text);
    };
    let both = |line: &str| both(&here, &there, line);
    done(both("capture work --label first"));
    write("work/essay.md", "It rained.\n");
    write("work/new.md", "new\n");
    both("capture work").ok();
    both("capture work").ok();
    both("mark work two").ok();
    // A change that no capture has is in the way.
    write("work/essay.md", "Mine.\n");
    for line in ["rollback work@first --dry-run", "rollback work@first"] {
        let ran = both(line);
        assert!(ran.code == 4 && ran.err.contains("in the way"), "{ran:?}");
        assert!(ran.out.contains("! essay.md"), "{ran:?}");
    }
    both("rollback work@first --theirs essay.md --dry-run").ok();
    both("rollback work@first --theirs essay.md -m again").ok();
    let essay = |place: &Place| fs::read_to_string(place.path("work/essay.md")).unwrap();
    assert_eq!(essay(&there), "It was a dark night.\n");
    assert!(!there.path("work/new.md").exists());
    both("undo work --dry-run").ok();
    both("undo work").ok();
    assert_eq!(essay(&there), "Mine.\n");
    both("restore work@first --files work --theirs essay.md").ok();
    assert_eq!(essay(&there), "It was a dark night.\n");
    both("undo work --files work").ok();
    both("restore work@first").ok();
    both("undo work --dry-run").failed(2, "took no files back");
    both("undo work").ok();
    both("recover").ok();
    both("recover work").ok();
    both("compact").ok();
    both("compact --dry-run").ok();
    // A failed job has the same message.
    both("capture nowhere").failed(1, "nowhere");
    both("capture work --label 17").failed(1, "digits");
    both("rollback work@nope").failed(1, "nope");
    both("rollback work@0 --files work").failed(1, "no folder was captured");
    both("rollback work@first --files nowhere").failed(1, "nowhere");
    both("undo nope").failed(1, "nope");
    both("recover nope").failed(1, "nope");
    let kinds = |place: &Place| {
        let events = place.lines("log work");
        events.iter().map(|event| event["kind"].to_string()).collect::<Vec<_>>()
    };
    assert_eq!(kinds(&here), kinds(&there));
    drop(serving);
    assert_eq!(kinds(&here), kinds(&there));
    there.say("verify").ok();
}

#[test]
fn a_command_is_run_and_recorded_while_another_program_has_the_store() {
    let (here, there) = (place(), place());
    let serving = Serving::of(&there);
    let both = |line: &str| both(&here, &there, line);
    done(both("run --dir work -- rm keep.md"));
    done(both("run --dir work --label fix -- cp essay.md new.md"));
    done(both("run --dir work --no-files -- true"));
    done(both("run --dir work --when risk -- true"));
    assert_eq!(both("run --dir work -- false").code, 1);
    assert_eq!(both("run --dir work -- milepost-is-not-there").code, 127);
    let kinds = |place: &Place| {
        let events = place.lines("log work");
        events.iter().map(|event| event["kind"].to_string()).collect::<Vec<_>>()
    };
    assert_eq!(kinds(&here), kinds(&there));
    done(there.say("rollback work/0@2"));
    assert_eq!(fs::read_to_string(there.path("work/keep.md")).unwrap(), "keep\n");
    drop(serving);
    there.say("verify").ok();
}

#[test]
fn a_command_records_its_outcome_with_a_program_that_opened_the_store_meanwhile() {
    let place = place();
    // The command itself starts the service, which has the store when the outcome is recorded.
    let script = format!(
        "{} serve --listen 127.0.0.1:0 > log 2>&1 & echo $! > pid; until grep -q listening log; do \
         :; done",
        env!("CARGO_BIN_EXE_milepost")
    );
    done(place.run(["run", "--task", "t", "--dir", "work", "--", "sh", "-c", &script]));
    let pid = fs::read_to_string(place.path("work/pid")).unwrap();
    let events = place.lines("log t");
    assert!(events.iter().any(|event| event["kind"] == "tool_returned"), "{events:?}");
    let ended = std::process::Command::new("kill").arg(pid.trim()).status().unwrap();
    assert!(ended.success());
}

#[test]
fn a_folder_belongs_to_a_machine_so_a_service_at_an_address_takes_none() {
    let place = place();
    done(place.say("capture work"));
    let serving = Serving::of(&place);
    let elsewhere = Place::new();
    for line in ["capture .", "rollback work --files .", "recover", "undo work --files ."] {
        let server = ["--server", serving.url.as_str()];
        let ran = elsewhere.run(line.split(' ').chain(server));
        ran.failed(1, "machine");
    }
    let server = ["--server", serving.url.as_str()];
    elsewhere.run(["compact"].into_iter().chain(server)).ok();
}

#[test]
fn jobs_of_the_program_that_has_the_store_are_listed_and_cancelled() {
    let place = place();
    place.say("jobs").failed(1, "no program has the store open");
    let serving = Serving::of(&place);
    assert_eq!(place.say("jobs").ok(), "No jobs.\n");
    done(place.say("capture work"));
    place.say("rollback work@nope --files work").failed(1, "nope");
    let jobs = place.items("jobs");
    assert_eq!((&jobs[0]["kind"], &jobs[0]["state"]), (&"capture".into(), &"done".into()));
    let out = place.say("jobs").ok();
    assert!(out.contains("capture") && out.contains("done"), "{out}");
    place.say("jobs --cancel 77").failed(1, "no job `77`");
    // One that has ended stays as it is.
    let id = jobs[0]["id"].as_str().unwrap();
    let out = place.say(&format!("jobs --cancel {id}")).ok();
    assert!(out.contains(&format!("job {id} has ended already")), "{out}");
    drop(serving);
}
