//! Sessions that are read at each of their lines: as one import.

use proptest::prelude::*;

use super::*;

/// Returns the lines of a session from the parent of each, and whether the user asks.
fn made(steps: &[(prop::sample::Index, bool, bool)]) -> Vec<String> {
    let mut lines = Vec::new();
    for (at, (before, asks, noise)) in steps.iter().enumerate() {
        let (uuid, before) = (format!("u{at}"), (at > 0).then(|| before.index(at)));
        let parent = before.map(|before| format!("u{before}"));
        if *noise {
            lines.push(r#"{"type":"mode","mode":"normal","sessionId":"s"}"#.to_owned());
        }
        lines.push(match (asks, &parent) {
            (false, Some(parent)) => answered(&uuid, parent),
            _ => asked(&uuid, parent.as_deref()),
        });
    }
    lines
}

/// Returns the lines of a session of Codex: prompts, and rewinds by a number of them.
fn codex(steps: &[u8]) -> Vec<String> {
    let line = |kind: &str, payload: String| format!(r#"{{"type":"{kind}","payload":{payload}}}"#);
    let mut lines = vec![line("session_meta", r#"{"id":"s","cwd":"/x"}"#.into())];
    for (at, step) in steps.iter().enumerate() {
        let message = |role: &str, text: &str| {
            let block = format!(r#"{{"type":"input_text","text":"{text}"}}"#);
            let head = format!(r#""type":"message","role":"{role}""#);
            line("response_item", format!(r#"{{{head},"content":[{block}]}}"#))
        };
        let turns = 1 + step % 3;
        let back = format!(r#"{{"type":"thread_rolled_back","num_turns":{turns}}}"#);
        match step % 5 {
            0 => lines.push(line("event_msg", back)),
            1 => lines.push(line("event_msg", r#"{"type":"token_count"}"#.into())),
            _ => {
                lines.push(message("user", &format!("u{at}")));
                lines.push(message("assistant", &format!("a{at}")));
            }
        }
    }
    lines
}

/// Returns the lines of a session of Gemini CLI: prompts, and rewinds to before earlier messages.
fn gemini(steps: &[u8]) -> Vec<String> {
    let mut lines = vec![r#"{"sessionId":"s","projectHash":"h"}"#.to_owned()];
    for (at, step) in steps.iter().enumerate() {
        let message = |id: &str, kind: &str, more: &str| {
            format!(r#"{{"id":"{id}{at}","type":"{kind}","content":"{id}{at}"{more}}}"#)
        };
        let before = at.saturating_sub(usize::from(*step) / 5);
        match step % 5 {
            0 => lines.push(format!(r#"{{"$rewindTo":"u{before}"}}"#)),
            1 => lines.push(r#"{"$set":{"lastUpdated":"x"}}"#.to_owned()),
            _ => {
                let calls = format!(r#","toolCalls":[{{"id":"t{at}","name":"n","args":{{}}}}]"#);
                let messages = [("u", "user", ""), ("g", "gemini", ""), ("g", "gemini", &calls)];
                lines.extend(messages.map(|(id, kind, more)| message(id, kind, more)));
            }
        }
    }
    lines
}

/// Returns the lines of a session of Copilot CLI, each after the one before it.
fn copilot(steps: &[u8]) -> Vec<String> {
    let line = |at: usize, kind: &str, data: &str| {
        let parent = at.checked_sub(1).map_or("null".to_owned(), |at| format!("\"u{at}\""));
        format!(r#"{{"type":"{kind}","data":{data},"id":"u{at}","parentId":{parent}}}"#)
    };
    let mut lines = vec![line(0, "session.start", r#"{"sessionId":"s"}"#)];
    for (at, step) in (1..).zip(steps) {
        lines.push(match step % 5 {
            0 => line(at, "session.usage_record", r#"{"usage":{"inputTokens":1}}"#),
            1 => line(at, "user.message", &format!(r#"{{"content":"p{at}"}}"#)),
            2 => line(at, "tool.execution_complete", &format!(r#"{{"toolCallId":"t{at}"}}"#)),
            _ => line(at, "assistant.message", &format!(r#"{{"content":"a{at}"}}"#)),
        });
    }
    lines
}

#[test]
fn a_file_that_the_agent_wrote_anew_continues_in_a_lineage() {
    let place = Place::of(Format::Copilot);
    let lines = copilot(&[1, 3, 1, 3]);
    place.write(&lines);
    let mut tail = place.tail();
    tail.read_on(TailStop::End).unwrap();
    // The second prompt is rewound, and another one comes.
    let again = lines[3].replace("\"u3\"", "\"v3\"").replace("p3", "again");
    place.write(&[&lines[..3], &[again]].concat());
    assert_eq!(tail.read_on(TailStop::End).unwrap().checkpoints, 1);
    assert_eq!(place.said().len(), 3);
    assert!(place.said().last().unwrap().contains("again"));
    assert_eq!((place.import(), place.task().lineages().unwrap().len()), ((0, 0), 2));
}

#[test]
fn a_call_of_another_agent_is_reached_as_well() {
    let item = r#""type":"function_call","name":"n","call_id":"t1","arguments":"{}""#;
    let mut rollout = codex(&[2]);
    rollout.push(format!(r#"{{"type":"response_item","payload":{{{item}}}}}"#));
    rollout.extend(codex(&[2]));
    let call = "t1";
    for (format, lines) in [(Format::GeminiCli, gemini(&[2, 2, 2])), (Format::Codex, rollout)] {
        let place = Place::of(format);
        place.write(&lines);
        let mut tail = place.tail();
        assert!(tail.read_on(TailStop::BeforeCall(call)).unwrap().found, "{format:?}");
        assert!(!place.said().contains(&call.to_owned()));
        tail.read_on(TailStop::AfterCall(call)).unwrap();
        assert_eq!(place.said().last().unwrap(), call);
        assert_eq!(tail.read_on(TailStop::End).unwrap().skipped, 0);
        assert_eq!(place.import(), (0, 0));
    }
}

/// Asserts that a session that is read at each of its lines is as one import.
fn assert_as_one_import(format: Format, lines: &[String], others: bool) {
    let [whole, anew, kept] = [0; 3].map(|_| Place::of(format));
    whole.write(lines);
    whole.import();
    let mut tail = kept.tail();
    for count in 1..=lines.len() {
        anew.write(&lines[..count]);
        anew.tail().read_on(TailStop::End).unwrap();
        if others {
            anew.task().append(hook_event(count)).unwrap();
        }
        kept.add(&text(&lines[count - 1..count]));
        tail.read_on(TailStop::End).unwrap();
    }
    let expected = histories(&whole.engine);
    let last = |place: &Place| history(place.task().read(1..).unwrap());
    for place in [&anew, &kept] {
        assert_eq!(histories(&place.engine), expected);
        assert_eq!(last(place), last(&whole));
        assert_eq!(place.import(), (0, 0));
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 32,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn interrupted_at_every_line_it_is_as_one_import(
        steps in prop::collection::vec(any::<(prop::sample::Index, bool, bool)>(), 1..16),
        others in any::<bool>(),
    ) {
        assert_as_one_import(Format::ClaudeCode, &made(&steps), others);
        let of_qwen = |line: &String| {
            line.replace("\"content\":", "\"parts\":[{\"text\":").replace("\"}}", "\"}]}}")
        };
        let lines: Vec<String> = made(&steps).iter().map(of_qwen).collect();
        assert_as_one_import(Format::QwenCode, &lines, others);
    }

    #[test]
    fn interrupted_at_every_line_it_is_as_one_import_for_agents_without_parents(
        steps in prop::collection::vec(any::<u8>(), 1..10),
        others in any::<bool>(),
    ) {
        assert_as_one_import(Format::Codex, &codex(&steps), others);
        assert_as_one_import(Format::GeminiCli, &gemini(&steps), others);
        assert_as_one_import(Format::Copilot, &copilot(&steps), others);
    }
}

/// Returns every order of some things.
fn orders<T: Clone>(of: &[T]) -> Vec<Vec<T>> {
    if of.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (at, first) in of.iter().enumerate() {
        let rest: Vec<T> = [of.get(..at).unwrap(), of.get(at + 1..).unwrap()].concat();
        all.extend(orders(&rest).into_iter().map(|rest| [vec![first.clone()], rest].concat()));
    }
    all
}

#[test]
fn an_import_in_any_order_of_lines_and_files_adds_nothing_when_it_is_done_again() {
    let lines = [
        asked("a", None),
        called("b", "a", "t1"),
        line("c", Some("b"), "user", r#"[{"type":"tool_result","tool_use_id":"t1"}]"#),
        answered("d", "c"),
        asked("e", Some("d")),
    ];
    let mut refused = 0;
    for (n, order) in orders(&lines).into_iter().enumerate() {
        // One file, or two.
        let (first, second) = order.split_at(if n % 3 == 0 { 0 } else { n % 5 });
        let place = Place::new();
        let import = || -> Result<u64> {
            let files = [first, second].into_iter().filter(|file| !file.is_empty());
            files.map(|file| (place.write(file), place.try_import().map(|added| added.0)).1).sum()
        };
        // An earlier line that a second file has may have no place any more: it is refused.
        if import().is_err() {
            refused += 1;
            continue;
        }
        let (said, lineages) = (place.said(), place.task().lineages().unwrap().len());
        let heads = place.task().head().unwrap();
        for _ in 0..2 {
            assert_eq!(import().unwrap(), 0, "{first:#?} {second:#?}");
            assert_eq!(place.task().lineages().unwrap().len(), lineages, "{order:#?}");
            assert_eq!((place.said(), place.task().head().unwrap()), (said.clone(), heads));
        }
    }
    assert!(refused < 40, "{refused} of 120");
}
