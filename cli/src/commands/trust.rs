//! `trust`: grants or revokes trust in a store and its hooks. docs/TRUST.md has the consequences.

use std::path::Path;

use milepost::Engine;
use milepost::clock::{Clock as _, SystemClock};
use milepost_runtime::hooks::{CommandHook, HookPoint, StoreHooks, StoreTrust};
use milepost_server::{TokenInfo, Tokens};
use serde_json::json;

use super::command::{CliCommand, Examples, Run};
use super::confirm::confirm;
use crate::error::{Failure, Result};
use crate::output::{Out, printable};
use crate::store_locator::StoreArgs;
use milepost_service::jobs::begun_in;

/// Trust a store from elsewhere: its folders, tokens and the commands in its hooks.json.
#[derive(Debug, clap::Args)]
pub struct TrustArgs {
    /// Print the effects of trust, and change nothing.
    #[arg(long)]
    pub show: bool,
    /// Revoke the trust.
    #[arg(long, conflicts_with = "show")]
    pub revoke: bool,
    /// Do not ask.
    #[arg(long, conflicts_with_all = ["show", "revoke"])]
    pub yes: bool,
}

impl CliCommand for TrustArgs {
    const EXAMPLES: Examples =
        &[("trust --show", "the commands of hooks.json"), ("trust", "let them run")];
    const RUN: Run<Self> = Run::Alone(run);
}

fn run(store: &StoreArgs, args: &TrustArgs, out: &mut Out) -> Result<()> {
    let dir = store.folder()?;
    let mut trust = StoreTrust::of(&dir).map_err(with_hint)?;
    if args.revoke {
        return revoke(&dir, &mut trust, out);
    }
    let mut hooks = StoreHooks::read(&dir).map_err(with_hint)?;
    let tokens = Tokens::of_store(&dir).list()?;
    let pending = pending(store, &dir);
    let is_trusted = |trust: &StoreTrust, hooks: &Option<StoreHooks>| {
        trust.trusted && hooks.as_ref().is_none_or(|hooks| hooks.trusted)
    };
    if !out.json {
        print(hooks.as_ref(), &tokens, pending.as_deref(), out)?;
    }
    if !args.show && !is_trusted(&trust, &hooks) {
        let note = "trust a store only if you know who made it";
        confirm(args.yes, note, "Trust this store?", out)?;
        trust.grant().map_err(with_hint)?;
        if let Some(hooks) = &mut hooks {
            hooks.trust().map_err(with_hint)?;
        }
    }
    let trusted = is_trusted(&trust, &hooks);
    if out.json {
        let hooks = hooks.as_ref();
        return Ok(out.json(&json!({
            "store": dir.display().to_string(),
            "id": trust.id,
            "trusted": trusted,
            "store_trusted": trust.trusted,
            "file": hooks.map(|hooks| hooks.file.display().to_string()),
            "hash": hooks.map(|hooks| hooks.hash),
            "hooks": hooks.map_or_else(Vec::new, |hooks| hooks.hooks.clone()),
            "admins": admins(&tokens),
            "pending": pending,
        }))?);
    }
    let said = match (trusted, args.show) {
        (true, true) => "trusted",
        (true, false) if hooks.is_some() => {
            "trusted; hooks: they are used from now on, until the file changes"
        }
        (true, false) => "trusted",
        (false, _) => "not trusted: `milepost trust` trusts it",
    };
    Ok(out.advice(said)?)
}

fn revoke(dir: &Path, trust: &mut StoreTrust, out: &mut Out) -> Result<()> {
    let hooks = StoreHooks::revoke(dir).map_err(with_hint)?;
    let revoked = trust.revoke().map_err(with_hint)? || hooks;
    if out.json {
        return Ok(out.json(&json!({"store": dir.display().to_string(), "revoked": revoked}))?);
    }
    Ok(out.line(match revoked {
        true => "the store is not trusted, and its hooks are not used any more",
        false => "the store and its hooks were not trusted",
    })?)
}

/// Returns the folders of interrupted restores; `None` if the store cannot be opened now.
fn pending(store: &StoreArgs, dir: &Path) -> Option<Vec<String>> {
    let (_, options) = store.there().ok()?;
    let engine = Engine::open(dir, options).ok()?;
    let pending = engine.restores().pending();
    let _ = engine.close();
    let folders = pending.ok()?;
    let folders = folders.iter().filter_map(begun_in);
    Some(folders.map(|folder| folder.display().to_string()).collect())
}

/// Returns the users of valid admin tokens.
pub fn admins(tokens: &[TokenInfo]) -> Vec<String> {
    let admins = valid(tokens).filter(|token| token.admin);
    admins.map(|token| format!("{} ({})", token.user, token.id)).collect()
}

/// Returns the tokens that are neither revoked nor at their end.
fn valid(tokens: &[TokenInfo]) -> impl Iterator<Item = &TokenInfo> {
    let now = SystemClock.now_us();
    tokens.iter().filter(move |token| {
        let ended = token.expires_us.is_some_and(|end| end <= now);
        token.revoked_us.is_none() && !ended
    })
}

/// Prints the effects of trust in this store.
fn print(
    hooks: Option<&StoreHooks>,
    tokens: &[TokenInfo],
    pending: Option<&[String]>,
    out: &mut Out,
) -> Result<()> {
    let listed = |names: &[String]| match names {
        [] => "none".to_owned(),
        names => printable(&names.join(", ")).into_owned(),
    };
    let of_tokens = valid(tokens).count();
    let pending = pending.map_or_else(|| "not known, the store is in use".to_owned(), listed);
    out.line("a trusted store may without a question:")?;
    out.line("  have `rollback` and `undo` change the folders that its tasks name")?;
    out.line(format!("  undo interrupted restores, in: {pending}"))?;
    let admins = listed(&admins(tokens));
    out.line(format!("  let its {of_tokens} tokens in where it is served; admins: {admins}"))?;
    let Some(hooks) = hooks else {
        return Ok(());
    };
    out.line(printable(&format!("  run the commands of {}:", hooks.file.display())))?;
    for hook in &hooks.hooks {
        out.line(format!("    {}", line(hook)?))?;
    }
    Ok(())
}

fn with_hint(error: milepost::Error) -> Failure {
    Failure::from(error).hint("mend the file that is named, and look at who can write to it")
}

/// Describes a hook and its command. The words of the command are a JSON list: none can pass for
/// two.
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
