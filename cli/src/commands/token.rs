//! `token`: access to the service.

use std::path::Path;
use std::time::Duration;

use milepost::clock::{Clock as _, SystemClock};
use milepost::{ErrorKind, Options};
use milepost_runtime::hooks::StoreTrust;
use milepost_server::{NewToken, TokenInfo, TokenLimits, Tokens};
use serde_json::{Value, json};

use super::command::{CliCommand, Examples, Run};
use crate::args::span;
use crate::error::{Failure, Result};
use crate::output::{Out, big, note, printable, time, time_short};
use crate::store_locator::StoreArgs;

/// Hint if the tokens of a store do not count.
pub const UNTRUSTED: &str = "`milepost trust --show` says what is in it, `milepost trust` trusts \
    it; docs/TRUST.md says more";

/// Create, list and revoke the tokens that `serve` accepts.
#[derive(Debug, clap::Args)]
pub struct TokenArgs {
    #[command(subcommand)]
    pub what: TokenCommand,
}

impl CliCommand for TokenArgs {
    const EXAMPLES: Examples = &[
        ("token create --user ana", "printed once"),
        ("token list", "those there are"),
        ("token revoke 3f1c9a02", "let it in no longer"),
    ];
    const RUN: Run<Self> = Run::Alone(run);
}

#[derive(Debug, clap::Subcommand)]
pub enum TokenCommand {
    /// Create a token, and print it. It is shown only once.
    Create(TokenCreate),
    /// List the tokens in order of creation. The store keeps only their hashes.
    List,
    /// Revoke a token, from the next request on.
    Revoke(TokenRevoke),
}

#[derive(Debug, clap::Args)]
pub struct TokenCreate {
    /// The user of the token, who sees only their own tasks.
    #[arg(long)]
    pub user: String,
    /// Allow the token to see and do everything.
    #[arg(long)]
    pub admin: bool,
    /// The validity: a number and `s`, `m`, `h` or `d`. Default: until it is revoked.
    #[arg(long, value_name = "SPAN", value_parser = validity)]
    pub expires: Option<Duration>,
    /// Allow only reads.
    #[arg(long)]
    pub read_only: bool,
    /// Restrict the token to this task.
    #[arg(long, value_name = "TASK")]
    pub task: Option<String>,
    /// The most changes per second.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub appends_per_second: Option<u32>,
    /// The most bytes that its user may store, including those of the request.
    #[arg(long, value_name = "N")]
    pub bytes: Option<u64>,
}

#[derive(Debug, clap::Args)]
pub struct TokenRevoke {
    /// The 8 digits after `mp_`.
    pub id: String,
}

fn validity(text: &str) -> Result<Duration, String> {
    let span = span(text).filter(|span| !span.is_zero());
    span.ok_or_else(|| "a number and `s`, `m`, `h` or `d`, more than 0".into())
}

fn run(store: &StoreArgs, args: &TokenArgs, out: &mut Out) -> Result<()> {
    let dir = store.folder()?;
    let tokens = Tokens::of_store(&dir);
    match &args.what {
        TokenCommand::Create(args) => {
            if !is_trusted(store, &dir)? {
                let text =
                    format!("you do not trust the store {}: no token in it counts", dir.display());
                return Err(Failure::new(text).hint(UNTRUSTED));
            }
            create(&tokens, args, out)
        }
        TokenCommand::List => list(&tokens, out),
        TokenCommand::Revoke(args) => {
            // A whole token is accepted for its id.
            let id = args.id.strip_prefix("mp_").unwrap_or(&args.id);
            let id = id.split('_').next().unwrap_or(id);
            let revoked = tokens.revoke(id, SystemClock.now_us());
            revoked.map_err(|e| Failure::from(e).hint("`milepost token list` has the ids"))?;
            match out.json {
                true => Ok(out.json(&json!({ "revoked": id }))?),
                false => Ok(out.line(format!("token {id} is taken no more"))?),
            }
        }
    }
}

/// Returns `true` if the store is trusted. Creates it if it does not exist: its tokens are this
/// user's then.
fn is_trusted(store: &StoreArgs, dir: &Path) -> Result<bool> {
    let trust = match StoreTrust::of(dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            store.open_or_create(Options::default())?.close()?;
            StoreTrust::of(dir)
        }
        trust => trust,
    };
    Ok(trust?.trusted)
}

fn create(tokens: &Tokens, args: &TokenCreate, out: &mut Out) -> Result<()> {
    let now = SystemClock.now_us();
    let expires_us = args.expires.map(|span| {
        let span = u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
        now.saturating_add(span)
    });
    let new = NewToken {
        user: args.user.clone(),
        admin: args.admin,
        expires_us,
        limits: TokenLimits {
            read_only: args.read_only,
            task: args.task.clone(),
            appends_per_second: args.appends_per_second,
            bytes: args.bytes,
        },
    };
    let first = !tokens.any()?;
    let (info, token) = tokens.create(&new, now)?;
    if out.json {
        let mut form = form(&info);
        if let Some(fields) = form.as_object_mut() {
            fields.insert("token".into(), json!(token));
        }
        return Ok(out.json(&form)?);
    }
    // Standard output has the token alone, so that a script can take it into a variable.
    out.line(&token)?;
    if first {
        note("from now on the service requires a token");
    }
    Ok(())
}

fn list(tokens: &Tokens, out: &mut Out) -> Result<()> {
    let tokens = tokens.list()?;
    if out.json {
        let forms: Vec<Value> = tokens.iter().map(form).collect();
        return Ok(out.json(&forms)?);
    }
    if tokens.is_empty() {
        return Ok(
            out.line("no tokens: the service answers anyone who reaches it, on this machine only")?
        );
    }
    let rows: Vec<Vec<String>> = tokens.iter().map(row).collect();
    Ok(out.table(&["ID", "USER", "MAY", "MADE", "ENDS"], &rows)?)
}

fn row(info: &TokenInfo) -> Vec<String> {
    let ends = match (info.revoked_us, info.expires_us) {
        (Some(at), _) => format!("revoked {}", time_short(at)),
        (None, Some(at)) => time_short(at),
        (None, None) => "never".into(),
    };
    let mut may = String::from(match (&info.limits.task, info.admin) {
        (Some(_), _) => "one task",
        (None, true) => "everything",
        (None, false) => "own tasks",
    });
    if info.limits.read_only {
        may.push_str(", read");
    }
    vec![
        info.id.clone(),
        printable(&info.user).into_owned(),
        may,
        time_short(info.created_us),
        ends,
    ]
}

fn form(info: &TokenInfo) -> Value {
    json!({
        "id": info.id,
        "user": info.user,
        "admin": info.admin,
        "created": time(info.created_us),
        "created_us": big(info.created_us),
        "expires": info.expires_us.map(time),
        "expires_us": info.expires_us.map(big),
        "revoked": info.revoked_us.map(time),
        "revoked_us": info.revoked_us.map(big),
        "read_only": info.limits.read_only,
        "task": info.limits.task,
        "appends_per_second": info.limits.appends_per_second,
        "bytes": info.limits.bytes.map(big),
    })
}
