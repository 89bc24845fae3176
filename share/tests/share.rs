//! A share, as a reader of the file finds it.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::string_slice, reason = "tests")]

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io::Read as _;

use data_encoding::BASE64;
use flate2::read::GzDecoder;
use milepost::events::{
    GuidanceGiven, Message, PromptChanged, StepFinished, StepStarted, VariablesPatched,
};
use milepost::state::MessageRange;
use milepost::{Append, Body, Engine, Json, Mark, Options};
use milepost_api::ShareRequest;
use milepost_share::Share;
use serde_json::{Value, json};

/// Put together here, so that this file has no secret.
fn secret(n: u32) -> String {
    format!("sk-{}{n}", "abcdefghij".repeat(2))
}

/// A file, taken apart.
struct File {
    text: String,
    contents: Value,
    index: BTreeMap<String, Value>,
    export: Vec<Value>,
}

impl File {
    fn of(engine: &Engine, task: &str, asked: &ShareRequest) -> Self {
        Self::read(&bytes(engine, task, asked))
    }

    fn read(bytes: &[u8]) -> Self {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let element = |tag: &str| {
            let begin = text.find(tag)? + tag.len();
            let rest = &text[begin..];
            Some(rest[..rest.find("\n</script>\n").unwrap()].trim_start().to_owned())
        };
        let contents = element("<script type=\"application/json\" id=\"share\">").unwrap();
        let contents: Value = serde_json::from_str(&contents).unwrap();
        let pieces = |name: &str| -> Vec<String> {
            let tag = |n| format!("<script type=\"application/gzip;base64\" id=\"{name}-{n}\">");
            (0..).map_while(|n| element(&tag(n))).map(|piece| unpacked(&piece)).collect()
        };
        let mut index = BTreeMap::new();
        for (n, piece) in pieces("index").iter().enumerate() {
            let documents: BTreeMap<String, Value> = serde_json::from_str(piece).unwrap();
            for name in documents.keys() {
                assert_eq!(contents["index"][name], json!(n), "{name}");
            }
            index.extend(documents);
        }
        assert_eq!(contents["index"].as_object().unwrap().len(), index.len());
        let lines = pieces("export").concat();
        let export = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        Self { text, contents, index, export }
    }

    /// Returns all text of the file, unpacked.
    fn all(&self) -> String {
        let script = self.text.rfind("<script type=\"module\">").unwrap();
        let head = self.text.find("<script type=\"application/gzip").unwrap();
        let (head, script) = (&self.text[..head], &self.text[script..]);
        format!("{head}{script}{}{}", json!(self.index), json!(self.export))
    }

    /// Returns the state at an offset, from the changes of a lineage.
    fn state(&self, lineage: u32, offset: u64) -> Value {
        let document = &self.index[&format!("states/{lineage}/{}", offset / 1000)];
        let mut state = document["state"].clone();
        for change in document["changes"].as_array().unwrap() {
            if number(&change[0]) >= offset {
                break;
            }
            for item in change[1].as_array().unwrap() {
                let (path, name) = item[0].as_str().unwrap().rsplit_once('/').unwrap();
                let name = name.replace("~1", "/").replace("~0", "~");
                let object = state.pointer_mut(path).unwrap().as_object_mut().unwrap();
                match item.get(1) {
                    Some(value) => object.insert(name, value.clone()),
                    None => object.remove(&name),
                };
            }
        }
        state
    }
}

fn unpacked(piece: &str) -> String {
    let mut text = String::new();
    let bytes = BASE64.decode(piece.as_bytes()).unwrap();
    GzDecoder::new(bytes.as_slice()).read_to_string(&mut text).unwrap();
    text
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

fn bytes(engine: &Engine, task: &str, asked: &ShareRequest) -> Vec<u8> {
    let share = Share::of(engine, task, asked, &mut ()).unwrap();
    let mut bytes = Vec::new();
    let Ok(()) = share.write(&mut |part| {
        bytes.extend_from_slice(part);
        Ok::<_, Infallible>(())
    });
    assert_eq!(share.plan().bytes.0, bytes.len() as u64);
    bytes
}

/// A run with steps, metrics, a restore, and two lineages that share their beginning.
fn run() -> Engine {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("tune", "ana").unwrap();
    for step in 0..20_u64 {
        let loss = 1.0 / (step + 1) as f64;
        task.append(StepStarted { step, name: Some("fit".into()), iteration: Some(step) }).unwrap();
        task.append(Message::text("assistant", &format!("step {step}"))).unwrap();
        task.append(GuidanceGiven { text: format!("go {step}"), data: None }).unwrap();
        let patch = Json::new(format!("{{\"best\":{{\"a/b~\":{loss}}},\"n{step}\":[{step}]}}"));
        let form = milepost::events::PatchForm::Merge;
        task.append(VariablesPatched { form, patch: patch.unwrap() }).unwrap();
        let metrics = BTreeMap::from([("loss".to_owned(), milepost::events::Float(loss))]);
        task.append(StepFinished { step, result: None, metrics }).unwrap();
        task.checkpoint(Mark::new().label(format!("step-{step}"))).unwrap();
    }
    let view = engine.view();
    view.restore(&view.point("tune@step-7").unwrap()).run().unwrap();
    let task = engine.task("tune").unwrap();
    task.append(Message::text("user", "once more")).unwrap();
    task.append(Body::from_json(r#"{"kind":"variables_patched","patch":{"best":null}}"#).unwrap())
        .unwrap();
    engine
}

#[test]
fn states_of_the_index_are_those_of_the_engine_at_each_offset() {
    let engine = run();
    let file = File::of(&engine, "tune", &ShareRequest::default());
    let chunks = engine.view().chunks();
    for info in engine.task("tune").unwrap().lineages().unwrap() {
        let lineage = engine.task("tune").unwrap().lineage_named(info.id).unwrap();
        let fork = info.parent.map_or(0, |parent| parent.offset);
        for offset in fork..=info.head.next {
            let state = engine.run_state(&lineage.point(offset).unwrap()).unwrap();
            let mut said = state.to_json(&*chunks, MessageRange::None).unwrap();
            said.as_object_mut().unwrap().remove("messages");
            assert_eq!(file.state(info.id.0, offset), said, "{}@{offset}", info.id);
        }
    }
}

#[test]
fn answers_of_the_index_are_those_of_the_service() {
    let engine = run();
    let file = File::of(&engine, "tune", &ShareRequest::default());
    let task = engine.task("tune").unwrap();
    let form = |info: milepost::reading::TaskSummary| json!(milepost_service::forms::summary(info));
    assert_eq!(file.index["summary"], form(engine.query().summary("tune").unwrap()));
    for (said, info) in
        file.index["lineages"]["items"].as_array().unwrap().iter().zip(task.lineages().unwrap())
    {
        assert_eq!(*said, json!(milepost_service::forms::lineage(info)));
    }
    let rows = file.index["rows/0/0"].as_array().unwrap();
    assert_eq!(
        rows.len() as u64,
        task.lineage_named(milepost::LineageId(0)).unwrap().head().unwrap().next
    );
    assert_eq!(rows[3]["text"], json!("go 0"));
    let turns = file.index["turns/0/0"].as_array().unwrap();
    assert_eq!(json!(turns.len()), file.index["count/0"]["turns"]);
    let series = &file.index["series/0"]["loss"];
    assert_eq!(series.as_array().unwrap().len(), 20);
    let first = &series[0];
    assert_eq!((&first["x"], &first["first"]), (&json!(0), &json!(1.0)));
    let aligned = &file.index["align/0"];
    let last = aligned["items"].as_array().unwrap().last().unwrap();
    assert!(last[1].is_null() || last[2].is_null(), "{last}");
    let marks = file.index["marks/0"].as_array().unwrap();
    let id = engine.view().point("tune/0@step-3").unwrap().checkpoint.unwrap();
    let found = marks.iter().find(|mark| mark["label"] == "step-3").unwrap();
    assert_eq!(found["id"], json!(id.to_string()));
    let marked = rows.iter().find(|row| row["mark"]["label"] == "step-3").unwrap();
    assert_eq!(marked["mark"]["id"], Value::Null);
    // A turn of the branch, whose mark is of its parent.
    let branch = file.index["turns/1/0"].as_array().unwrap();
    let marked = branch.iter().find(|turn| turn["mark"]["label"] == "step-3").unwrap();
    assert_eq!(marked["mark"]["id"], Value::Null);
}

#[test]
fn the_same_task_gives_the_same_file() {
    let engine = run();
    let task = engine.task("tune").unwrap();
    task.append(Append::from(Message::text("user", &secret(1))).key(secret(2))).unwrap();
    task.checkpoint(Mark::new().label(secret(3))).unwrap();
    let asked = ShareRequest::default();
    assert!(bytes(&engine, "tune", &asked) == bytes(&engine, "tune", &asked));
}

#[test]
fn a_withheld_description_of_a_lineage_leaves_the_hashes_of_the_task() {
    let engine = run();
    let view = engine.view();
    let at = view.point("tune@step-2").unwrap();
    view.restore(&at).description(format!("with {}", secret(1))).run().unwrap();
    let asked = ShareRequest::default();
    let first = bytes(&engine, "tune", &asked);
    assert!(first == bytes(&engine, "tune", &asked));
    let file = File::read(&first);
    let said = file.index["lineages"]["items"].as_array().unwrap();
    for (said, info) in said.iter().zip(engine.task("tune").unwrap().lineages().unwrap()) {
        let form = json!(milepost_service::forms::lineage(info));
        assert_eq!((&said["hash"], &said["parent"]), (&form["hash"], &form["parent"]));
    }
}

/// The comparison of the index of a file.
fn checked(file: &[u8]) -> Vec<String> {
    let file = file.to_vec();
    let open = move || -> std::io::Result<Box<dyn std::io::Read>> {
        Ok(Box::new(std::io::Cursor::new(file.clone())))
    };
    milepost_share::check(&open).unwrap().unwrap().differing
}

/// The file with a changed piece of the index.
fn with_index(file: &str, piece: usize, change: &dyn Fn(String) -> String) -> String {
    let tag = format!("<script type=\"application/gzip;base64\" id=\"index-{piece}\">\n");
    let begin = file.find(&tag).unwrap() + tag.len();
    let end = begin + file[begin..].find('\n').unwrap();
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let text = change(unpacked(&file[begin..end]));
    std::io::Write::write_all(&mut packer, text.as_bytes()).unwrap();
    let packed = BASE64.encode(&packer.finish().unwrap());
    format!("{}{packed}{}", &file[..begin], &file[end..])
}

#[test]
fn what_a_browser_lists_and_is_not_of_the_events_is_named() {
    let engine = run();
    let task = engine.task("tune").unwrap();
    task.append(Message::text("user", &secret(1))).unwrap();
    let keyed = Engine::in_memory(Options::default().key(milepost::StoreKey::new(&[7; 32])));
    for engine in [&engine, &keyed.unwrap()] {
        let task = match engine.task("tune") {
            Ok(task) => task,
            Err(_) => engine.start_task("tune", "ana").unwrap(),
        };
        task.append(Message::text("user", "pay 10 to Bob")).unwrap();
        let text = String::from_utf8(bytes(engine, "tune", &ShareRequest::default())).unwrap();
        assert_eq!(checked(text.as_bytes()), Vec::<String>::new());
        let file = File::read(text.as_bytes());
        // Each document, one after the other.
        for (name, document) in &file.index {
            let piece = file.contents["index"][name].as_u64().unwrap() as usize;
            let change = |text: String| {
                let mut all: BTreeMap<String, Value> = serde_json::from_str(&text).unwrap();
                assert_eq!(all.insert(name.clone(), json!({"forged": 1})), Some(document.clone()));
                json!(all).to_string()
            };
            let forged = with_index(&text, piece, &change);
            assert!(checked(forged.as_bytes()).contains(name), "{name}");
        }
        let forged = with_index(&text, 0, &|text| text.replace("pay 10 to Bob", "pay 99 to Eve"));
        assert!(checked(forged.as_bytes()).iter().any(|name| name.starts_with("rows/")));
        // A document that is there twice, and facts of the contents.
        let rows = json!(file.index["rows/0/0"]).to_string();
        let twice = format!("{{\"rows/0/0\":{rows},");
        let forged = with_index(&text, 0, &|text| text.replacen('{', &twice, 1));
        assert!(!checked(forged.as_bytes()).is_empty());
        for (from, to, name) in [
            ("\"task\":\"tune\"", "\"task\":\"fine\"", "task"),
            ("\"user\":\"ana\"", "\"user\":\"eve\"", "user"),
            ("\"summary\":0", "\"summary\":9", "index"),
            ("{\"share\":1,", "{\"share\":1,\"more\":\"\\ud800\",\"task\":\"x\",", "task"),
        ] {
            let forged = text.replacen(from, to, 1);
            assert_ne!(forged, text, "{from}");
            assert!(checked(forged.as_bytes()).iter().any(|one| one == name), "{from}");
        }
    }
}

#[test]
fn no_planted_secret_is_in_the_file() {
    let engine = run();
    let task = engine.task("tune").unwrap();
    task.append(Message::text("user", &format!("it is {}", secret(1)))).unwrap();
    task.append(Append::from(Message::text("user", "a key")).key(secret(2))).unwrap();
    let marked = task.checkpoint(Mark::new().label(secret(3))).unwrap();
    engine.retention().pin(&marked.id, Some(&secret(4))).unwrap();
    task.append(Message::text("tool", &format!("from {}", marked.id))).unwrap();
    let view = engine.view();
    let point = view.point(&format!("@{}", marked.id)).unwrap();
    view.branch(&point).description(&*secret(5)).run().unwrap();
    task.append(Message::text("user", "ticket ACME-4711")).unwrap();
    let patch = format!(r#"{{"kind":"variables_patched","patch":{{"{}":1}}}}"#, secret(6));
    task.append(Body::from_json(&patch).unwrap()).unwrap();

    let asked = ShareRequest { withhold: vec!["ACME-[0-9]+".into()], ..ShareRequest::default() };
    let file = File::of(&engine, "tune", &asked);
    let all = file.all();
    for n in 1..=6 {
        assert!(!all.contains(&secret(n)), "secret {n}");
    }
    assert!(!all.contains("ACME-4711"));
    assert!(!all.contains(&marked.id.to_string()), "the id of the mark tells its label");
    assert!(all.contains("[redacted:api-key]") && all.contains("[redacted:withhold]"));

    // A withheld event has no salt, and one on trust has no hash of the body either.
    let mut withheld = 0;
    for line in &file.export {
        if line.get("shown").is_some() {
            withheld += 1;
            assert!(line.get("salt").is_none() && line.get("body").is_none(), "{line}");
            assert!(line.get("withheld").is_some() != line.get("trusted").is_some(), "{line}");
        }
    }
    assert_eq!(file.contents["trusted"], json!(1));
    assert_eq!(number(&file.contents["withheld"]) + 1, withheld);
    assert_eq!(file.export[0]["redacted"], json!(true), "a mark cannot be erased");

    let whole = ShareRequest { redact: false, ..ShareRequest::default() };
    let file = File::of(&engine, "tune", &whole);
    assert!(file.all().contains(&secret(1)) && file.contents["withheld"] == json!(0));
}

#[test]
fn the_longest_texts_are_withheld_until_the_file_fits() {
    let engine = run();
    let task = engine.task("tune").unwrap();
    let mut state = 1_u64;
    let mut noise = |len: usize| -> String {
        let next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            char::from(b'!' + (state >> 33) as u8 % 90)
        };
        std::iter::repeat_with(next).take(len).collect()
    };
    task.append(Message::text("user", &noise(2 << 20))).unwrap();
    for _ in 0..3 {
        task.append(Message::text("user", &noise(300 << 10))).unwrap();
    }
    let small = ShareRequest { max: 2 << 20, ..ShareRequest::default() };
    let share = Share::of(&engine, "tune", &small, &mut ()).unwrap();
    let plan = share.plan();
    assert_eq!((plan.longest.map(|most| most.0), plan.long.0), (Some(1 << 20), 1));
    assert!(plan.bytes.0 <= 2 << 20 && !plan.copy_only);
    let file = File::of(&engine, "tune", &small);
    assert!(file.all().contains("[withheld: 2"));

    let none = ShareRequest { max: 1000, ..ShareRequest::default() };
    let error = Share::of(&engine, "tune", &none, &mut ()).unwrap_err();
    assert!(error.to_string().contains("1000 are allowed"), "{error}");
    let wrong = ShareRequest { withhold: vec!["(".into()], ..ShareRequest::default() };
    Share::of(&engine, "tune", &wrong, &mut ()).unwrap_err();
    let empty = ShareRequest { withhold: vec!["x*".into()], ..ShareRequest::default() };
    Share::of(&engine, "tune", &empty, &mut ()).unwrap_err();
}

#[test]
fn a_pattern_that_matches_names_of_the_format_withholds_whole_bodies_or_is_refused() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    task.append(Message::text("user", "a message of the user")).unwrap();
    task.append(PromptChanged { prompt: "be brief".into() }).unwrap();
    let asked = |pattern: &str| ShareRequest {
        withhold: vec![pattern.into()],
        redact: false,
        ..ShareRequest::default()
    };
    let file = File::of(&engine, "t", &asked("prompt"));
    let line = file.export.iter().find(|line| line.get("withheld").is_some()).unwrap();
    assert!(line.get("shown").is_none() && line["number"] == json!(8), "{line}");
    let error = Share::of(&engine, "t", &asked("lineage"), &mut ()).unwrap_err();
    assert!(error.to_string().contains("give a narrower one"), "{error}");
    let file = File::of(&engine, "t", &asked("message"));
    assert!(file.all().contains("a [redacted:withhold] of the user"));
}

/// Returns the text of a share of one message.
fn share_of(content: &str, asked: &ShareRequest) -> String {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    task.append(Message::text("user", content)).unwrap();
    File::of(&engine, "t", asked).all()
}

#[test]
fn texts_of_json_are_searched_as_deep_and_as_whole_as_others() {
    let asked = ShareRequest { withhold: vec![r"\d{9}".into()], ..ShareRequest::default() };
    let found = |content: &str, secret: &str| {
        let all = share_of(content, &asked);
        assert!(!all.contains(secret) && all.contains("[redacted:"), "{content}");
    };
    found(r#"{"ssn": 918273645}"#, "918273645");
    found(r#"{"password": 4711471}"#, "4711471");
    found(
        r#"{"headers": {"X-Api-Key": ["0123hunter2"], "Authorization": ["Basic hunter2"]}}"#,
        "hunter2",
    );
    // A value that is nested too deeply for the walk is treated as text.
    let deep = format!("{}\"{}\"{}", "[".repeat(50_000), secret(1), "]".repeat(50_000));
    found(&deep, &secret(1));
    // Each level is looked at once, whatever its names are.
    let mut text = "word ".repeat(1000) + &secret(2);
    for _ in 0..8 {
        text = json!({"name": "n", "value": text, secret(3): 1}).to_string();
    }
    found(&text, &secret(2));
    let large = ShareRequest { withhold: vec!["[ab]*a[ab]{30000}c".into()], ..asked };
    let engine = Engine::in_memory(Options::default()).unwrap();
    engine.start_task("t", "ana").unwrap();
    let error = Share::of(&engine, "t", &large, &mut ()).unwrap_err();
    assert!(error.to_string().contains("no regular expression"), "{error}");
}

#[test]
fn what_is_hashed_with_a_header_is_withheld_with_it() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    task.append(Append::from(Message::text("user", "short")).key("pwd=4711")).unwrap();
    let hash = |file: &File| {
        let erased = file.export.iter().find(|line| line["body"]["kind"] == "erased");
        erased.map(|line| line["body"]["body_hash"].clone())
    };
    engine.retention().erase(&task.point(1).unwrap(), None).unwrap();
    let plain = ShareRequest { redact: false, ..ShareRequest::default() };
    let known = hash(&File::of(&engine, "t", &plain)).unwrap();
    let file = File::of(&engine, "t", &ShareRequest::default());
    assert!(!file.all().contains(known.as_str().unwrap()), "the header is guessed with it");
    assert_eq!((&file.contents["trusted"], hash(&file)), (&json!(1), None));
}

#[test]
fn the_beginning_of_an_id_tells_no_label() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    let id = task.checkpoint(Mark::new().label(secret(1))).unwrap().id.to_string();
    let said = format!("milepost rollback @{} or {}", &id[..12], id.to_uppercase());
    task.append(Message::text("user", &said)).unwrap();
    let all = File::of(&engine, "t", &ShareRequest::default()).all();
    assert!(!all.contains(&id[..12]) && !all.contains(&id.to_uppercase()));
    assert!(all.contains("milepost rollback @"));
}

/// The hashes of the lines of lineage 0, by offset: those before events, and those of events.
fn hashes(file: &File) -> Vec<(Option<&str>, Option<&str>)> {
    let of_root = file.export.iter().filter(|line| line["log"] == "0");
    of_root.map(|line| (line["previous"].as_str(), line["hash"].as_str())).collect()
}

#[test]
fn one_of_64_events_has_its_hash_and_each_on_trust_has_two() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    for n in 1..200 {
        let append = Append::from(Message::text("user", "hello"));
        let is_secret = [64, 65, 100].contains(&n);
        let append = if is_secret { append.key(secret(n)) } else { append };
        task.append(append).unwrap();
    }
    let file = File::of(&engine, "t", &ShareRequest::default());
    let hash_of = |offset: u64| {
        let point = task.point(offset + 1).unwrap();
        engine.view().hash_at(&point).unwrap().to_string()
    };
    for (offset, (previous, hash)) in (0..).zip(hashes(&file)) {
        let is_stated = offset % 64 == 63 || [64, 65, 100].contains(&offset);
        assert_eq!(hash.map(str::to_owned), is_stated.then(|| hash_of(offset)), "{offset}");
        // The events at 63 and 64 have their own.
        let before = (offset == 100).then(|| hash_of(99));
        assert_eq!(previous.map(str::to_owned), before, "{offset}");
    }
}

#[test]
fn a_store_with_a_key_is_shared() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options::default().key(milepost::StoreKey::new(&[7; 32]));
    let engine = Engine::open(dir.path().join("store"), options).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    task.append(Message::text("user", "hello")).unwrap();
    let file = File::of(&engine, "t", &ShareRequest::default());
    assert_eq!((&file.contents["keyed"], &file.contents["withheld"]), (&json!(true), &json!(0)));
    assert_eq!(file.index["rows/0/0"][1]["text"], json!("user: hello"));
    // Without the key, none of them can be computed.
    assert!(hashes(&file).iter().all(|(previous, hash)| previous.is_none() && hash.is_some()));
}

#[test]
fn no_text_of_a_task_ends_an_element_of_the_file() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let name = "</script><script>alert(1)</script></title><!--";
    let task = engine.start_task(name, "ana").unwrap();
    task.append(Message::text("user", "</script><img src=x onerror=alert(1)>")).unwrap();
    let file = File::of(&engine, name, &ShareRequest::default());
    let scripts = file.text.matches("<script").count();
    let pieces = file.contents["export"]["pieces"].as_array().unwrap().len();
    let viewer = milepost_page::SHARE_SCRIPT.matches("<script").count();
    assert_eq!(scripts - viewer, 1 + 1 + pieces + 1, "contents, index, export, viewer");
    assert!(!file.text.contains("<img") && !file.text.contains("alert(1)<"));
    assert_eq!(file.contents["task"], json!(name));
}

#[test]
fn a_copy_of_the_events_of_a_file_is_the_task() {
    let engine = run();
    let file = File::of(&engine, "tune", &ShareRequest::default());
    let heads = file.export[1]["heads"].as_array().unwrap();
    let head = engine.task("tune").unwrap().head().unwrap();
    assert!(heads.iter().any(|said| said["hash"] == json!(head.hash.to_string())));
    assert_eq!(file.export[0]["milepost_export"], json!(2));
    assert_eq!(file.export[0]["redacted"], json!(false));
    let events = file.export.iter().filter(|line| line.get("at").is_some()).count();
    assert_eq!(file.contents["events"], json!(events));
}
