//! A store on a mount that cannot be written to.

use std::fs;
use std::path::Path;
use std::process::Command;

use milepost::{Engine, Options};
use milepost_tests::skip::skipped;

use super::{answers, filled, to_read, tree};

const STORE: &str = "MILEPOST_TEST_READ_ONLY_STORE";
const SAID: &str = "MILEPOST_TEST_READ_ONLY_SAID";

/// The process in the mount's name space: it does nothing without its environment.
#[test]
fn child_that_looks_at_a_store() {
    let (Ok(store), Ok(said)) = (std::env::var(STORE), std::env::var(SAID)) else {
        return;
    };
    let written = fs::write(Path::new(&store).join("journal").join("probe"), b"");
    assert!(written.is_err(), "the mount can be written to");
    let error = Engine::open(&store, Options::default()).unwrap_err();
    assert_eq!(error.kind(), milepost::ErrorKind::Unavailable, "{error}");
    let engine = Engine::open(&store, to_read()).unwrap();
    fs::write(said, answers(&engine).join("\n")).unwrap();
    engine.close().unwrap();
}

#[test]
fn a_store_on_a_read_only_mount_is_looked_at_and_its_index_goes_with_the_look() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let (said, tmp) = (dir.path().join("said"), dir.path().join("tmp"));
    fs::create_dir(&tmp).unwrap();
    filled(&root, Options::default());
    let before = {
        let engine = Engine::open(&root, Options::default()).unwrap();
        let said = answers(&engine);
        engine.close().unwrap();
        said
    };
    let files = tree(&root);
    let script = "mount --bind \"$0\" \"$0\" && mount -o remount,ro,bind \"$0\" && exec \"$@\"";
    let mounts = |then: &[&std::ffi::OsStr]| {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--map-root-user", "sh", "-c", script]);
        command.arg(&root).args(then);
        command.env(STORE, &root).env(SAID, &said).env("TMPDIR", &tmp);
        command.output()
    };
    if !mounts(&["true".as_ref()]).is_ok_and(|done| done.status.success()) {
        skipped("a mount of its own cannot be made here");
        return;
    }
    let me = std::env::current_exe().unwrap();
    let name = "mounted::child_that_looks_at_a_store";
    let done = mounts(&[me.as_os_str(), "--exact".as_ref(), name.as_ref()]).unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
    assert_eq!(fs::read_to_string(said).unwrap(), before.join("\n"));
    assert!(tree(&root) == files);
    assert_eq!(fs::read_dir(&tmp).unwrap().count(), 0, "the index is left");
}
