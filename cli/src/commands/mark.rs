//! `mark`: a checkpoint at a point.

use milepost::{Detail, Engine, ErrorKind, Json, Mark};

use super::{forms, point};
use crate::args;
use crate::error::{Failure, Result};
use crate::output::Out;

pub fn run(engine: &Engine, args: &args::Mark, out: &mut Out) -> Result<()> {
    let point = point(engine, &args.address)?;
    let lineage = engine.task(&point.task)?.lineage_named(point.lineage)?;
    let mut mark = Mark::new()
        .label(args.label.as_str())
        .status(args.status.into());
    if let Some(metadata) = &args.metadata {
        mark = mark.metadata(Json::new(metadata.as_str())?);
    }
    if lineage.head()?.next != point.offset {
        mark = mark.at(point.offset);
    }
    let checkpoint = lineage.with_hooks()?.checkpoint(mark).map_err(|error| {
        let refused = matches!(error.detail(), Some(Detail::Refused { .. }));
        let invalid = error.kind() == ErrorKind::Invalid && !refused;
        let failure = Failure::from(error);
        if invalid {
            failure.hint("a label is a name, as in `before-fix`")
        } else {
            failure
        }
    })?;
    if out.json {
        return Ok(out.json(&forms::checkpoint(&checkpoint))?);
    }
    let place = forms::address(&checkpoint.task, checkpoint.lineage, checkpoint.at);
    out.line(format!("marked {place} as `{}`", args.label))?;
    Ok(out.line(format!("checkpoint @{}", checkpoint.id))?)
}
