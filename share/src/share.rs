//! A packed task.

use milepost::{Engine, Error};
use milepost_api::{Big, FindForm, SharePlanForm, ShareRequest};
use milepost_formats::export_file::{self, ExportOptions};
use milepost_formats::{Progress, Result};

use crate::html::{Contents, Html};
use crate::index::Index;
use crate::packing::{Packed, Packing};

/// The limits of texts, in bytes, one after another until the file is small enough.
const LONGEST: [usize; 7] = [usize::MAX, 1 << 20, 256 << 10, 64 << 10, 16 << 10, 4 << 10, 1 << 10];

/// A task that is ready to be written as a file.
pub struct Share {
    html: Html,
    packed: Packed,
    index: Index,
    /// The limit of texts that was needed.
    longest: usize,
}

impl std::fmt::Debug for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Share").field("bytes", &self.bytes()).finish_non_exhaustive()
    }
}

impl Share {
    /// Packs a task. It is in memory until the share is dropped: the compressed file, and during
    /// the call a copy of the task.
    ///
    /// # Errors
    ///
    /// `Invalid`: the task does not fit, or cannot be redacted, or a regular expression is invalid.
    /// `Engine`: the task does not exist, or cannot be exported.
    pub fn of(
        engine: &Engine,
        task: &str,
        asked: &ShareRequest,
        progress: &mut dyn Progress,
    ) -> Result<Self> {
        Self::within(ShareRequest::MAX, engine, task, asked, progress)
    }

    /// Packs a task as [`Share::of`] does, for a caller that may ask for `ceiling` bytes at most.
    ///
    /// # Errors
    ///
    /// As [`Share::of`].
    pub fn within(
        ceiling: u64,
        engine: &Engine,
        task: &str,
        asked: &ShareRequest,
        progress: &mut dyn Progress,
    ) -> Result<Self> {
        let searches = asked.redact || !asked.withhold.is_empty();
        let checked = ExportOptions { files: false, redact: searches };
        export_file::check(engine, &[task.to_owned()], checked)?;
        let packing = Packing { engine, task, secrets: asked.redact, withhold: &asked.withhold };
        let ceiling = ceiling.min(ShareRequest::MAX);
        let most = asked.max.min(ceiling);
        // The first pass is complete: it determines the lengths of the file and of its longest
        // text.
        let (mut limit, mut longest_body, mut needed) = (ceiling, usize::MAX, None);
        for longest in LONGEST {
            if longest >= longest_body && longest < usize::MAX {
                continue;
            }
            let packed = packing.pack((longest, limit), progress)?;
            limit = most;
            let Some(packed) = packed else { continue };
            longest_body = longest_body.min(packed.withheld.longest_body);
            if packed.pieces.encoded_len() > most {
                needed = needed.or(Some(packed.pieces.encoded_len()));
                continue;
            }
            let shown = packed.shown(engine.cancel())?;
            let index = Index::of(&shown)?;
            let contents = Contents {
                task: &shown.task,
                keyed: engine.store().key_id().is_some(),
                redacted: asked.redact,
                packed: &packed,
                index: &index,
            };
            let html = Html::of(&contents)?;
            let share = Self { html, packed, index, longest };
            if share.bytes() <= most {
                return Ok(share);
            }
            needed = needed.or(Some(share.bytes()));
        }
        let needed = needed.unwrap_or(ceiling);
        let next = match needed < ceiling {
            true => format!("allow more, up to {ceiling}"),
            false => format!("more than {ceiling} are never allowed here: it cannot be shared"),
        };
        Err(Error::invalid(format!(
            "task `{task}` needs {needed} bytes or more in a file, {most} are allowed, and \
             its texts over 1 KiB are not enough to withhold: {next}"
        ))
        .into())
    }

    /// Returns the length of the file, in bytes.
    pub fn bytes(&self) -> u64 {
        self.html.len(&self.index.pieces, &self.packed.pieces)
    }

    /// Returns the sizes of the share, and the withheld content.
    pub fn plan(&self) -> SharePlanForm {
        let withheld = &self.packed.withheld;
        let finds = withheld.finds.iter().map(|(name, find)| FindForm {
            name: name.clone(),
            count: Big(find.count),
            places: find.places.clone(),
        });
        SharePlanForm {
            bytes: Big(self.bytes()),
            events: Big(self.packed.events),
            withheld: Big(withheld.events),
            trusted: Big(withheld.trusted),
            finds: finds.collect(),
            long: Big(withheld.long),
            longest: Some(self.longest)
                .filter(|most| *most < usize::MAX)
                .map(|most| Big(most as u64)),
            copy_only: withheld.copy_only || self.packed.captures > 0,
            captures: Big(self.packed.captures),
        }
    }

    /// Passes the bytes of the file to `each`, in order.
    ///
    /// # Errors
    ///
    /// Errors of `each`.
    pub fn write<E>(&self, each: &mut dyn FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        self.html.write(&self.index.pieces, &self.packed.pieces, each)
    }
}
