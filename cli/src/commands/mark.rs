//! `mark`: a checkpoint at a point.

use milepost::Json;

use crate::args;
use crate::backend::{Backend, MarkAsked};
use crate::error::Result;
use crate::output::{Out, printable, words};

pub fn run(source: &dyn Backend, args: &args::Mark, out: &mut Out) -> Result<()> {
    let point = source.point(&args.address)?;
    let metadata = args.metadata.as_deref().map(Json::new).transpose()?;
    let asked = MarkAsked {
        label: args.label.clone(),
        aliases: args.alias.clone(),
        status: args.status.into(),
        metadata,
    };
    let checkpoint = source.mark(&point, asked)?;
    if out.json {
        return Ok(out.json(&checkpoint)?);
    }
    let place = words::address(&checkpoint.task, checkpoint.lineage, checkpoint.at.0);
    out.line(printable(&format!("marked {place} as `{}`", args.label)))?;
    Ok(out.line(format!("checkpoint @{}", checkpoint.id))?)
}
