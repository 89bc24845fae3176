//! Tests of edits: over any JSON, uninstalling gives back every byte.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use proptest::prelude::*;
use serde_json::Value;

use super::*;

const PROGRAM: &str = "/opt/mile post/bin/milepost";

fn put(text: &str, agent: Agent) -> String {
    install(text, agent, Path::new(PROGRAM)).unwrap().text
}

fn agents() -> impl Strategy<Value = Agent> {
    prop::sample::select(Agent::ALL.to_vec())
}

/// White space, mostly as editors make it.
fn space() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just(String::new()),
        3 => Just(" ".to_owned()),
        2 => Just("\n  ".to_owned()),
        1 => Just("\r\n\t".to_owned()),
        1 => "[ \t\r\n]{0,5}",
    ]
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => Just("\"hooks\"".to_owned()),
        1 => Just("\"\\u0068ooks\"".to_owned()),
        2 => prop::sample::select(vec!["PreToolUse", "Stop", "BeforeTool", "matcher", "command"])
            .prop_map(|name| format!("\"{name}\"")),
        1 => any::<String>().prop_map(|text| quoted(&text)),
    ]
}

fn scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        20 => prop::sample::select(vec!["1", "-0.50e+07", "true", "null", "\"\\/\"", "\"\""])
            .prop_map(str::to_owned),
        // Half of a character, which other readers refuse.
        1 => Just("\"\\ud800\"".to_owned()),
        20 => any::<String>().prop_map(|text| quoted(&text)),
    ]
}

/// A container of these parts, with white space all around.
fn container(
    brackets: (&'static str, &'static str),
    parts: impl Strategy<Value = Vec<String>>,
) -> impl Strategy<Value = String> {
    (parts, prop::collection::vec(space(), 12), any::<bool>()).prop_map(move |it| {
        let (parts, spaces, is_even) = it;
        let space = |n: usize| match is_even {
            true => &spaces[0],
            false => &spaces[n % spaces.len()],
        };
        let mut text = format!("{}{}", brackets.0, space(0));
        for (n, part) in parts.iter().enumerate() {
            if n > 0 {
                text.push_str(&format!("{},{}", space(2 * n), space(2 * n + 1)));
            }
            text.push_str(part);
        }
        let end = if parts.is_empty() { "" } else { space(1) };
        format!("{text}{end}{}", brackets.1)
    })
}

fn object(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let member = (name(), space(), space(), value);
    let member = member.prop_map(|(name, one, other, value)| format!("{name}{one}:{other}{value}"));
    container(("{", "}"), prop::collection::vec(member, 0..4))
}

fn value() -> impl Strategy<Value = String> {
    scalar().prop_recursive(3, 12, 4, |inner| {
        let list = container(("[", "]"), prop::collection::vec(inner.clone(), 0..4));
        prop_oneof![list, object(inner)]
    })
}

/// Hooks of the right kinds, with other entries or none.
fn hooks() -> impl Strategy<Value = String> {
    let group = prop_oneof![
        Just("{\"hooks\": [{\"type\": \"command\", \"command\": \"lint\"}]}".to_owned()),
        Just("{\"matcher\":\"Bash\",\"hooks\":[]}".to_owned()),
        value(),
    ];
    let list = container(("[", "]"), prop::collection::vec(group, 0..3));
    let events = vec!["PreToolUse", "SessionStart", "Stop", "BeforeTool", "PreToolUse", "Other"];
    let member = (prop::sample::select(events), space(), list);
    let member = member.prop_map(|(name, space, list)| format!("\"{name}\":{space}{list}"));
    container(("{", "}"), prop::collection::vec(member, 0..4))
}

/// Settings that an agent would take.
fn settings() -> impl Strategy<Value = String> {
    let other = (name().prop_filter("not ours", |name| !name.contains("ooks")), value());
    let other = other.prop_map(|(name, value)| format!("{name}: {value}"));
    let hooks = (space(), hooks()).prop_map(|(space, hooks)| format!("\"hooks\":{space}{hooks}"));
    let members = (prop::collection::vec(other, 0..3), prop::option::of(hooks), 0usize..3);
    let members = members.prop_map(|(mut members, hooks, at)| {
        if let Some(hooks) = hooks {
            members.insert(at.min(members.len()), hooks);
        }
        members
    });
    let mark = prop_oneof![9 => Just(""), 1 => Just("\u{feff}")];
    (mark, space(), container(("{", "}"), members), space())
        .prop_map(|(mark, before, root, behind)| format!("{mark}{before}{root}{behind}"))
}

/// The value of a text, without the byte order mark.
fn parsed_by_others(text: &str) -> Value {
    serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn uninstalling_gives_back_every_byte(text in settings(), agent in agents()) {
        let there = put(&text, agent);
        prop_assert!(Json::parse(&there).is_ok(), "{}", there);
        let found = installed(&there).unwrap();
        for event in agent.events() {
            let of = found.iter().filter(|hook| hook.event == *event).count();
            prop_assert_eq!(of, 1, "{}: {}", event, there);
        }
        let again = install(&there, agent, Path::new(PROGRAM)).unwrap();
        prop_assert_eq!((&again.text, again.events.len()), (&there, 0));
        let moved = install(&there, agent, Path::new("/usr/bin/milepost")).unwrap();
        prop_assert_eq!(moved.events.len(), agent.events().len());
        for installed in [there, moved.text] {
            prop_assert_eq!(&uninstall(&installed).unwrap().text, &text, "{}", installed);
        }
        prop_assert_eq!(uninstall(&text).unwrap().text, text);
    }

    #[test]
    fn two_agents_in_one_file_are_taken_out_together(text in settings()) {
        let both = put(&put(&text, Agent::ClaudeCode), Agent::GeminiCli);
        prop_assert_eq!(uninstall(&both).unwrap().text, text);
    }

    #[test]
    fn any_text_is_edited_or_refused(text in value(), agent in agents()) {
        if let Ok(edited) = install(&text, agent, Path::new(PROGRAM)) {
            prop_assert!(Json::parse(&edited.text).is_ok(), "{}", edited.text);
            prop_assert_eq!(&uninstall(&edited.text).unwrap().text, &text);
        }
        let _ = installed(&text);
    }

    #[test]
    fn a_form_of_an_editor_in_between_keeps_all_other_values(
        text in settings(), agent in agents(), is_pretty in any::<bool>()
    ) {
        prop_assume!(serde_json::from_str::<Value>(text.trim_start_matches('\u{feff}')).is_ok());
        let there = parsed_by_others(&put(&text, agent));
        let anew = match is_pretty {
            true => serde_json::to_string_pretty(&there).unwrap(),
            false => there.to_string(),
        };
        let left = uninstall(&anew).unwrap().text;
        prop_assert!(installed(&left).unwrap().is_empty());
        let mut before = parsed_by_others(&text);
        let mut after = parsed_by_others(&left);
        // Empty containers cannot be told from those of `install` in another form.
        for value in [&mut before, &mut after] {
            if let Some(hooks) = value.get_mut("hooks").and_then(Value::as_object_mut) {
                hooks.retain(|_, event| *event != serde_json::json!([]));
            }
            if value["hooks"] == serde_json::json!({}) {
                value.as_object_mut().unwrap().remove("hooks");
            }
        }
        prop_assert_eq!(after, before, "{}", left);
    }

    #[test]
    fn entries_that_others_add_around_ours_stay(
        text in settings(), agent in agents(), first in any::<bool>(), other in value()
    ) {
        let there = put(&text, agent);
        let event = agent.events()[2];
        let list = Json::parse(&there).unwrap().member(HOOKS).unwrap().member(event).unwrap();
        let at = if first { list.span.start + 1 } else { list.span.end - 1 };
        let entry = match first {
            true => format!("{other},"),
            false => format!(",{other}"),
        };
        let changed = format!("{}{entry}{}", &there[..at], &there[at..]);
        let left = uninstall(&changed).unwrap().text;
        let list = Json::parse(&left).unwrap().member(HOOKS).unwrap().member(event).unwrap();
        let before = Json::parse(&text).unwrap();
        let before = before.member(HOOKS).and_then(|hooks| hooks.member(event));
        let mut expected: Vec<_> = before.iter().flat_map(Json::parts).collect();
        let other = Json::parse(&other).unwrap().raw();
        let mut expected: Vec<_> = expected.drain(..).map(|part| part.value.raw()).collect();
        expected.insert(if first { 0 } else { expected.len() }, other);
        let list: Vec<_> = list.parts().into_iter().map(|part| part.value.raw()).collect();
        prop_assert_eq!(list, expected, "{}", left);
    }
}

#[test]
fn new_entries_have_the_form_of_the_file() {
    let text = "{\n\t\"model\": \"opus\"\n}\n";
    let there = put(text, Agent::GeminiCli);
    assert!(there.starts_with(
        "{\n\t\"model\": \"opus\",\n\t\"hooks\": {\n\t\t\"SessionStart\": [\n\t\t\t{\n\
         \t\t\t\t\"matcher\": \"*\""
    ));
    assert!(there.ends_with("\n\t\t]\n\t}\n}\n"), "{there}");
    let entry = &parsed_by_others(&there)["hooks"]["BeforeTool"][0]["hooks"][0];
    assert_eq!((&entry["name"], &entry["timeout"]), (&"milepost".into(), &5000.into()));
    let line = put("{\"a\": 1}", Agent::Codex);
    assert_eq!(line.lines().count(), 1, "{line}");
    let crlf = put("{\r\n  \"a\": 1\r\n}", Agent::Codex);
    assert_eq!(crlf.matches('\n').count(), crlf.matches("\r\n").count());
}

#[test]
fn codex_is_asked_for_at_most_three_seconds_at_the_end_of_a_session() {
    let there = parsed_by_others(&put("{}", Agent::Codex));
    assert_eq!(there["hooks"]["SessionEnd"][0]["hooks"][0]["timeout"], 3);
    assert_eq!(there["hooks"]["Stop"][0]["hooks"][0]["timeout"], 5);
}

#[test]
fn an_entry_of_others_in_our_group_stays() {
    let there = put("{}\n", Agent::Codex);
    let mut value = parsed_by_others(&there);
    let group = value["hooks"]["Stop"][0]["hooks"].as_array_mut().unwrap();
    group.insert(0, serde_json::json!({"type": "command", "command": "say done"}));
    let left = parsed_by_others(&uninstall(&value.to_string()).unwrap().text);
    let kept = serde_json::json!({"hooks": {"Stop": [
        {"matcher": "*", "hooks": [{"type": "command", "command": "say done"}]}
    ]}});
    assert_eq!(left, kept);
}

#[test]
fn settings_of_another_kind_are_refused_with_their_place() {
    for (text, said) in [
        ("", "line 1, column 1: no JSON: a value is missing"),
        ("{\n  // no\n}", "line 2, column 3: no JSON"),
        ("{\"a\": 1,}", "line 1, column 9: no JSON"),
        ("[]", "the whole is a list, and the agent expects an object"),
        ("{\n \"hooks\": []}", "line 2, column 11: `hooks` is a list"),
        ("{\"hooks\": {\"Stop\": null}}", "`hooks.Stop` is null, and the agent expects a list"),
    ] {
        let error = install(text, Agent::Codex, Path::new(PROGRAM)).unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
        assert!(!error.next_step().is_empty());
    }
}

#[test]
fn hooks_that_are_off_are_seen() {
    let off = |text: &str, agent| are_hooks_off(text, agent).unwrap();
    assert!(off("{\"disableAllHooks\": true}", Agent::ClaudeCode));
    assert!(off("{\"hooksConfig\": {\"enabled\": false}}", Agent::GeminiCli));
    assert!(!off("{\"hooksConfig\": {\"enabled\": true}}", Agent::GeminiCli));
    assert!(!off("{\"disableAllHooks\": true}", Agent::Codex));
    assert!(off("{\"disableAllHooks\": true}", Agent::QwenCode));
    assert!(off("{\"disableAllHooks\": true}", Agent::Copilot));
    assert!(!off("// no JSON", Agent::OpenCode));
}

#[test]
fn settings_of_cursor_have_a_version_and_entries_without_groups() {
    let file =
        HookFile { path: "/h/hooks.json".into(), events: Agent::Cursor.events(), is_own: false };
    let there = install_in(None, Agent::Cursor, &file, Path::new("/m")).unwrap().text;
    let value = parsed_by_others(&there);
    assert_eq!(value["version"], 1);
    let command = "[ -x '/m' ] && '/m' agent hook cursor || echo '{\"continue\":true}'";
    let entry = serde_json::json!([{"command": command, "timeout": 5}]);
    assert_eq!(value["hooks"]["preToolUse"], entry);
    assert_eq!(Guard::read(command).unwrap().agent, "cursor");
    assert!(Guard::read("[ -x '/m' ] && '/m' agent hook cursor || :").is_none());
    assert!(is_new(&uninstall(&there).unwrap().text));
    for text in ["{}", "{\"hooks\": {}}"] {
        let refused = install_in(Some(text), Agent::Cursor, &file, Path::new("/m")).unwrap_err();
        assert!(refused.to_string().contains("no `version`"), "{refused}");
    }
    let own = "{\"version\": 1, \"hooks\": {\"stop\": [{\"command\": \"say done\"}]}}";
    let there = install_in(Some(own), Agent::Cursor, &file, Path::new("/m")).unwrap().text;
    assert_eq!(uninstall(&there).unwrap().text, own);
}
