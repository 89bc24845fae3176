//! `share`: the file that it writes, and its import.

use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::common::{Serving, number};

/// A place with a task of a message with a secret, one without, and a mark.
fn secret() -> (Place, String) {
    // Put together here, so that this file has none.
    let key = format!("sk-{}", "aB3".repeat(8));
    let place = Place::new();
    let line = |role: &str, content: &str| {
        json!({"kind": "message", "role": role, "content": content}).to_string() + "\n"
    };
    place.write("run.jsonl", line("user", &format!("it is {key}")) + &line("assistant", "thanks"));
    place.say("record run.jsonl --user ada").ok();
    place.say("mark run one").ok();
    (place, key)
}

fn head(place: &Place, task: &str) -> Value {
    place.json(&format!("lineages {task}"))["items"][0]["hash"].clone()
}

#[test]
fn a_share_comes_back_as_the_same_task() {
    let from = Place::recorded();
    from.say("restore react@2").ok();
    let plan = from.json("share react --dry-run");
    assert_eq!((plan["file"].clone(), plan["plan"]["withheld"].clone()), (Value::Null, json!(0)));
    from.say("share react -o react.html").ok();
    let path = from.path("react.html");
    let found = fs::metadata(&path).unwrap();
    assert_eq!(found.permissions().mode() & 0o777, 0o600, "only its owner reads it");
    assert_eq!(found.len() as u64, number(&plan["plan"], "bytes"));
    let to = Place::new();
    to.write("react.html", fs::read(path).unwrap());
    to.say("import react.html").ok();
    assert_eq!(to.json("lineages react"), from.json("lineages react"));
    assert_eq!(to.json("verify")["faults"], json!([]));
    let (before, after) = (export(&from, "export react"), export(&to, "export react"));
    assert_eq!(before, after);
}

#[test]
fn an_event_with_a_secret_comes_back_as_an_erased_one() {
    let (from, key) = secret();
    let out = from.say("share run -o run.html").ok();
    assert!(out.contains("1 event withheld"), "{out}");
    assert!(out.contains("api-key: 1, at run/0@1"), "{out}");
    let to = Place::new();
    to.write("run.html", fs::read(from.path("run.html")).unwrap());
    to.say("import run.html").ok();
    assert_eq!(head(&to, "run"), head(&from, "run"), "the chain is whole");
    assert!(!to.say("log run --full").ok().contains(&key));
    assert_eq!(to.json("verify")["faults"], json!([]));
    assert_eq!(to.json("show run@1")["body"], Value::Null);
}

#[test]
fn a_share_without_redaction_is_confirmed_first() {
    let (from, key) = secret();
    let refused = from.say("share run -o run.html --no-redact");
    refused.failed(1, "Share it without redaction?");
    assert!(!from.path("run.html").exists());
    from.say("share run -o run.html --no-redact --yes").ok();
    let to = Place::new();
    to.write("run.html", fs::read(from.path("run.html")).unwrap());
    to.say("import run.html").ok();
    assert!(to.say("log run --full").ok().contains(&key));
}

#[test]
fn a_failed_share_leaves_the_file_that_is_there() {
    let (from, _) = secret();
    from.write("run.html", "mine");
    let names = || fs::read_dir(from.path("")).unwrap().count();
    let before = names();
    for line in ["share run -o run.html --max 10", "share nothing -o run.html"] {
        assert_ne!(from.say(line).code, 0);
    }
    let refused = from.run(["share", "run", "-o", "run.html", "--withhold", "("]);
    refused.failed(1, "unclosed group");
    let refused = from.run(["share", "run", "-o", "run.html", "--withhold", "lineage"]);
    refused.failed(1, "give a narrower one");
    assert_eq!(fs::read_to_string(from.path("run.html")).unwrap(), "mine");
    assert_eq!(names(), before, "nothing else is left");
}

#[test]
fn a_store_that_another_program_has_open_is_shared_by_it() {
    let (from, _) = secret();
    from.say("share run -o here.html").ok();
    let there = Serving::of(&from);
    from.say("share run -o there.html").ok();
    let piped = from.command(["share", "run", "-o", "-"]).output().unwrap();
    drop(there);
    let here = fs::read(from.path("here.html")).unwrap();
    assert!(here == fs::read(from.path("there.html")).unwrap(), "the same bytes");
    assert!(here == piped.stdout, "the same on a pipe");
}
