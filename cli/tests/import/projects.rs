//! Folders that hold several projects.

use std::fs;

use serde_json::json;

use crate::common::{Place, text};
use crate::import::{assert_state, checkpoint, counts, save};

#[test]
fn seed_000_a_cache_with_several_projects_is_imported_whole() {
    let place = Place::new();
    let project = |name: &str| place.path("cache/projects").join(name);
    for (name, execution, steps) in [("one", "exec-001", 2), ("two", "exec-002", 3)] {
        for step in 0..steps {
            let file = checkpoint(execution, step);
            save(&project(name).join("persistence/checkpoint"), &file);
        }
    }
    // An execution of the same id, in a project that has the files themselves.
    let mut other = checkpoint("exec-001", 0);
    other["variables"] = json!({"of": "three"});
    save(&project("three"), &other);
    fs::create_dir_all(project("empty").join("persistence/checkpoint")).unwrap();
    fs::write(place.path("cache/readme.txt"), "x").unwrap();
    let said = place.json("import cache");
    assert_eq!(said["skipped"], json!([]));
    let tasks = said["tasks"].as_array().unwrap();
    let mut counted: Vec<(&str, [u64; 3])> =
        tasks.iter().map(|task| (text(task, "id"), counts(task))).collect();
    counted.sort();
    assert_eq!(
        counted,
        [("exec-001", [10, 2, 0]), ("exec-002", [15, 3, 0]), ("three-exec-001", [5, 1, 0])]
    );
    assert_state(&place, &checkpoint("exec-001", 1));
    assert_state(&place, &checkpoint("exec-002", 2));
    let state = place.json("state three-exec-001@ckpt-exec-001-0");
    assert_eq!(state["variables"], json!({"of": "three"}));
    // Again, from one level deeper: nothing is written twice.
    let said = place.json("import cache/projects");
    let tasks = said["tasks"].as_array().unwrap();
    assert!(tasks.iter().all(|task| task["events"] == 0), "{said}");
}

#[test]
fn seed_000_a_folder_without_files_and_projects_is_refused() {
    let place = Place::new();
    fs::create_dir_all(place.path("cache/projects/one/persistence/checkpoint")).unwrap();
    // Too deep for a project.
    save(&place.path("cache/a/b/c/d/persistence/checkpoint"), &checkpoint("deep", 0));
    place.say("import cache").failed(1, "no ckpt-*.json file");
    assert!(!place.store().exists());
    std::os::unix::fs::symlink(place.path("cache/a/b/c/d"), place.path("cache/link")).unwrap();
    place.say("import cache").failed(1, "cache: no run, no export and no ckpt-*.json file");
    place.say("import cache/link").ok();
}
