//! Files that change during a scan.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::FileExt;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::*;
use crate::capture::{self, Storage};
use crate::status::States;
use crate::testing::memory::MemoryChunks;

/// Stops a thread, even if the test fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Repeats `doing` in a thread while `then` runs.
fn meanwhile(doing: impl Fn(u64) + Sync, then: impl FnOnce()) {
    let stopped = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _stop = Stop(&stopped);
        scope.spawn(|| {
            for n in 0.. {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                doing(n);
            }
        });
        then();
    });
}

/// Returns `true` if all bytes are equal.
fn is_whole(content: &[u8]) -> bool {
    content.windows(2).all(|pair| pair[0] == pair[1])
}

/// Returns `true` if a file that is overwritten in order, with the next letter each time, had this
/// content at some moment: one letter, or the next one up to the writer's position.
fn is_of_a_moment(content: &[u8]) -> bool {
    let runs: Vec<&[u8]> = content.chunk_by(|a, b| a == b).collect();
    match *runs {
        [] | [_] => true,
        [new, old] => (new[0] - b'a') == (old[0] - b'a' + 1) % 26,
        _ => false,
    }
}

#[test]
fn a_file_that_is_written_to_is_of_some_moment_or_listed() {
    for len in [40 << 10, 900 << 10] {
        let scene = Scene::new();
        scene.write("busy", vec![b'a'; len]);
        scene.write("quiet", "x");
        let path = scene.path("busy");
        let file = fs::File::options().write(true).open(&path).unwrap();
        let write = |n: u64| {
            // In place and in two steps: a slower reader sees parts of two moments.
            let half = vec![b'a' + (n % 26) as u8; len / 2];
            file.write_all_at(&half, 0).unwrap();
            file.write_all_at(&half, (len / 2) as u64).unwrap();
            if n.is_multiple_of(3) {
                std::thread::yield_now();
            }
        };
        meanwhile(write, || {
            for _ in 0..4 {
                let snapshot = scene.snapshot();
                let entry = |name: &[u8]| {
                    let path = milepost_codec::TreePath::new(name).unwrap();
                    (snapshot.entry(&path).unwrap().unwrap(), path)
                };
                let (busy, path) = entry(b"busy");
                let mut content = Vec::new();
                std::io::Read::read_to_end(&mut snapshot.read(&path).unwrap(), &mut content)
                    .unwrap();
                let unstable: Vec<_> = snapshot.skips().map(|skip| skip.unwrap()).collect();
                let listed = unstable.iter().any(|skip| {
                    skip.path.as_bytes() == b"busy" && skip.reason == SkipReason::Unstable
                });
                assert_eq!(busy.item.kind.is_unstable(), listed);
                assert!(listed || is_of_a_moment(&content));
                assert!(!entry(b"quiet").0.item.kind.is_unstable());
            }
        });
        // At rest, the file is captured as it is.
        assert_eq!(scene.skips(), []);
        assert_eq!(scene.put_back(), things(&scene.folder()));
    }
}

#[test]
fn a_file_that_is_exchanged_whole_is_whole() {
    let scene = Scene::new();
    scene.write("f", vec![b'z'; 100 << 10]);
    let (path, beside) = (scene.path("f"), scene.dir.path().join("beside"));
    let exchange = |n: u64| {
        fs::write(&beside, vec![b'a' + (n % 26) as u8; 100 << 10]).unwrap();
        fs::rename(&beside, &path).unwrap();
    };
    meanwhile(exchange, || {
        for _ in 0..5 {
            for (path, thing) in scene.put_back() {
                let Thing::File(content, _) = thing else { panic!("{path:?}") };
                assert!(is_whole(&content) && content.len() == 100 << 10);
            }
        }
    });
}

#[test]
fn what_comes_goes_and_becomes_something_else_stops_no_capture() {
    let scene = Scene::new();
    for n in 0..30 {
        scene.write(format!("d/{n}"), "x");
    }
    let turn = |n: u64| {
        let path = scene.path(format!("d/{}", n % 30));
        let _ = fs::remove_file(&path);
        let _ = fs::remove_dir_all(&path);
        match n / 30 % 5 {
            0 => fs::write(&path, "again").unwrap(),
            1 => symlink("nowhere", &path).unwrap(),
            2 => fs::create_dir(&path).unwrap(),
            3 => {
                let mut file = fs::File::create(&path).unwrap();
                file.write_all(&[b'y'; 300]).unwrap();
            }
            _ => {}
        }
    };
    meanwhile(turn, || {
        for _ in 0..6 {
            let empty = tempfile::tempdir().unwrap();
            scene.snapshot().restore_into(empty.path()).unwrap();
        }
    });
    assert_eq!(scene.put_back(), things(&scene.folder()));
}

#[test]
fn a_folder_that_is_swapped_for_a_link_leads_nowhere() {
    let scene = Scene::new();
    let secret = scene.dir.path().join("secret");
    fs::create_dir(&secret).unwrap();
    fs::write(secret.join("key"), "the secret of somebody else").unwrap();
    scene.write("d/key", "x");
    let (path, aside) = (scene.path("d"), scene.path("aside"));
    symlink(&secret, &aside).unwrap();
    // Atomically, so that the entry is a link half of the time.
    let swap = |_| renameat_with(CWD, &path, CWD, &aside, RenameFlags::EXCHANGE).unwrap();
    // Without a store and its syncs, many scans fit into little time.
    let (chunks, states) = (MemoryChunks::default(), States::default());
    let (folder, beside) = (scene.folder(), scene.dir.path().join("beside"));
    fs::create_dir(&beside).unwrap();
    let options = WorkspaceOptions::default();
    meanwhile(swap, || {
        for _ in 0..300 {
            capture::store(&Storage::of(&folder, &options, &states, &chunks, Some(&beside)))
                .unwrap();
        }
    });
    let all = chunks.all.lock();
    assert!(all.values().any(|content| **content == *b"x"));
    assert!(!all.values().any(|content| content.starts_with(b"the secret")));
}
