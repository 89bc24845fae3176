//! Shares: exports in HTML files, with events that are withheld.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use data_encoding::{BASE64, HEXLOWER};
use flate2::Compression;
use flate2::write::GzEncoder;
use milepost::Body;
use milepost_codec::{BodyForm, body_hash};
use milepost_formats::share_file::{BEGINNING, END_TAG, EXPORT_ID, head, start_tag, tail};

use super::*;
use crate::common::{Ran, Serving};

/// A share with an export, a few lines a piece.
fn share(export: &str) -> String {
    let lines: Vec<&str> = export.split_inclusive('\n').collect();
    let hash = "0".repeat(44);
    let mut html = head([&hash, &hash], "essay", "", "{}");
    for (number, lines) in (0..).zip(lines.chunks(3)) {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(lines.concat().as_bytes()).unwrap();
        let packed = BASE64.encode(&encoder.finish().unwrap());
        html += &format!("{}\n{packed}\n{END_TAG}\n", start_tag(EXPORT_ID, number));
    }
    html + &tail("let one = 1;")
}

/// An export of version 2 without the body of an event, which is as `more` says.
fn withheld(export: &str, at: usize, more: &str) -> String {
    let mut lines: Vec<String> = export.lines().map(str::to_owned).collect();
    lines[0] = lines[0].replace("\"milepost_export\":1", "\"milepost_export\":2");
    let line = &lines[at];
    let event: Value = serde_json::from_str(line).unwrap();
    let salt = text(&event, "salt").to_owned();
    let (front, body) = line.split_once("\"body\":").unwrap();
    let front = front.replace(&format!("\"salt\":\"{salt}\","), "");
    let (kind, payload) = Body::from_json(body.strip_suffix('}').unwrap()).unwrap().encode();
    let salt: [u8; 16] = HEXLOWER.decode(salt.as_bytes()).unwrap().try_into().unwrap();
    let hash = body_hash(&salt, BodyForm::Inline, &payload);
    lines[at] =
        format!("{front}\"number\":{kind},{more}}}").replace("HASH", &format!("\"{hash}\""));
    mended(&lines.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The line of the first event of a kind in the export of a task.
fn line_of(export: &str, kind: &str) -> usize {
    let is = |line: &str| line.contains(&format!("\"body\":{{\"kind\":\"{kind}\""));
    export.lines().position(|line| is(line) && !line.contains("\"control\"")).unwrap()
}

/// A place with the task `essay`, and its export.
fn essay() -> (Place, String) {
    let place = Place::new();
    place.write(
        "essay.jsonl",
        "{\"kind\":\"message\",\"role\":\"user\",\"content\":\"the key is sk-1\"}\n\
         {\"kind\":\"message\",\"role\":\"assistant\",\"content\":\"thanks\"}\n",
    );
    place.say("record essay.jsonl --user ada").ok();
    place.say("mark essay one").ok();
    let file = export(&place, "export essay");
    (place, file)
}

/// All files of a folder.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => all.append(&mut files(&path)),
            false => _ = all.insert(path.clone(), fs::read(&path).unwrap()),
        }
    }
    all
}

#[test]
fn a_share_is_imported_as_its_export_whatever_its_name() {
    let (_, file) = essay();
    let html = share(&file);
    for name in ["essay.html", "essay.txt", "folder/page.htm"] {
        let to = Place::new();
        fs::create_dir(to.path("folder")).unwrap();
        to.write(name, &html);
        let input = if name.starts_with("folder") { "folder" } else { name };
        to.say(&format!("import {input}")).ok();
        assert_eq!(export(&to, "export"), file);
        assert_eq!(to.json("verify")["faults"], json!([]));
    }
    // A pipe.
    let to = Place::new();
    to.write("essay.html", &html);
    let input = fs::File::open(to.path("essay.html")).unwrap();
    let ran = to.command(["import", "-"]).stdin(input).output().unwrap();
    Ran::of(ran).ok();
    assert_eq!(export(&to, "export"), file);
}

#[test]
fn a_share_is_imported_through_the_socket() {
    let (_, file) = essay();
    let to = Place::new();
    to.say("init").ok();
    to.write("essay.html", share(&file));
    let serving = Serving::of(&to);
    to.say("import essay.html").ok();
    assert_eq!(to.say("import essay.html --dry-run").code, 0);
    drop(serving);
    assert_eq!(export(&to, "export"), file);
}

#[test]
fn withheld_events_are_erased_in_the_store_that_imports_them() {
    let (_, file) = essay();
    let shown = r#""withheld":HASH,"shown":{"kind":"message","role":"user","content":"hidden"}"#;
    let changed = withheld(&file, line_of(&file, "message"), shown);
    let to = Place::new();
    to.write("essay.html", share(&changed));
    to.say("import essay.html").ok();
    let log = to.lines("log essay");
    assert!(log.iter().any(|event| event["body"].is_null()), "{log:?}");
    assert_eq!(to.json("verify")["faults"], json!([]));
    let again = export(&to, "export essay");
    assert!(again.contains("\"erased\":\"") && again.contains("\"reason\":\"withheld\""));
    let third = beside(&again);
    third.say("import export.jsonl").ok();
    assert_eq!(export(&third, "export essay"), again);
    // A copy has what is shown.
    to.say("import essay.html --as copy").ok();
    assert!(to.say("log copy").ok().contains("hidden"));
}

#[test]
fn a_hostile_withheld_event_is_refused() {
    let (_, file) = essay();
    let message = line_of(&file, "message");
    let mark = line_of(&file, "checkpoint_marked");
    let of = |at, more: &str| withheld(&file, at, more);
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let mut first = lines(&of(message, "\"withheld\":HASH"));
    first[0] = first[0].replace("\"milepost_export\":2", "\"milepost_export\":1");
    let first = mended(&first.iter().map(String::as_str).collect::<Vec<_>>());
    let salted = format!("\"salt\":\"{}\",\"withheld\":HASH", "00".repeat(16));
    let cases = [
        ("version 1", first, "version 1 has no withheld events"),
        ("both", of(message, "\"withheld\":HASH,\"trusted\":true"), "not both"),
        ("a salt", of(message, &salted), "has no `salt`"),
        ("erased, too", of(message, "\"withheld\":HASH,\"erased\":HASH"), "has no `salt`"),
        ("in chunks", of(message, "\"withheld\":HASH,\"chunked\":[0,0]"), "or `chunked`"),
        (
            "shown alone",
            of(message, r#""erased":HASH,"shown":{"kind":"message","role":"user","content":"h"}"#),
            "`shown` is for",
        ),
        (
            "another kind",
            of(message, r#""withheld":HASH,"shown":{"kind":"prompt_changed","prompt":"go"}"#),
            "`shown` is of kind",
        ),
        ("no kind", of(message, r#""withheld":HASH,"shown":{"kind":"fly"}"#), "line "),
        ("a mark", of(mark, "\"withheld\":HASH"), "imported as a copy"),
        ("a header", of(message, "\"trusted\":true"), "its header is redacted"),
    ];
    let place = Place::new();
    for (name, case, why) in cases {
        println!("{name}");
        place.write("export.jsonl", case);
        let ran = place.say("import export.jsonl");
        assert!(ran.code == 3 || ran.code == 1, "{ran:?}");
        ran.failed(ran.code, why);
        assert_eq!(ran.err.contains("--as"), ["a mark", "a header"].contains(&name), "{ran:?}");
        assert_nothing(&place);
    }
}

#[test]
fn a_page_that_is_no_share_of_this_version_is_refused() {
    let (_, file) = essay();
    let html = share(&file);
    let place = Place::new();
    let cases = [
        ("another page", html.replacen(BEGINNING, "<!doctype html>\n", 1), "not an export"),
        ("a later share", html.replacen("share 1", "share 2", 1), "update milepost"),
        ("no export", html.replace("id=\"export-", "id=\"index-"), "line 1:"),
        ("cut", html[..html.len() / 2].to_owned(), "essay.html"),
        ("a piece less", html.replacen("id=\"export-1\"", "id=\"other-1\"", 1), "other-1"),
    ];
    for (name, case, why) in cases {
        println!("{name}");
        place.write("essay.html", case);
        let ran = place.say("import essay.html");
        ran.failed(ran.code, why);
        assert_nothing(&place);
    }
}

#[test]
fn a_dry_run_verifies_and_leaves_the_store_as_it_is() {
    let (from, file) = essay();
    let hash = from.json("show essay@4")["hash"].as_str().unwrap().to_owned();
    let more = r#""withheld":HASH"#;
    let to = Place::new();
    to.write("essay.html", share(&withheld(&file, line_of(&file, "message"), more)));
    to.write("plain.jsonl", &file);
    // No store is made for it.
    let said = to.say("import essay.html --dry-run").ok();
    assert!(!to.store().exists());
    assert!(said.contains("essay: identical, with the head "), "{said}");
    assert!(said.ends_with("verified; nothing was imported\n"), "{said}");
    assert!(said.contains(&hash), "{said}");

    to.say("record run.jsonl").failed(1, "run.jsonl");
    to.write("run.jsonl", "{\"kind\":\"message\",\"role\":\"user\",\"content\":\"hello\"}\n");
    to.say("record run.jsonl").ok();
    let before = files(&to.store());
    let said = to.json("import essay.html --dry-run");
    let task = &said["tasks"][0];
    assert_eq!(said["dry_run"], true);
    assert_eq!(
        [&task["id"], &task["user"], &task["input"]],
        [&json!("essay"), &json!("ada"), &json!("essay.html")]
    );
    assert_eq!([&task["events"], &task["head"]], [&json!(5), &json!(5)]);
    assert_eq!([&task["withheld"], &task["erased"]], [&json!(1), &json!(0)]);
    assert_eq!((&task["copy"], &task["hash"]), (&json!(false), &json!(hash)));
    assert_eq!((&task["name_exists"], &task["same_history"]), (&json!(false), &json!(null)));
    let copied = to.json("import essay.html --as run --dry-run");
    let task = &copied["tasks"][0];
    assert_eq!((&task["copy"], &task["hash"]), (&json!(true), &json!(null)));
    assert_eq!(task["stated"]["hash"], json!(hash));
    assert_eq!(task["name_exists"], true);
    assert!(files(&to.store()) == before, "the store was changed");

    to.say("import plain.jsonl").ok();
    let before = files(&to.store());
    let said = to.say("import essay.html --dry-run").ok();
    assert!(said.contains("this history is in the store, as task essay"), "{said}");
    assert!(files(&to.store()) == before, "the store was changed");
}

#[test]
fn a_dry_run_refuses_what_an_import_refuses() {
    let (place, file) = essay();
    let cut = &file[..file.len() / 2];
    place.write("cut.jsonl", cut);
    place.say("import cut.jsonl --dry-run").failed(3, "it has no end");
    let changed = withheld(&file, line_of(&file, "checkpoint_marked"), "\"withheld\":HASH");
    place.write("marked.jsonl", changed);
    place.say("import marked.jsonl --dry-run").failed(1, "imported as a copy");
    place.say("import essay.jsonl --dry-run").failed(1, "for exports and shares");
    place.write("plain.jsonl", &file);
    place.say("import plain.jsonl plain.jsonl --as x --dry-run").failed(1, "--as names one task");
    assert_eq!(place.say("import plain.jsonl --user bob --dry-run").code, 2);
}
