//! Opening a store: its lock, its settings, sled, and the rebuild of a sled that cannot be used.

use std::borrow::Cow;
use std::fs;
use std::slice::from_ref;
use std::sync::Arc;

use milepost_codec::{Detail, Error, Result, Seq, StoreId};

use crate::digest::DigestPart;
use crate::entropy::Entropy;
use crate::files;
use crate::files::own::check_store;
use crate::index::keys;
use crate::local::chunks::packs::{PackEnds, Packs};
use crate::local::index::kv::Kv;
use crate::local::index::local_index::LocalIndex;
use crate::local::inner::Inner;
use crate::local::layout::{self, Layout};
use crate::local::lock::StoreLock;
use crate::local::markers::applied::{AppliedPosition, OTHER_LAYOUT};
use crate::local::markers::{closed, unsynced};
use crate::local::recovery::decide::{self, Recovered, Refusal};
use crate::local::recovery::survey::Survey;
use crate::local::repairs::copies;
use crate::local::settings::{StoreConfig, as_damage, key_id};
use crate::local::{compaction, salvage};
use crate::metrics::Meters;
use crate::open_report::{Finding, Progress};
use crate::options::OpenOptions;

/// Takes the lock of a store, and creates the store if it is missing and the options allow it.
/// Checks every name in the folder before the first write, and the settings before the second.
pub(crate) fn prepare(
    layout: &Layout,
    options: &OpenOptions,
    entropy: &Entropy,
) -> Result<StoreLock> {
    let root = &layout.root;
    check_store(root)?;
    if !layout.exists() {
        if root.exists() && !root.is_dir() {
            return Err(Error::invalid(format!("{} is not a folder", root.display())));
        }
        layout.check_free()?;
        if !options.create {
            let message = format!("there is no Milepost store in {}", root.display());
            return Err(Error::not_found(message));
        }
        files::make_dir(root)?;
    }
    let lock = StoreLock::take(&layout.lock(), options.clock.now_us())?;
    if layout.exists() {
        StoreConfig::look(layout)?;
    }
    if layout.repairing().exists() {
        salvage::finish_swap(layout)?;
    }
    compaction::finish_switch(layout)?;
    if !layout.exists() {
        let id = StoreId(entropy.bytes16());
        let key = options.key.as_ref().map(key_id);
        layout.create(&StoreConfig::new(id, key))?;
    }
    Ok(lock)
}

/// Reads the settings, and refuses a missing or wrong key.
pub(crate) fn settings(
    layout: &Layout,
    options: &OpenOptions,
    findings: &mut Vec<Finding>,
) -> Result<StoreConfig> {
    let supplied_key = options.key.as_ref().map(key_id);
    let (config, damaged) = StoreConfig::look(layout)?;
    config.check_key(layout, supplied_key.as_deref())?;
    if let Some((path, error)) = damaged {
        let finding = Finding::repaired("settings", &as_damage(&path, error));
        let other = [layout.config(), layout.config_copy()].into_iter().find(|it| *it != path);
        // Without the marker, which every opening makes, the creation was interrupted.
        if layout.acked().exists() {
            let copy = other.as_deref().map_or_else(Cow::default, files::name_of);
            layout.record(from_ref(&finding), &copy, options.clock.now_us())?;
        }
        config.write_one(&path)?;
        findings.push(finding);
    }
    Ok(config)
}

/// The files of sled at the start of an opening.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IndexState {
    /// The existing files.
    Kept,
    /// None: existing files were moved to `damaged/`.
    SetAside,
}

/// Opens sled and replays the commits that the journal holds beyond it. A sled that cannot be used,
/// or does not match the journal, is set aside and rebuilt.
pub(crate) fn bring_back(
    layout: &Layout,
    config: &StoreConfig,
    options: &OpenOptions,
    findings: &mut Vec<Finding>,
) -> Result<(Arc<Inner>, Recovered)> {
    let survey = Survey::take(layout, config, options.key.as_ref())?;
    let opening = Opener {
        layout,
        config,
        options,
        survey: &survey,
        // Checked before sled is opened, which changes its files.
        closed_cleanly: survey.closed() && closed::matches(layout),
    };
    if survey.is_empty() {
        // Files left by an interrupted creation are made durable before the store builds on them.
        files::sync_dir(&layout.root)?;
        files::sync_parent(&layout.root)?;
    }
    let mut reached = 0;
    let error = match opening.reason_to_rebuild() {
        Some(error) => error,
        None => match opening.bring_back(IndexState::Kept, &mut reached, findings) {
            Err(Refusal::Sled(error)) => error,
            Err(Refusal::Other(error)) => return Err(error),
            Ok(done) => return Ok(done),
        },
    };
    opening.rebuild(error, reached, findings)
}

struct Opener<'a> {
    layout: &'a Layout,
    config: &'a StoreConfig,
    options: &'a OpenOptions,
    survey: &'a Survey,
    /// Set if the store was closed, and sled's files are unchanged since.
    closed_cleanly: bool,
}

impl Opener<'_> {
    /// Returns the reason not to open sled at all.
    fn reason_to_rebuild(&self) -> Option<Error> {
        let expected = "a folder it can read";
        if self.layout.suspect().exists() {
            return Some(Error::corrupt("sled", expected, self.layout.sled_suspected()));
        }
        if self.survey.is_empty() {
            return None;
        }
        let dir = self.layout.sled();
        if !dir.join("db").exists() {
            return Some(Error::corrupt("sled", expected, "no such folder"));
        }
        // sled panics on damage, and this build cannot catch panics.
        (cfg!(panic = "abort") && !self.closed_cleanly)
            .then(|| Error::corrupt("sled", "a folder that was closed", "one that was not"))
    }

    fn bring_back(
        &self,
        state: IndexState,
        reached: &mut Seq,
        findings: &mut Vec<Finding>,
    ) -> std::result::Result<(Arc<Inner>, Recovered), Refusal> {
        let (layout, options) = (self.layout, self.options);
        // Opening changes sled's files. If it fails, the next opening reads all of sled.
        closed::forget(layout)?;
        let kv = Kv::open(&layout.sled(), options.cache_bytes, self.config.sled_segment)?;
        let applied = AppliedPosition::read(&kv, self.config.store)?;
        *reached = applied.seq;
        if self.closed_cleanly && kv.blocks()?.extend_beyond(applied.blocks)? {
            // If the rebuild fails, the next opening does not trust sled, either.
            layout.suspect_sled("it returned older entries than it was closed with")?;
            return Err(
                Error::corrupt("sled", "the entries of the last close", "older ones").into()
            );
        }
        kv.blocks()?.resume(applied.blocks, self.config.store, false)?;
        let meters = Arc::new(Meters::new(self.config.store.to_string()));
        let ends =
            PackEnds { scanned_to: applied.packs, synced: applied.synced, copied: applied.copied };
        let record = |finding: &Finding, copy: &str| {
            layout.record(from_ref(finding), copy, options.clock.now_us())
        };
        let (packs, chunks) = Packs::open(layout, ends, findings, &record, Arc::clone(&meters))
            .map_err(Refusal::Other)?;
        kv.apply(chunks.iter().map(|(id, at)| (keys::chunk(id), Some(at.encode()))).collect())?;
        // A rebuild has just read all packs.
        if state == IndexState::Kept && !self.closed_cleanly {
            unsynced::remove_lost(&kv, &packs, &applied)?;
        }
        let index = LocalIndex::new(
            (kv, Arc::new(packs)),
            (options.key, options.backlog_bytes),
            applied,
            state == IndexState::SetAside,
            meters,
        );
        let shared = Inner::new(layout, self.config, options, index, None);
        // After a clean stop, the other parts have checks of their own or are compared on demand.
        match self.closed_cleanly {
            true => shared.index.audit(DigestPart::Index)?,
            false => shared.index.audit_all()?,
        }
        let progress = options.progress.as_deref().map(|report| report as &dyn Fn(Progress));
        let recovered = decide::recover(&shared, self.survey, findings, progress)?;
        Ok((Arc::new(shared), recovered))
    }

    /// Rebuilds sled because of `error`. If the result does not reach the commit that the old one
    /// reached, the old one is put back, so that its content is not lost.
    fn rebuild(
        &self,
        error: Error,
        reached: Seq,
        findings: &mut Vec<Finding>,
    ) -> Result<(Arc<Inner>, Recovered)> {
        let damaged = self.layout.damaged().join("sled");
        let had = self.layout.sled().exists();
        let finding = Finding::repaired("sled", &error);
        if self.is_damage(&error) {
            let place = format!("sled: {}", finding.place).replace("sled: sled", "sled");
            let finding = Finding { place, ..finding.clone() };
            self.layout.record(from_ref(&finding), copies::JOURNAL, self.options.clock.now_us())?;
        }
        if had {
            layout::set_aside(self.layout, &self.layout.sled())?;
        }
        let mut found = Vec::new();
        match self.bring_back(IndexState::SetAside, &mut 0, &mut found) {
            Ok((shared, recovered)) if recovered.end.last >= reached => {
                let suspect = self.layout.suspect();
                if suspect.exists() {
                    fs::remove_file(&suspect).map_err(|e| files::io("remove", &suspect, &e))?;
                }
                findings.push(finding);
                findings.append(&mut found);
                Ok((shared, Recovered { rebuilt: true, ..recovered }))
            }
            built => {
                let gap = match built {
                    Ok((shared, _)) => {
                        shared.index.kv.close(true);
                        None
                    }
                    Err(Refusal::Sled(gap) | Refusal::Other(gap)) => Some(gap),
                };
                if had {
                    self.restore_sled(&damaged)?;
                }
                Err(match gap {
                    Some(gap) => gap.at(format!("{error}; and it cannot be built anew")),
                    None => error,
                })
            }
        }
    }

    /// Returns `true` if sled cannot be used because its files were damaged: not by the stop of the
    /// process or a loss of power, nor because another version wrote them.
    fn is_damage(&self, error: &Error) -> bool {
        let found = match error.detail() {
            Some(Detail::Corruption { found, .. }) => found.as_str(),
            _ => "",
        };
        found != OTHER_LAYOUT && (self.survey.noted_closed || self.layout.suspect().exists())
    }

    fn restore_sled(&self, damaged: &std::path::Path) -> Result<()> {
        let sled = self.layout.sled();
        let io = |e| files::io("put back", &sled, &e);
        if sled.exists() {
            fs::remove_dir_all(&sled).map_err(io)?;
        }
        fs::rename(damaged, &sled).map_err(io)?;
        files::sync_dir(&self.layout.root)
    }
}
