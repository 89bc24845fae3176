//! Steps with much work of the engine: restored files, runs, hooks that refuse, participants,
//! secrets. They are done one at a time, and the model takes their appends from the store.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use milepost::calls::Conditions;
use milepost::events::{
    Application, Attachment, Data, GuidanceGiven, RunControl, StepFinished, StepStarted,
};
use milepost::{Append, Body, Checkpoint, Detail, ErrorKind, Mark, Scope};
use milepost_runtime::run::{EverySteps, Run, RunOptions, SafePoint};
use milepost_workspace::{Choices, Workspace, WorkspaceOptions};

use super::acts::{Acts, lock};
use super::call::print_of;
use super::check::OF_ENGINE;
use super::fork::adopt;
use super::judge::marked;
use super::model::EventModel;
use super::once::Keyed;
use super::part::Part;
use super::program::Op;
use super::resolve::name;
use super::settle::fresh;
use crate::bodies;
use crate::search;
use crate::seed::Random;

/// The files of a folder by their paths, and their content.
type Files = BTreeMap<String, Vec<u8>>;

/// Knowledge about these steps besides the model.
#[derive(Debug, Default)]
pub struct More {
    /// The folders of workspaces lie here.
    pub within: PathBuf,
    /// Files by the checkpoint with which they were captured.
    captured: BTreeMap<String, Files>,
    secrets: Vec<Secret>,
    /// Calls under keys.
    pub keyed: Vec<Keyed>,
    /// The hook refuses.
    pub refuses: Arc<AtomicBool>,
    /// The value that participants change.
    pub outside: Arc<Mutex<u64>>,
}

/// A text that nothing else has, and its event.
#[derive(Debug)]
struct Secret {
    text: String,
    task: String,
    generation: u32,
    lineage: u32,
    offset: u64,
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

impl Acts {
    /// Does such a step; returns `false` for any other, or if it has to wait for the task.
    pub fn more(&self, task: u8, op: &Op) -> Result<bool, String> {
        let name = name(task);
        let there = lock(&self.model).live_task(&name).is_some();
        let alone = self.lines.is_none() && !self.threaded.load(Ordering::SeqCst);
        let is_more = matches!(
            op,
            Op::Files(_)
                | Op::Rollback(_)
                | Op::Run(_)
                | Op::Hooked
                | Op::Part { .. }
                | Op::Secret(_)
                | Op::Attach { .. }
                | Op::Alias(_)
                | Op::Once(_)
                | Op::Again(_)
        );
        if !is_more || !there || !alone {
            return Ok(is_more && there);
        }
        let done = match op {
            Op::Files(seed) => self.files(&name, *seed),
            Op::Rollback(n) => self.rollback(&name, *n),
            Op::Run(seed) => self.steps_of_run(&name, *seed),
            Op::Hooked => self.hooked(&name),
            Op::Part { n, fails } => self.part(&name, *n, *fails),
            Op::Secret(seed) => self.secret(&name, *seed),
            Op::Attach { alias, index, salt } => {
                self.attach(&name, *alias, i64::from(*index), *salt)
            }
            Op::Alias(alias) => self.alias(&name, *alias),
            Op::Once(n) => self.once(&name, *n),
            Op::Again(n) => self.again(&name, *n),
            _ => Ok(()),
        };
        done.map_err(|e| format!("{op:?} of {name}: {e}"))?;
        self.sync(&name)?;
        Ok(true)
    }

    /// Takes the engine's appends into the model.
    pub fn sync(&self, name: &str) -> Result<(), String> {
        let engine = self.engine();
        let mut model = lock(&self.model);
        let task = engine.task(name).map_err(text)?;
        let epoch = task.epoch();
        if let Some(known) = model.tasks.get_mut(name) {
            known.loose = Some(epoch.saturating_sub(known.epoch()));
        }
        adopt(&engine, &mut model, true)?;
        let mut marks = fresh(&engine, &model, &task).map_err(text)?;
        marks.sort_by_key(|mark| (mark.lineage, mark.mark));
        for mark in &marks {
            marked(&mut model, name, mark, None);
        }
        let Some(known) = model.tasks.get_mut(name) else {
            return Ok(());
        };
        for info in task.lineages().map_err(text)? {
            let lineage = task.lineage_named(info.id).map_err(text)?;
            let Some(known) = known.lineages.get_mut(&info.id.0) else {
                continue;
            };
            let own = known.parent.map_or(0, |(_, offset)| offset).max(info.begin);
            let next = known.events.last_key_value().map_or(own, |(last, _)| last + 1);
            for event in lineage.read(own..).map_err(text)? {
                let event = event.map_err(text)?;
                let Some(body) = &event.body else { continue };
                // Events that a cleanup appends again may precede concurrent appends.
                let is_new = match body {
                    Body::DataAttached(_) => !known.events.contains_key(&event.offset),
                    _ => event.offset >= next && !OF_ENGINE.contains(&body.kind_name()),
                };
                if is_new {
                    let event_model = EventModel {
                        body: print_of(body),
                        message: matches!(body, Body::Message(_)),
                        erased: false,
                    };
                    known.events.insert(event.offset, event_model);
                }
            }
        }
        Ok(())
    }

    fn workspace(&self, name: &str) -> (Workspace, PathBuf) {
        let folder = lock(&self.more).within.join(format!("files-{name}"));
        fs::create_dir_all(&folder).unwrap();
        let workspace = Workspace::open(&folder, WorkspaceOptions::default()).unwrap();
        (workspace, folder)
    }

    /// Changes some files, and captures them.
    fn files(&self, name: &str, seed: u32) -> Result<(), String> {
        let (workspace, folder) = self.workspace(name);
        change(&folder, seed);
        let task = self.engine().task(name).map_err(text)?;
        let label = Mark::new().label("files");
        let report = workspace.capture(&self.engine(), &task, Some(label));
        let report = report.map_err(|e| format!("a capture: {e}"))?;
        if let Some(id) = report.checkpoint {
            let files = files_of(&folder);
            lock(&self.more).captured.insert(id.to_string(), files);
        }
        Ok(())
    }

    /// Takes the files back to where they were captured.
    fn rollback(&self, name: &str, n: u16) -> Result<(), String> {
        let (workspace, folder) = self.workspace(name);
        let to: Option<(String, Files)> = {
            let (model, more) = (lock(&self.model), lock(&self.more));
            let known = model.live_task(name).map(|task| &task.marks);
            let mut all: Vec<_> = known.into_iter().flatten().collect();
            all.retain(|(id, _)| more.captured.contains_key(*id));
            all.sort_by_key(|(_, mark)| mark.order);
            let at = usize::from(n).checked_rem(all.len());
            at.map(|at| (all[at].0.clone(), more.captured[all[at].0].clone()))
        };
        let Some((id, files)) = to else { return Ok(()) };
        let engine = self.engine();
        // Nothing is there that is not recorded.
        let task = engine.task(name).map_err(text)?;
        let captured = workspace.capture(&engine, &task, None);
        captured.map_err(|e| format!("a capture: {e}"))?;
        let before = files_of(&folder);
        let to = engine.point(&format!("@{id}")).map_err(text)?;
        let went = workspace.restore(&engine, &to, Scope::All, None, &Choices::default());
        went.map_err(|e| format!("I9: files do not go back: {e}"))?;
        if files_of(&folder) != files {
            return Err("I9: files went back to something else".into());
        }
        if n.is_multiple_of(3) {
            let undone = workspace.undo(&engine, name, &Choices::default());
            undone.map_err(|e| format!("I7, I9: it cannot be undone: {e}"))?;
            if files_of(&folder) != before {
                return Err("I9: an undo gave other files".into());
            }
        }
        Ok(())
    }

    /// Steps of a run, with guidance, a pause and an end.
    fn steps_of_run(&self, name: &str, seed: u32) -> Result<(), String> {
        let mut random = Random::new(u64::from(seed));
        let task = self.engine().task(name).map_err(text)?;
        let options = RunOptions::default().policy(EverySteps(1 + random.below(3)));
        let run = Run::of(task.clone(), options).map_err(text)?;
        if task.control().now().map_err(text)? == RunControl::Running {
            run.end().map_err(|e| format!("an end: {e}"))?;
        }
        run.begin().map_err(|e| format!("a beginning: {e}"))?;
        for step in 0..random.below(5) {
            if run.safe_point().map_err(text)? != SafePoint::Go {
                return Err("it is told to stop".into());
            }
            let started = StepStarted { step, ..StepStarted::default() };
            run.start_step(started).map_err(|e| format!("a step: {e}"))?;
            if random.below(3) == 0 {
                let text = bodies::text(random.number(), 30);
                let guidance = GuidanceGiven { text, data: None };
                run.append(guidance).map_err(|e| format!("guidance: {e}"))?;
            }
            if random.below(4) == 0 {
                run.pause("storm").map_err(|e| format!("a pause: {e}"))?;
                let paused = run.state().map_err(text)?.control;
                if paused != RunControl::Paused {
                    return Err(format!("it is {paused:?}, not paused"));
                }
                run.resume().map_err(|e| format!("a resumption: {e}"))?;
            }
            let finished = StepFinished { step, ..StepFinished::default() };
            run.finish_step(finished).map_err(|e| format!("a step's end: {e}"))?;
        }
        run.end().map_err(|e| format!("an end: {e}"))?;
        match run.state().map_err(text)?.control {
            RunControl::Running => Err("a run that ended is running".into()),
            _ => Ok(()),
        }
    }

    /// Makes a request that a hook refuses.
    fn hooked(&self, name: &str) -> Result<(), String> {
        let engine = self.engine();
        let task = engine.task(name).map_err(text)?;
        let (head, epoch) = (task.head().map_err(text)?, task.epoch());
        let refuses = Arc::clone(&lock(&self.more).refuses);
        refuses.store(true, Ordering::SeqCst);
        let marked = task.checkpoint(Mark::new()).map(|_: Checkpoint| ());
        let point = task.point(head.next).map_err(text)?;
        let restored = engine.restore(&point).run().map(|_| ());
        refuses.store(false, Ordering::SeqCst);
        for got in [marked, restored] {
            let refused = got.as_ref().err().and_then(milepost::Error::detail);
            if !matches!(refused, Some(Detail::Refused { .. })) {
                return Err(format!("a hook refuses, and it came to {got:?}"));
            }
        }
        let task = engine.task(name).map_err(text)?;
        match (task.head().map_err(text)?, task.epoch()) == (head, epoch) {
            true => Ok(()),
            false => Err("what a hook refused was done".into()),
        }
    }

    /// Restores with a participant, which may fail, and mostly with an expected head, which may be
    /// wrong.
    fn part(&self, name: &str, n: u16, fails: bool) -> Result<(), String> {
        let engine = self.engine();
        let task = engine.task(name).map_err(text)?;
        let info = task.lineage().info().map_err(text)?;
        let at = info.begin + u64::from(n) % (info.head.next - info.begin + 1);
        let epoch = task.epoch();
        let outside = Arc::clone(&lock(&self.more).outside);
        let before = *lock(&outside);
        let part = Arc::new(Part { outside: Arc::clone(&outside), to: before + 1, fails });
        let to = task.point(at).map_err(text)?;
        let expected = [None, Some(info.head.next), Some(info.head.next + 1)];
        let expected = expected[usize::from(n / 7 % 3)];
        let refused = expected.is_some_and(|head| head != info.head.next);
        let mut conditions = Conditions::new();
        if let Some(head) = expected {
            conditions = conditions.expect_head(head);
        }
        let got = engine.restore(&to).with(part).conditions(conditions).run();
        let now = *lock(&outside);
        let task = engine.task(name).map_err(text)?;
        // The present is marked before.
        let stayed = task.epoch() == epoch && task.lineage().id() == info.id;
        match (got, fails || refused) {
            (Ok(_), false) if now == before + 1 && task.epoch() == epoch + 1 => Ok(()),
            (Err(error), true) if now == before && stayed => {
                let head = task.head().map_err(text)?.next;
                match refused && (error.kind() != ErrorKind::Conflict || head != info.head.next) {
                    true => Err(format!("I13: it came to {error} and head {head}")),
                    false => Ok(()),
                }
            }
            (got, _) => {
                let got = got.map(|task| task.epoch());
                Err(format!("I9: it came to {got:?}, outside is {now} after {before}"))
            }
        }
    }

    /// Attaches data to a checkpoint that is marked already, later, or never.
    fn attach(&self, name: &str, alias: u8, index: i64, salt: u16) -> Result<(), String> {
        let alias = format!("pending-{alias}");
        let data = Data::Bytes(salt.to_le_bytes().repeat(1 + usize::from(salt % 40)));
        let task = self.engine().task(name).map_err(text)?;
        let attached = task.attach(&alias, [Attachment::new("storm", index, data)]);
        attached.map_err(text)?;
        if let Some(known) = lock(&self.model).tasks.get_mut(name) {
            known.attach(&alias, index, salt);
        }
        Ok(())
    }

    /// Marks a checkpoint with an alias to which data may be attached.
    fn alias(&self, name: &str, alias: u8) -> Result<(), String> {
        let alias = format!("pending-{alias}");
        let task = self.engine().task(name).map_err(text)?;
        let marked = task.checkpoint(Mark::new().alias(&alias)).map_err(text)?;
        if let Some(known) = lock(&self.model).tasks.get_mut(name) {
            known.forget_attached();
            known.aliased.entry(alias).or_default().insert(marked.id.to_string());
        }
        Ok(())
    }

    fn secret(&self, name: &str, seed: u32) -> Result<(), String> {
        let mut random = Random::new(u64::from(seed) | 1 << 40);
        let word = format!("{:016x}{:016x}", random.number(), random.number());
        let task = self.engine().task(name).map_err(text)?;
        let data = Data::Bytes(word.clone().into_bytes());
        let body = Application { name: "test.secret".into(), data };
        let done = task.append(Append::from(body)).map_err(text)?;
        let generation = lock(&self.model).tasks.get(name).map_or(0, |task| task.generation);
        lock(&self.more).secrets.push(Secret {
            text: word,
            task: name.to_owned(),
            generation,
            lineage: task.lineage().id().0,
            offset: done.first,
        });
        Ok(())
    }

    /// Secrets that were withdrawn by now.
    pub fn withdrawn(&self) -> Vec<String> {
        let (model, more) = (lock(&self.model), lock(&self.more));
        let gone = |secret: &&Secret| {
            let task = model.tasks.get(&secret.task);
            let task = task.filter(|task| task.live && task.generation == secret.generation);
            task.is_none_or(|task| {
                let event = task.event(secret.lineage, secret.offset);
                event.is_some_and(|event| event.erased)
            })
        };
        let gone = more.secrets.iter().filter(gone);
        gone.map(|secret| secret.text.clone()).collect()
    }

    /// Looks for secrets that were withdrawn before a compaction.
    pub fn search(&self, withdrawn: &[String]) -> Result<(), String> {
        if withdrawn.is_empty() {
            return Ok(());
        }
        let found = search::holding(&self.root, withdrawn);
        lock(&self.more).secrets.retain(|secret| !withdrawn.contains(&secret.text));
        match found.first() {
            Some((path, n)) => Err(format!(
                "I10: {} of {} is in {} behind a compaction",
                withdrawn[*n],
                withdrawn.len(),
                path.strip_prefix(&self.root).unwrap_or(path).display()
            )),
            None => Ok(()),
        }
    }
}

/// Writes and removes files.
fn change(folder: &Path, seed: u32) {
    let mut random = Random::new(u64::from(seed));
    for _ in 0..1 + random.below(4) {
        let names = ["a", "b", "c/d", "c/e", "f/g/h"];
        let path = folder.join(names[random.below(5) as usize]);
        match random.below(4) {
            0 => drop(fs::remove_file(&path)),
            _ => {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                let len = [0, 30, 3000, 200_000][random.below(4) as usize];
                fs::write(&path, bodies::text(random.number(), len)).unwrap();
            }
        }
    }
}

fn files_of(folder: &Path) -> Files {
    let all = search::files(folder).into_iter();
    all.map(|path| {
        let name = path.strip_prefix(folder).unwrap().display().to_string();
        (name, fs::read(&path).unwrap())
    })
    .collect()
}
