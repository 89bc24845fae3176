//! A home folder with a project, and one agent that runs in it.

mod agents;
mod process;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use milepost_agents::documents::{self, AgentEvent, Document};
use milepost_agents::{Agent, Environment, SettingsScope};
use tempfile::TempDir;

use crate::model::{Model, ModelRequest};

pub use process::{AgentRun, AgentStarted};

/// A home folder of its own, with the folders of XDG, a project, an agent and a scripted model.
///
/// Dropping it ends all processes that have this home in their environment.
#[derive(Debug)]
pub struct AgentHome {
    agent: Agent,
    /// The command of Milepost.
    milepost: PathBuf,
    /// The folder that the agents are installed in.
    agents: PathBuf,
    model: Model,
    root: Arc<TempDir>,
    /// Number of programs that ran, and their time.
    spent: Mutex<(u32, Duration)>,
}

impl AgentHome {
    /// Makes a home for an agent. `None` if the agents are not installed, with a line about it.
    ///
    /// # Panics
    ///
    /// If they are not installed and `MILEPOST_AGENTS_REQUIRED` is 1.
    pub fn new(agent: Agent, milepost: &Path) -> Option<Self> {
        let agents = agents::installed(agent)?;
        let root = tempfile::Builder::new().prefix("milepost-agent-").tempdir().unwrap();
        let path = fs::canonicalize(root.path()).unwrap();
        for name in ["home", "work/shop", "tmp", "bin"] {
            fs::create_dir_all(path.join(name)).unwrap();
        }
        let (milepost, root) = (milepost.to_owned(), Arc::new(root));
        let model = Model::start(&path.join("work/shop"));
        let home = Self { agent, milepost, agents, model, root, spent: Mutex::default() };
        agents::write_settings(&home);
        Some(home)
    }

    /// Returns the same home and project for another agent, with a model of its own. `None` if the
    /// agent is not installed.
    pub fn with_another(&self, agent: Agent) -> Option<Self> {
        let agents = agents::installed(agent)?;
        let (milepost, root) = (self.milepost.clone(), Arc::clone(&self.root));
        let model = Model::start(&self.project(""));
        let home = Self { agent, milepost, agents, model, root, spent: Mutex::default() };
        agents::write_settings(&home);
        Some(home)
    }

    /// Returns the agent.
    pub fn agent(&self) -> Agent {
        self.agent
    }

    /// Returns a path below the folder that everything is in.
    pub fn path(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.root.path()).unwrap().join(name)
    }

    /// Returns a path in the project.
    pub fn project(&self, name: &str) -> PathBuf {
        self.path("work/shop").join(name)
    }

    /// Returns the text of a file of the project, or `None` if there is none.
    pub fn text(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.project(name)).ok()
    }

    /// Writes a file of the project.
    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.project(name), text).unwrap();
    }

    /// Begins a session with a prompt and waits for its end.
    pub fn prompt(&self, prompt: &str) -> AgentRun {
        self.run(agents::prompt(self, None, prompt))
    }

    /// Says a further prompt in a session.
    pub fn resume(&self, session: &str, prompt: &str) -> AgentRun {
        self.run(agents::prompt(self, Some(session), prompt))
    }

    /// Returns the command that says a prompt, to be changed before it runs.
    pub fn command(&self, session: Option<&str>, prompt: &str) -> Command {
        agents::prompt(self, session, prompt)
    }

    /// Returns the command that shows the agent's screen and says a prompt there. `None` for an
    /// agent whose screen is not tried.
    pub fn screen_command(&self, prompt: &str) -> Option<Command> {
        agents::on_screen(self, prompt)
    }

    /// Runs a command of this home and waits for its end.
    #[allow(clippy::disallowed_methods, reason = "the time that tests take, for the log of CI")]
    pub fn run(&self, command: Command) -> AgentRun {
        let begin = Instant::now();
        let run = self.start(command).wait();
        let mut spent = self.spent.lock().unwrap();
        *spent = (spent.0 + 1, spent.1 + begin.elapsed());
        run
    }

    /// Starts a command of this home.
    pub fn start(&self, command: Command) -> AgentStarted {
        AgentStarted::of(command, &self.path("tmp"))
    }

    /// Waits until something is so, for at most a minute. Returns `false` if it is not.
    #[allow(clippy::disallowed_methods, reason = "the wait for another process")]
    pub fn until(&self, is_so: impl Fn() -> bool) -> bool {
        let end = Instant::now() + Duration::from_secs(60);
        while !is_so() {
            if Instant::now() >= end {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        true
    }

    /// Runs Milepost in the project.
    pub fn milepost(&self, arguments: &[&str]) -> AgentRun {
        let mut command = self.plain(&self.milepost);
        command.args(arguments);
        self.run(command)
    }

    /// Runs Milepost in a folder.
    pub fn milepost_in(&self, folder: &Path, arguments: &[&str]) -> AgentRun {
        let mut command = self.plain(&self.milepost);
        command.args(arguments).current_dir(folder);
        self.run(command)
    }

    /// Runs Milepost with a store of its own, which no daemon has.
    pub fn milepost_apart(&self, arguments: &[&str]) -> AgentRun {
        let mut command = self.plain(&self.milepost);
        command.args(arguments).env("MILEPOST_STORE", self.path("store"));
        self.run(command)
    }

    /// Runs Git in the project.
    pub fn git(&self, arguments: &[&str]) -> String {
        let mut command = self.plain(Path::new("git"));
        command.args(["-c", "user.name=ana", "-c", "user.email=ana@example.org"]);
        command.args(arguments);
        self.run(command).ok().out
    }

    /// Returns a command in the project with the environment of this home and nothing else.
    pub fn plain(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.project("")).env_clear();
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command.env("LANG", "C.UTF-8").env("TERM", "xterm-256color").env("NO_COLOR", "1");
        command.env("HOME", self.path("home")).env("TMPDIR", self.path("tmp"));
        for name in ["CONFIG", "DATA", "STATE", "CACHE"] {
            let folder = self.path("home").join(format!("xdg/{}", name.to_lowercase()));
            command.env(format!("XDG_{name}_HOME"), folder);
        }
        command
    }

    /// Installs the hooks of Milepost into the user's settings.
    #[track_caller]
    pub fn install_hooks(&self) {
        self.milepost(&["agent", "install", self.agent.name()]).ok();
    }

    /// Installs the hooks, and has each document kept on its way to Milepost.
    #[track_caller]
    pub fn record_hooks(&self) {
        self.install_hooks();
        let folder = self.path("documents");
        fs::create_dir_all(&folder).unwrap();
        // The process of the script becomes that of Milepost: its parents are the same.
        let text = format!(
            "file=\"{}/$(date +%s%N)-$$\"\ncat > \"$file\"\nmv \"$file\" \"$file.json\"\n\
             exec '{}' \"$@\" < \"$file.json\"",
            folder.display(),
            self.milepost.display()
        );
        let program = self.script("record", &text);
        self.replace_program(&program);
    }

    /// Takes them out.
    #[track_caller]
    pub fn uninstall_hooks(&self) {
        self.milepost(&["agent", "uninstall", self.agent.name()]).ok();
    }

    /// Lets the installed hooks call another program in place of Milepost.
    pub fn replace_program(&self, program: &Path) {
        let own = self.milepost.to_str().unwrap();
        for file in self.agent.hook_files(&self.settings_file()) {
            let text = fs::read_to_string(&file.path).unwrap();
            assert!(text.contains(own), "{text}");
            fs::write(file.path, text.replace(own, program.to_str().unwrap())).unwrap();
        }
    }

    /// Writes a program of the shell, to be called in place of another.
    pub fn script(&self, name: &str, text: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.path("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// Returns the user's settings that have the hooks, or the folder that they are in.
    pub fn settings_file(&self) -> PathBuf {
        self.agent.settings(&self.environment(), SettingsScope::User).unwrap()
    }

    /// Returns the folder of the agent.
    pub fn agent_folder(&self) -> PathBuf {
        self.agent.folder(&self.environment()).unwrap()
    }

    fn environment(&self) -> Environment {
        let home = self.path("home");
        Environment::new(|name| match name {
            "HOME" => Some(home.clone().into_os_string()),
            "XDG_CONFIG_HOME" => Some(home.join("xdg/config").into_os_string()),
            _ => None,
        })
    }

    /// Returns the session files, sub-agents' too, in the order of their paths.
    pub fn session_files(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let folder = self.agent_folder();
        for place in agents::session_folders(self.agent) {
            below(&folder.join(place), &mut found);
        }
        found.retain(|path| path.extension().is_some_and(|end| end == "jsonl"));
        found.sort();
        found
    }

    /// Returns the requests that the model got.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.model.requests()
    }

    /// Returns the address of the model.
    pub fn model_url(&self) -> String {
        self.model.url()
    }

    /// Returns the number of requests that the model got.
    pub fn request_count(&self) -> usize {
        self.model.request_count()
    }

    /// Returns the events of recorded hooks so far, in the order of time.
    pub fn events(&self) -> Vec<AgentEvent> {
        self.hooks().into_iter().map(|(_, event)| event).collect()
    }

    /// Returns the processes of recorded hooks so far, with their events, in the order of time.
    pub fn hooks(&self) -> Vec<(u32, AgentEvent)> {
        let taken = |(path, document): (PathBuf, Vec<u8>)| {
            let (_, process) = path.file_stem()?.to_str()?.rsplit_once('-')?;
            match documents::read(self.agent, &document) {
                Document::Event(event) => Some((process.parse().ok()?, *event)),
                Document::Ignored(_) => None,
            }
        };
        self.recorded().into_iter().filter_map(taken).collect()
    }

    /// Returns the documents of recorded hooks so far, those that are no events too.
    pub fn documents(&self) -> Vec<Vec<u8>> {
        self.recorded().into_iter().map(|(_, document)| document).collect()
    }

    fn recorded(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files = Vec::new();
        below(&self.path("documents"), &mut files);
        files.retain(|path| path.extension().is_some_and(|end| end == "json"));
        files.sort();
        let read = |path: PathBuf| {
            let document = fs::read(&path).unwrap();
            (path, document)
        };
        files.into_iter().map(read).collect()
    }

    /// Returns the ids of processes that have this home in their environment.
    pub fn processes(&self) -> Vec<u32> {
        process::of_home(&self.path("home"))
    }
}

impl AgentHome {
    /// Returns the processes of this home that have these arguments, one after the other.
    pub fn running(&self, arguments: &[&str]) -> Vec<u32> {
        let is_it = |process: &u32| {
            let all = process::arguments(*process);
            all.windows(arguments.len()).any(|part| part == arguments)
        };
        self.processes().into_iter().filter(is_it).collect()
    }

    /// Kills processes, all at once, and waits for their ends.
    pub fn kill(&self, processes: &[u32]) {
        process::kill(processes);
    }

    /// Returns the folders with the stores of projects.
    pub fn stores(&self) -> Vec<PathBuf> {
        let folders = fs::read_dir(self.path("home/xdg/data/milepost/projects"));
        let mut found: Vec<_> =
            folders.into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
        found.sort();
        found
    }

    /// Returns the files of the project below a folder, with their bytes, by their paths there.
    pub fn files(&self, folder: &str) -> BTreeMap<String, Vec<u8>> {
        let (folder, mut found) = (self.project(folder), Vec::new());
        below(&folder, &mut found);
        let name = |path: &PathBuf| path.strip_prefix(&folder).unwrap().display().to_string();
        found.into_iter().map(|path| (name(&path), fs::read(&path).unwrap())).collect()
    }
}

impl Drop for AgentHome {
    fn drop(&mut self) {
        process::end_all(&self.path("home"));
        let (programs, spent) = *self.spent.lock().unwrap();
        let thread = std::thread::current();
        let test = thread.name().unwrap_or("a test");
        crate::skip::say(&format!(
            "{:5.1} s in {programs:2} programs: {test}",
            spent.as_secs_f32()
        ));
    }
}

/// All files below a folder, which may be missing.
fn below(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.map(|entry| entry.unwrap().path()) {
        match path.is_dir() {
            true => below(&path, found),
            false => found.push(path),
        }
    }
}
