//! Commands of `hooks.json`: their input, and documents that are posted elsewhere (004, plugins).

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::thread;

use milepost_agent_tests::has_programs;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::common::Place;

const MILEPOST: &str = env!("CARGO_BIN_EXE_milepost");

/// Makes a command a hook of the user's stores.
fn hook(place: &Place, on: &str, run: &[&str], more: &Value) {
    let file = place.path("config/milepost/hooks.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let mut hook = json!({"on": [on], "run": run});
    hook.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    fs::write(&file, json!({"hooks": [hook]}).to_string()).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
}

fn text(file: &Path) -> String {
    fs::read_to_string(file).unwrap()
}

fn store() -> (Place, PathBuf) {
    let place = Place::recorded();
    let said = place.path("said");
    (place, said)
}

#[test]
fn seed_004_a_hook_reads_the_store_that_it_is_told_of() {
    for on in ["before_checkpoint", "after_checkpoint"] {
        let (place, said) = store();
        let script = format!("{MILEPOST} state run --json > {}", said.display());
        hook(&place, on, &["sh", "-c", &script], &json!({}));
        let before = place.json("state run");
        place.say("mark run good").ok();
        let state: Value = serde_json::from_str(&text(&said)).unwrap();
        assert_eq!(state, before, "{on}");
    }
}

#[test]
fn a_hook_cannot_change_the_store_that_it_is_called_for() {
    let (place, said) = store();
    let script = format!("{MILEPOST} mark run again 2> {}; test $? = 1", said.display());
    hook(&place, "after_checkpoint", &["sh", "-c", &script], &json!({}));
    let before = place.ids("checkpoints run").len();
    place.say("mark run good").ok();
    assert!(text(&said).contains("cannot change the store"), "{}", text(&said));
    assert_eq!(place.ids("checkpoints run").len(), before + 1);
    // Other stores are its own business.
    let other = place.path("other");
    let script = format!(
        "{MILEPOST} --store {} import {}",
        other.display(),
        place.path("x.jsonl").display()
    );
    place.say("export run -o x.jsonl").ok();
    hook(&place, "after_checkpoint", &["sh", "-c", &script], &json!({}));
    place.say("mark run better").ok();
    assert!(other.is_dir());
}

#[test]
fn seed_004_a_copy_elsewhere_is_made_at_each_checkpoint() {
    if !has_programs(&["jq"]) {
        return;
    }
    let (place, said) = store();
    let script = format!("{MILEPOST} export \"$(jq -r .task)\" -o {}", said.display());
    hook(&place, "after_checkpoint", &["sh", "-c", &script], &json!({}));
    place.say("mark airline-0 good").ok();
    let other = Place::new();
    other.run(["import", said.to_str().unwrap()]).ok();
    assert_eq!(other.json("state airline-0"), place.json("state airline-0"));
}

/// HMAC-SHA256 as RFC 2104 defines it, for a key of at most 64 bytes.
fn hmac(key: &[u8], message: &[u8]) -> String {
    let padded = |with: u8| {
        let mut block = [with; 64];
        key.iter().zip(&mut block).for_each(|(key, byte)| *byte ^= key);
        block
    };
    let inner = Sha256::new().chain_update(padded(0x36)).chain_update(message).finalize();
    let outer = Sha256::new().chain_update(padded(0x5c)).chain_update(inner).finalize();
    outer.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Answers one request with a status, and returns it.
fn answered(listener: &TcpListener, status: &str) -> (String, Vec<u8>) {
    let (mut stream, _) = listener.accept().unwrap();
    let (mut came, mut part) = (Vec::new(), [0; 4096]);
    let head = loop {
        let read = stream.read(&mut part).unwrap();
        came.extend_from_slice(&part[..read]);
        if let Some(end) = came.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
    };
    let text = String::from_utf8(came[..head].to_vec()).unwrap().to_lowercase();
    let len = text.split("content-length: ").nth(1).unwrap().split("\r\n").next().unwrap();
    while came.len() < head + len.parse::<usize>().unwrap() {
        let read = stream.read(&mut part).unwrap();
        came.extend_from_slice(&part[..read]);
    }
    let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 3\r\nconnection: close\r\n\r\nno!");
    stream.write_all(answer.as_bytes()).unwrap();
    (text, came[head..].to_vec())
}

#[test]
fn seed_004_a_webhook_posts_the_document_with_its_signature() {
    let (place, _) = store();
    let secret = place.write("secret", "0123456789abcdef0123\n");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hooks?x=1", listener.local_addr().unwrap());
    let run = [MILEPOST, "webhook", &url, "--secret-file", secret.to_str().unwrap()];
    hook(&place, "after_checkpoint", &run, &json!({}));
    let receiver = thread::spawn(move || (answered(&listener, "204 No Content"), listener));
    place.say("mark run good").ok();
    let ((head, body), listener) = receiver.join().unwrap();
    assert!(head.starts_with("post /hooks?x=1 http/1.1\r\n"), "{head}");
    let signed = format!("milepost-signature: sha256={}\r\n", hmac(b"0123456789abcdef0123", &body));
    assert!(head.contains(&signed), "{head}");
    let document: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(document["checkpoint"]["label"], "good");
    // A refusal is a failure of the hook, and the checkpoint stays.
    let receiver = thread::spawn(move || answered(&listener, "500 Internal Server Error"));
    let marked = place.say("mark run better");
    receiver.join().unwrap();
    assert!(marked.code == 0 && marked.err.contains("500"), "{marked:?}");
}

#[test]
fn a_webhook_needs_a_secret_and_an_address() {
    let place = Place::new();
    let short = place.write("short", "abc\n");
    let secret = place.write("secret", "0123456789abcdef0123\n");
    let run = |url: &str, file: &str| place.run(["webhook", url, "--secret-file", file]);
    run("http://127.0.0.1:9", short.to_str().unwrap()).failed(1, "shorter than 16 bytes");
    let noted = |mode| {
        fs::set_permissions(&secret, fs::Permissions::from_mode(mode)).unwrap();
        run("http://127.0.0.1:9", secret.to_str().unwrap()).err.contains("other users can read")
    };
    assert!(noted(0o644) && !noted(0o600));
    let secret = secret.to_str().unwrap();
    for (url, what) in [
        ("ftp://x", "neither http nor https"),
        ("nonsense", ""),
        ("http://127.0.0.1:9", "127.0.0.1:9"),
    ] {
        let ran = run(url, secret);
        assert!(ran.code == 1 && ran.err.contains(what), "{ran:?}");
    }
}
