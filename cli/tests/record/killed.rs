//! Batches of a file: their commits, and the remains of a kill.

use std::time::Duration;

use super::*;

/// A run of steps with three events each.
fn run(steps: u64) -> String {
    let step = |step| {
        format!(
            "{{\"kind\":\"step_started\",\"step\":{step}}}\n\
             {{\"kind\":\"message\",\"role\":\"assistant\",\"content\":\"step {step}\"}}\n\
             {{\"kind\":\"step_finished\",\"step\":{step}}}\n"
        )
    };
    (1..=steps).map(step).collect()
}

#[test]
fn a_step_and_its_checkpoint_are_one_commit_or_part_of_one() {
    let place = Place::new();
    place.write("run.jsonl", run(300));
    let commits = || number(&place.json("stats"), "seq");
    place.say("record run.jsonl").ok();
    let in_batches = commits();
    assert!(in_batches <= 300 + 3, "{in_batches} commits for 300 steps");
    assert_eq!(place.lines("log run --kind checkpoint_marked").len(), 300);
    // Each line from a pipe is a commit, and the last one of a step has the mark.
    let input = fs::File::open(place.path("run.jsonl")).unwrap();
    let ran = Ran::of(place.command(["record", "-", "--ack"]).stdin(input).output().unwrap());
    let acks: Vec<Value> =
        ran.ok().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let alone = commits() - in_batches;
    assert!((900..=900 + 3).contains(&alone), "{alone} commits for 900 lines");
    assert_eq!(acks.len(), 900);
    let task = place.ids("tasks").into_iter().find(|id| id.starts_with("stdin-")).unwrap();
    // The third event of the first step: its hash is the one before the mark.
    let shown = place.json(&format!("show {task}@{}", number(&acks[2], "offset")));
    assert_eq!((&shown["hash"], &shown["kind"]), (&acks[2]["hash"], &json!("step_finished")));
}

#[test]
fn a_kill_leaves_the_beginning_of_the_file_and_a_repetition_appends_all_of_it() {
    const STEPS: u64 = 20_000;
    let whole = run(STEPS);
    let mut delay = Duration::from_millis(200);
    // Until a kill hits the middle.
    for _ in 0..20 {
        let place = Place::new();
        place.write("run.jsonl", &whole);
        let mut child = place.command(["record", "run.jsonl"]).spawn().unwrap();
        std::thread::sleep(delay);
        child.kill().unwrap();
        child.wait().unwrap();
        let tasks = if place.store().join("store").exists() { place.ids("tasks") } else { vec![] };
        if tasks.is_empty() {
            delay *= 2;
            continue;
        }
        let left = place.lines("log run");
        if left.len() as u64 > STEPS * 4 {
            delay /= 3;
            continue;
        }
        let expected = |at: usize| match at % 4 {
            0 => "step_started",
            1 => "message",
            2 => "step_finished",
            _ => "checkpoint_marked",
        };
        for (at, event) in left.iter().skip(1).enumerate() {
            assert_eq!(event["kind"], expected(at), "event {at}");
        }
        assert_eq!((left.len() - 1) % 4, 0, "a step is there as a whole, with its checkpoint");
        place.say("record run.jsonl").ok();
        let both = number(&place.items("tasks")[0], "events");
        assert_eq!(both, left.len() as u64 + STEPS * 4, "the lines are appended once more");
        return;
    }
    panic!("no kill was in the middle");
}
