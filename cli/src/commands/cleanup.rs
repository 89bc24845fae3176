//! `cleanup`: removal of old checkpoints, and of events that nothing needs.

use std::io::{self, IsTerminal as _};
use std::time::Duration;

use milepost_api::{Big, RetainedForm, RetentionForm, RetentionRequest};
use serde_json::json;

use super::command::{CliCommand, Examples, Needs, Run};
use super::confirm::confirm;
use crate::args::span;
use crate::backend::Backend;
use crate::error::{Failure, Result, USAGE};
use crate::output::{Out, Style, bar, count, note, printable, size, words};

/// Number of tasks from which on a bar is shown.
const LONG: u64 = 100;

/// Remove old checkpoints, and events that nothing needs.
#[derive(Debug, clap::Args)]
pub struct CleanupArgs {
    /// Only the tasks of this user.
    #[arg(long, conflicts_with = "task")]
    pub user: Option<String>,
    /// Only this task.
    #[arg(long)]
    pub task: Option<String>,
    /// Keep the newest N checkpoints of each task. This, --younger-than or --trim-before is
    /// required: without one, the effects of some policies are printed.
    #[arg(long, value_name = "N", value_parser = parse_keep)]
    pub keep: Option<usize>,
    /// Keep checkpoints younger than this: `90s`, `30m`, `12h` or `7d`. With --keep, keep both.
    #[arg(long, value_name = "AGE", value_parser = age)]
    pub younger_than: Option<Duration>,
    /// Remove the events before this point and the checkpoints there, and keep later ones and those
    /// of other lineages. With --keep or --younger-than, keep what either keeps.
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["task", "user"])]
    pub trim_before: Option<String>,
    /// Keep the events that are needed to undo the last N restores. Default: 3.
    #[arg(long, value_name = "N")]
    pub undo: Option<u32>,
    /// Remove marks only. Otherwise the events before the oldest kept checkpoint are removed too,
    /// and its state stays.
    #[arg(long)]
    pub marks_only: bool,
    /// Also drop lineages that no kept checkpoint and no undo needs.
    #[arg(long, conflicts_with = "marks_only")]
    pub drop_lineages: bool,
    /// First export the tasks that change to `backups/` in the store, as a file for `import`.
    #[arg(long, conflicts_with = "dry_run")]
    pub backup: bool,
    /// Change nothing: print the plan.
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask.
    #[arg(long, conflicts_with = "dry_run")]
    pub yes: bool,
}

impl CliCommand for CleanupArgs {
    const EXAMPLES: Examples = &[
        (
            "cleanup --keep 10 --dry-run",
            "what would go of all but the last ten checkpoints of each task",
        ),
        ("cleanup --keep 10", "show the plan, and remove after a question"),
        (
            "cleanup --younger-than 30d --yes",
            "keep the checkpoints of the last 30 days; without a question",
        ),
    ];
    const RUN: Run<Self> = Run::OnStore(Needs::NONE, run);

    fn needs(&self, usual: Needs, _can_pick: bool) -> Needs {
        Needs { only_reads: self.dry_run, ..usual }
    }

    fn left_to_user(&self) -> Option<&'static str> {
        let hint = "the user decides on what is gone for good: the same command with `--dry-run` \
                    says what that is";
        (!self.dry_run).then_some(hint)
    }
}

/// Parses a number of kept checkpoints.
fn parse_keep(text: &str) -> Result<usize, String> {
    let most = RetentionRequest::KEEP_MAX;
    let number = text.parse().ok().filter(|number| *number <= most);
    number.ok_or_else(|| format!("keep 0 to {most} checkpoints"))
}

/// Parses a whole number and a unit. A fraction of a second would be lost in a request.
fn age(text: &str) -> Result<Duration, String> {
    match span(text).filter(|age| age.subsec_nanos() == 0) {
        Some(age) => Ok(age),
        None => Err("an age is a whole number and s, m, h or d, as in 90s, 30m, 12h or 7d".into()),
    }
}

fn run(source: &dyn Backend, args: &CleanupArgs, out: &mut Out) -> Result<()> {
    let task = args.task.as_deref().map(|id| source.task(id)).transpose()?;
    let before = args.trim_before.as_deref().map(|address| source.point(address)).transpose()?;
    let asked = policy(args, task.map(|task| task.id), before.map(|point| point.address));
    if args.keep.is_none() && args.younger_than.is_none() && args.trim_before.is_none() {
        return policies(source, &asked, out);
    }
    if !args.yes {
        let plan = source.clean_up(&asked, true, &mut |_, _| {})?;
        if let Some(error) = &plan.captures_error {
            note(&format!("what goes of captured folders is not known: {}", printable(error)));
        }
        show(&plan, out)?;
        failed(&plan)?;
        let nothing = plan.total.concerned == Big(0);
        if args.dry_run || nothing {
            return Ok(());
        }
        if out.json || !io::stdin().is_terminal() {
            return Err(Failure::new("nothing was changed: this was the plan")
                .code_of(USAGE)
                .hint("add --yes to do it without a question, or ask on a terminal"));
        }
        confirm(false, "what goes cannot be brought back", "Clean up?", out)?;
    }
    let mut shown = None;
    let done = source.clean_up(&asked, false, &mut |done, all| {
        let bar = shown.get_or_insert_with(|| bar(all, "clean up", all >= LONG, false));
        bar.set_position(done);
    });
    if let Some(bar) = shown {
        bar.finish_and_clear();
    }
    let done = done?;
    show(&done, out)?;
    failed(&done)
}

/// Returns the policy of the arguments. `task` is the id in the store, and `trim_before` a resolved
/// address.
fn policy(
    args: &CleanupArgs,
    task: Option<String>,
    trim_before: Option<String>,
) -> RetentionRequest {
    RetentionRequest {
        keep_count: args.keep,
        younger_than_seconds: args.younger_than.map(|age| Big(age.as_secs())),
        undo: args.undo,
        marks_only: args.marks_only,
        drop_lineages: args.drop_lineages,
        backup: args.backup,
        user: args.user.clone(),
        task,
        trim_before,
        remove: None,
    }
}

fn show(form: &RetentionForm, out: &mut Out) -> Result<()> {
    match out.json {
        true => Ok(out.json(form)?),
        false => print(form, out),
    }
}

/// Returns some policies as flags and as requests, to print if none was given.
fn examples(asked: &RetentionRequest) -> Vec<(&'static str, RetentionRequest)> {
    let keep = |keep| RetentionRequest { keep_count: Some(keep), ..asked.clone() };
    let month = RetentionRequest { younger_than_seconds: Some(Big(30 * 86_400)), ..asked.clone() };
    let mut all =
        vec![("--keep 10", keep(10)), ("--keep 1", keep(1)), ("--younger-than 30d", month)];
    if !asked.marks_only && !asked.drop_lineages {
        let (marks_only, drop_lineages) = (true, true);
        let (marks, lineages) = (keep(10), keep(10));
        all.push(("--keep 10 --marks-only", RetentionRequest { marks_only, ..marks }));
        let lineages = RetentionRequest { drop_lineages, ..lineages };
        all.push(("--keep 10 --drop-lineages", lineages));
    }
    all
}

/// Prints the effects of some policies, if the command line names none. Nothing is changed.
fn policies(source: &dyn Backend, asked: &RetentionRequest, out: &mut Out) -> Result<()> {
    let plans = examples(asked).into_iter().map(|(flags, asked)| {
        let plan = source.clean_up(&asked, true, &mut |_, _| {})?;
        Ok((flags, plan))
    });
    let plans = plans.collect::<Result<Vec<_>>>()?;
    if out.json {
        let plans = plans.iter();
        let forms: Vec<_> =
            plans.map(|(flags, plan)| json!({"policy": flags, "total": plan.total})).collect();
        out.json(&forms)?;
    } else {
        let rows: Vec<_> = plans
            .iter()
            .map(|(flags, plan)| {
                let total = &plan.total;
                let dropped: usize = plan.tasks.iter().map(|task| task.dropped.len()).sum();
                vec![
                    (*flags).to_owned(),
                    total.go.to_string(),
                    total.stay.to_string(),
                    total.events.to_string(),
                    dropped.to_string(),
                    size(total.bytes.0),
                ]
            })
            .collect();
        let heads = ["POLICY", "GO", "STAY", "EVENTS", "DROPPED", "ABOUT"];
        out.table(&heads, &rows)?;
    }
    Err(Failure::new("no policy was given: this is what some would remove; nothing was changed")
        .code_of(USAGE)
        .hint("say what is kept, as in `milepost cleanup --keep 10`; it shows its plan and asks"))
}

/// Returns a failure if a task could not be cleaned up.
fn failed(done: &RetentionForm) -> Result<()> {
    let failed = || done.tasks.iter().filter(|task| task.error.is_some());
    let count_of = failed().count() as u64;
    if count_of == 0 {
        return Ok(());
    }
    let failure =
        Failure::new(format!("{} could not be cleaned up, or not wholly", count(count_of, "task")));
    Err(match failed().find(|task| task.held_up) {
        Some(task) => {
            let task = words::encode(&task.id);
            failure.hint(format!(
                "what is done stays done; `milepost recover {task}` takes back the restore that \
                 was cut short"
            ))
        }
        None => failure.hint(
            "what is done stays done; where a reducer is missing, clean up from the program that \
             has it, or with --marks-only",
        ),
    })
}

fn row(task: &RetainedForm) -> Vec<String> {
    vec![
        printable(&words::encode(&task.id)).into_owned(),
        printable(&task.user).into_owned(),
        task.checkpoints.to_string(),
        task.go.to_string(),
        task.stay.to_string(),
        task.pinned.to_string(),
        task.trimmed.len().to_string(),
        task.dropped.len().to_string(),
        task.bytes.map_or_else(|| "-".into(), |bytes| size(bytes.0)),
    ]
}

fn print(done: &RetentionForm, out: &mut Out) -> Result<()> {
    let (total, dry_run) = (&done.total, done.dry_run);
    let concerned = done.tasks.iter().filter(|task| task.is_concerned());
    let rows: Vec<Vec<String>> = concerned.map(row).collect();
    let (tasks, stay) = (count(total.tasks.0, "task"), count(total.stay.0, "checkpoint"));
    if rows.is_empty() {
        let said = match total.tasks.0 {
            0 => "no tasks".into(),
            _ => format!("nothing goes; kept: {stay} of {tasks}"),
        };
        return Ok(out.line(said)?);
    }
    let go = if dry_run { "GO" } else { "GONE" };
    out.table(
        &["TASK", "USER", "CHECKPOINTS", go, "STAY", "PINNED", "TRIMMED", "DROPPED", "ABOUT"],
        &rows,
    )?;
    for task in &done.tasks {
        if let Some(error) = &task.error {
            let name = out.style(Style::Bad, &printable(&task.id));
            out.line(format!("{name}: {}", printable(error)))?;
        }
    }
    let verb = if dry_run { "would go" } else { "are gone" };
    // Events of a task that was cleaned up in part are not counted.
    let is_counted = done.tasks.iter().all(|task| task.events.is_some());
    let least = if is_counted { "" } else { "at least " };
    out.line(format!(
        "{} of {tasks}: {} and {least}{} {verb}, about {}; kept: {stay}",
        total.concerned,
        count(total.go.0, "checkpoint"),
        count(total.events.0, "event"),
        size(total.bytes.0)
    ))?;
    if let Some(file) = &done.backup {
        out.advice(format!(
            "backup: {file} in the store; `milepost import STORE/{file}` reads it"
        ))?;
    }
    if let Some(freed) = done.captures.as_ref().filter(|freed| freed.captures.0 > 0) {
        out.line(format!(
            "with them {} of a folder, and {} that nothing else needs, about {}",
            count(freed.captures.0, "capture"),
            count(freed.chunks.0, "chunk"),
            size(freed.bytes.0)
        ))?;
    }
    let hint = "`milepost compact` gives the bytes back";
    Ok(match dry_run {
        true => out.advice(format!("nothing was changed; after a cleanup {hint}")),
        false => out.advice(hint),
    }?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_checkpoints_are_kept_as_a_request_can_name() {
        assert_eq!((parse_keep("0"), parse_keep("1000000")), (Ok(0), Ok(1_000_000)));
        for wrong in ["1000001", "-1", "ten", ""] {
            assert!(parse_keep(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_age_is_a_whole_number_and_a_unit() {
        let seconds = |text| age(text).map(|age| age.as_secs());
        assert_eq!(seconds("90s"), Ok(90));
        assert_eq!(seconds("30m"), Ok(1800));
        assert_eq!(seconds("12h"), Ok(43_200));
        assert_eq!(seconds("7d"), Ok(604_800));
        assert_eq!(seconds("0s"), Ok(0));
        for wrong in ["", "7", "d", "7w", "-7d", "+7d", "1.5h", "7 d", "7dd", "7d7", "1500ms"] {
            let error = age(wrong).expect_err(wrong);
            assert!(error.contains("s, m, h or d"), "{wrong}: {error}");
        }
        assert!(age("99999999999999999d").is_err());
        assert!(age("99999999999999999999d").is_err());
    }
}
