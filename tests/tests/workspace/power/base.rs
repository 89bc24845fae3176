//! Store and folder on one disk: a restore of both, and their expected content after a cut and a
//! recovery.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use milepost::events::Message;
use milepost::{Engine, Mark, Options, Scope};
use milepost_tests::disk::{Disk, Op, Variant, read_trace};
use milepost_tests::faults::{self, Faults, counts, temp_dir};
use milepost_tests::folder::empty;
use milepost_tests::seed::Random;
use milepost_workspace::{Workspace, WorkspaceOptions};

use super::{CHILD, DIR};
use crate::workspace::{content, none};

/// Content of a folder: each path with its bits, and its content or its target.
type Content = BTreeMap<PathBuf, (u32, Vec<u8>)>;

/// Paths that no capture has when the restore begins: they stay as they are, whatever its outcome.
const NOT_RECORDED: [&str; 5] =
    ["own", "new/deep/own", "closed/ignored.tmp", "ignored.tmp", "same folder/own"];

/// Files that have another name outside of the folder, which keeps its content.
const LINKED: [&str; 3] = ["changed", "run.sh", "goes"];

pub(super) fn open(dir: &Path) -> milepost::Result<(Engine, Workspace)> {
    let engine = Engine::open(dir.join("store"), Options::default())?;
    let workspace = Workspace::open(dir.join("work"), WorkspaceOptions::default())?;
    Ok((engine, workspace))
}

/// A folder that is worked on.
struct Folder(PathBuf);

impl Folder {
    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.0.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn bits(&self, path: &str, mode: u32) {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(self.0.join(path), permissions).unwrap();
    }

    fn link(&self, target: &str, path: &str) {
        symlink(target, self.0.join(path)).unwrap();
    }

    fn remove(&self, path: &str) {
        let path = self.0.join(path);
        match path.symlink_metadata().unwrap().is_dir() {
            true => std::fs::remove_dir_all(path).unwrap(),
            false => std::fs::remove_file(path).unwrap(),
        }
    }
}

/// Store, folder, and the folder's expected content after an undone and after a finished restore.
pub(super) struct Base {
    faults: &'static Faults,
    temp: tempfile::TempDir,
    /// One place for all: a restore knows its folder by its inode.
    pub(super) dir: PathBuf,
    disk: Disk,
    before: Content,
    after: Content,
    /// Content of other names outside of the folder.
    outside: Content,
}

impl Base {
    /// Makes the base; each path's name tells its fate. `many` more files make a restore sync the
    /// file system in one call.
    pub(super) fn new(faults: &'static Faults, many: usize) -> Self {
        let temp = temp_dir();
        let dir = temp.path().canonicalize().unwrap().join("case");
        let work = Folder(dir.join("work"));
        let mut random = Random::new(7);
        first_files(&work, &mut random, many);
        let (engine, workspace) = open(&dir).unwrap();
        let task = engine.start_task("t", "ana").unwrap();
        let capture = |label: &str| {
            let mark = Mark::new().label(label);
            workspace.capture(&engine, &task, Some(mark)).unwrap();
            content(&work.0)
        };
        let mut after = capture("first");
        task.append(Message::text("user", "hello")).unwrap();
        second_files(&work, &mut random, many);
        let recorded = capture("second");
        engine.close().unwrap();
        work.bits("closed", 0o700);
        for path in NOT_RECORDED {
            work.write(path, format!("nobody recorded {path}"));
        }
        work.bits("closed", 0o500);
        let outside = dir.join("outside");
        std::fs::create_dir(&outside).unwrap();
        for path in LINKED {
            std::fs::hard_link(work.0.join(path), outside.join(path)).unwrap();
        }
        let before = content(&work.0);
        // Unrecorded entries stay, and so do their folders.
        let not_recorded = |path: &&PathBuf| !recorded.contains_key(*path);
        for path in before.keys().filter(not_recorded) {
            for path in path.ancestors().filter(|path| before.contains_key(*path)) {
                let kept = before[path].clone();
                after.entry(path.to_owned()).or_insert(kept);
            }
        }
        let disk = Disk::load(&dir).unwrap();
        let outside = content(&outside);
        Self { faults, temp, dir, disk, before, after, outside }
    }

    /// Builds an image where the restore was begun.
    pub(super) fn put(&self, disk: &Disk, variant: Variant, random: &mut Random) {
        for name in ["store", "outside", "work"] {
            let dir = self.dir.join(name);
            if dir.exists() {
                empty(&dir).unwrap();
            }
        }
        disk.image(variant, random, &self.dir).unwrap();
    }

    /// Returns the disk as it was before the restore, all of it stored.
    pub(super) fn begin(&self) -> Disk {
        self.put(&self.disk, Variant::None, &mut Random::new(0));
        Disk::load(&self.dir).unwrap()
    }

    /// Restores, or continues a restore, and returns its operations.
    pub(super) fn go(&self, more: &[(&str, &str)]) -> Vec<Op> {
        let trace = self.temp.path().join("trace");
        let mut settings =
            vec![(DIR, self.dir.to_str().unwrap()), (faults::RECORD, trace.to_str().unwrap())];
        settings.extend_from_slice(more);
        let ended = faults::run(self.faults, CHILD, &self.dir, &settings);
        let killed = |(name, what): &(&str, &str)| *name == faults::FAIL && what.contains("kill");
        assert_eq!(ended.fault(more.iter().any(killed)), None);
        let ops = read_trace(&trace).unwrap();
        std::fs::remove_file(trace).unwrap();
        ops
    }

    /// The calls that it takes.
    pub(super) fn calls(&self, more: &[(&str, &str)]) -> u64 {
        let count = self.temp.path().join("count");
        let mut settings = vec![(faults::COUNT, count.to_str().unwrap())];
        settings.extend_from_slice(more);
        self.go(&settings);
        let counted = counts(&count).of("any");
        std::fs::remove_file(count).unwrap();
        counted
    }

    /// Opens the remains, recovers, and checks that the folder is one or the other. Returns whether
    /// the restore was done.
    pub(super) fn check(&self) -> Result<bool, String> {
        let (engine, workspace) = open(&self.dir).map_err(|e| format!("opening: {e}"))?;
        let recovered = workspace.recover(&engine, "t", &none());
        recovered.map_err(|e| format!("recovering: {e}"))?;
        let done = engine.task("t").unwrap().lineage().id().0 > 0;
        let (expected, other) = match done {
            true => (&self.after, &self.before),
            false => (&self.before, &self.after),
        };
        let as_expected = |what: &str, expected: &Content| {
            self.compare(expected).map_err(|e| format!("I8, {what}: {e}, done {done}"))
        };
        as_expected("recovered", expected)?;
        let inode = |path: PathBuf| self.dir.join(path).metadata().unwrap().ino();
        for path in LINKED.into_iter().filter(|_| !done) {
            if inode(Path::new("work").join(path)) != inode(Path::new("outside").join(path)) {
                return Err(format!("I8: {path} is not the file that it was"));
            }
        }
        let point = engine.point("t").unwrap();
        let messages = engine.run_state(&point).unwrap().messages.len();
        if messages != u64::from(!done) {
            return Err(format!("I9: {messages} messages, done {done}"));
        }
        // And from there a restore in the other direction.
        let went = match done {
            true => workspace.undo(&engine, "t", &none()),
            false => {
                let to = engine.point("t@first").unwrap();
                workspace.restore(&engine, &to, Scope::All, None, &none())
            }
        };
        went.map_err(|e| format!("the other way, done {done}: {e}"))?;
        as_expected("the other way", other)?;
        let task = engine.task("t").unwrap();
        let captured = workspace.capture(&engine, &task, None);
        captured.map_err(|e| format!("capturing, done {done}: {e}"))?;
        let report = engine.integrity().verify(None, &mut |_, _| {}).unwrap();
        if !report.is_clean() {
            return Err(format!("{report:?}"));
        }
        engine.close().map_err(|e| format!("closing: {e}"))?;
        Ok(done)
    }

    fn compare(&self, expected: &Content) -> Result<(), String> {
        same(&content(&self.dir.join("work")), expected)?;
        same(&content(&self.dir.join("outside")), &self.outside)
    }
}

impl Drop for Base {
    fn drop(&mut self) {
        let _ = empty(&self.dir.join("work"));
    }
}

fn same(now: &Content, expected: &Content) -> Result<(), String> {
    for path in now.keys().chain(expected.keys()) {
        let (is, was) = (now.get(path), expected.get(path));
        if is != was {
            let short = |found: Option<&(u32, Vec<u8>)>| match found {
                Some((mode, bytes)) => format!("{mode:o} with {} bytes", bytes.len()),
                None => "nothing".to_owned(),
            };
            let path = path.display();
            return Err(format!("{path} is {}, not {}", short(is), short(was)));
        }
    }
    Ok(())
}

fn first_files(work: &Folder, random: &mut Random, many: usize) {
    work.write(".gitignore", "*.tmp\n");
    work.write("same", "the same in both");
    work.write("same folder/same", "the same in both");
    work.write("changed", "one");
    work.write("large", random.bytes(100_000));
    work.write("comes back", "one");
    work.write("folder comes back/deep/a", "one");
    work.write("folder comes back/b", vec![0; 9000]);
    work.write("becomes folder", "a file");
    work.write("becomes file/a", "in a folder");
    work.write("becomes link", "a file");
    work.write("run.sh", "#!/bin/sh\n");
    work.write("closed/a", "one");
    work.write("closed/inner/b", "one");
    work.write("private/a", "one");
    std::fs::create_dir(work.0.join("empty")).unwrap();
    work.link("changed", "link");
    work.link("changed", "was link");
    work.bits("run.sh", 0o755);
    work.bits("closed/inner", 0o555);
    work.bits("closed", 0o555);
    work.bits("private", 0o700);
    for n in 0..many {
        work.write(&format!("many/{}/{n}", n % 10), format!("one {n}"));
    }
}

fn second_files(work: &Folder, random: &mut Random, many: usize) {
    work.bits("closed", 0o755);
    work.bits("closed/inner", 0o755);
    work.write("changed", "two");
    work.write("large", random.bytes(90_000));
    for path in ["comes back", "folder comes back", "becomes folder", "becomes file"] {
        work.remove(path);
    }
    for path in ["becomes link", "link", "was link", "empty"] {
        work.remove(path);
    }
    work.write("becomes folder/x", "in a folder now");
    work.write("becomes folder/y/z", "in a folder now");
    work.bits("becomes folder", 0o555);
    work.write("becomes file", "a file now");
    work.link("run.sh", "becomes link");
    work.link("run.sh", "link");
    work.write("was link", "a file now");
    work.bits("run.sh", 0o644);
    work.write("closed/a", "two");
    work.write("closed/inner/new", "two");
    work.bits("closed/inner", 0o500);
    work.bits("closed", 0o500);
    work.bits("private", 0o755);
    work.write("goes", "two");
    work.write("new/deep/c", "two");
    work.write("goes as a whole/deep/c", "two");
    work.bits("goes as a whole/deep", 0o555);
    for n in 0..many {
        work.write(&format!("many/{}/{n}", n % 10), format!("two {n}"));
    }
}
