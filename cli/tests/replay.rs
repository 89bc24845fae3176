//! `replay`: events once more.

use crate::common::{Place, number};

#[test]
fn a_pipe_gets_every_event_as_json_in_its_order() {
    let place = Place::recorded();
    let out = place.say("replay run --speed max").ok();
    let events: Vec<serde_json::Value> =
        out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events, place.lines("log run"));
    let some = place.say("replay run@6 --from 4 --speed max").ok();
    assert_eq!(some.lines().count(), 2);
    // At most a tenth of a second for what took hours.
    let quick = place.say("replay react --speed 1 --longest 1ms").ok();
    assert_eq!(quick.lines().count(), 33);
}

#[test]
fn a_command_gets_each_event_and_ends_the_replay_where_it_fails() {
    let place = Place::recorded();
    let run =
        |script: &str| place.run(["replay", "run", "--speed", "max", "--", "sh", "-c", script]);
    let out = run("cat").ok();
    assert_eq!(out, place.say("replay run --speed max").ok());
    assert_eq!(run("exit 0").ok(), "");
    let ran = run("grep -q step_finished && exit 3 || exit 0");
    ran.failed(1, "at event @");
    assert!(ran.err.contains("--from "), "{ran:?}");
    let none = place.run(["replay", "run", "--", "no-such-program"]);
    none.failed(1, "no-such-program");
}

#[test]
fn a_check_folds_every_lineage_from_the_beginning() {
    let place = Place::recorded();
    place.say("restore run@4").ok();
    let out = place.say("replay run --check").ok();
    assert!(out.starts_with("2 lineages folded"), "{out}");
    let offset = number(&place.lines("log run")[3], "offset");
    assert_eq!(offset, 3);
}

#[test]
fn a_speed_is_a_number_or_max() {
    let place = Place::recorded();
    for wrong in ["0", "-1", "fast", "inf", "NaN"] {
        let ran = place.run(["replay", "run", &format!("--speed={wrong}")]);
        assert_eq!(ran.code, 2, "{ran:?}");
    }
}
