//! `trust`: the commands that a store brings as hooks are run, or not any more.

use milepost::{CommandHook, HookPoint, StoreHooks};
use serde_json::json;

use crate::args::Trust;
use crate::error::{Failure, Result};
use crate::output::{Out, printable};
use crate::store::Choice;

pub fn run(store: &Choice, args: &Trust, out: &mut Out) -> Result<()> {
    let dir = store.folder()?;
    if args.revoke {
        let revoked = StoreHooks::revoke(&dir).map_err(with_hint)?;
        if out.json {
            return Ok(out.json(&json!({"store": dir.display().to_string(), "revoked": revoked}))?);
        }
        let said = match revoked {
            true => "the hooks of the store are not used any more",
            false => "the hooks of the store were not trusted",
        };
        return Ok(out.line(said)?);
    }
    let found = StoreHooks::read(&dir).map_err(with_hint)?;
    let mut found = found.ok_or_else(|| {
        let place = dir.join("hooks.json");
        Failure::new(format!("there is no {}", place.display()))
            .hint("docs/HOOKS.md says what is in it; your own hooks need no trust")
    })?;
    if !args.show {
        found.trust().map_err(with_hint)?;
    }
    if out.json {
        let file = found.file.display().to_string();
        return Ok(out.json(&json!({
            "file": file,
            "hash": found.hash,
            "trusted": found.trusted,
            "hooks": found.hooks,
        }))?);
    }
    out.line(printable(&format!("{}:", found.file.display())))?;
    for hook in &found.hooks {
        out.line(format!("  {}", line(hook)?))?;
    }
    let said = match (found.trusted, args.show) {
        (true, true) => "trusted",
        (true, false) => "trusted: they are used from now on, until the file changes",
        (false, _) => "not trusted: they are not used, `milepost trust` has them used",
    };
    Ok(out.line(said)?)
}

fn with_hint(error: milepost::Error) -> Failure {
    Failure::from(error).hint("mend the file that is named, and look at who can write to it")
}

/// When a hook runs what. The words of the command are a JSON list, so that none can pass for two.
fn line(hook: &CommandHook) -> Result<String> {
    let points: Vec<&str> = hook.points().iter().map(|point| point.name()).collect();
    let argv = serde_json::to_string(hook.argv())?;
    let may = match hook.has_veto() {
        true => ", may refuse",
        false => "",
    };
    let kinds = match hook.event_kinds() {
        kinds if kinds.is_empty() || !hook.points().contains(&HookPoint::Event) => String::new(),
        kinds => format!(" of {}", kinds.join(", ")),
    };
    let limit = hook.time_limit().as_millis();
    let text = format!("{}{kinds}: {argv} ({limit} ms{may})", points.join(", "));
    Ok(printable(&text).into_owned())
}
