//! `serve`: the store over HTTP.

use std::path::PathBuf;
use std::time::Duration;

use milepost::internals::threads;
use milepost::{Engine, Options};
use milepost_server::{Listening, Server, ServerOptions, Tls, Tokens};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tracing::{error, info};

use super::allocator;
use super::command::{CliCommand, Examples, Run};
use super::token::UNTRUSTED;
use crate::args::{LogFormat, ServeFlags};
use crate::config::{Config, Listen};
use crate::error::{Failure, Result};
use crate::output::{Out, note};
use crate::store_locator::StoreArgs;

/// Idle time after which a thread that waits for the disk ends. Each of them keeps some memory.
pub(super) const KEEP_ALIVE: Duration = Duration::from_secs(1);

/// Serve the store over HTTP until SIGTERM or Ctrl-C; see docs/HTTP.md.
#[derive(Debug, clap::Args)]
pub struct ServeArgs {
    /// A settings file in TOML. Default: MILEPOST_CONFIG. `milepost config check` shows the
    /// settings in effect.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    #[command(flatten)]
    pub flags: ServeFlags,
}

impl CliCommand for ServeArgs {
    const EXAMPLES: Examples = &[
        ("serve", "on this machine, on port 7733"),
        ("serve --listen 127.0.0.1:0 --json", "on a free port, which it prints"),
    ];
    const RUN: Run<Self> = Run::Alone(run);
}

fn run(store: &StoreArgs, args: &ServeArgs, out: &mut Out) -> Result<()> {
    allocator::start_again_with_settings();
    let config = Config::gather(&args.flags, args.config.as_deref())?;
    log_to_stderr(config.log_format()?, config.log_level()?);
    let mut store = store.clone();
    store.dir = store.dir.or_else(|| config.store());
    milepost_server::raise_open_files();
    let states = config.states()?;
    let engine = store.open_to_serve(Options::default().keep_states(states))?;
    // Opens the existing store, and creates none: it may have gone with its disk.
    let open = move || {
        let (dir, options) = store.there_with_hooks().map_err(|e| e.to_string())?;
        Engine::open(dir, options.keep_states(states)).map_err(|e| e.to_string())
    };
    let (server, admins) = match server(&engine, &config) {
        Ok(server) => server,
        Err(failure) => {
            engine.close()?;
            return Err(failure);
        }
    };
    drop(engine);
    let served = serve(&server, &admins, open, &config, out);
    // All accepted requests are answered by now.
    let closed = server.engine().close();
    served?;
    Ok(closed?)
}

/// Returns the service, and the admin tokens that exist.
fn server(engine: &Engine, config: &Config) -> Result<(Server, Vec<String>)> {
    let tokens = match engine.store().chunks().folder() {
        Some(folder) => Tokens::of_store(folder),
        None => Tokens::none(),
    };
    let open = !tokens.any()?;
    if !open && !milepost_service::jobs::is_trusted(engine) {
        let text =
            "tokens came with the store, and you do not trust the store: none of them counts";
        return Err(Failure::new(text).hint(UNTRUSTED));
    }
    let admins = super::trust::admins(&tokens.list()?);
    let place = config.listen()?;
    if open
        && let Listen::Address(place) = &place
        && !place.ip().is_loopback()
    {
        return Err(Failure::new(format!(
            "no token was created: anyone who reaches {place} could do everything"
        ))
        .hint("`milepost token create --user U --admin` makes one; without, listen on 127.0.0.1"));
    }
    let options = ServerOptions::default()
        .keep_count(config.number("keep_count")?)
        .read_only(config.switch("read_only")?)
        .page(config.switch("page")?)
        .checkpoints(config.checkpoints()?)
        .backups(true)
        .body(config.number("limits.body")?)
        .per_token(config.number("limits.per_token")?)
        .streams(config.number("limits.streams")?)
        .tasks(config.number("limits.tasks")? as u64)
        .header(config.number("limits.header")?)
        .connections(config.number("limits.connections")?)
        .memory(config.number("limits.memory")?)
        .disk_reserve(config.number("limits.disk_reserve")? as u64)
        .origins(config.origins()?)
        .read_timeout(config.span("limits.read_timeout")?)
        .request_timeout(config.span("limits.request_timeout")?)
        .drain(config.span("limits.drain")?);
    Ok((Server::new(engine, tokens, options)?, admins))
}

fn serve(
    server: &Server,
    admins: &[String],
    open: impl Fn() -> std::result::Result<Engine, String> + Send + 'static,
    config: &Config,
    out: &mut Out,
) -> Result<()> {
    let place = config.listen()?;
    let tls = config.tls().map(|(certificate, key)| Tls::read(certificate, key));
    let tls = tls.transpose().map_err(|e| {
        cannot("use TLS", &e)
            .hint("`tls.certificate` and `tls.key` name two PEM files of one another")
    })?;
    // The user's own programs reach the service there, in any configuration.
    let _attached = server.attach().map_err(|e| {
        cannot("answer at the socket in the store", &e)
            .hint("the socket is `server/socket` in the store's folder")
    })?;
    let _kept_open = server.keep_open(open).map_err(|e| cannot("start", &e))?;
    let runtime = Builder::new_multi_thread()
        .enable_all()
        .thread_keep_alive(KEEP_ALIVE)
        .build()
        .map_err(|e| cannot("start", &e))?;
    let served = runtime.block_on(async {
        // Signals are handled before the output tells that the service runs.
        let stop = stopped(tls.is_some())?;
        tls.clone().map(read_again).transpose()?;
        let listening = listen(&place, tls).await?;
        let at = listening.at().map_err(|e| cannot("listen", &e))?;
        match out.json {
            true => out.json(&json!({ "listening": at }))?,
            false => out.line(format!("listening on {at}"))?,
        }
        out.flush()?;
        if !admins.is_empty() {
            let admins = admins.join(", ");
            note(&format!("admin tokens, which may do everything: {admins}"));
        }
        if server.is_open_to_all()? {
            note(match place {
                Listen::Address(_) => {
                    "no token was created: anyone who reaches this machine's own \
                    address may do everything"
                }
                Listen::Socket(_) => {
                    "no token was created: your own programs may do everything at \
                    the socket"
                }
            });
        }
        let answered = server.serve(listening, stop).await;
        answered.map_err(|e| cannot("answer", &e))
    });
    // Hooks may ask the socket.
    server.engine().store().end_hooks();
    // Closing the engine waits for work that still uses it. The second signal ends that, too.
    runtime.shutdown_background();
    served
}

async fn listen(place: &Listen, tls: Option<Tls>) -> Result<Listening> {
    let at = match place {
        Listen::Socket(path) => {
            let listening = Listening::unix(path).await;
            return listening.map_err(|error| {
                Failure::new(format!("cannot listen on {}: {error}", path.display()))
                    .hint("`--listen unix:PATH` names another place")
            });
        }
        Listen::Address(at) => at,
    };
    let listener = TcpListener::bind(at).await.map_err(|error| {
        Failure::new(format!("cannot listen on {at}: {error}"))
            .hint("`--listen ADDRESS:PORT` names another place, port 0 takes a free one")
    })?;
    Ok(match tls {
        Some(tls) => Listening::tls(listener, tls),
        None => Listening::tcp(listener),
    })
}

/// Reads the certificate and the key again on each SIGHUP.
fn read_again(tls: Tls) -> Result<()> {
    let mut asked = signal(SignalKind::hangup()).map_err(|e| cannot("take signals", &e))?;
    tokio::spawn(async move {
        while asked.recv().await.is_some() {
            match tls.reload() {
                Ok(()) => info!(target: "milepost::http", "the certificate was read again"),
                Err(error) => {
                    error!(target: "milepost::http", %error, "the certificate stays what it was");
                }
            }
        }
    });
    Ok(())
}

/// Returns a future that completes with the first signal to stop. The second one ends the process:
/// acknowledged events are durable. SIGHUP, which a closed terminal sends, is a signal to stop
/// unless it reloads the certificate.
pub(super) fn stopped(has_tls: bool) -> Result<impl Future<Output = ()> + Send + 'static> {
    let taken = |kind| signal(kind).map_err(|e| cannot("take signals", &e));
    let (mut term, mut int, mut hup) = (
        taken(SignalKind::terminate())?,
        taken(SignalKind::interrupt())?,
        taken(SignalKind::hangup())?,
    );
    Ok(async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
            _ = hup.recv(), if !has_tls => {}
        }
        note("stopping: what was accepted is answered first; once more ends it at once");
        // This thread outlives all others, until the process ends.
        if let Err(error) = threads::start("signals", end_at_once) {
            note(&error.to_string());
        }
    })
}

/// Ends the process with the next signal to stop.
fn end_at_once() {
    use signal_hook::consts::{SIGINT, SIGTERM};
    if let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])
        && signals.forever().next().is_some()
    {
        std::process::exit(130);
    }
}

pub(super) fn cannot(what: &str, error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot {what}: {error}"))
}

fn log_to_stderr(format: LogFormat, level: tracing::Level) {
    // Requests are answered even if the log has no reader.
    let log = || {
        let log = tracing_subscriber::fmt().with_writer(std::io::stderr);
        log.with_max_level(level).log_internal_errors(false)
    };
    // An existing subscriber stays in place.
    let _ = match format {
        LogFormat::Human => log().with_ansi(false).try_init(),
        LogFormat::Json => log().json().flatten_event(true).try_init(),
        LogFormat::None => Ok(()),
    };
}
