//! Writes the first inputs of each target into `corpus/TARGET.tar`: the samples of the codec's
//! tests, files of small stores, the fixtures of the command, and short programs. Files with other
//! names, which a fuzzer found, stay in the archive.

use std::fs;
use std::path::Path;

use milepost::{Append, Engine, Mark, Options};
use milepost_codec::{
    AckWatermark, BlockFileHeader, FrameHeader, Packing, SEGMENT_HEADER_LEN, SEGMENT_HEADER_USED,
    SegmentHeader, StoreId,
};
use milepost_fuzz::selectors::{BLOCKS, LISTS, PLAIN, TREES, body_selector, control_selector};
use milepost_tests::bodies::body;
use milepost_tests::folder::files;

#[path = "seeds/archive.rs"]
mod archive;
#[path = "../../codec/tests/decoders/mod.rs"]
mod decoders;
#[path = "seeds/pack.rs"]
mod pack;
#[path = "../../codec/tests/samples/mod.rs"]
mod samples;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let seeds = Seeds(pack::Corpora::new(root.join("corpus")));
    seeds.codec();
    seeds.texts();
    seeds.imports(&root.join("../cli/tests/fixtures"));
    seeds.sessions();
    seeds.agents();
    seeds.checkpoints();
    seeds.exports();
    seeds.files();
    seeds.programs();
    seeds.0.pack();
}

struct Seeds(pack::Corpora);

impl Seeds {
    /// A seed is a few first bytes, which say how the rest is read, and the rest.
    fn put(&self, target: &str, name: &str, first: &[u8], rest: &[u8]) {
        let name = name.replace(' ', "-");
        fs::write(self.0.dir(target).join(format!("seed-{name}")), [first, rest].concat()).unwrap();
    }

    /// Each text, for each agent.
    fn agents(&self) {
        for (target, texts) in
            [("agent_settings", &SETTINGS[..]), ("agent_documents", &DOCUMENTS[..])]
        {
            for (n, text) in texts.iter().enumerate() {
                for agent in 0..7 {
                    self.put(target, &format!("{n}-{agent}"), &[agent], text.as_bytes());
                }
            }
        }
    }

    /// Writes the samples of the codec's tests. Of the bodies of each kind it takes the one with
    /// the most fields.
    fn codec(&self) {
        for decoder in decoders::DECODERS.iter() {
            let name = decoder.name;
            let mut all = decoders::samples_of(decoder);
            let position = |names: &[&str]| names.iter().position(|n| *n == name);
            let kind = name.split(' ').next_back().and_then(|n| n.parse().ok());
            let largest = |all: &[Vec<u8>]| all.iter().max_by_key(|s| s.len()).cloned();
            if name.starts_with("event body") {
                let first = body_selector(kind.unwrap());
                self.put("records", name, &[first], &largest(&all).unwrap());
            } else if name.starts_with("control event") {
                let first = control_selector(kind.unwrap());
                self.put("records", name, &[first], &largest(&all).unwrap());
            } else if let Some(which) = position(&PLAIN) {
                all.truncate(1);
                self.put("records", name, &[which as u8], &all[0]);
            } else if let Some(which) = position(&BLOCKS) {
                for (n, mut sample) in all.into_iter().enumerate() {
                    if name.ends_with("header") {
                        sample.truncate(SEGMENT_HEADER_USED);
                    }
                    for right in [0, 0x80] {
                        let name = format!("{name} {n} {right:x}");
                        self.put("blocks", &name, &[which as u8 | right], &sample);
                    }
                }
            } else if let Some(which) = position(&TREES) {
                for (n, sample) in all.into_iter().enumerate() {
                    self.put("tree", &format!("{name} {n}"), &[which as u8], &sample);
                }
            } else if name == "chunk group" {
                for (n, sample) in all.into_iter().enumerate() {
                    for right in [0, 0x80] {
                        self.put("chunk_group", &format!("{n} {right:x}"), &[right], &sample);
                    }
                }
            } else if let Some(which) = position(&LISTS) {
                for (n, sample) in all.into_iter().enumerate() {
                    self.put("lists", &format!("{name} {n}"), &[which as u8], &sample);
                }
            }
        }
        let acked = AckWatermark { store: samples::STORE, seq: 12 };
        self.put("acked", "as written", &[0], &acked.encode());
        self.put("acked", "another", &[0x80], &[0xff; 64]);
    }

    fn texts(&self) {
        let mut seen = Vec::new();
        for (_, body) in samples::bodies() {
            // The first of a kind has all of its fields.
            let kind = body.encode().0;
            if !seen.contains(&kind) {
                let text = body.to_json().unwrap();
                self.put("json", &format!("kind {kind}"), &[], text.as_bytes());
                seen.push(kind);
            }
        }
        let others: [&[u8]; 5] = [
            br#"{"kind":"mine","a":[1.0,1e400,"\ud800"]}"#,
            br#"{"kind":"message","role":"user","content":null,"x":1,"x":2}"#,
            br#"{"kind":"variables_patched","form":"patch","patch":[{"op":"add","path":"/a~1b","value":{}}]}"#,
            br#"{"kind":"context_changed","patch":{"a":{"b":null}}}"#,
            br#"{"kind":"step_finished","step":1,"metrics":{"a":"NaN","b":-0.0,"c":1e308}}"#,
        ];
        for (n, text) in others.into_iter().enumerate() {
            self.put("json", &format!("other {n}"), &[], text);
        }
        let addresses = [
            "t",
            "t@40",
            "t@v1.0",
            "t~2",
            "t/3~2",
            "t/0@1",
            "@deadbeef",
            "a%2Fb%40@c%7E",
            "t@18446744073709551615",
        ];
        for (n, text) in addresses.into_iter().enumerate() {
            self.put("address", &n.to_string(), &[], text.as_bytes());
        }
        let engine = Engine::in_memory(Options::default()).unwrap();
        let task = engine.start_task("t", "ana").unwrap();
        task.append(body(0, 1, 20)).unwrap();
        engine.branch(&task.point(1).unwrap()).description("aside").run().unwrap();
        let anchor = engine.integrity().anchor().unwrap().to_json();
        for flags in 0..4 {
            let name = format!("flags {flags}");
            self.put("anchor", &name, &[flags], anchor.as_bytes());
        }
    }

    fn imports(&self, fixtures: &Path) {
        let kinds = [
            ("run.jsonl", 0_u8),
            ("history_only.traj", 1),
            ("react.traj", 1),
            ("tools.traj", 1),
            ("airline.json", 2),
        ];
        for (name, kind) in kinds {
            let text = fs::read(fixtures.join(name)).unwrap();
            if text.len() < 40_000 {
                self.put("imports", name, &[kind], &text);
            }
            self.put("imports", &format!("told {name}"), &[3], &text[..text.len().min(500)]);
        }
        let small: [(u8, &str); 7] = [
            (
                0x18,
                "{\"kind\":\"message\",\"role\":\"user\",\"content\":\"a\"}\r\n\n[]\n{\"kind\":\"x\"}",
            ),
            (
                1,
                r#"{"trajectory":[{"action":"ls","observation":"a","response":"r","thought":"t","state":"{\"a\":1}","query":[{"role":"user","content":"q"}]}],"history":[],"info":{"exit_status":"submitted","submission":"diff","model_stats":{"api_calls":1}},"environment":"e"}"#,
            ),
            (
                1,
                r#"{"history":[{"role":"system","content":"s","message_type":"m"},{"role":"assistant","content":"c","thought":"t","action":"a","tool_calls":[{"id":"1","function":{"name":"bash","arguments":"{}"}}]},{"role":"tool","content":[{"type":"text","text":"o"}],"tool_call_ids":["1"]}]}"#,
            ),
            (
                2,
                r#"[{"task_id":1,"reward":1.0,"info":{"a":1},"traj":[{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","function":{"name":"f","arguments":"{\"a\":1}"}}]},{"role":"tool","tool_call_id":"c","name":"f","content":"r"}],"trial":0}]"#,
            ),
            (3, r#" [{"task_id":0,"traj":[],"trial":0},{"task_id":0,"traj":[],"trial":1}]"#),
            (
                3,
                r#"{"model":"m","messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a","tool_calls":[{"id":"c","function":{"name":"f","arguments":"x"}}]}]} {"messages":[{"role":"user"}]}"#,
            ),
            (
                3,
                r#"[{"role":"user","content":"q"},{"role":"tool","tool_call_id":"c","content":"r"}]"#,
            ),
        ];
        for (n, (kind, text)) in small.into_iter().enumerate() {
            self.put("imports", &format!("small {n}"), &[kind], text.as_bytes());
        }
    }

    /// A session with a tool, a prompt asked otherwise, an agent and lines that are no messages;
    /// and odd ones.
    fn sessions(&self) {
        let lines = [
            r#"{"type":"summary","summary":"s","leafUuid":"x"}"#,
            r#"{"parentUuid":null,"isSidechain":false,"type":"user","uuid":"a","message":{"role":"user","content":"do it"},"timestamp":"2025-05-26T07:27:40.079Z"}"#,
            r#"{"parentUuid":"a","type":"assistant","uuid":"b","message":{"id":"m","role":"assistant","content":[{"type":"text","text":"on it"},{"type":"tool_use","id":"t","name":"Task","input":{"prompt":"look"}}]}}"#,
            r#"{"parentUuid":null,"isSidechain":true,"type":"user","uuid":"s","message":{"role":"user","content":"look"}}"#,
            r#"{"parentUuid":"b","type":"user","uuid":"c","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":"no"}]},"toolUseResult":{"a":1}}"#,
            r#"{"parentUuid":null,"logicalParentUuid":"c","type":"system","uuid":"d","subtype":"compact_boundary"}"#,
            r#"{"parentUuid":"a","type":"assistant","uuid":"e","message":{"content":[{"type":"thinking","thinking":"hm"}]}}"#,
            r#"{"parentUuid":"none","type":"user","uuid":"e","message":{"role":"user","content":[]}}"#,
        ];
        self.session("sessions", &lines);
        let lines = [
            r##"{"timestamp":"2026-03-01T10:00:00.500Z","type":"session_meta","payload":{"id":"t","cwd":"/x"}}"##,
            r##"{"type":"event_msg","payload":{"type":"task_started","turn_id":"u"}}"##,
            r##"{"type":"turn_context","payload":{"turn_id":"u","model":"m"}}"##,
            r##"{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"do it"}]}}"##,
            r##"{"type":"response_item","payload":{"type":"reasoning","summary":[]}}"##,
            r##"{"type":"response_item","payload":{"type":"function_call","name":"exec","call_id":"c","arguments":"{\"cmd\":\"ls\"}"}}"##,
            r##"{"type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":{"success":false}}}"##,
            r##"{"type":"response_item","payload":{"type":"custom_tool_call","name":"patch","call_id":"d","input":"*** x"}}"##,
            r##"{"type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":1}}"##,
            r##"{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"},{"type":"x"}]}}"##,
            r##"{"type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":9}}"##,
            r##"{"type":"response_item","payload":{"type":"local_shell_call","call_id":"e","action":{"command":["ls"]}}}"##,
        ];
        self.session("codex_sessions", &lines);
        let lines = [
            r##"{"sessionId":"s","projectHash":"h","kind":"main"}"##,
            r##"{"$set":{"messages":[{"id":"n","type":"user","content":[{"text":"<session_context>"}]}]}}"##,
            r##"{"id":"a","timestamp":"2026-03-01T10:00:00.500Z","type":"user","content":[{"text":"do it"}]}"##,
            r##"{"id":"b","type":"gemini","content":"on it","thoughts":[{"subject":"x","description":"y"}],"tokens":{"input":9,"output":2},"model":"g"}"##,
            r##"{"id":"b","type":"gemini","content":"on it","toolCalls":[{"id":"c","name":"shell","args":{"command":"ls"},"result":[{"functionResponse":{"id":"c","name":"shell","response":{"output":"a b"}}}],"status":"success"}]}"##,
            r##"{"id":"d","type":"user","content":[{"functionResponse":{"id":"c","name":"shell","response":{"output":"a b"}}}]}"##,
            r##"{"$rewindTo":"b"}"##,
            r##"{"id":"b","type":"gemini","content":[{"text":"other"},{"functionCall":{"id":"c","name":"shell","args":{}}}]}"##,
            r##"{"$rewindTo":"nowhere"}"##,
            r##"{"id":"e","type":"info","content":7}"##,
        ];
        self.session("gemini_sessions", &lines);
        let lines = [
            r##"{"uuid":"a","parentUuid":null,"sessionId":"s","type":"user","message":{"role":"user","parts":[{"text":"do it"}]}}"##,
            r##"{"uuid":"b","parentUuid":"a","type":"system","systemPayload":{"n":1}}"##,
            r##"{"uuid":"c","parentUuid":"b","type":"assistant","message":{"parts":[{"text":"hm","thought":true},{"text":"on it"},{"functionCall":{"id":"c","name":"shell","args":{"command":"ls"}}}]},"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":2}}"##,
            r##"{"uuid":"d","parentUuid":"c","type":"tool_result","message":{"parts":[{"functionResponse":{"id":"c","name":"shell","response":{"output":"a b"}}}]},"toolCallResult":{"status":"error"}}"##,
            r##"{"uuid":"e","parentUuid":"a","type":"assistant","message":{"parts":[{"functionCall":{"id":"c","name":"shell","args":{"command":"ls"}}}]},"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":2}}"##,
            r##"{"uuid":"e","parentUuid":"none","type":"user","message":{"parts":[7]}}"##,
        ];
        self.session("qwen_sessions", &lines);
        let lines = [
            r##"{"type":"session.start","data":{"sessionId":"s","version":1},"id":"a","timestamp":"2026-03-01T10:00:00.500Z","parentId":null}"##,
            r##"{"type":"user.message","data":{"content":"do it"},"id":"b","parentId":"a"}"##,
            r##"{"type":"assistant.message","data":{"content":"on it","reasoningText":"hm","toolRequests":[{"toolCallId":"c","name":"bash","arguments":{"command":"ls"}}]},"id":"c","parentId":"b"}"##,
            r##"{"type":"tool.execution_complete","data":{"toolCallId":"c","success":true,"result":{"content":"a b"}},"id":"d","parentId":"c"}"##,
            r##"{"type":"user.message","data":{"content":"of a helper","source":"agent-s"},"id":"e","parentId":"d","agentId":"x"}"##,
            r##"{"type":"session.usage_record","data":{"usage":{"inputTokens":9,"outputTokens":2}},"id":"f","parentId":"none"}"##,
        ];
        self.session("copilot_sessions", &lines);
        let documents = [
            r##"{"info":{"id":"ses_1","time":{"created":1}},"messages":[{"info":{"id":"msg_1","role":"user"},"parts":[{"type":"text","text":"do it","id":"prt_1","messageID":"msg_1"}]},{"info":{"id":"msg_2","role":"assistant","tokens":{"input":9,"output":2,"cache":{"read":1}},"cost":0.5},"parts":[{"type":"reasoning","text":"hm","id":"prt_2"},{"type":"tool","tool":"bash","callID":"c","state":{"status":"error","input":{},"error":"no"},"id":"prt_3"},{"type":"tool","tool":"bash","callID":"d","state":{"status":"running"},"id":"prt_4"}]}]}"##,
            r##"{"info":{"id":"ses_1"},"messages":[7,{"info":{"id":"\n","role":"user"},"parts":[{"id":"prt_1","type":"file"},{"id":"prt_1","type":"text","synthetic":true}]}]}"##,
        ];
        for (at, document) in documents.iter().enumerate() {
            self.put("opencode_exports", &format!("document {at}"), &[], document.as_bytes());
        }
    }

    fn session(&self, target: &str, lines: &[&str]) {
        self.put(target, "session", &[], lines.join("\n").as_bytes());
        for (at, line) in lines.iter().enumerate() {
            self.put(target, &format!("line {at}"), &[], line.as_bytes());
        }
    }

    /// Values as LangGraph's serializer writes them, and lists of them.
    fn checkpoints(&self) {
        let uuid = b"\x93\xa4uuid\xa4UUID\xd9\x2011111111111141118111111111111111";
        let held =
            [&[0x92, 0xc7, uuid.len() as u8, 0], uuid.as_slice(), &[0xd6, 5, 0x93, 0xa0, 0xa0, 7]]
                .concat();
        self.put("langgraph", "objects", &[0], &held);
        let scalars = b"\x87\x01\xc0\xa1a\xc3\xa1b\xcb\x7f\xf8\0\0\0\0\0\0\xa1c\xd1\xff\0\xa1d\xc4\x02\0\xff\xa1e\x92\x01\x02\xa1f\xd4\x09\x01";
        self.put("langgraph", "scalars", &[0], scalars);
        let checkpoint = b"\x82\xaechannel_values\x81\xa1a\x01\xa2ts\xa0";
        self.put("langgraph", "checkpoint", &[1], checkpoint);
        let whole = b"\x84\xa1v\x01\xaechannel_values\x83\xa1b\xc4\x01\xff\xa1a\xc0\xa1b\x91\x02\xb0channel_versions\x81\xa1b\xa13\xa2ts\xb91970-01-01T00:00:01+00:00";
        self.put("langgraph", "checkpoint whole", &[1], whole);
        self.put("langgraph", "map", &[0], whole);
        let json = br#"{"ts":"2024-05-26T07:27:40+00:00","channel_values":{"m":[{"lc":2,"type":"constructor","id":["a","B"],"kwargs":{"content":"hi"}}]}}"#;
        self.put("langgraph", "json", &[2], json);
        self.put("langgraph", "metadata", &[3], br#"{"source":"loop","step":1}"#);
        let two =
            br#"{"l":[1,2],"gone":1,"same":{"a":null}} {"l":[1,2,3],"same":{"a":null},"a/b~c":[]}"#;
        self.put("langgraph", "two", &[4], two);
        let twice = br#"{"l":[1],"l":[2]} {"l":[2,3],"x":1,"x":2}"#;
        self.put("langgraph", "twice", &[4], twice);
    }

    /// Exports of small stores: of one task, of two with restores, pins, erased and trimmed events,
    /// with a part cut.
    fn exports(&self) {
        let engine = Engine::in_memory(Options::default().snapshots(false)).unwrap();
        let task = engine.start_task("t", "ana").unwrap();
        for kind in 0..11 {
            task.append(Append::from(body(kind, 1, 40)).key(format!("k{kind}"))).unwrap();
        }
        let mark = Mark::new().label("a").alias("b");
        let checkpoint = task.checkpoint(mark).unwrap();
        self.export("one", &engine);
        engine.retention().pin(&checkpoint.id, Some("why")).unwrap();
        engine.retention().erase(&task.point(1).unwrap(), None).unwrap();
        let back = engine.point("t@a").unwrap();
        let task = engine.restore(&back).description("again").run().unwrap();
        task.append(body(1, 1, 10)).unwrap();
        let task = engine.start_task("u", "ana").unwrap();
        for kind in 0..3 {
            task.append(body(kind, 2, 20)).unwrap();
            task.checkpoint(Mark::new()).unwrap();
        }
        self.export("two", &engine);
        let policy = milepost::retention::Policy::new().keep(1).task("u");
        let plan = engine.retention().plan(&policy).unwrap();
        engine.retention().apply(&plan, &mut |_, _| {}).unwrap();
        self.export("trimmed", &engine);
    }

    fn export(&self, name: &str, engine: &Engine) {
        let export = milepost_fuzz::export_of(engine);
        for selector in [0, 1, 129] {
            let name = format!("{name} {selector}");
            self.put("exports", &name, &[selector], &export);
        }
        self.put("exports", &format!("{name} cut"), &[1], &export[..export.len() / 2]);
    }

    /// Segments of small stores, and archive files.
    fn files(&self) {
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().join("store");
        let options = || Options::default().snapshots(false);
        let engine = Engine::open(&store, options()).unwrap();
        let task = engine.start_task("t", "ana").unwrap();
        for kind in 0..11 {
            task.append(Append::from(vec![body(kind, 1, 60), body(kind, 2, 30)])).unwrap();
        }
        task.checkpoint(Mark::new().label("a")).unwrap();
        let copy = dir.path().join("copy");
        milepost_tests::folder::copy_store(&store, &copy).unwrap();
        engine.close().unwrap();
        for (name, from) in [("killed", &copy), ("closed", &store)] {
            let path = files(&from.join("journal"), ".seg").unwrap().remove(0);
            let file = ours(fs::read(path).unwrap());
            let (header, rest) = file.split_at(SEGMENT_HEADER_LEN);
            let end = frames(rest);
            let input = [&header[..80], &rest[..end + 64]].concat();
            for flags in [0, 0x80, 0xc0] {
                self.put("segment", &format!("{name} {flags:x}"), &[flags], &input);
            }
        }
        self.archives();
    }

    /// Archive files of two rounds: with blocks that are not packed, and with packed ones.
    fn archives(&self) {
        let kinds = [("small", Packing::Later, 1), ("packed", Packing::Level(1), 40)];
        for (name, packing, copies) in kinds {
            let file = archive::file(packing, copies);
            let (header, rest) = file.split_at(BlockFileHeader::LEN);
            let input = [&header[..SEGMENT_HEADER_USED], rest].concat();
            for flags in [0, 0x80, 0xc0] {
                self.put("archive", &format!("{name} {flags:x}"), &[flags], &input);
            }
        }
    }

    /// Programs: each operation is a byte modulo 20, and its arguments (`src/store/program.rs`).
    fn programs(&self) {
        let append: &[u8] = &[0, 0, 0x41, 100, 0, 0, 0];
        let medium: &[u8] = &[4, 0, 0x45, 0, 80, 0, 0];
        let large: &[u8] = &[5, 0, 1, 9, 9, 0, 0];
        let submit: &[u8] = &[6, 2, 0, 0x25, 99, 3, 0, 0, 0, 0x20, 8, 1, 0, 0, 0, 5, 0, 0, 0, 0];
        let (mark, branch, restore, undo): (&[u8], &[u8], &[u8], &[u8]) =
            (&[9, 0, 1], &[10, 0, 2], &[11, 0, 3], &[12, 0]);
        let (drain, reopen, start): (&[u8], &[u8], &[u8]) = (&[13], &[14], &[15]);
        let (keyed, aside, again): (&[u8], &[u8], &[u8]) =
            (&[16, 0, 1, 3, 0, 0, 0], &[17, 0, 1, 2, 3, 0, 0, 0], &[18, 0]);
        let crash = |how: &[u8]| [&[19], how].concat();
        let kill = crash(&[0]);
        let programs: [(&str, Vec<&[u8]>); 9] = [
            ("kill", vec![append, mark, &kill, append]),
            ("kill twice", vec![append, medium, &kill, medium, &kill, append]),
            ("queued", vec![append, submit, &kill, submit, append]),
            ("lineages", vec![append, mark, branch, aside, restore, append, undo, &kill, aside]),
            ("drained", vec![append, drain, append, &kill, append, drain]),
            ("closed", vec![append, reopen, append, reopen]),
            ("chunks", vec![append, large, drain, large, &kill, append]),
            ("keys", vec![start, keyed, &kill, again, append, again]),
            ("rolled", vec![medium, medium, medium, medium, medium, drain, medium, append, &kill]),
        ];
        for (name, parts) in &programs {
            self.put("reopen", name, &[], &parts.concat());
        }
        // Each way to tear, and each witness.
        for how in 0..42_u8 {
            if how % 7 >= 2 && how / 7 % 2 == 0 || how % 7 == 6 {
                let torn = crash(&[how, 0xa5, 0x01, 0, 0, 9, 0]);
                let program = [append, submit, &torn, append, keyed, &torn, again].concat();
                self.put("reopen", &format!("torn {how:02}"), &[], &program);
            }
        }
        // Each kind of damage: flags and kind, file, place, length, seed.
        for kind in 0..12_u8 {
            let (name, parts) = &programs[usize::from(kind) % programs.len()];
            for killed in 0..2 {
                let first = [kind << 1 | killed, kind * 5, 0x30, kind, 0, 0, 20, 0, 7];
                let name = format!("{kind:02} {killed} {name}");
                self.put("damage", &name, &first, &parts.concat());
            }
        }
    }
}

/// A segment of a store as one of the store that inputs are of.
fn ours(mut file: Vec<u8>) -> Vec<u8> {
    let header = SegmentHeader::decode(&file).unwrap();
    let header = SegmentHeader { store: StoreId([5; 16]), ..header }.encode();
    file[..header.len()].copy_from_slice(&header);
    file
}

/// Returns the end of the frames.
fn frames(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Ok((frame, _)) = FrameHeader::read(&bytes[at..], None) {
        at += frame.stride() as usize;
    }
    at
}

/// Settings with hooks of others and of ours, in odd forms.
#[rustfmt::skip]
const SETTINGS: [&str; 7] = [
    "{}",
    "{ }\n",
    "{\r\n  \"hooks\": {\r\n  }\r\n}\r\n",
    "\u{feff}{\"a\":1,\"hooks\":{\"Stop\":[ ],\"BeforeTool\":[]}}",
    "{\n\t\"hooks\": {\"PreToolUse\": [{\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"lint\"}]}]},\n\t\"hooks\": {}\n}\n",
    "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"command\": \"[ -x '/a/m' ] && '/a/m' agent hook codex || :\"}, 1]}]}}",
    "{\"hooks\": {\"Stop\": [\n {\"hooks\": [{\"command\": \"[ -x '/a/m' ] && '/a/m' agent hook codex || :\"}]} ], \"\\u0053top\": null}}",
];

/// Documents in the form of each agent.
#[rustfmt::skip]
const DOCUMENTS: [&str; 5] = [
    "{\"session_id\":\"a-1\",\"transcript_path\":\"/home/eva/.claude/projects/p/a-1.jsonl\",\"cwd\":\"/srv/shop\",\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"rm \\ud83d\\ude00 \\ud800\"},\"tool_use_id\":\"toolu_1\",\"agent_id\":\"s\"}",
    "{\"session_id\":\"b-2\",\"hook_event_name\":\"UserPromptSubmit\",\"prompt\":\"mend it\",\"turn_id\":\"t\"}",
    "{\"session_id\":\"c-3\",\"hook_event_name\":\"AfterTool\",\"tool_name\":\"write_file\",\"tool_response\":{\"a\":[1e999,1e999]},\"cwd\":\"x\"}",
    "{\"session_id\":\"d-4\",\"hook_event_name\":\"SubagentStop\",\"agent_transcript_path\":\"/a\",\"session_id\":7}",
    "{\"taskId\":\"conv_1\",\"sessionContext\":{\"rootSessionId\":\"e-5\"},\"workspaceRoots\":[\"x\",\"/srv/shop\"],\"agent_id\":\"a\",\"parent_agent_id\":null,\"hookName\":\"tool_result\",\"tool_result\":{\"id\":\"c\",\"name\":\"run_commands\",\"input\":{\"commands\":[\"ls\"]},\"output\":[{\"success\":true}]}}",
];
