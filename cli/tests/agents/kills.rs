//! The agent, the daemon of the project, a hook or all of them are killed within a prompt.
//!
//! `MILEPOST_CASES` sets how many kills are tried, for the three agents together, and
//! `MILEPOST_SEED` the seed of the first one of each agent.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use milepost_agent_tests::{Agent, AgentHome, AgentStarted};
use milepost_agents::documents::{AgentEvent, AgentEventKind};
use serde_json::Value;

use crate::{home, log, of_kind, rewound, session};

const FIRST: &str = "first [[shell echo one > one.txt]] [[say first done]]";
const SECOND: &str = "second [[shell echo more >> data.txt; echo new > new.txt]] \
    [[shell rm mine.txt]] [[shell sed -i s/alpha/ALPHA/ page1.txt page2.txt]] \
    [[shell mkdir sub; echo x > sub/deep.txt]] [[say second done]]";

/// Files that the second prompt makes.
const MADE: [&str; 2] = ["new.txt", "sub/deep.txt"];

/// A small generator (splitmix64): the same numbers for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % limit as u64) as usize
    }
}

/// The number in an environment variable.
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    Agent,
    Daemon,
    Hook,
    All,
}

impl Victim {
    const EACH: [Self; 4] = [Self::Agent, Self::Daemon, Self::Hook, Self::All];

    /// Returns `true` if the agent ends.
    fn has_agent(self) -> bool {
        matches!(self, Self::Agent | Self::All)
    }
}

/// The time of a kill: a number of documents of hooks, of requests to the model, or a file.
#[derive(Debug)]
enum Moment {
    Documents(usize),
    Requests(usize),
    Made(&'static str),
}

impl Moment {
    fn of(home: &AgentHome, random: &mut Random) -> Self {
        match random.below(3) {
            0 => Self::Documents(documents(home) + 1 + random.below(12)),
            1 => Self::Requests(home.request_count() + 1 + random.below(5)),
            _ => Self::Made(MADE[random.below(MADE.len())]),
        }
    }

    fn is_here(&self, home: &AgentHome) -> bool {
        match self {
            Self::Documents(count) => documents(home) >= *count,
            Self::Requests(count) => home.request_count() >= *count,
            Self::Made(name) => home.project(name).exists(),
        }
    }
}

/// Returns the number of documents of hooks so far.
fn documents(home: &AgentHome) -> usize {
    let is_whole = |name: &str| name.ends_with(".json");
    let names = fs::read_dir(home.path("documents")).unwrap().map(|entry| entry.unwrap());
    names.filter(|entry| is_whole(&entry.file_name().to_string_lossy())).count()
}

/// A session of which something was killed in the second prompt.
struct Case {
    home: AgentHome,
    session: String,
    victim: Victim,
    /// The files before the prompt, and when all that was left of it had ended.
    before: BTreeMap<String, Vec<u8>>,
    after: BTreeMap<String, Vec<u8>>,
    /// The events whose hooks had an answer.
    answered: Vec<AgentEvent>,
}

impl Case {
    fn new(agent: Agent, victim: Victim, seed: u64) -> Option<Self> {
        let home = home(agent)?;
        home.record_hooks();
        for (name, text) in [("data.txt", "data\n"), ("mine.txt", "mine\n")] {
            home.write(name, text);
        }
        for name in ["page1.txt", "page2.txt"] {
            home.write(name, "alpha\n");
        }
        home.prompt(FIRST).ok();
        let (session, before) = (session(&home), home.files(""));
        let mut random = Random(seed);
        let moment = Moment::of(&home, &mut random);
        // Number of looks, a millisecond each, from the moment to the kill.
        let looks = Cell::new(random.below(40));
        println!("MILEPOST_SEED={seed}: {agent:?}, {victim:?} at {moment:?}, {looks:?} later");
        let run = home.start(home.command(Some(&session), SECOND));
        let is_time = || moment.is_here(&home) && looks.replace(looks.get().saturating_sub(1)) == 0;
        assert!(home.until(|| run.has_ended() || is_time()));
        let answered = killed(&home, victim, run);
        let after = home.files("");
        Some(Self { home, session, victim, before, after, answered })
    }

    /// All that was answered is recorded, and the store is whole.
    fn is_recorded(&self) -> Vec<Value> {
        let home = &self.home;
        home.milepost(&["verify"]).ok();
        // Takes in what waits.
        home.milepost(&["rewind", &self.at("prompt-1"), "--dry-run"]).ok();
        let log = log(home, &self.session);
        let marks = |cause: &str| -> Vec<Value> {
            let marks = of_kind(&log, "checkpoint_marked").into_iter();
            let of_call = marks.filter(|mark| mark["correlation"].is_string());
            // A rewind may have looked before the daemon noticed the agent's end.
            let ended = of_call.filter(|mark| mark["body"]["metadata"]["running"] != true);
            let of_cause = ended.filter(|mark| mark["body"]["cause"] == cause);
            of_cause.map(|mark| mark["correlation"].clone()).collect()
        };
        let called = of_kind(&log, "tool_called").into_iter();
        let called: Vec<_> = called.map(|event| event["body"]["call"].clone()).collect();
        let (before, after) = (marks("before_tool"), marks("step"));
        for ids in [&before, &called, &after] {
            let unique: BTreeSet<_> = ids.iter().map(Value::to_string).collect();
            assert_eq!(unique.len(), ids.len(), "{before:?} {after:?} {called:?}");
        }
        let (mut begun, mut returned) = (Vec::new(), Vec::new());
        for event in &self.answered {
            match &event.kind {
                AgentEventKind::BeforeTool { call, .. } => begun.push(call.as_deref()),
                AgentEventKind::AfterTool { call, .. } => returned.push(call.as_deref()),
                _ => {}
            }
        }
        let has = |ids: &[Value], calls: &[Option<&str>]| {
            let mut named = calls.iter().flatten();
            ids.len() >= calls.len() && named.all(|call| ids.iter().any(|id| id == call))
        };
        assert!(has(&before, &begun), "{before:?}: {begun:?}");
        // Gemini CLI writes the line of a call behind its hooks, and may be killed before.
        match self.victim.has_agent() && home.agent() == Agent::GeminiCli {
            true => self.written().iter().for_each(|id| assert!(called.contains(id), "{called:?}")),
            false => assert!(has(&called, &returned), "{called:?}: {returned:?}"),
        }
        // The daemon answers, and then captures.
        let is_captured = matches!(self.victim, Victim::Agent | Victim::Hook);
        assert!(!is_captured || has(&after, &returned), "{after:?}: {returned:?}");
        log
    }

    /// Returns the ids of the calls in the session file of Gemini CLI.
    fn written(&self) -> Vec<Value> {
        let file = self.answered.iter().find_map(|event| event.session_file.as_ref());
        let text = fs::read_to_string(file.unwrap()).unwrap();
        // The last line may be cut.
        let lines = text.lines().map_while(|line| serde_json::from_str::<Value>(line).ok());
        let calls =
            lines.flat_map(|line| line["toolCalls"].as_array().cloned().unwrap_or_default());
        calls.map(|call| call["id"].clone()).collect()
    }

    fn at(&self, prompt: &str) -> String {
        format!("{}@{prompt}", self.session)
    }

    /// The files are as before the prompt, and with an undo as they were.
    fn goes_back(&self) {
        let home = &self.home;
        let at = self.at("prompt-2");
        let dry = home.milepost(&["rewind", &at, "--dry-run", "--json"]);
        assert_eq!(home.files(""), self.after, "a dry run changes nothing");
        if dry.code != Some(0) {
            // The prompt was killed before it was recorded.
            assert!(dry.err.contains("has no such prompt"), "{dry:#?}");
            assert!(self.victim.has_agent() && self.after == self.before, "{dry:#?}");
            return;
        }
        let plan: Value = serde_json::from_str(&dry.out).unwrap();
        let listed = plan["stay"].as_array().into_iter().flatten();
        let left = plan["plan"]["left"].as_array().into_iter().flatten();
        let paths = listed.chain(left.map(|left| &left["path"])).map(|path| path.as_str().unwrap());
        // Paths whose change is not known to be the run's stay, and are named.
        let named: Vec<&str> = paths.collect();
        let mut arguments = vec![at.as_str()];
        arguments.extend(named.iter().flat_map(|path| ["--theirs", path]));
        let done = rewound(home, &arguments);
        let now = home.files("");
        assert_eq!(texts(&now), texts(&self.before), "{named:?}, {plan:#}, {done:#}");
        home.milepost(&["undo", &self.session]).ok();
        assert_eq!(texts(&home.files("")), texts(&self.after));
    }

    /// The next session works and is recorded after the existing events.
    fn continues(&self, log_before: &[Value]) {
        let home = &self.home;
        let prompt = "third [[shell echo three > three.txt]] [[say third done]]";
        let run = match home.agent() {
            // It deletes sessions that continue in another minute.
            Agent::GeminiCli => home.prompt(prompt),
            _ => home.resume(&self.session, prompt),
        };
        assert!(run.out.contains("third done"), "{run:#?}");
        let session = home.events().pop().unwrap().session;
        let log_now = log(home, &session);
        let says = |event: &&Value| event["body"]["content"].to_string().contains("third done");
        assert!(of_kind(&log_now, "message").iter().any(says), "{session}");
        let called = of_kind(&log_now, "tool_called").pop().unwrap().to_string();
        assert!(called.contains("three.txt"), "{called}");
        let log_now = log(home, &self.session);
        assert_eq!(log_now[..log_before.len()], *log_before, "what was recorded stays");
        home.milepost(&["verify"]).ok();
    }
}

/// Contents of files as texts.
fn texts(files: &BTreeMap<String, Vec<u8>>) -> BTreeMap<&str, String> {
    let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
    files.iter().map(|(name, bytes)| (name.as_str(), text(bytes))).collect()
}

/// Kills, and waits until the agent and all that it began has ended. Returns the events whose hooks
/// had an answer.
fn killed(home: &AgentHome, victim: Victim, run: AgentStarted) -> Vec<AgentEvent> {
    let daemon = || home.running(&["agent", "serve"]);
    let hooks = || home.running(&["agent", "hook"]);
    let mut so_far = home.hooks();
    let mut gone = Vec::new();
    match victim {
        Victim::Agent => run.kill(),
        Victim::Daemon => home.kill(&daemon()),
        Victim::Hook => {
            home.until(|| run.has_ended() || !hooks().is_empty());
            gone = hooks();
            home.kill(&gone);
        }
        Victim::All => {
            run.kill();
            home.kill(&home.processes());
        }
    }
    let run = run.wait();
    if victim.has_agent() {
        // The last hook may have been on its way.
        so_far.pop();
    } else {
        assert!(run.code == Some(0) && run.out.contains("second done"), "{run:#?}");
        so_far = home.hooks();
        so_far.retain(|(process, _)| !gone.contains(process));
    }
    let is_quiet = || home.processes().iter().all(|process| daemon().contains(process));
    assert!(home.until(is_quiet), "{:?}", home.processes());
    so_far.into_iter().map(|(_, event)| event).collect()
}

/// Tries the agent's share of the kills, in eighths.
fn survives(agent: Agent, place: u64, share: u64) {
    let cases = number("MILEPOST_CASES").unwrap_or(8);
    let random = || RandomState::new().build_hasher().finish();
    let first = number("MILEPOST_SEED").unwrap_or_else(random);
    for n in 0..(cases * share).div_ceil(8) {
        let seed = first.wrapping_add(n);
        let victim = Victim::EACH[(seed.wrapping_add(place) % 4) as usize];
        let Some(case) = Case::new(agent, victim, seed) else { return };
        let log = case.is_recorded();
        case.goes_back();
        case.continues(&log);
    }
}

/// No capture has the changes of a call that was killed with the daemon: the rewind ends it.
#[test]
fn a_file_of_a_call_that_was_killed_with_the_daemon_goes_back() {
    let Some(home) = home(Agent::ClaudeCode) else { return };
    home.install_hooks();
    let prompt = "[[shell echo x > made.txt; exec sleep 600]] [[say done]]";
    let run = home.start(home.command(None, prompt));
    assert!(home.until(|| home.text("made.txt").as_deref() == Some("x\n")));
    run.kill();
    home.kill(&home.processes());
    run.wait();
    let plan = home.milepost(&["rewind", "~1", "--dry-run"]).ok().out;
    assert!(plan.contains("\n- made.txt\n"), "{plan}");
    let done = rewound(&home, &["~1"]);
    assert_eq!((home.text("made.txt"), &done["stay"]), (None, &serde_json::json!([])));
    home.milepost(&["undo", done["task"].as_str().unwrap()]).ok();
    assert_eq!(home.text("made.txt").as_deref(), Some("x\n"));
}

#[test]
fn a_session_of_claude_code_survives_kills() {
    survives(Agent::ClaudeCode, 0, 3);
}

#[test]
fn a_session_of_codex_survives_kills() {
    survives(Agent::Codex, 1, 3);
}

#[test]
fn a_session_of_gemini_cli_survives_kills() {
    survives(Agent::GeminiCli, 3, 2);
}
