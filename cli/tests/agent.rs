//! Hooks in the settings of coding agents: put in, looked at, taken out.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::common::{Place, Ran};

/// A home folder of its own, with a project in it.
struct Home(Place);

impl Home {
    fn new() -> Self {
        let place = Place::new();
        fs::create_dir_all(place.path("work/shop/.git")).unwrap();
        fs::create_dir(place.path("bin")).unwrap();
        Self(place)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        self.0.write(name, text)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn command(&self, line: &str) -> Command {
        let mut command = self.0.command(line.split(' '));
        command.current_dir(self.path("work/shop"));
        command.env("HOME", self.0.dir.path()).env("PATH", self.path("bin"));
        for name in [
            "CLAUDE_CONFIG_DIR",
            "CLINE_DIR",
            "CODEX_HOME",
            "COPILOT_HOME",
            "CURSOR_CONFIG_DIR",
            "GEMINI_CLI_HOME",
            "QWEN_HOME",
            "XDG_CONFIG_HOME",
            "XDG_STATE_HOME",
        ] {
            command.env_remove(name);
        }
        command
    }

    fn say(&self, line: &str) -> Ran {
        Ran::of(self.command(line).output().unwrap())
    }

    fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.say(line).ok()).unwrap()
    }

    /// A program that says its version.
    fn program(&self, name: &str, script: &str) {
        let path = self.write(&format!("bin/{name}"), &format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Every file below the home, with its content.
    fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        let mut folders = vec![self.0.dir.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => folders.push(path),
                    false => found.push((path.clone(), fs::read(&path).unwrap_or_default())),
                }
            }
        }
        found.sort();
        found
    }
}

const OWN: &str =
    "{\n    \"model\": \"opus\",\n    \"hooks\": {\n        \"Stop\": []\n    }, \"n\": 1.50\n}";

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn installing_twice_is_once_and_uninstalling_gives_every_byte_back() {
    let home = Home::new();
    let file = home.write(".claude/settings.json", OWN);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let plan = home.say("agent install claude-code --dry-run").ok();
    assert!(plan.contains("+        \"SessionStart\": ["), "{plan}");
    let out = home.say("agent install claude-code").ok();
    assert!(out.contains(".claude/settings.json: SessionStart, UserPromptSubmit, "), "{out}");
    assert!(out.contains("claude-code: 11 hooks installed"), "{out}");
    assert!(out.contains("/projects/shop-") && out.contains("for sessions in "), "{out}");
    let there = home.read(".claude/settings.json");
    assert_eq!(mode(&file), 0o640);
    let hooks: Value = serde_json::from_str(&there).unwrap();
    let program = fs::canonicalize(env!("CARGO_BIN_EXE_milepost")).unwrap();
    let program = program.display();
    let command = format!("[ -x '{program}' ] && '{program}' agent hook claude-code || :");
    assert_eq!(
        hooks["hooks"]["PreToolUse"],
        json!([{"matcher": "*", "hooks": [{"type": "command", "command": command, "timeout": 5}]}])
    );
    let again = home.say("agent install claude-code").ok();
    assert!(again.contains("the hooks are in") && !again.contains('+'), "{again}");
    assert_eq!(home.read(".claude/settings.json"), there);
    let out = home.say("agent uninstall claude-code").ok();
    assert!(out.contains("claude-code: 11 hooks taken out"), "{out}");
    assert_eq!(home.read(".claude/settings.json"), OWN);
    let copy = out.lines().find_map(|line| line.trim().strip_prefix("the file from before: "));
    assert_eq!(fs::read_to_string(copy.unwrap()).unwrap(), there);
    let none = home.say("agent uninstall --all").ok();
    assert_eq!(none.matches("there is no hook of Milepost in").count(), 8, "{none}");
}

#[test]
fn files_and_folders_that_install_made_go_again() {
    let home = Home::new();
    let out = home.say("agent install claude-code codex gemini-cli").ok();
    assert!(out.contains("Hooks need review"), "{out}");
    for name in [".claude/settings.json", ".codex/hooks.json", ".gemini/settings.json"] {
        assert_eq!(mode(&home.path(name)), 0o600, "{name}");
        assert_eq!(mode(home.path(name).parent().unwrap()), 0o700, "{name}");
    }
    // The removal keeps what the agent wrote in between.
    home.write(".codex/auth.json", "{}");
    let done = home.json("agent uninstall --all --json");
    let removed = |one: &&Value| one["removed"] == true;
    assert_eq!(done["agents"].as_array().unwrap().iter().filter(removed).count(), 3, "{done}");
    assert!(!home.path(".claude").exists() && !home.path(".gemini").exists());
    let left: Vec<_> = fs::read_dir(home.path(".codex")).unwrap().collect();
    assert_eq!(left.len(), 1);
    // A file of the user's with as little in it is not one that install made.
    home.write(".codex/hooks.json", "{}\n");
    home.say("agent install codex").ok();
    home.say("agent uninstall codex").ok();
    assert_eq!(home.read(".codex/hooks.json"), "{}\n");
}

/// Cursor calls the hooks of Claude Code, too, and refuses a call where a hook prints nothing.
#[test]
fn a_hook_of_another_agent_that_cursor_calls_lets_it_continue_and_records_nothing() {
    let home = Home::new();
    let document = r#"{"conversation_id":"c","hook_event_name":"preToolUse","cursor_version":"3"}"#;
    let given = home.write("document", document);
    let before = home.files();
    let mut hook = home.command("agent hook claude-code");
    let ran = Ran::of(hook.stdin(fs::File::open(given).unwrap()).output().unwrap());
    assert_eq!((ran.code, ran.out.as_str()), (0, "{\"continue\":true}\n"), "{ran:?}");
    assert_eq!(home.files(), before);
    // A document that did not come in time says nothing: the variable of Cursor does.
    let mut late = home.command("agent hook claude-code");
    let late = Ran::of(late.env("CURSOR_VERSION", "3").stdin(Stdio::null()).output().unwrap());
    assert_eq!((late.code, late.out.as_str()), (0, "{\"continue\":true}\n"), "{late:?}");
    let found = home.write(".cursor/other.json", "{}");
    let all = home.say("agent install --all");
    assert!(all.err.contains("cursor: no version of it was tried"), "{all:?}");
    assert!(!found.with_file_name("hooks.json").exists());
    let named = home.say("agent install cursor");
    assert!(
        named.code == 0 && named.err.contains("cursor: no version of it was tried"),
        "{named:?}"
    );
    home.say("agent uninstall cursor").ok();
    assert!(!found.with_file_name("hooks.json").exists() && found.exists());
}

/// A plugin and scripts: written once, with all folders above them, and removed with them.
#[test]
fn files_of_our_own_come_and_go_as_a_whole() {
    let home = Home::new();
    let before = home.files();
    let own = [
        ("copilot", ".copilot/hooks/milepost.json", 9, 0o600),
        ("opencode", ".config/opencode/plugins/milepost.js", 10, 0o600),
        ("cline", ".cline/hooks/PreToolUse", 9, 0o700),
        ("cursor", ".cursor/hooks.json", 10, 0o600),
    ];
    for (agent, file, hooks, bits) in own {
        let made = home.say(&format!("agent install {agent}"));
        assert!(made.out.contains(&format!("{agent}: {hooks} hooks installed")), "{made:?}");
        assert_eq!(mode(&home.path(file)), bits, "{file}");
        let there = home.files();
        let again = home.say(&format!("agent install {agent}"));
        assert!(again.out.contains("the hooks are in"), "{again:?}");
        assert_eq!(home.files(), there);
    }
    let status = home.json("agent status --json");
    for (agent, _, hooks, _) in own {
        let of = status["agents"].as_array().unwrap().iter().find(|one| one["agent"] == agent);
        let installed = of.unwrap()["user"]["installed"].as_array().unwrap().len();
        assert_eq!(installed, hooks, "{agent}");
    }
    // The installed script names a missing program there, too, and is replaced.
    let text = home.read(".cline/hooks/TaskStart");
    let here = fs::canonicalize(env!("CARGO_BIN_EXE_milepost")).unwrap().display().to_string();
    home.write(".cline/hooks/TaskStart", &text.replace(&here, "/gone/milepost"));
    let ran = home.say("agent status");
    assert!(ran.code == 1 && ran.out.contains("call /gone/milepost, which is gone"), "{ran:?}");
    let out = home.say("agent install cline").ok();
    assert!(out.contains("cline: 1 hook installed"), "{out}");
    assert_eq!(home.read(".cline/hooks/TaskStart"), text);
    let done = home.json("agent uninstall --all --json");
    let removed = |one: &&Value| one["removed"] == true;
    assert_eq!(done["agents"].as_array().unwrap().iter().filter(removed).count(), 4, "{done}");
    for folder in [".cline", ".config", ".copilot", ".cursor"] {
        assert!(!home.path(folder).exists(), "{folder}");
    }
    // The removal keeps the user's own files next to it.
    home.write(".cline/hooks/PreToolUse.py", "print('{}')\n");
    home.say("agent install cline").ok();
    home.say("agent uninstall cline").ok();
    let left = home.files();
    let theirs =
        |path: &Path| path.ends_with("PreToolUse.py") || path.starts_with(home.path(".local"));
    let left: Vec<_> = left.into_iter().filter(|(path, _)| !theirs(path)).collect();
    assert_eq!(left, before);
}

#[test]
fn a_file_of_the_user_in_the_place_of_ours_is_refused() {
    for (agent, file) in
        [("opencode", ".config/opencode/plugins/milepost.js"), ("cline", ".cline/hooks/PreToolUse")]
    {
        let home = Home::new();
        home.write(file, "#!/bin/sh\necho hers\n");
        let before = home.files();
        // The first agent could be changed: nothing is, since another one cannot.
        let ran = home.say(&format!("agent install codex {agent}"));
        ran.failed(1, "a file that is not of Milepost is there");
        assert_eq!(home.files(), before);
        home.say(&format!("agent uninstall {agent}")).ok();
        assert_eq!(home.read(file), "#!/bin/sh\necho hers\n");
    }
}

#[test]
fn a_dry_run_touches_nothing() {
    let home = Home::new();
    home.write(".claude/settings.json", OWN);
    let before = home.files();
    let out = home.say("agent install claude-code codex --dry-run").ok();
    assert!(out.contains("7 hooks would be installed"), "{out}");
    assert_eq!(home.files(), before);
    home.say("agent install claude-code").ok();
    let before = home.files();
    let out = home.say("agent uninstall --all --dry-run").ok();
    assert!(out.contains("11 hooks would be taken out"), "{out}");
    assert_eq!(home.files(), before);
}

#[test]
fn the_project_and_the_variables_of_agents_decide_the_file() {
    let home = Home::new();
    let planned =
        home.json("agent install claude-code codex gemini-cli --project --dry-run --json");
    let files = planned["agents"].as_array().unwrap().iter().map(|one| {
        let file = one["settings"].as_str().unwrap();
        file.rsplit_once("/shop/").unwrap().1.to_owned()
    });
    let files: Vec<String> = files.collect();
    assert_eq!(
        files,
        [".claude/settings.local.json", ".codex/hooks.json", ".gemini/settings.json"]
    );
    let mut moved = home.command("agent install codex");
    let moved = moved.env("CODEX_HOME", home.path("elsewhere")).output().unwrap();
    Ran::of(moved).ok();
    assert!(home.path("elsewhere/hooks.json").is_file() && !home.path(".codex").exists());
}

#[test]
fn all_are_those_that_are_found() {
    let home = Home::new();
    home.say("agent install --all").failed(1, "no agent is found");
    home.program("gemini", "echo 0.61.0");
    fs::create_dir(home.path(".codex")).unwrap();
    let done = home.json("agent install --all --json");
    let names: Vec<_> =
        done["agents"].as_array().unwrap().iter().map(|one| &one["agent"]).collect();
    assert_eq!(names, ["codex", "gemini-cli"]);
    assert!(!home.path(".claude").exists());
    assert_eq!(home.say("agent install").code, 2);
    assert_eq!(home.say("agent install vim").code, 2);
}

#[test]
fn a_link_is_followed() {
    let home = Home::new();
    let real = home.write("dotfiles/claude.json", OWN);
    fs::create_dir(home.path(".claude")).unwrap();
    symlink(&real, home.path(".claude/settings.json")).unwrap();
    home.say("agent install claude-code").ok();
    assert!(home.path(".claude/settings.json").is_symlink());
    assert!(home.read("dotfiles/claude.json").contains("agent hook claude-code"));
    home.say("agent uninstall claude-code").ok();
    assert_eq!(home.read("dotfiles/claude.json"), OWN);
}

#[test]
fn what_cannot_be_edited_is_refused_and_nothing_is_touched() {
    type Make = fn(&Home);
    let cases: [(&str, Make); 6] = [
        ("settings.json:2:3: no JSON: comments are not allowed in JSON", |home| {
            drop(home.write(".claude/settings.json", "{\n  // mine\n}\n"));
        }),
        ("settings.json:1:11: `hooks` is a text", |home| {
            drop(home.write(".claude/settings.json", "{\"hooks\": \"\"}"));
        }),
        ("settings.json:1:20: `hooks.Stop` is an object", |home| {
            drop(home.write(".claude/settings.json", "{\"hooks\": {\"Stop\": {}}}"));
        }),
        ("larger than 16 MiB", |home| {
            let text = format!("{{\"a\": \"{}\"}}", "x".repeat(16 << 20));
            drop(home.write(".claude/settings.json", &text));
        }),
        ("a folder, not a file", |home| {
            fs::create_dir_all(home.path(".claude/settings.json")).unwrap();
        }),
        ("a link that leads to no file", |home| {
            fs::create_dir(home.path(".claude")).unwrap();
            symlink("gone.json", home.path(".claude/settings.json")).unwrap();
        }),
    ];
    for (said, make) in cases {
        let home = Home::new();
        make(&home);
        let before = home.files();
        // The first agent could be changed: nothing is, since another one cannot.
        home.say("agent install codex claude-code").failed(1, said);
        assert_eq!(home.files(), before, "{said}");
    }
}

#[test]
fn status_names_the_agents_their_versions_and_hooks_that_record_nothing() {
    let home = Home::new();
    home.program("claude", "echo '2.1.330 (Claude Code)'");
    home.program("codex", "sleep 600 & echo; wait");
    home.write(".gemini/settings.json", "{");
    let out = home.say("agent status").ok();
    assert!(out.contains("2.1.330") && out.contains("unreadable"), "{out}");
    // It answers at once from here on.
    home.program("codex", "exit 1");
    let status = home.json("agent status --json");
    assert_eq!(status["agents"][0]["user"]["installed"], json!([]));
    assert_eq!(status["agents"][1]["found"], true);
    assert_eq!(status["spool"]["waiting"], 0);
    home.write(".local/state/milepost/spool/dropped", "..");
    home.write(".local/state/milepost/spool/x.failed", "");
    let out = home.say("agent status").ok();
    assert!(out.contains("1 cannot be recorded, 2 found no room"), "{out}");
    home.say("agent install claude-code").ok();
    let status = home.json("agent status --json");
    assert_eq!(status["agents"][0]["user"]["installed"].as_array().unwrap().len(), 11);
    let text = home.read(".claude/settings.json");
    let here = fs::canonicalize(env!("CARGO_BIN_EXE_milepost")).unwrap().display().to_string();
    home.write(".claude/settings.json", &text.replace(&here, "/gone/milepost"));
    let ran = home.say("agent status");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.contains("call /gone/milepost, which is gone"), "{ran:?}");
    assert!(ran.err.contains("hint: "), "{ran:?}");
    // Installed anew, the hooks call this program.
    home.say("agent install claude-code").ok();
    assert_eq!(home.read(".claude/settings.json"), text);
    home.write(".claude/settings.json", &text.replacen('{', "{\"disableAllHooks\": true,", 1));
    let ran = home.say("agent status");
    assert!(ran.code == 1 && ran.out.contains("turns off all hooks"), "{ran:?}");
}

#[test]
fn status_tells_the_last_call_of_hooks_and_their_lengths() {
    let home = Home::new();
    home.say("agent install codex").ok();
    let status = || home.json("agent status --json")["agents"][1].clone();
    assert_eq!((&status()["calls"], &status()["p50_us"]), (&json!(0), &Value::Null));
    let out = home.say("agent status").ok();
    assert!(out.contains("no call yet; at its next start it asks to review"), "{out}");
    // A session since then that called none.
    home.write(".codex/sessions/2026/01/02/rollout-1.jsonl", "{}");
    let ran = home.say("agent status");
    assert!(ran.code == 1 && ran.out.contains("it is not trusted"), "{ran:?}");
    let document = home.write("document", "{\"session_id\": \"s\"}");
    let mut hook = home.0.command(["agent", "hook", "codex"]);
    hook.env("HOME", home.0.dir.path()).env_remove("XDG_STATE_HOME");
    hook.env("XDG_DATA_HOME", "/dev/null/data").stdin(fs::File::open(document).unwrap());
    Ran::of(hook.output().unwrap()).ok();
    let after = status();
    assert_eq!((&after["calls"], &after["calls_not_taken"]), (&json!(1), &json!(1)));
    assert!(after["p95_us"].as_u64().unwrap() > 0 && after["last_us"].is_u64(), "{after}");
    assert_eq!(after["untrusted"], false);
    home.say("agent status").ok();
}

#[test]
fn the_installed_command_runs_in_a_shell_also_where_the_program_is_gone() {
    let home = Home::new();
    home.say("agent install claude-code").ok();
    let text = home.read(".claude/settings.json");
    let settings: Value = serde_json::from_str(&text).unwrap();
    let hook = settings.pointer("/hooks/Stop/0/hooks/0/command").unwrap().as_str().unwrap();
    let here = fs::canonicalize(env!("CARGO_BIN_EXE_milepost")).unwrap().display().to_string();
    let run = |command: &str| {
        let document = home.write("document", "{\"session_id\": \"s\"}");
        let mut shell = home.0.command_of("sh", ["-c", command]);
        shell.env("HOME", home.0.dir.path()).env_remove("XDG_STATE_HOME");
        // No daemon can have a store there: the document waits.
        shell.env("XDG_DATA_HOME", "/dev/null/data");
        shell.stdin(fs::File::open(document).unwrap());
        assert_eq!(Ran::of(shell.output().unwrap()).ok(), "", "{command}");
    };
    let waiting = || {
        let spool = fs::read_dir(home.path(".local/state/milepost/spool"));
        spool.map_or(0, |entries| entries.count())
    };
    run(&hook.replace(&here, "/gone/milepost"));
    assert_eq!(waiting(), 0);
    run(hook);
    assert_eq!(waiting(), 1);
}

#[test]
fn also_captures_a_path_that_rules_leave_out_and_nothing_else_of_its_folder() {
    let home = Home::new();
    home.write("work/shop/.gitignore", ".env\n*.key\n");
    home.write("work/shop/.milepostignore", "notes");
    for name in [".env", "a.key", "dist/app.js", "dist/sub/one.txt", "dist/sub/two.txt", "seen"] {
        home.write(&format!("work/shop/{name}"), name);
    }
    let line = "agent install claude-code --also .env --also dist/sub/one.txt --also seen";
    let plan = home.say(&format!("{line} --dry-run"));
    assert!(plan.out.contains("!/.env, !/dist/, /dist/*, !/dist/sub/, "), "{plan:?}");
    assert!(plan.err.contains("seen is captured already"), "{plan:?}");
    assert_eq!(home.read("work/shop/.milepostignore"), "notes");
    assert_eq!(home.say(line).code, 0);
    let rules = "notes\n!/.env\n!/dist/\n/dist/*\n!/dist/sub/\n/dist/sub/*\n!/dist/sub/one.txt\n";
    assert_eq!(home.read("work/shop/.milepostignore"), rules);
    assert_eq!(home.say(line).code, 0);
    assert_eq!(home.read("work/shop/.milepostignore"), rules, "twice is once");
    home.say("init").ok();
    assert_eq!(home.say("capture . --task files").code, 0);
    let files = home.say("files files").ok();
    for name in [".env", "dist/sub/one.txt", "seen"] {
        assert!(files.contains(name), "{name}: {files}");
    }
    for name in ["a.key", "app.js", "two.txt"] {
        assert!(!files.contains(name), "{name}: {files}");
    }
    // The folder as a whole, together with a path below it, and after one.
    let line = "agent install claude-code --also dist/app.js --also dist";
    assert_eq!(home.say(line).code, 0);
    assert_eq!(home.read("work/shop/.milepostignore"), format!("{rules}!/dist\n!/dist/**\n"));
    assert_eq!(home.say("capture . --task whole").code, 0);
    let files = home.say("files whole").ok();
    assert!(files.contains("app.js") && files.contains("two.txt"), "{files}");
    for outside in ["..", "/etc/passwd", "../other"] {
        let line = format!("agent install claude-code --also {outside}");
        home.say(&line).failed(2, "cannot be captured");
    }
}
