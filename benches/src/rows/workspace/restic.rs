//! Captures compared with restic.

use super::super::folder;
use super::both::Ours;
use super::{CHANGES, Size, Step, mb};
use crate::measure::{row, seconds};
use crate::peers::Restic;
use crate::trees::{Tree, blocks, settle};

/// Compares captures, and writing all files elsewhere, with restic.
pub fn beside_restic(rounds: usize, size: Size) {
    println!("a workspace of {}, beside restic", size.shown());
    let names = ["first snapshot", "nothing changed", "5 files changed", "into an empty folder"];
    let mut steps = names.map(|name| Step::new(name, "restic"));
    let mut disk = [0, 0];
    for _ in 0..rounds {
        let dir = folder();
        let make = |name: &str| {
            let place = dir.path().join(name);
            std::fs::create_dir(&place).unwrap();
            place
        };
        let [our_place, their_place] = ["ours", "theirs"].map(make);
        let mut ours = Ours::begin(&our_place, Tree::make(&our_place, size.files, size.bytes));
        let mut theirs = Tree::make(&their_place, size.files, size.bytes);
        let Some(restic) = Restic::init(their_place.join("repository"), theirs.folder()) else {
            return println!("restic is not installed");
        };
        for step in steps.iter_mut().take(3) {
            if step.name == "5 files changed" {
                ours.tree.change(CHANGES);
                theirs.change(CHANGES);
            }
            settle(dir.path());
            let our_time = seconds(|| _ = ours.capture());
            settle(dir.path());
            step.took([our_time, seconds(|| restic.snapshot())]);
        }
        let last = ours.mark("last");
        let [our_out, their_out] = ["out-ours", "out-theirs"].map(make);
        settle(dir.path());
        let our_time = seconds(|| ours.write_into(&last, &our_out));
        settle(dir.path());
        steps[3].took([our_time, seconds(|| restic.restore_into(&their_out))]);
        ours.engine.close().unwrap();
        disk = [blocks(&our_place.join("store")), blocks(restic.dir())];
    }
    for step in steps {
        step.print();
    }
    let [ours, theirs] = disk;
    let (ratio, peer) = (ours as f64 / theirs as f64, format!("restic {}", mb(theirs)));
    row("disk of these snapshots", mb(ours), peer, ratio, 1.0, true);
}
