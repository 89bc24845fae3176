//! `lineages`: the lineages of a task as a tree.

use std::collections::{BTreeMap, BTreeSet};

use milepost::{Engine, LineageId, LineageInfo};
use serde_json::Value;

use super::{forms, task};
use crate::error::Result;
use crate::output::{Look, Out, count, excerpt, printable, time_short};

pub fn run(engine: &Engine, id: &str, out: &mut Out) -> Result<()> {
    let task = task(engine, id)?;
    let lineages = task.lineages()?;
    if out.json {
        return Ok(out.json(&Value::Array(lineages.iter().map(forms::lineage).collect()))?);
    }
    let title = format!("{} (user {})", printable(task.id()), printable(task.user()));
    out.line(out.look(Look::Bold, &title))?;
    tree(&lineages, out, |lineage, out| {
        let opened = out.look(Look::Dim, &time_short(lineage.opened_us));
        format!("{}  {opened}", describe(lineage, out))
    })
}

/// What a lineage is, on one line.
pub fn describe(lineage: &LineageInfo, out: &Out) -> String {
    let name = out.look(Look::Name, &lineage.id.to_string());
    let mut line = format!("{name} {}", forms::lineage_type(lineage.lineage_type));
    if let Some(parent) = &lineage.parent {
        line.push_str(&format!(" at @{}", parent.offset));
    }
    line.push_str(&format!(
        ", head @{}, {}",
        lineage.head.next,
        count(lineage.events, "event")
    ));
    if let Some(description) = &lineage.description {
        line.push_str(&format!(", {}", excerpt(description, 60)));
    }
    if lineage.active {
        line.push_str(&out.look(Look::Good, "  (active)"));
    }
    line
}

/// Draws lineages below their parents, one line each.
pub fn tree(
    lineages: &[LineageInfo],
    out: &mut Out,
    text: impl Fn(&LineageInfo, &Out) -> String,
) -> Result<()> {
    let known: BTreeSet<LineageId> = lineages.iter().map(|lineage| lineage.id).collect();
    let mut children: BTreeMap<Option<LineageId>, Vec<&LineageInfo>> = BTreeMap::new();
    for lineage in lineages {
        let parent = lineage.parent.map(|parent| parent.lineage);
        children
            .entry(parent.filter(|id| known.contains(id)))
            .or_default()
            .push(lineage);
    }
    // A stack, as lineages may be nested deeper than the program's own.
    let mut open: Vec<(&LineageInfo, String, bool)> = Vec::new();
    let below = |id: Option<LineageId>, indent: &str, open: &mut Vec<_>| {
        let list = children.get(&id).map(Vec::as_slice).unwrap_or_default();
        for (index, lineage) in list.iter().enumerate().rev() {
            open.push((*lineage, indent.to_owned(), index + 1 == list.len()));
        }
    };
    below(None, "", &mut open);
    while let Some((lineage, indent, last)) = open.pop() {
        let line = text(lineage, out);
        // A cleanup may have dropped the parent.
        if lineage
            .parent
            .is_none_or(|parent| !known.contains(&parent.lineage))
        {
            out.line(line)?;
            below(Some(lineage.id), "", &mut open);
            continue;
        }
        let (branch, deeper) = if last {
            ("└─ ", "   ")
        } else {
            ("├─ ", "│  ")
        };
        out.line(format!("{indent}{branch}{line}"))?;
        below(Some(lineage.id), &format!("{indent}{deeper}"), &mut open);
    }
    Ok(())
}
