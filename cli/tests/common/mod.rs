//! A folder for commands, and their output.

pub mod databases;
pub mod dying;
pub mod terminal;

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use milepost_agent_tests::skipped;
use serde_json::Value;
use tempfile::TempDir;

/// Result of a command.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ran {
    pub fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Asserts success without output on standard error.
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (0, ""), "{}", self.out);
        self.out
    }

    /// Asserts a failure with this code, this message and a next step, without standard output.
    #[track_caller]
    pub fn failed(&self, code: i32, what: &str) {
        assert_eq!(self.code, code, "{self:?}");
        match serde_json::from_str::<Value>(&self.err) {
            Ok(failed) => {
                let of = |name| failed.pointer(&format!("/error/{name}")).unwrap();
                assert_eq!(*of("code"), code, "{self:?}");
                assert!(of("message").is_string() && of("hint").is_string(), "{self:?}");
            }
            Err(_) => {
                assert!(self.err.contains("error: "), "{self:?}");
                assert!(self.err.contains("hint: "), "{self:?}");
            }
        }
        assert!(self.err.contains(what), "{self:?}");
        assert_eq!(self.out, "", "{self:?}");
    }
}

/// A folder of its own for one test.
pub struct Place {
    pub dir: TempDir,
}

impl Place {
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    /// A folder with the fixtures recorded in it: the tasks `run`, `react`, `tools`,
    /// `history_only`, `airline-0` and `airline-7`.
    pub fn recorded() -> Self {
        let place = Self::new();
        let files = ["run.jsonl", "react.traj", "tools.traj", "history_only.traj", "airline.json"];
        let files = files.map(|name| fixture(name).display().to_string());
        let args = ["record", "--user", "ada"].into_iter().map(str::to_owned).chain(files);
        place.run(args.collect::<Vec<_>>()).ok();
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn store(&self) -> PathBuf {
        self.path(".milepost")
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, content).unwrap();
        path
    }

    pub fn command<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Command {
        self.command_of(env!("CARGO_BIN_EXE_milepost"), args)
    }

    /// Another program, in the same place.
    pub fn command_of<A: AsRef<OsStr>>(
        &self,
        program: &str,
        args: impl IntoIterator<Item = A>,
    ) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.dir.path())
            .env("MILEPOST_USER_CONFIG", "")
            .env_remove("MILEPOST_STORE")
            .env_remove("NO_COLOR")
            // Under another locale marks of tables are ASCII.
            .env("LC_ALL", "C.UTF-8")
            // Commands under an agent do less.
            .env_remove("CLAUDECODE")
            .env_remove("CODEX_SESSION_ID")
            .env_remove("GEMINI_CLI")
            // The hooks of the user that runs the tests do not run.
            .env("XDG_CONFIG_HOME", self.path("config"))
            .env("XDG_DATA_HOME", self.path("data"))
            .stdin(Stdio::null())
            .args(args);
        command
    }

    pub fn run<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Ran {
        Ran::of(self.command(args).output().unwrap())
    }

    /// Runs a command line whose words have no spaces.
    pub fn say(&self, line: &str) -> Ran {
        self.run(line.split(' '))
    }

    /// Takes the lock of the store, as another process that has it open.
    pub fn hold(&self) -> fs::File {
        let path = self.store().join("lock");
        fs::write(&path, format!("{} 1700000000000000\n", std::process::id())).unwrap();
        let lock = fs::File::open(path).unwrap();
        lock.lock().unwrap();
        lock
    }

    /// Runs it with `--json` and reads the one document it prints.
    #[track_caller]
    pub fn json(&self, line: &str) -> Value {
        let out = self.run(line.split(' ').chain(["--json"])).ok();
        serde_json::from_str(&out).unwrap_or_else(|e| panic!("{line}: {e}: {out}"))
    }

    /// Runs it with `--json` and reads the items of the list that it prints.
    #[track_caller]
    pub fn items(&self, line: &str) -> Value {
        let mut list = self.json(line);
        assert!(list.get("next").is_some_and(Value::is_null), "{line}: one page");
        list.get_mut("items").unwrap().take()
    }

    /// Runs it with `--json` and reads the objects it prints, one a line; of a log oldest first.
    #[track_caller]
    pub fn lines(&self, line: &str) -> Vec<Value> {
        let order = line.starts_with("log ").then_some("--reverse");
        let more = order.into_iter().chain(["--json"]);
        let out = self.run(line.split(' ').chain(more)).ok();
        out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The ids that a list has.
    #[track_caller]
    pub fn ids(&self, line: &str) -> Vec<String> {
        let mut list = self.json(line);
        if let Some(items) = list.get_mut("items") {
            list = items.take();
        }
        let id = |item: &Value| match &item["id"] {
            Value::String(id) => id.clone(),
            id => id.to_string(),
        };
        list.as_array().unwrap().iter().map(id).collect()
    }
}

/// A service that has the store of a place open.
pub struct Serving {
    child: Child,
    pub url: String,
}

impl Serving {
    pub fn of(place: &Place) -> Self {
        let mut child = place
            .command(["serve", "--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("listening on ").unwrap().to_owned();
        Self { child, url }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// The text of a field, which must be one.
#[track_caller]
pub fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_else(|| panic!("{name} is no text in {value}"))
}

/// Reads a whole number.
#[track_caller]
pub fn number(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or_else(|| panic!("{name} is no number in {value}"))
}

/// Every list of a store, to compare it with later.
pub fn lists(place: &Place) -> [Value; 4] {
    [
        place.items("tasks"),
        place.items("checkpoints"),
        place.json("stats --user ada"),
        Value::Array(place.lines("log run")),
    ]
}

/// The row of a table that begins with a name.
#[track_caller]
pub fn row<'a>(out: &'a str, name: &str) -> Vec<&'a str> {
    let line = out.lines().find(|line| line.starts_with(name));
    let line = line.unwrap_or_else(|| panic!("no `{name}` in {out}"));
    line.split_whitespace().collect()
}

/// The folder of real runs; nothing where it is missing.
pub fn real_runs() -> Option<PathBuf> {
    let data = std::env::var_os("MILEPOST_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data"),
        PathBuf::from,
    );
    if !data.is_dir() {
        skipped(format_args!("there is no folder of real runs at {}", data.display()));
        return None;
    }
    Some(data)
}
