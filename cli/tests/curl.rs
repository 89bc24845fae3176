//! The lines of curl in docs/HTTP.md work, and there is one for each route.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use milepost_agent_tests::has_programs;
use serde_json::Value;

use crate::common::Place;

/// The lines of shell of the page's section, one block after the other.
fn blocks() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let page = std::fs::read_to_string(root.join("docs/HTTP.md")).unwrap();
    let section = page.split("\n## With curl\n").nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let blocks = section.split("```sh\n").skip(1);
    blocks.map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

/// A service that is killed where a test ends before it.
struct Service(Child);

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn serve(place: &Place) -> (Service, String) {
    let mut command = place.command(["serve", "--listen", "127.0.0.1:0", "--log", "none"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut line).unwrap();
    let at = line.trim().strip_prefix("listening on ").unwrap().to_owned();
    (Service(child), at)
}

/// Runs lines of shell: each has to do well.
fn shell(place: &Place, lines: &str, at: &str) {
    let milepost = Path::new(env!("CARGO_BIN_EXE_milepost")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let mut command = place.command_of("bash", ["-c", &format!("set -eo pipefail -x\n{lines}")]);
    command.env("AT", at);
    command.env("PATH", format!("{}:{path}", milepost.display()));
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

#[test]
fn each_line_does_well_and_each_route_has_one() {
    if !has_programs(&["bash", "curl", "jq"]) {
        return;
    }
    let place = Place::new();
    let blocks = blocks();
    assert_eq!(blocks.len(), 2);
    shell(&place, &blocks[0], "");
    let (_service, at) = serve(&place);
    shell(&place, &blocks[1], &at);
    let described = Command::new("curl").args(["-sf", &format!("{at}/openapi.json")]).output();
    let described: Value = serde_json::from_slice(&described.unwrap().stdout).unwrap();
    let lines = blocks[1].replace("\\\n", "");
    let lines: Vec<&str> = lines.lines().filter(|line| line.contains("curl ")).collect();
    let mut routes = 0;
    for (path, of) in described["paths"].as_object().unwrap() {
        for method in of.as_object().unwrap().keys() {
            routes += 1;
            let shown = lines.iter().any(|line| is_of(line, method, path));
            assert!(shown, "no line of curl in docs/HTTP.md for {method} {path}");
        }
    }
    assert!(routes > 20);
}

/// Returns `true` if a line requests a route.
fn is_of(line: &str, method: &str, path: &str) -> bool {
    let asked = match line.split("-X ").nth(1) {
        Some(rest) => rest.split(' ').next().unwrap().to_lowercase(),
        None if line.contains("--json") || line.contains("--data-binary") => "post".to_owned(),
        None => "get".to_owned(),
    };
    let Some(place) = line.split("$AT").nth(1) else {
        return false;
    };
    let place = place.split(['"', ' ', '?', ')']).next().unwrap();
    let (place, path): (Vec<_>, Vec<_>) = (place.split('/').collect(), path.split('/').collect());
    let same = |(a, b): (&&str, &&str)| a == b || b.starts_with('{');
    asked == method && place.len() == path.len() && place.iter().zip(&path).all(same)
}
