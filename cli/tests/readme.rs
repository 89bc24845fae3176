//! Every command of the README and of docs/howto is run, so that none of them can be wrong.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use milepost_agent_tests::has_programs;

use crate::common::{Place, fixture};

/// The address that the pages use for the service.
const ADDRESS: &str = "localhost:7733";

/// The command that runs all tests.
const TEST: &str = "cargo test --workspace";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The lines of a page's `sh` blocks.
fn commands(page: &Path) -> Vec<String> {
    let text = fs::read_to_string(page).unwrap();
    let mut commands = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        match line {
            "```sh" => inside = true,
            "```" => inside = false,
            _ if inside => commands.push(line.to_owned()),
            _ => {}
        }
    }
    commands
}

/// A folder of its own for a page, which is also the home: with the runs of other programs that the
/// pages import.
struct Shell {
    place: Place,
    path: String,
    /// The service that a line with `&` started, and its address.
    service: Option<(Child, String)>,
}

impl Shell {
    fn new() -> Self {
        let place = Place::new();
        let sessions = place.path(".claude/projects/site");
        fs::create_dir_all(&sessions).unwrap();
        fs::write(sessions.join("3f1c9a02-0000-4000-8000-000000000001.jsonl"), session()).unwrap();
        for (from, to) in [
            ("langgraph/checkpoints.sqlite", "checkpoints.sqlite"),
            ("react.traj", "fix.traj"),
            ("airline.json", "airline.json"),
        ] {
            fs::copy(fixture(from), place.path(to)).unwrap();
        }
        fs::create_dir(place.path("temporary")).unwrap();
        let binary = Path::new(env!("CARGO_BIN_EXE_milepost")).parent().unwrap();
        let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
        Self { place, path, service: None }
    }

    fn shell(&self, line: &str) -> Command {
        let address = self.service.as_ref().map_or(ADDRESS, |(_, address)| address);
        let mut command = self.place.command_of("sh", ["-ec", &line.replace(ADDRESS, address)]);
        command
            .env("PATH", &self.path)
            .env("HOME", self.place.dir.path())
            .env("TMPDIR", self.place.path("temporary"))
            // A free port, so that tests run next to each other.
            .env("MILEPOST_LISTEN", "127.0.0.1:0");
        command
    }

    /// Runs a line; returns its error.
    fn run(&mut self, line: &str) -> Result<(), String> {
        if let Some(service) = line.strip_suffix(" &") {
            return self.start(service);
        }
        let output = self.shell(line).output().unwrap();
        if output.status.success() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(format!("`{line}`: {text}{}", String::from_utf8_lossy(&output.stdout)))
    }

    /// Starts a service, and waits until it says where it listens.
    fn start(&mut self, line: &str) -> Result<(), String> {
        let mut command = self.shell(&format!("exec {line}"));
        // Its log, a line for each request.
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut said = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
        let address = said.trim().strip_prefix("listening on http://").map(str::to_owned);
        let address = address.ok_or_else(|| format!("`{line}` said: {said}"));
        self.service = Some((child, address?));
        Ok(())
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        if let Some((child, _)) = &mut self.service {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

/// A session of Claude Code with a prompt that was edited and sent again.
fn session() -> String {
    let line = |id: &str, parent: &str, kind: &str, text: &str| {
        format!(
            "{{\"parentUuid\":{parent},\"sessionId\":\"3f1c9a02-0000-4000-8000-000000000001\",\
             \"type\":\"{kind}\",\"uuid\":\"{id}\",\"timestamp\":\"2025-05-26T07:27:40.079Z\",\
             \"message\":{{\"role\":\"{kind}\",\"content\":\"{text}\"}}}}\n"
        )
    };
    [
        line("a", "null", "user", "write a page"),
        line("b", "\"a\"", "assistant", "permission denied: index.html"),
        line("c", "\"b\"", "user", "try again"),
        line("d", "\"b\"", "user", "use another folder"),
    ]
    .concat()
}

/// Runs the commands of a page in their order, and returns the errors of those that fail.
fn check(page: &Path, at_least: usize) -> Vec<String> {
    let mut shell = Shell::new();
    let mut failed = Vec::new();
    let commands = commands(page);
    for command in &commands {
        if command.starts_with(TEST) {
            // That is what runs this test; CI runs it as it is written here.
            let ci = fs::read_to_string(root().join(".ci/run")).unwrap();
            assert!(ci.contains(TEST), "CI runs the README's test command");
        } else if command.starts_with("cargo run --release -p milepost-cli -- demo ") {
            failed.extend(shell.run("milepost demo").err());
        } else if command.starts_with("cargo install --path cli ") {
            let cli = fs::read_to_string(root().join("cli/Cargo.toml")).unwrap();
            assert!(cli.contains("[[bin]]\nname = \"milepost\""), "{command}");
        } else {
            failed.extend(shell.run(command).err().map(|why| format!("{}: {why}", page.display())));
        }
    }
    let found = commands.len();
    assert!(found >= at_least, "{} has its commands in `sh` blocks: {found}", page.display());
    failed
}

#[test]
fn every_command_of_the_readme_works() {
    if !has_programs(&["curl"]) {
        return;
    }
    let failed = check(&root().join("README.md"), 10);
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn every_command_of_the_pages_for_each_job_works() {
    if !has_programs(&["curl"]) {
        return;
    }
    let mut pages: Vec<PathBuf> = fs::read_dir(root().join("docs/howto"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    pages.sort();
    assert!(pages.len() >= 12, "{pages:?}");
    let failed: Vec<String> = pages.iter().flat_map(|page| check(page, 8)).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn a_command_that_fails_is_reported_with_its_line() {
    let mut shell = Shell::new();
    assert_eq!(shell.run("true"), Ok(()));
    let wrong = shell.run("milepost log nothing").unwrap_err();
    assert!(wrong.starts_with("`milepost log nothing`: error: "), "{wrong}");
}
