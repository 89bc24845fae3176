//! `agent serve`: the daemon of a project. Hooks start it, and it ends when its sessions are idle.

use std::fs::OpenOptions;
use std::io::IsTerminal as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use milepost::clock::{Clock as _, SystemClock};
use milepost::internals::threads;
use milepost::{Engine, Options};
use milepost_agents::Spool;
use milepost_langgraph::ThreadReducer;
use milepost_server::ServerOptions;
use milepost_sessions::{Recorder, RecorderOptions};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use tracing_subscriber::filter::LevelFilter;

use super::project::{environment, has_no_files, project};
use crate::defaults::current_user;
use crate::error::{CONFLICT, Failure, Result};
use crate::outside;
use crate::store_locator::{SOCKET, StoreArgs, made_at};

#[derive(Debug, clap::Args)]
pub struct AgentServe {
    /// The project. Default: the current one.
    #[arg(long, value_name = "DIR")]
    pub project: Option<std::path::PathBuf>,
    /// The minutes after the last hook at which it ends, once no agent of its sessions lives.
    #[arg(long, value_name = "MINUTES", default_value_t = 30)]
    pub idle: u32,
}

/// Largest size of the log of the daemon, in bytes. A larger one is begun anew.
const LOG_MAX: u64 = 1 << 20;

/// Size of the store's cache, in bytes. Hooks append, and read little.
const CACHE: usize = 4 << 20;

/// Memory of requests, of which their bodies may have a quarter.
const MEMORY_MAX: usize = 512 << 20;

/// Largest request, in bytes: a document of a hook has up to 64 MiB, and more as JSON text.
const BODY_MAX: usize = 96 << 20;

pub fn run(args: &AgentServe) -> Result<()> {
    let project = match &args.project {
        Some(project) => milepost_agents::real(project),
        None => project()?,
    };
    let store = outside::make(&project)?;
    if !std::io::stdin().is_terminal() {
        // The daemon outlives the terminal of the agent. A leader of processes stays where it is.
        let _ = rustix::process::setsid();
    }
    log_to(&store.with_file_name("agent.log"));
    StoreArgs::default().check_owner(&store)?;
    let engine = match made_at(
        &store,
        Options::default().create(true).cache_bytes(CACHE).reducer(ThreadReducer),
    ) {
        // Another daemon was faster: hooks reach that one.
        Err(failure) if failure.is_in_use() => match is_served(&store) {
            true => return Ok(()),
            // The hook that started this tells it from a store that cannot be opened.
            false => return Err(failure.code_of(CONFLICT)),
        },
        opened => opened?,
    };
    let served = serve(&engine, &project, args);
    let closed = engine.close();
    served?;
    Ok(closed?)
}

fn is_served(store: &Path) -> bool {
    super::daemon::answers(&store.join(SOCKET))
}

fn serve(engine: &Engine, project: &Path, args: &AgentServe) -> Result<()> {
    let environment = environment();
    let mut options = RecorderOptions::new(project, current_user())
        .files(!has_no_files(project))
        .idle(Duration::from_secs(u64::from(args.idle) * 60));
    if let Some(spool) = Spool::of(&environment) {
        // Parts that cannot be removed do not count as documents.
        let _ = spool.remove_parts(SystemClock.now_us());
        options = options.spool(spool);
    }
    let recorder = Arc::new(Recorder::start(engine, options.environment(environment))?);
    let taker = Arc::clone(&recorder);
    let served = ServerOptions::default()
        .body(BODY_MAX)
        .memory(MEMORY_MAX)
        .backups(true)
        .agent_hooks(move |asked| taker.take(asked));
    let attached = milepost_server::attach_with(engine, served)
        .map_err(|error| Failure::new(format!("cannot answer at the store's socket: {error}")))?;
    let ended = Arc::clone(&recorder);
    let mut signals = signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGTERM])
        .map_err(|error| Failure::new(format!("cannot take signals: {error}")))?;
    threads::start("signals", move || {
        if signals.forever().next().is_some() {
            ended.stop();
        }
    })?;
    recorder.wait();
    // Requests under way are answered.
    drop(attached);
    Ok(())
}

/// Writes warnings to a file that only the user can read. Without it there is no log.
fn log_to(file: &Path) {
    let is_large = file.metadata().is_ok_and(|there| there.len() > LOG_MAX);
    let mut options = OpenOptions::new();
    options.create(true).mode(0o600).write(true).append(!is_large).truncate(is_large);
    if let Ok(log) = options.open(file) {
        let log = tracing_subscriber::fmt().with_writer(std::sync::Mutex::new(log));
        let log = log.with_max_level(LevelFilter::WARN);
        let _ = log.with_ansi(false).log_internal_errors(false).try_init();
    }
}
