//! Redacted exports.

use super::*;

/// Secrets of every documented pattern. They are put together here, so that this file has none.
fn secrets() -> Vec<String> {
    let long = "aB3".repeat(12);
    vec![
        format!("sk-proj-{long}"),
        format!("ghp_{long}"),
        format!("github_pat_{long}"),
        format!("glpat-{long}"),
        format!("AKIA{}", "A1B2C3D4E5F6G7H8"),
        format!("xoxb-123-{long}"),
        format!("AIza{}", &long[..35]),
        format!("eyJ{long}.eyJ{long}.{long}"),
        "hunter2-of-a-bearer".to_owned(),
        "aHVudGVyMjpiYXNpYw==".to_owned(),
        "hunter2-of-an-address".to_owned(),
        "hunter2-of-a-pair".to_owned(),
        "hunter2-of-a-field".to_owned(),
        "MIIEhunter2".to_owned(),
    ]
}

#[test]
fn nothing_of_a_secret_is_left_in_a_redacted_export() {
    let secrets = secrets();
    let place = Place::new();
    let engine = Engine::open(place.store(), Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    let (keys, dressed) = secrets.split_at(8);
    let key = &keys[0];
    for (n, secret) in keys.iter().enumerate() {
        let said = Message::text("user", &format!("it is {secret}, \"really\"\n"));
        let append = Append::from(said).actor(secret.as_str()).key(format!("{n} {secret}"));
        task.append(append.correlation(secret.as_str())).unwrap();
    }
    let said = format!(
        "Authorization: Bearer {}\nauthorization: basic {}\nhttps://ana:{}@host/\npassword = {}\n\
         -----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----",
        dressed[0], dressed[1], dressed[2], dressed[3], dressed[5]
    );
    task.append(Message::text("user", &said)).unwrap();
    let fields = json!({"kind": "tool_called", "call": "c", "tool": "sh", "arguments": {
        "client_secret": dressed[4], "env": [{"deep": said}], key: 1
    }});
    let body = milepost::Body::from_json(&fields.to_string()).unwrap();
    task.append(body).unwrap();
    let long = format!("{} {key} {}", "word ".repeat(80_000), said);
    task.append(Message::text("user", &long)).unwrap();
    let bytes = milepost::events::Application {
        name: "raw".into(),
        data: milepost::events::Data::Bytes(format!("\u{1}{key}").into_bytes()),
    };
    task.append(bytes).unwrap();
    let mark = milepost::Mark::new().alias(key.as_str());
    let mark = mark.metadata(milepost::Json::string(key)).label("one");
    assert!(task.checkpoint(mark.clone()).is_err(), "metadata is an object");
    let metadata = milepost::Json::new(format!("{{\"note\":\"{key}\"}}")).unwrap();
    let checkpoint = task.checkpoint(mark.metadata(metadata)).unwrap();
    engine.retention().pin(&checkpoint.id, Some(key)).unwrap();
    engine.restore(&engine.point("t@one").unwrap()).description(key).run().unwrap();
    engine.close().unwrap();

    let file = export(&place, "export --redact");
    for secret in &secrets {
        assert!(!file.contains(secret.as_str()), "{secret}");
    }
    for line in lines(&file).iter().filter(|line| line.get("log").is_some()) {
        assert!(line.get("salt").is_none() && line.get("hash").is_none(), "{line}");
        assert!(line.get("raw").is_none(), "{line}");
        let body = line["body"].to_string();
        if let Some(at) = body.find("base64\":\"") {
            let bytes = body[at + 9..].split('"').next().unwrap();
            let bytes = data_encoding_of(bytes);
            assert!(!String::from_utf8_lossy(&bytes).contains(key.as_str()));
        }
    }
    // The id of the checkpoint would tell of its texts.
    assert!(!file.contains(&checkpoint.id.to_string()));
    assert_eq!(lines(&file)[0]["redacted"], true);
    let to = beside(&file);
    let said = to.json("import export.jsonl");
    assert_eq!(said["copies"], true);
    assert_eq!(to.json("verify")["faults"], json!([]));
    assert_eq!(to.json("lineages t").as_array().unwrap().len(), 2);
    assert_eq!(to.json("pins t").as_array().unwrap().len(), 1);
    let opened = &to.lines("log t/0")[0]["body"];
    assert_eq!(opened["copied_from"]["origin"], lines(&file)[1]["origin"]);
    assert!(to.say("log t --events").ok().contains("[redacted:api-key]"));
}

/// Decodes base64.
fn data_encoding_of(text: &str) -> Vec<u8> {
    data_encoding::BASE64.decode(text.as_bytes()).unwrap()
}

#[test]
fn what_cannot_be_redacted_is_said_before_anything_is_written() {
    let place = Place::new();
    let engine = Engine::open(place.store(), Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    for _ in 0..3 {
        task.append(Message::text("user", "hello")).unwrap();
        task.checkpoint(milepost::Mark::new()).unwrap();
    }
    engine.close().unwrap();
    place.say("cleanup --keep 1 --yes").ok();
    place.say("export --redact -o out.jsonl").failed(1, "cannot be redacted");
    assert!(!place.path("out.jsonl").exists());
    assert_eq!(parts(&place), [""; 0]);
    let file = export(&place, "export");
    let to = beside(&file);
    to.say("import export.jsonl --as copy").failed(1, "cannot be copied");
    to.say("import export.jsonl").ok();
    assert_eq!(export(&to, "export"), file);
    assert_eq!(to.json("verify")["faults"], json!([]));
}

#[test]
fn what_is_redacted_still_fits_where_it_stands() {
    let place = Place::new();
    let engine = Engine::open(place.store(), Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    let long = |max: usize| format!("{}password=a", "x ".repeat(max / 2 - 5));
    // As long as they may be, and two keys that become one.
    let said = || Append::from(Message::text("user", "hello")).actor(long(1024));
    let key = |last: char| format!("sk-{}{last}", "a".repeat(20));
    task.append(said().key(key('1')).correlation(long(1024))).unwrap();
    task.append(said().key(key('2'))).unwrap();
    let metadata = format!("{{\"a\":\"{}\"}}", long((64 << 10) - 8));
    let mark = milepost::Mark::new().label(long(200)).alias("Bearer abcdefgh");
    let mark = mark.metadata(milepost::Json::new(metadata).unwrap());
    let checkpoint = task.checkpoint(mark).unwrap();
    engine.retention().pin(&checkpoint.id, Some(&long(1024))).unwrap();
    let point = engine.point("t@2").unwrap();
    engine.restore(&point).description(long(1024)).run().unwrap();
    engine.close().unwrap();
    let file = export(&place, "export --redact");
    assert!(!file.contains("password=a"));
    let to = beside(&file);
    to.say("import export.jsonl").ok();
    assert_eq!(to.json("verify")["faults"], json!([]));
    assert!(to.items("checkpoints t").to_string().contains("password=*"));
}

#[test]
fn captured_folders_are_no_more_than_a_name_in_a_redacted_export() {
    let place = Place::recorded();
    fs::create_dir(place.path("work")).unwrap();
    place.write("work/a.txt", "one");
    place.say("capture --task run work").ok();
    place.say("mark run one").ok();
    place.write("work/a.txt", "two");
    place.say("capture --task run work").ok();
    // The files stay: the control log says which capture they are.
    place.say("branch run@one").ok();
    place.say("switch run/1").ok();
    let plain = place.say("export run").out;
    assert!(plain.contains("\"files_kept\""), "{plain}");
    let roots = |file: &str| -> Vec<String> {
        let lines = lines(file).into_iter();
        lines.filter_map(|line| line["body"]["root"].as_str().map(str::to_owned)).collect()
    };
    let redacted = export(&place, "export run --redact");
    assert_eq!(roots(&redacted).len(), roots(&plain).len());
    for root in roots(&plain) {
        assert!(!redacted.contains(&root), "{root}");
    }
    let whole = place.say("share run -o run.html").ok();
    assert!(whole.contains("folder: 3"), "{whole}");
}

#[test]
fn the_number_of_redacted_texts_is_printed() {
    let place = Place::new();
    let engine = Engine::open(place.store(), Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    let secret = &secrets()[0];
    // Two texts of one event, one of them with two secrets, and one that replaces a name.
    let call = json!({"kind": "tool_called", "call": "c", "tool": "sh", "arguments": {
        "a": format!("{secret} and {secret}"), "password": "x", secret.as_str(): "named",
    }});
    task.append(milepost::Body::from_json(&call.to_string()).unwrap()).unwrap();
    task.append(Append::from(Message::text("user", secret)).actor(secret.as_str())).unwrap();
    engine.start_task("calm", "ana").unwrap();
    engine.close().unwrap();
    assert_eq!(place.say("export t --redact").err, "milepost: redacted 5 texts\n");
    let out = place.say("export t --redact -o out.jsonl").ok();
    assert!(out.ends_with("redacted 5 texts\n"), "{out}");
    assert_eq!(place.json("export t --redact -o out.jsonl")["redacted"], 5);
    let none = "redacted nothing: no text resembles a secret\n";
    assert!(place.say("export calm --redact -o out.jsonl").ok().ends_with(none));
    assert!(!place.say("export t -o out.jsonl").ok().contains("redacted"));
}
