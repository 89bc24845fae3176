//! `ui`: the page of the store in a browser of this machine.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use milepost::Engine;
use milepost::internals::threads;
use milepost_server::{Listening, Server, ServerOptions, Tokens};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::runtime::Builder;

use super::command::{CliCommand, Examples, Needs, Run};
use super::serve::{KEEP_ALIVE, cannot, stopped};
use crate::backend::{Backend, Local, Remote, Way};
use crate::error::{Failure, Result};
use crate::output::{Out, note, words};
use crate::secrets;

/// The program that opens a file in the user's browser.
const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

/// Open the store as a page in a browser, until Ctrl-C. If another program has the store open,
/// the page shows and steers it there.
#[derive(Debug, clap::Args)]
pub struct UiArgs {
    /// The address of the point that the page shows; see `milepost --help`. Default: all tasks.
    pub address: Option<String>,
    /// Print the address of the page, which works once and for a minute, and open no browser.
    #[arg(long)]
    pub no_browser: bool,
    /// The address and port to listen on, of this machine only; port 0 picks a free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
}

impl CliCommand for UiArgs {
    const EXAMPLES: Examples = &[
        ("ui", "the tasks, in your browser"),
        ("ui run@17 --no-browser", "event 17; prints the address to open"),
    ];
    const RUN: Run<Self> = Run::OnStore(Needs { lists: true, ..Needs::WRITES }, run);
}

fn run(source: &dyn Backend, args: &UiArgs, out: &mut Out) -> Result<()> {
    match source.way() {
        Way::Here(engine, _) => of_this(engine, args, out),
        Way::There(there) => of_other(there, args, out),
    }
}

/// Serves the page until a signal, to the user of this machine only: every caller needs a session,
/// and sessions begin with a code.
fn of_this(engine: &Engine, args: &UiArgs, out: &mut Out) -> Result<()> {
    let screen = screen(&Local::new(engine), args)?;
    let options = ServerOptions::default().sessions_only(true).backups(true);
    let server = Server::new(engine, Tokens::none(), options)?;
    // A store with hooks has its socket already.
    let _attached = server.attach().ok();
    let served = serve(&server, &screen, args, out);
    engine.store().end_hooks();
    served
}

/// Serves the page of a store that another program has open, which answers at the store's socket.
fn of_other(there: &Remote, args: &UiArgs, out: &mut Out) -> Result<()> {
    let Some(socket) = there.socket() else {
        let text = format!("{} has its page itself", there.place());
        return Err(Failure::new(text).hint("open its address in a browser"));
    };
    let screen = screen(there, args)?;
    let server = Server::forwarding(socket, ServerOptions::default())?;
    serve(&server, &screen, args, out)
}

/// Checks the arguments. Returns the screen that the page shows first.
fn screen(source: &dyn Backend, args: &UiArgs) -> Result<String> {
    if !args.listen.ip().is_loopback() {
        let text = format!("{} is no address of this machine alone", args.listen);
        return Err(Failure::new(text).hint(
            "`milepost serve` answers other machines, with tokens of `milepost token create \
                 --user U`",
        ));
    }
    match &args.address {
        Some(address) => {
            source.point(address)?;
            Ok(format!("/task/{}", words::fragment(address)))
        }
        None => Ok("/tasks".into()),
    }
}

fn serve(server: &Server, screen: &str, args: &UiArgs, out: &mut Out) -> Result<()> {
    let runtime = Builder::new_multi_thread()
        .enable_all()
        .thread_keep_alive(KEEP_ALIVE)
        .build()
        .map_err(|e| cannot("start", &e))?;
    let served = runtime.block_on(async {
        let stop = stopped(false)?;
        let listener = TcpListener::bind(args.listen).await;
        let listening = listener.map(Listening::tcp).map_err(|e| {
            cannot(&format!("listen on {}", args.listen), &e)
                .hint("`--listen 127.0.0.1:0` takes a free port")
        })?;
        let at = listening.at().map_err(|e| cannot("listen", &e))?;
        let code = server.code()?;
        let address = format!("{at}/#code={code}&to={}", words::fragment(screen));
        let _redirect = show(&at, address, args.no_browser, out)?;
        server.serve(listening, stop).await.map_err(|e| cannot("answer", &e))
    });
    runtime.shutdown_background();
    served
}

/// Opens the address in a browser, or prints it.
fn show(at: &str, address: String, prints: bool, out: &mut Out) -> Result<Option<Redirect>> {
    match (out.json, prints) {
        (true, true) => out.json(&json!({ "listening": at, "address": address }))?,
        (true, false) => out.json(&json!({ "listening": at }))?,
        (false, true) => out.line(&address)?,
        (false, false) => out.line(format!("listening on {at}"))?,
    }
    out.flush()?;
    if prints {
        note("the address works once, within a minute; Ctrl-C ends the page");
        return Ok(None);
    }
    let redirect = Redirect::write(&address).map_err(|e| {
        cannot("write the file that a browser opens", &e)
            .hint("`--no-browser` prints the address of the page instead")
    })?;
    note("if no page opens: `milepost ui --no-browser` prints its address; Ctrl-C ends the page");
    let file = redirect.0.clone();
    threads::start("browser", move || {
        if let Err(why) = open(&file) {
            note(&format!("{why}: open {address} within a minute"));
        }
    })
    .map_err(|e| cannot("start", &io::Error::other(e)))?;
    Ok(Some(redirect))
}

/// Opens a file in the user's browser.
fn open(file: &Path) -> std::result::Result<(), String> {
    let mut command = Command::new(OPENER);
    command.arg(file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.env_remove(secrets::TOKEN).env_remove(secrets::KEY);
    // Ctrl-C is for this command, and not for a browser that it starts.
    command.process_group(0);
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{OPENER}` failed ({status})")),
        Err(error) => Err(format!("cannot start `{OPENER}`: {error}")),
    }
}

/// A file that leads a browser to an address. Lists of processes show arguments to other users, and
/// the content of this file to none. Removed when dropped.
struct Redirect(PathBuf);

impl Redirect {
    fn write(address: &str) -> io::Result<Self> {
        let random = milepost::internals::new_secret().map_err(io::Error::other)?;
        let name = format!("milepost-{}.html", blake3::hash(&random).to_hex());
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        let folder = runtime.filter(|folder| folder.is_dir()).unwrap_or_else(std::env::temp_dir);
        let path = folder.join(name);
        let mut file = File::options().write(true).create_new(true).mode(0o600).open(&path)?;
        let redirect = Self(path);
        let address = address.replace('&', "&amp;");
        file.write_all(
            format!(
                "<!doctype html>\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" \
                 content=\"no-referrer\">\n<meta http-equiv=\"refresh\" \
                 content=\"0;url={address}\">\n<title>Milepost</title>\n"
            )
            .as_bytes(),
        )?;
        Ok(redirect)
    }
}

impl Drop for Redirect {
    fn drop(&mut self) {
        // One that is left has a code that has expired.
        let _ = fs::remove_file(&self.0);
    }
}
