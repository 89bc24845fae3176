//! `webhook`: posts the document of a hook to another service.
// tidy: one command

use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::time::Duration;

use milepost_client::Webhook;

use super::command::{CliCommand, Examples, Run};
use crate::args::duration;
use crate::error::{Failure, Result};
use crate::output::{note, shell_word};

/// Largest document, in bytes: an event of the largest size, as base64.
const DOCUMENT_MAX: u64 = 512 << 20;

/// Smallest secret, in bytes.
const SECRET_MIN: usize = 16;

/// Post the document of a hook to another service. It is read from standard input; see
/// docs/HOOKS.md.
#[derive(Debug, clap::Args)]
pub struct WebhookArgs {
    /// The address: `https://..` or `http://..`.
    pub url: String,
    /// The file with the secret that signs the document.
    #[arg(long, value_name = "FILE")]
    pub secret_file: PathBuf,
    /// The longest wait for the answer: `500ms`, `10s`, `1m`.
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "8s")]
    pub timeout: Duration,
}

impl CliCommand for WebhookArgs {
    const EXAMPLES: Examples = &[(
        "webhook https://example.com/hook --secret-file secret",
        "a document from standard input, as hooks.json calls it",
    )];
    const RUN: Run<Self> = Run::Alone(|_, args, _| run(args));
}

fn run(args: &WebhookArgs) -> Result<()> {
    let secret = secret(args)?;
    let webhook = Webhook::new(&args.url, &secret)?;
    let mut document = Vec::new();
    io::stdin().lock().take(DOCUMENT_MAX + 1).read_to_end(&mut document)?;
    if document.len() as u64 > DOCUMENT_MAX {
        return Err(Failure::new("the document is longer than 512 MiB, and is not posted")
            .hint("`kinds` in hooks.json selects smaller events"));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(webhook.post(document, args.timeout))?)
}

/// Reads the secret, without the line break at its end.
fn secret(args: &WebhookArgs) -> Result<Vec<u8>> {
    let shown = args.secret_file.display();
    let read = std::fs::read(&args.secret_file);
    let failed =
        |error| Failure::of_file(format_args!("cannot read the secret in {shown}"), &error);
    let secret = read.map_err(failed)?;
    let word = shell_word(&shown.to_string());
    let mode = std::fs::metadata(&args.secret_file).map_or(0, |about| about.mode());
    if mode & 0o077 != 0 {
        note(&format!("other users can read the secret in {shown}: `chmod 600 {word}` ends that"));
    }
    let secret = secret.trim_ascii_end();
    if secret.len() < SECRET_MIN {
        return Err(Failure::new(format!(
            "the secret in {shown} is shorter than {SECRET_MIN} bytes"
        ))
        .hint(format!("`(umask 077; openssl rand -hex 32 > {word})` makes one")));
    }
    Ok(secret.to_vec())
}
