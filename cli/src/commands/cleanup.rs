//! `cleanup`: old checkpoints go, and events that nothing needs.

use milepost::{
    CapturesPlan, CheckpointId, Detail, Engine, LineageId, Offset, RetentionPlan, TaskPlan,
    TaskRetained,
};
use serde_json::{Value, json};

use super::{task, words};
use crate::args::Cleanup;
use crate::error::{Failure, Result};
use crate::output::{Look, Out, bar, big, count, note, printable, size};

/// A bar is shown from so many tasks on.
const LONG: u64 = 100;

pub fn run(engine: &Engine, args: &Cleanup, out: &mut Out) -> Result<()> {
    let task = args
        .task
        .as_deref()
        .map(|id| task(engine, id))
        .transpose()?;
    let policy = args.policy(task.as_ref().map(|task| task.id()));
    let plan = engine.plan_retention(&policy)?;
    let (fates, captures) = match args.dry_run {
        true => {
            let fates: Vec<Fate> = plan.tasks.iter().map(Fate::planned).collect();
            (fates, captures(engine, &plan))
        }
        false => (apply(engine, &plan)?, None),
    };
    if out.json {
        print_json(&fates, args.dry_run, captures, out)?;
    } else {
        print_text(&fates, args.dry_run, captures, out)?;
    }
    let failed = fates.iter().filter(|fate| fate.error.is_some()).count();
    if failed == 0 {
        return Ok(());
    }
    let failure = Failure::new(format!(
        "{} could not be cleaned up, or not wholly",
        count(failed as u64, "task")
    ));
    Err(match fates.iter().find(|fate| fate.held_up) {
        Some(fate) => {
            let task = words::encode(&fate.task);
            failure.hint(format!(
                "what is done stays done; `milepost recover {task}` takes back the restore that was cut short"
            ))
        }
        None => failure.hint(
            "what is done stays done; where a reducer is missing, clean up from the program that \
             has it, or with --marks-only",
        ),
    })
}

/// What goes with captures. Nothing where they cannot be read, which keeps nothing else from going.
fn captures(engine: &Engine, plan: &RetentionPlan) -> Option<CapturesPlan> {
    let planned = engine.plan_captures(plan);
    planned
        .inspect_err(|error| {
            note(&format!(
                "what goes of captured folders is not known: {error}"
            ))
        })
        .ok()
}

fn apply(engine: &Engine, plan: &RetentionPlan) -> Result<Vec<Fate>> {
    let all = plan.tasks.len() as u64;
    let shown = bar(all, "clean up", all >= LONG, false);
    let report = engine.apply_retention(plan, &mut |done, _| shown.set_position(done));
    shown.finish_and_clear();
    let done = report?.tasks;
    Ok(plan
        .tasks
        .iter()
        .zip(done)
        .map(|(plan, done)| Fate::done(plan, done))
        .collect())
}

/// What goes of a task and what stays, or what went and stayed.
struct Fate {
    task: String,
    user: String,
    checkpoints: u64,
    go: u64,
    pinned: u64,
    /// Which go. Nothing where not all of them went.
    removed: Option<Vec<CheckpointId>>,
    trimmed: Vec<(LineageId, Offset)>,
    dropped: Vec<LineageId>,
    /// Events that go, and about how many bytes. Nothing where not all of them went.
    freed: Option<(u64, u64)>,
    error: Option<String>,
    /// Whether that is a restore which was cut short.
    held_up: bool,
}

impl Fate {
    fn planned(plan: &TaskPlan) -> Self {
        let known = plan.error.is_none();
        Self {
            task: plan.task.clone(),
            user: plan.user.clone(),
            checkpoints: plan.checkpoints,
            go: plan.removed.len() as u64,
            pinned: plan.pinned,
            removed: known.then(|| plan.removed.clone()),
            trimmed: plan.trimmed.clone(),
            dropped: plan.dropped.clone(),
            freed: known.then_some((plan.events, plan.bytes)),
            error: plan.error.clone(),
            held_up: false,
        }
    }

    fn done(plan: &TaskPlan, done: TaskRetained) -> Self {
        let planned = Self::planned(plan);
        Self {
            removed: planned
                .removed
                .filter(|all| all.len() as u64 == done.removed),
            go: done.removed,
            trimmed: done.trimmed,
            dropped: done.dropped,
            freed: planned.freed.filter(|_| done.error.is_none()),
            held_up: matches!(
                done.error.as_ref().and_then(|error| error.detail()),
                Some(Detail::Pending { .. })
            ),
            error: done.error.map(|error| error.to_string()),
            ..planned
        }
    }

    fn stay(&self) -> u64 {
        self.checkpoints.saturating_sub(self.go)
    }

    /// Whether nothing goes.
    fn is_empty(&self) -> bool {
        let none = self.go == 0 && self.trimmed.is_empty() && self.dropped.is_empty();
        none && self.error.is_none()
    }

    fn row(&self) -> Vec<String> {
        let bytes = self.freed.map(|(_, bytes)| size(bytes));
        vec![
            printable(&self.task).into_owned(),
            printable(&self.user).into_owned(),
            self.checkpoints.to_string(),
            self.go.to_string(),
            self.stay().to_string(),
            self.pinned.to_string(),
            self.trimmed.len().to_string(),
            self.dropped.len().to_string(),
            bytes.unwrap_or_else(|| "-".into()),
        ]
    }

    fn form(&self) -> Value {
        let trimmed = self.trimmed.iter();
        let trimmed: Vec<_> = trimmed
            .map(|(lineage, offset)| json!({"lineage": lineage, "offset": big(*offset)}))
            .collect();
        json!({
            "id": self.task,
            "user": self.user,
            "checkpoints": big(self.checkpoints),
            "go": big(self.go),
            "stay": big(self.stay()),
            "pinned": big(self.pinned),
            "removed": self.removed,
            "trimmed": trimmed,
            "dropped": self.dropped,
            "events": self.freed.map(|(events, _)| big(events)),
            "bytes": self.freed.map(|(_, bytes)| big(bytes)),
            "error": self.error,
        })
    }
}

/// Sums over tasks.
#[derive(Default)]
struct Total {
    tasks: u64,
    concerned: u64,
    go: u64,
    stay: u64,
    pinned: u64,
    events: u64,
    bytes: u64,
}

impl Total {
    fn of(fates: &[Fate]) -> Self {
        let mut total = Self::default();
        for fate in fates {
            let (events, bytes) = fate.freed.unwrap_or_default();
            total.tasks += 1;
            total.concerned += u64::from(!fate.is_empty());
            total.go += fate.go;
            total.stay += fate.stay();
            total.pinned += fate.pinned;
            total.events += events;
            total.bytes += bytes;
        }
        total
    }
}

fn print_json(
    fates: &[Fate],
    dry_run: bool,
    captures: Option<CapturesPlan>,
    out: &mut Out,
) -> Result<()> {
    let total = Total::of(fates);
    let tasks: Vec<Value> = fates.iter().map(Fate::form).collect();
    Ok(out.json(&json!({
        "dry_run": dry_run,
        "tasks": tasks,
        "total": {
            "tasks": big(total.tasks),
            "concerned": big(total.concerned),
            "go": big(total.go),
            "stay": big(total.stay),
            "pinned": big(total.pinned),
            "events": big(total.events),
            "bytes": big(total.bytes),
        },
        "captures": captures.map(|freed| json!({
            "captures": big(freed.captures),
            "chunks": big(freed.chunks),
            "bytes": big(freed.bytes),
        })),
    }))?)
}

fn print_text(
    fates: &[Fate],
    dry_run: bool,
    captures: Option<CapturesPlan>,
    out: &mut Out,
) -> Result<()> {
    let total = Total::of(fates);
    let rows: Vec<Vec<String>> = (fates.iter())
        .filter(|fate| !fate.is_empty())
        .map(Fate::row)
        .collect();
    let (tasks, stay) = (count(total.tasks, "task"), count(total.stay, "checkpoint"));
    if rows.is_empty() {
        let said = match total.tasks {
            0 => "no tasks".into(),
            _ => format!("nothing goes; kept: {stay} of {tasks}"),
        };
        return Ok(out.line(said)?);
    }
    let go = if dry_run { "GO" } else { "GONE" };
    out.table(
        &[
            "TASK",
            "USER",
            "CHECKPOINTS",
            go,
            "STAY",
            "PINNED",
            "TRIMMED",
            "DROPPED",
            "ABOUT",
        ],
        &rows,
    )?;
    for fate in fates {
        if let Some(error) = &fate.error {
            let name = out.look(Look::Bad, &printable(&fate.task));
            out.line(format!("{name}: {}", printable(error)))?;
        }
    }
    let verb = if dry_run { "would go" } else { "are gone" };
    out.line(format!(
        "{} of {tasks}: {} and {} {verb}, about {}; kept: {stay}",
        total.concerned,
        count(total.go, "checkpoint"),
        count(total.events, "event"),
        size(total.bytes)
    ))?;
    if let Some(freed) = captures.filter(|freed| freed.captures > 0) {
        out.line(format!(
            "with them {} of a folder, and {} that nothing else needs, about {}",
            count(freed.captures, "capture"),
            count(freed.chunks, "chunk"),
            size(freed.bytes)
        ))?;
    }
    let hint = "`milepost compact` gives the bytes back";
    Ok(match dry_run {
        true => out.line(format!("nothing was changed; after a cleanup {hint}")),
        false => out.line(hint),
    }?)
}
