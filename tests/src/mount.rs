//! Small file systems in a file, for tests that cut them off or fill them. They take root, loop
//! devices and the programs that make them; where something is missing, the test is skipped.
#![allow(clippy::missing_panics_doc, missing_docs, reason = "tests")]

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::skip::skipped;

/// A file system that is mounted, and taken down again when this is dropped, whatever happened.
#[derive(Debug)]
pub struct Mounted {
    kind: &'static str,
    backing: PathBuf,
    /// The mount point.
    pub dir: PathBuf,
    up: bool,
}

/// Runs a program; its own words where it fails.
fn run(program: &str, args: &[&str]) -> Result<(), String> {
    // Programs for file systems are not in every user's path.
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let output = Command::new(program).args(args).env("PATH", path).output();
    let output = output.map_err(|e| format!("{program}: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let reason = text.lines().next().unwrap_or("no reason given");
    Err(format!("{program}: {reason}"))
}

impl Mounted {
    /// Makes a file system of a kind in a folder and mounts it, or says why it cannot.
    pub fn make(kind: &'static str, within: &Path, mib: u64) -> Result<Self, String> {
        let backing = within.join(format!("{kind}.img"));
        let file = File::create(&backing).map_err(|e| format!("{}: {e}", backing.display()))?;
        file.set_len(mib << 20).map_err(|e| format!("{}: {e}", backing.display()))?;
        let image = backing.to_string_lossy();
        let force = if kind == "ext4" { "-F" } else { "-f" };
        run(&format!("mkfs.{kind}"), &["-q", force, &image])?;
        Self::of(kind, backing, within.join(kind))
    }

    fn of(kind: &'static str, backing: PathBuf, dir: PathBuf) -> Result<Self, String> {
        fs::create_dir(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        let mut mounted = Self { kind, backing, dir, up: false };
        mounted.mount()?;
        Ok(mounted)
    }

    /// Writes a file that takes the free space of the file system except for `but` bytes. Returns
    /// its path.
    pub fn fill(&self, but: u64) -> io::Result<PathBuf> {
        let path = self.dir.join("ballast");
        let mut ballast = File::create(&path)?;
        let block = vec![7; 64 << 10];
        let mut len = 0;
        while ballast.write_all(&block).and_then(|()| ballast.sync_data()).is_ok() {
            len += block.len() as u64;
        }
        ballast.set_len(len.saturating_sub(but))?;
        ballast.sync_all()?;
        Ok(path)
    }

    /// The same, or one line that says why the test is skipped.
    pub fn make_or_skip(kind: &'static str, within: &Path, mib: u64) -> Option<Self> {
        match Self::make(kind, within, mib) {
            Ok(mounted) => Some(mounted),
            Err(why) => {
                skipped(format_args!("no {kind} can be mounted here: {why}"));
                None
            }
        }
    }

    pub fn mount(&mut self) -> Result<(), String> {
        // A copy has the same id as what it was copied from.
        let options = match self.kind {
            "xfs" => "loop,nouuid",
            _ => "loop,errors=remount-ro",
        };
        let (image, dir) = (self.backing.to_string_lossy(), self.dir.to_string_lossy());
        run("mount", &["-t", self.kind, "-o", options, &image, &dir])?;
        self.up = true;
        Ok(())
    }

    /// Mounts it for reading alone, or for writing too.
    pub fn remount(&self, options: &str) -> Result<(), String> {
        let options = format!("remount,{options}");
        run("mount", &["-o", &options, &self.dir.to_string_lossy()])
    }

    /// Makes an ext4 believe that it met damage: from then on it may only be read.
    pub fn meet_damage(&self) -> Result<(), String> {
        let mounts = fs::read_to_string("/proc/mounts").map_err(|e| e.to_string())?;
        let dir = self.dir.to_string_lossy();
        let device = mounts.lines().find_map(|line| {
            let mut words = line.split(' ');
            let device = words.next()?.strip_prefix("/dev/")?;
            (words.next()? == dir).then_some(device)
        });
        let device = device.ok_or("it is not mounted")?;
        let trigger = format!("/sys/fs/ext4/{device}/trigger_fs_error");
        fs::write(&trigger, "a test").map_err(|e| format!("{trigger}: {e}"))
    }

    pub fn unmount(&mut self) -> Result<(), String> {
        run("umount", &[&self.dir.to_string_lossy()])?;
        self.up = false;
        Ok(())
    }

    /// Copies the current content of the device, though it is in use, and mounts the copy.
    pub fn copy(&self, name: &str) -> Result<Self, String> {
        let backing = self.backing.with_file_name(format!("{name}.img"));
        let (from, to) = (self.backing.to_string_lossy(), backing.to_string_lossy());
        run("cp", &["--sparse=always", &from, &to])?;
        let dir = self.backing.with_file_name(name);
        Self::of(self.kind, backing, dir)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let dir = self.dir.to_string_lossy().into_owned();
        if self.up && self.unmount().is_err() {
            // A process still uses it, perhaps a store that hung.
            let _ = run("umount", &["--lazy", &dir]);
        }
        let _ = fs::remove_file(&self.backing);
    }
}
