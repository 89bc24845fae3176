//! Contents that a crash may leave, built into a folder.

use std::collections::HashMap;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::bits::Bits;
use super::names::{Folders, NameOp};
use super::{Disk, Node, ROOT};
use crate::seed::Random;

/// Selection of the pending changes that a crash leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// Nothing.
    None,
    /// Everything, as a kill leaves it.
    All,
    /// All changes before some moment, and no later ones.
    Prefix,
    /// For each file all, none or a prefix of its changes; some names and bits.
    Files,
    /// Some sectors, some lengths, some names, some bits.
    Sectors,
    /// All names and lengths, some sectors: unstored content within the length reads as zeros.
    Lengths,
}

/// All variants.
pub const VARIANTS: [Variant; 6] = [
    Variant::None,
    Variant::All,
    Variant::Prefix,
    Variant::Files,
    Variant::Sectors,
    Variant::Lengths,
];

impl Disk {
    /// Builds the possible remains of a crash into a folder: a new one, or one with empty folders
    /// only. `None` and `All` are deterministic.
    pub fn image(&self, variant: Variant, random: &mut Random, to: &Path) -> io::Result<()> {
        let moment = self.moment(random);
        let half = random.below(2) == 0;
        let keep_name = |op: &NameOp, random: &mut Random| match variant {
            Variant::None => false,
            Variant::All | Variant::Lengths => true,
            Variant::Prefix => op.at <= moment,
            Variant::Files if half => op.at <= moment,
            Variant::Files | Variant::Sectors => random.below(2) == 0,
        };
        let names = self.names.after(&mut |op| keep_name(op, random));
        let mut build = Build { disk: self, names, variant, moment, random, built: HashMap::new() };
        build.folder(ROOT, to)
    }

    /// A moment at which something pending was done.
    fn moment(&self, random: &mut Random) -> u64 {
        let mut moments: Vec<u64> = self.names.pending().collect();
        for file in self.files.values() {
            moments.extend(file.pending());
        }
        for bits in self.bits.values() {
            moments.extend(bits.pending());
        }
        moments.sort_unstable();
        match moments.len() as u64 {
            0 => self.clock,
            len => moments[random.below(len) as usize],
        }
    }
}

struct Build<'a> {
    disk: &'a Disk,
    names: Folders,
    variant: Variant,
    moment: u64,
    random: &'a mut Random,
    /// Paths of files and symlinks that were built, for their other names.
    built: HashMap<Node, PathBuf>,
}

impl Build<'_> {
    fn folder(&mut self, dir: Node, to: &Path) -> io::Result<()> {
        if !to.is_dir() {
            fs::create_dir(to)?;
        }
        for (name, node) in self.names.get(&dir).cloned().unwrap_or_default() {
            let to = to.join(name);
            if let Some(first) = self.built.get(&node) {
                fs::hard_link(first, &to)?;
            } else if let Some(target) = self.disk.links.get(&node) {
                symlink(target, &to)?;
                self.built.insert(node, to);
            } else if self.disk.files.contains_key(&node) {
                self.file(node, &to)?;
            } else {
                self.folder(node, &to)?;
            }
        }
        // Last, since nothing may be put into a closed folder.
        self.set_bits(dir, to)
    }

    fn file(&mut self, node: Node, to: &Path) -> io::Result<()> {
        let file = &self.disk.files[&node];
        let random = &mut *self.random;
        let bytes = match self.variant {
            Variant::None => file.none(),
            Variant::All => file.all(),
            Variant::Prefix => file.until(self.moment).into(),
            Variant::Files => match random.below(3) {
                0 => file.none(),
                1 => file.all(),
                _ => file.until(file.moment(random)).into(),
            },
            Variant::Sectors => file.some(random, false).into(),
            Variant::Lengths => file.some(random, true).into(),
        };
        fs::write(to, &bytes)?;
        self.built.insert(node, to.to_owned());
        self.set_bits(node, to)
    }

    fn set_bits(&mut self, node: Node, to: &Path) -> io::Result<()> {
        let Some(bits) = self.disk.bits.get(&node) else {
            return Ok(());
        };
        let mode = self.mode(bits);
        fs::set_permissions(to, Permissions::from_mode(mode))
    }

    fn mode(&mut self, bits: &Bits) -> u32 {
        match self.variant {
            Variant::None => bits.none(),
            Variant::All => bits.all(),
            Variant::Prefix => bits.until(self.moment),
            Variant::Files | Variant::Sectors | Variant::Lengths => bits.some(self.random),
        }
    }
}
