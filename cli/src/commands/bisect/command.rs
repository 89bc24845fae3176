//! `bisect --run`: a command judges the states.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use milepost::Point;
use milepost::query::Verdict;
use serde_json::Value;

use crate::error::{Failure, Result};
use crate::secrets;

const CODES: &str = "it ends with 0 where it is not so yet, with 1 to 124 where it is, with 125 \
    where that cannot be said";

/// Runs the command on a state, in a folder if one is given, and returns its verdict.
pub fn ask(
    argv: &[OsString],
    point: &Point,
    state: &Value,
    folder: Option<&Path>,
) -> Result<Verdict> {
    let (program, args) = match argv.split_first() {
        Some((program, args)) => (program.clone(), args),
        None => (OsString::new(), &[] as &[OsString]),
    };
    let name = program.to_string_lossy().into_owned();
    let broken = |what: &str, error: io::Error| {
        Failure::new(format!("at {point}: {name} {what}: {error}"))
            .hint("check the name of the program; its arguments follow it, each a word")
    };
    let mut command = Command::new(&program);
    folder.map(|folder| command.current_dir(folder));
    let mut child = command
        .args(args)
        .env_remove(secrets::TOKEN)
        .env_remove(secrets::KEY)
        .stdin(Stdio::piped())
        .stdout(Stdio::from(io::stderr()))
        .spawn()
        .map_err(|error| broken("cannot be started", error))?;
    let given = give(&mut child, state);
    let ended = child.wait().map_err(|error| broken("is lost", error))?;
    given.map_err(|error| broken("cannot be given the state", error))?;
    match (ended.code(), ended.signal()) {
        (Some(0), _) => Ok(Verdict::Good),
        (Some(125), _) => Ok(Verdict::Skip),
        (Some(1..=127), _) => Ok(Verdict::Bad),
        (_, Some(signal)) => Err(Failure::new(format!(
            "at {point}: signal {signal} ended {name}, which says nothing of the state"
        ))
        .hint(CODES)),
        (code, None) => Err(Failure::new(format!(
            "at {point}: {name} ended with {}, which says nothing of the state",
            code.unwrap_or_default()
        ))
        .hint(CODES)),
    }
}

/// Writes the state to the command's standard input. The command need not read it.
fn give(child: &mut Child, state: &Value) -> io::Result<()> {
    let Some(mut stdin) = child.stdin.take() else {
        return Ok(());
    };
    let mut text = serde_json::to_vec(state)?;
    text.push(b'\n');
    match stdin.write_all(&text) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}
