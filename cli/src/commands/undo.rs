//! `undo`: the last restore of a task is taken back, with the folder where it took files back.

use milepost::{Body, Engine, Error, ErrorKind, LineageType, Point, Task};
use milepost_workspace::{Choices, WentBack};

use super::{folder, forms, restore, task};
use crate::args;
use crate::error::{Failure, Result, USAGE};
use crate::output::{Out, printable};

/// What is said of it.
const DONE: &str = "the last restore is taken back";

pub fn run(engine: &Engine, args: &args::Undo, out: &mut Out) -> Result<()> {
    let task = task(engine, &args.task)?;
    let left = task.lineage().id();
    let name = forms::encode(task.id());
    if task.lineage().info()?.lineage_type == LineageType::Rollback {
        let (went, place) = with_folder(engine, &task, args, out)?;
        let note = format!("{DONE}, with the files of {place}");
        let hint =
            format!("lineage {left} stays: `milepost rollback {name}/{left}` goes there again");
        return folder::went(&went, &note, &hint, out);
    }
    if args.files.is_some() || args.paths.is_given() || args.moved {
        let task = printable(task.id());
        return Err(
            Failure::new(format!("the last restore of {task} took no files back"))
                .code_of(USAGE)
                .hint(format!("`milepost undo {name}` takes it back")),
        );
    }
    let task = engine
        .undo(task.id())
        .map_err(|error| failed(error, &name))?;
    let hint = format!("lineage {left} stays: `milepost log {name}/{left}`");
    restore::print(&task, DONE, &hint, out)
}

fn with_folder(
    engine: &Engine,
    task: &Task,
    args: &args::Undo,
    out: &mut Out,
) -> Result<(WentBack, String)> {
    let capture = folder::captured_at(engine, &task.point(task.head()?.next)?)?;
    let workspace = folder::open(args.files.as_deref(), capture.as_ref())?;
    let choices: Choices = folder::choices(&args.paths, args.moved)?;
    folder::recover_first(engine, task, &workspace, &choices, out)?;
    if let Some(to) = before(task)? {
        let plan = workspace.plan(engine, &to, &choices);
        folder::check(&plan.map_err(folder::failed)?, out)?;
    }
    let went = workspace.undo(engine, task.id(), &choices);
    let name = forms::encode(task.id());
    let went = went.map_err(|error| match error.kind() {
        ErrorKind::Invalid | ErrorKind::NotFound => failed(error, &name),
        _ => folder::failed(error),
    })?;
    Ok((went, folder::shown(&workspace)))
}

/// The point that an undo goes back to: the head of the lineage that was left by the restore, as the
/// beginning of the lineage says. Nothing where that is gone.
fn before(task: &Task) -> Result<Option<Point>> {
    let Some(parent) = task.lineage().info()?.parent else {
        return Ok(None);
    };
    // `lineage_opened` comes first.
    let mut restored = None;
    for event in task.read(parent.offset..parent.offset + 2)? {
        if let Some(Body::Restored(body)) = event?.body {
            restored = Some(body);
        }
    }
    let Some(restored) = restored else {
        return Ok(None);
    };
    let lineage = task.lineage_named(restored.from)?;
    Ok(Some(lineage.point(lineage.head()?.next)?))
}

/// There is nothing to undo, or a cleanup let go of the lineage before.
fn failed(error: Error, name: &str) -> Failure {
    let refused = matches!(error.detail(), Some(milepost::Detail::Refused { .. }));
    let nothing = matches!(error.kind(), ErrorKind::Invalid | ErrorKind::NotFound) && !refused;
    let failure = Failure::from(error);
    match nothing {
        true => failure.hint(format!(
            "`milepost lineages {name}` shows the lineages as they are"
        )),
        false => failure,
    }
}
