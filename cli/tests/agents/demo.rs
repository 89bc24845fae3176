//! The demo of docs/AGENTS.md: three agents in one project, the changes of each undone, nothing
//! lost.
//!
//! `MILEPOST_DEMO=write` writes the page's part and the recording docs/agents.cast. Without it, the
//! page has to say what happens, but for ids, numbers and the widths of columns.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use milepost_agent_tests::{Agent, AgentHome};
use serde_json::{Value, json};

use crate::home;

/// Lines around the part of the page.
const MARKS: [&str; 2] = ["<!-- demo: begin -->\n", "<!-- demo: end -->\n"];

/// Columns of a line on the page.
const COLUMNS: &str = "100";

/// Seconds of a key, and of a look at an output, in the recording.
const KEY: f64 = 0.03;
const LOOK: f64 = 1.5;

/// The output that a user of the demo sees.
struct Show {
    home: AgentHome,
    page: String,
    cast: String,
    now: f64,
}

impl Show {
    fn new(home: AgentHome) -> Self {
        let head = json!({ "version": 2, "width": 118, "height": 34, "title": "milepost rewind" });
        Self { home, page: String::new(), cast: format!("{head}\n"), now: 0.5 }
    }

    /// Returns a text with the paths of a user named ana, without the script of the model.
    fn shown(&self, text: &str) -> String {
        let unscripted = |line: &str| match line.split_once(" [[") {
            Some((before, _)) => format!("{before}\n"),
            None => line.to_owned(),
        };
        let text: String = text.split_inclusive('\n').map(unscripted).collect();
        let name = |path: &str| self.home.path(path).display().to_string();
        // Agents name a folder after the path of the project.
        let dashed = |path: &str| name(path).replace(['/', '.'], "-");
        let text = text.replace(&name("work/shop"), "/home/ana/shop");
        let text = text.replace(&dashed("work/shop"), "-home-ana-shop");
        let text = text.replace(&name("home/xdg/state"), "/home/ana/.local/state");
        let text = text.replace(&name("home/xdg/data"), "/home/ana/.local/share");
        let text = text.replace(env!("CARGO_BIN_EXE_milepost"), "/home/ana/.cargo/bin/milepost");
        text.replace(&name("home"), "/home/ana")
    }

    fn put(&mut self, text: &str) {
        let line = json!([(self.now * 100.0).round() / 100.0, "o", text]);
        writeln!(self.cast, "{line}").unwrap();
    }

    /// Shows a remark.
    fn say(&mut self, text: &str) {
        writeln!(self.page, "# {text}").unwrap();
        self.put(&format!("# {text}\r\n"));
        self.now += LOOK;
    }

    /// Shows a command and its output.
    fn ran(&mut self, line: &str, out: &str) {
        let (line, out) = (self.shown(line), self.shown(out));
        let out = out.trim_end();
        writeln!(self.page, "$ {line}").unwrap();
        self.put("$ ");
        for key in line.chars() {
            self.now += KEY;
            self.put(&key.to_string());
        }
        self.now += 0.3;
        self.put("\r\n");
        if !out.is_empty() {
            writeln!(self.page, "{out}").unwrap();
            self.put(&format!("{}\r\n", out.replace('\n', "\r\n")));
        }
        self.now += LOOK;
        self.page.push('\n');
        self.put("\r\n");
    }

    /// Runs Milepost and shows it.
    fn milepost(&mut self, line: &str) -> String {
        let mut command = self.home.plain(Path::new(env!("CARGO_BIN_EXE_milepost")));
        command.args(line.split(' ')).env("COLUMNS", COLUMNS);
        let out = self.home.run(command).ok().out;
        self.ran(&format!("milepost {line}"), &out);
        out
    }

    /// Runs another program in the project and shows it.
    fn program(&mut self, line: &str) -> String {
        let mut command = self.home.plain(Path::new("sh"));
        command.args(["-c", line]);
        let out = self.home.run(command).ok().out;
        self.ran(line, &out);
        out
    }

    /// Runs an agent, and shows what its user types: without the model's script.
    fn agent(&mut self, line: &str, command: Command) {
        let run = self.home.run(command).ok();
        self.ran(line, &run.out);
    }

    /// The tasks, the newest last.
    fn tasks(&self) -> Vec<String> {
        let tasks = self.home.milepost(&["tasks", "--json"]).ok().out;
        let tasks: Value = serde_json::from_str(&tasks).unwrap();
        let mut tasks = tasks["items"].as_array().unwrap().clone();
        tasks.sort_by_key(|task| task["created_us"].as_u64().unwrap());
        tasks.iter().map(|task| task["id"].as_str().unwrap().to_owned()).collect()
    }

    fn text(&self, name: &str) -> Option<String> {
        self.home.text(name)
    }
}

/// Plays the demo.
fn played(home: AgentHome, codex: &AgentHome, gemini: &AgentHome) -> Show {
    for page in ["page1.css", "page2.css", "page3.css"] {
        home.write(page, "a { color: red }\n");
    }
    home.write("mine.txt", "mine\n");
    home.write("notes.md", "notes\n");
    home.git(&["init", "--quiet"]);
    home.git(&["add", "."]);
    home.git(&["commit", "--quiet", "--message", "first"]);
    let mut show = Show::new(home);
    show.milepost("agent install claude-code codex gemini-cli");
    two_prompts(&mut show);
    back(&mut show);
    others(&mut show, codex, gemini);
    killed(&mut show);
    show.say("The hooks go, the log stays.");
    show.milepost("agent uninstall claude-code codex gemini-cli");
    show.program("git status --short");
    show
}

/// Two prompts of Claude Code; the second one changes files by a shell command.
fn two_prompts(show: &mut Show) {
    let poem =
        "Write a poem [[shell echo roses are red > poem.txt]] [[say The poem is in poem.txt.]]";
    let command = show.home.command(None, poem);
    show.agent("claude -p 'Write a poem'", command);
    let id = show.tasks().concat();
    let blue = "Make all pages blue [[shell sed -i s/red/blue/ *.css; rm mine.txt; echo 3 > \
                report.txt]] [[say All pages are blue.]]";
    let command = show.home.command(Some(&id), blue);
    show.agent("claude --continue -p 'Make all pages blue'", command);
    show.say("You edit notes.md. Then you see that mine.txt is gone.");
    show.program("echo 'call Bo' >> notes.md; git status --short");
    let log = show.milepost(&format!("log {id}"));
    assert!(log.contains("sed -i s/red/blue/"), "{log}");
}

/// The way back, on in the new session, and all of it undone.
fn back(show: &mut Show) {
    let id = show.tasks().concat();
    show.milepost("rewind ~1 --dry-run");
    assert_eq!(show.text("mine.txt"), None);
    let out = show.milepost("rewind ~1 --yes");
    assert_eq!(show.text("mine.txt").as_deref(), Some("mine\n"));
    assert_eq!(show.text("page2.css").as_deref(), Some("a { color: red }\n"));
    assert_eq!(show.text("notes.md").as_deref(), Some("notes\ncall Bo\n"));
    assert!(show.text("report.txt").is_none() && show.text("poem.txt").is_some());
    let resume = out.split("claude --resume ").nth(1).unwrap_or_else(|| panic!("{out}"));
    let new = resume.split('`').next().unwrap().to_owned();
    let green = "Make page1.css green [[shell sed -i s/red/green/ page1.css]] [[say It is green.]]";
    let command = show.home.command(Some(&new), green);
    show.agent(&format!("claude --resume {new} -p 'Make page1.css green'"), command);
    assert_eq!(show.text("page1.css").as_deref(), Some("a { color: green }\n"));
    show.say("Blue was better: the way back is undone. What came after it stays in its lineage.");
    show.milepost(&format!("undo {id}"));
    assert_eq!(show.text("page1.css").as_deref(), Some("a { color: blue }\n"));
    assert!(show.text("mine.txt").is_none() && show.text("report.txt").is_some());
}

/// The same in Codex and Gemini CLI.
fn others(show: &mut Show, codex: &AgentHome, gemini: &AgentHome) {
    let end = "[[shell sed -i s/blue/gold/ page1.css]] [[say It is gold.]]";
    let command = codex.command(None, &format!("Make page1.css gold {end}"));
    show.agent("codex exec 'Make page1.css gold'", command);
    show.milepost("rewind ~1 --yes");
    assert_eq!(show.text("page1.css").as_deref(), Some("a { color: blue }\n"));
    let end = "[[shell sed -i s/blue/teal/ page1.css]] [[say It is teal.]]";
    let command = gemini.command(None, &format!("Make page1.css teal {end}"));
    show.agent("gemini -p 'Make page1.css teal'", command);
    show.milepost("rewind ~1 --yes");
    assert_eq!(show.text("page1.css").as_deref(), Some("a { color: blue }\n"));
    let tasks = show.milepost("tasks");
    assert_eq!(show.tasks().len(), 3, "{tasks}");
}

/// An agent that is killed within a call: its changes are recorded, and can be undone.
fn killed(show: &mut Show) {
    let end = "[[shell rm page3.css; touch begun; sleep 600]] [[say done]]";
    let command = show.home.command(None, &format!("Tidy up {end}"));
    let run = show.home.start(command);
    assert!(show.home.until(|| show.home.project("begun").exists()));
    run.kill();
    run.wait();
    show.ran("claude -p 'Tidy up' & sleep 9; kill -9 $!", "");
    let id = show.tasks().pop().unwrap();
    let is_over = || show.home.milepost(&["log", &id, "--events"]).ok().out.contains("agent_gone");
    assert!(show.home.until(is_over));
    let log = show.milepost(&format!("log {id}"));
    assert!(log.contains("rm page3.css"), "{log}");
    show.milepost("rewind ~1 --files-only --yes");
    assert!(show.text("page3.css").is_some() && show.text("begun").is_none());
}

/// Returns a text without ids, numbers and the widths of columns, and without the events between
/// steps, whose order depends on the speed of the agent.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let lines = text.lines().filter(|line| !line.starts_with("       "));
    for word in lines.flat_map(str::split_whitespace) {
        // An id, a number, a path with an id in it: from the first character of a run to its end.
        let is_part = |c: char| c.is_ascii_hexdigit() || "-.…".contains(c);
        let mut rest = word;
        while let Some(first) = rest.chars().next() {
            let end = rest.find(|c: char| is_part(c) != is_part(first)).unwrap_or(rest.len());
            let (run, behind) = rest.split_at(end);
            let is_number = is_part(first) && run.contains(|c: char| c.is_ascii_digit());
            plain.push_str(if is_number { "N" } else { run });
            rest = behind;
        }
        plain.push(' ');
    }
    plain
}

#[test]
fn the_page_shows_what_three_agents_did_and_how_it_is_taken_back() {
    let Some(home) = home(Agent::ClaudeCode) else { return };
    let [Some(codex), Some(gemini)] =
        [Agent::Codex, Agent::GeminiCli].map(|a| home.with_another(a))
    else {
        return;
    };
    let show = played(home, &codex, &gemini);
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let page = fs::read_to_string(docs.join("AGENTS.md")).unwrap();
    let [begin, end] = MARKS.map(|mark| page.find(mark).unwrap());
    let begin = begin + MARKS[0].len();
    let made = format!("\n```text\n{}```\n\n", show.page.trim_end_matches('\n').to_owned() + "\n");
    if std::env::var("MILEPOST_DEMO").is_ok_and(|value| value == "write") {
        let page = format!("{}{made}{}", &page[..begin], &page[end..]);
        fs::write(docs.join("AGENTS.md"), page).unwrap();
        fs::write(docs.join("agents.cast"), show.cast).unwrap();
    } else {
        let says = "MILEPOST_DEMO=write writes docs/AGENTS.md and docs/agents.cast anew";
        assert_eq!(plain(&page[begin..end]), plain(&made), "{says}");
    }
}
