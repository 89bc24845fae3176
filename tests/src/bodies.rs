//! Bodies to append, from a few numbers.

use milepost::events::{
    Application, ContextChanged, Data, GuidanceGiven, Message, PatchForm, PromptChanged,
    StepFailed, StepFinished, StepStarted, ToolCalled, ToolReturned, VariablesPatched,
    WorkspaceCaptured,
};
use milepost::{Body, Json};
use milepost_codec::{
    Capture, ChunkEntry, ChunkList, Entry, EntryKind, Hash, Item, Name, Node, PathBytes,
    encode_directory,
};
use milepost_store::CHUNK;

use crate::seed::Random;

/// A text of `len` bytes that depends on `salt` and compresses somewhat.
pub fn text(salt: u64, len: usize) -> String {
    let mut random = Random::new(salt);
    let mut out = String::with_capacity(len + 16);
    while out.len() < len {
        out.push_str(&format!("{:x} ", random.number()));
    }
    out.truncate(len);
    out
}

/// An event of bytes that do not compress.
pub fn bytes(salt: u64, len: usize) -> Body {
    Application { name: "test.bytes".into(), data: Data::Bytes(Random::new(salt).bytes(len)) }
        .into()
}

/// The result of a call: a text of `len` bytes that is the same for every call.
pub fn result(call: u64, len: usize) -> Body {
    let output = Some(Json::string(&text(1, len)));
    ToolReturned { call: format!("call-{call}"), tool: None, ok: true, output }.into()
}

/// The chunks of a body that is too large for a record.
pub fn chunks(body: &Body) -> Vec<Vec<u8>> {
    let payload = body.encode().1;
    let middle = payload.get(milepost_store::middle(&payload)).unwrap_or_default();
    middle.chunks(CHUNK).map(<[u8]>::to_vec).collect()
}

/// The event of a capture of a folder with one file, and the nodes of its tree.
pub fn capture(content: &[u8]) -> (Body, [Vec<u8>; 2]) {
    let len = content.len() as u64;
    let kind = EntryKind::File { len, id: ChunkEntry::id_of(content), unstable: false };
    let name = Name::new(b"file").expect("a name");
    let mut directory = Vec::new();
    let entry = Entry { name, item: Item { mode: 0o644, kind } };
    let tree = encode_directory(&[entry], &mut |_, node| directory = node);
    let root = Node::Capture(Capture {
        present: false,
        over: None,
        folder: PathBytes(b"/work".as_slice().into()),
        tree,
        files: 1,
        directories: 0,
        links: 0,
        bytes: len,
        skipped: 0,
        skips: ChunkList { len: 0, chunks: Vec::new() },
    });
    let root = root.encode();
    let hash = Hash(ChunkEntry::id_of(&root).0);
    let body = WorkspaceCaptured { root: hash, files: 1, bytes: len, skipped: 0 };
    (body.into(), [directory, root])
}

/// Returns a body of one of the kinds that change the state of a run. `kind` chooses it, `salt` its
/// content, `size` the length of the longer ones.
pub fn body(kind: u8, salt: u64, size: usize) -> Body {
    let json = |value: serde_json::Value| Json::from_value(&value).unwrap_or_else(|_| Json::null());
    match kind % 13 {
        0 => Message::text("user", &text(salt, size % 300)).into(),
        1 => GuidanceGiven { text: text(salt, 20), data: None }.into(),
        2 => VariablesPatched {
            form: PatchForm::Merge,
            patch: json(serde_json::json!({ format!("k{}", salt % 7): salt % 1000 })),
        }
        .into(),
        3 => StepStarted { step: salt % 50, ..StepStarted::default() }.into(),
        4 => StepFinished { step: salt % 50, ..StepFinished::default() }.into(),
        5 => bytes(salt, size),
        6 => ToolCalled {
            call: format!("c{}", salt % 5),
            tool: "sh".into(),
            arguments: json(serde_json::json!({ "n": salt })),
        }
        .into(),
        7 => ToolReturned {
            call: format!("c{}", salt % 5),
            tool: None,
            ok: salt.is_multiple_of(2),
            output: Some(json(serde_json::json!(text(salt, size % 500)))),
        }
        .into(),
        8 => PromptChanged { prompt: text(salt, 40) }.into(),
        9 => ContextChanged {
            form: PatchForm::Merge,
            patch: json(serde_json::json!({ format!("c{}", salt % 3): text(salt, 30) })),
        }
        .into(),
        10 => StepFailed { step: salt % 50, error: text(salt, 30) }.into(),
        // The same again after other calls.
        12 => result(salt, 9_000 + (salt % 3) as usize * 700),
        // Over the inline limit now and then.
        _ if salt.is_multiple_of(8) => Message::text("assistant", &text(salt, 300_000)).into(),
        _ => Message::text("assistant", &text(salt, size)).into(),
    }
}

/// A message of a few hundred bytes.
pub fn text_message(salt: u64) -> Message {
    Message::text("assistant", &text(salt, 300))
}
