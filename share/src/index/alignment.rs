//! The turns of each lineage, aligned with those of the active one.

use milepost::reading::AlignOptions;
use milepost::{ErrorKind, Lineage};
use milepost_api::{AlignCountsForm, AlignOp, AlignedForm, AlignmentForm, Big, TurnForm};
use milepost_formats::Result;
use serde::Serialize;

use super::{Index, Source};

/// An alignment, whose turns are in the documents of turns.
#[derive(Serialize)]
struct NumberedAlignment {
    common: Big,
    counts: AlignCountsForm,
    items: Vec<NumberedLine>,
}

/// The numbers of the turns of a line: of the active lineage, of the other one, and the other
/// number of a moved turn.
type NumberedLine = (AlignOp, Option<Big>, Option<Big>, Option<Big>);

/// Puts the alignments. Histories that are too long for one have none.
pub fn put(source: &Source<'_>, index: &mut Index) -> Result<()> {
    for info in source.task.lineages()? {
        if info.id == source.active().id() {
            continue;
        }
        let other = source.task.lineage_named(info.id)?;
        for (name, texts) in [("align", false), ("align-texts", true)] {
            if let Some(aligned) = aligned(source, &other, texts)? {
                index.put(&format!("{name}/{}", info.id), &aligned)?;
            }
        }
    }
    Ok(())
}

fn aligned(source: &Source<'_>, other: &Lineage, texts: bool) -> Result<Option<NumberedAlignment>> {
    let at_head = |lineage: &Lineage| -> milepost::Result<_> {
        Ok((source.task.clone(), lineage.point(lineage.head()?.next)?))
    };
    let (a, b) = (at_head(source.active())?, at_head(other)?);
    match source.reader.align([&a, &b], AlignOptions { texts }, (0, usize::MAX)) {
        Ok(form) => Ok(Some(numbered(form))),
        Err(error) if error.kind() == ErrorKind::Invalid => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn numbered(form: AlignmentForm) -> NumberedAlignment {
    let number = |turn: Option<TurnForm>| turn.map(|turn| turn.number);
    let line = |line: AlignedForm| (line.op, number(line.a), number(line.b), line.other);
    NumberedAlignment {
        common: form.common,
        counts: form.counts,
        items: form.items.into_iter().map(line).collect(),
    }
}
