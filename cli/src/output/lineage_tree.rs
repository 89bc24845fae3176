//! Lineages as a tree, one line each.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use milepost::LineageId;
use milepost_api::LineageForm;

use super::{Out, Style, count, excerpt};

/// Describes a lineage on one line.
pub fn describe(lineage: &LineageForm, out: &Out) -> String {
    let name = out.style(Style::Name, &lineage.id.to_string());
    let mut line = format!("{name} {}", lineage.lineage_type.name());
    if let Some(parent) = &lineage.parent {
        line.push_str(&format!(" at @{}", parent.offset));
    }
    line.push_str(&format!(", head @{}, {}", lineage.head, count(lineage.events.0, "event")));
    if let Some(description) = &lineage.description {
        line.push_str(&format!(", {}", excerpt(description, 60)));
    }
    if lineage.active {
        line.push_str(&out.style(Style::Good, "  (active)"));
    }
    line
}

/// Draws lineages below their parents, one line each.
pub fn tree(
    lineages: &[LineageForm],
    out: &mut Out,
    text: impl Fn(&LineageForm, &Out) -> String,
) -> io::Result<()> {
    let known: BTreeSet<LineageId> = lineages.iter().map(|lineage| lineage.id).collect();
    let mut children: BTreeMap<Option<LineageId>, Vec<&LineageForm>> = BTreeMap::new();
    for lineage in lineages {
        let parent = lineage.parent.as_ref().map(|parent| parent.lineage);
        children.entry(parent.filter(|id| known.contains(id))).or_default().push(lineage);
    }
    // An explicit stack: lineages may be nested deeper than the call stack allows.
    let mut open: Vec<(&LineageForm, String, bool)> = Vec::new();
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
        if lineage.parent.as_ref().is_none_or(|parent| !known.contains(&parent.lineage)) {
            out.line(line)?;
            below(Some(lineage.id), "", &mut open);
            continue;
        }
        let (branch, deeper) = if last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        out.line(format!("{indent}{branch}{line}"))?;
        below(Some(lineage.id), &format!("{indent}{deeper}"), &mut open);
    }
    Ok(())
}
