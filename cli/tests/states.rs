//! States at checkpoints, data attached to them, and cleanups before a point: the same here and
//! with the store in another program.

use milepost::events::{Attachment, Data, Message, PatchForm, VariablesPatched};
use milepost::{Append, Body, Engine, Json, Mark, Options};
use serde_json::{Value, json};

use crate::common::Place;

fn variables(values: &Value) -> Body {
    let patch = Json::from_value(values).unwrap();
    VariablesPatched { form: PatchForm::Merge, patch }.into()
}

/// A place with a run of four steps, the last one on a branch of the second.
fn place() -> (Place, Engine) {
    let place = Place::new();
    let engine = Engine::open(place.store(), Options::default()).unwrap();
    let task = engine.start_task("run", "ana").unwrap();
    for (n, loss) in [0.5, 0.4, 0.3].into_iter().enumerate() {
        let step = [Message::text("user", "step").into(), variables(&json!({"loss": loss}))];
        let mark = Mark::new().label(format!("step-{n}")).alias(format!("id-{n}"));
        task.append(Append::batch(step).mark(mark)).unwrap();
    }
    let branch = engine.branch(&engine.point("run@step-1").unwrap()).run().unwrap();
    branch.append(Append::from(variables(&json!({"loss": 9}))).mark(Mark::new())).unwrap();
    let bytes = Attachment::new("worker", 0, Data::Bytes(vec![7; 12])).name("pending");
    let text = Attachment::new("worker", -1, Data::Json(Json::new("\"late\"").unwrap()));
    task.attach("id-1", [bytes, text]).unwrap();
    (place, engine)
}

/// Checks the output of a command, here and through the socket of another program.
fn same(place: &Place, engine: Engine, lines: &[&str]) -> Vec<String> {
    let attached = milepost_server::attach(&engine).unwrap();
    let there: Vec<String> = lines.iter().map(|line| place.say(line).ok()).collect();
    drop(attached);
    engine.close().unwrap();
    let here: Vec<String> = lines.iter().map(|line| place.say(line).ok()).collect();
    assert_eq!(here, there);
    here
}

#[test]
fn a_part_of_the_state_is_printed_at_each_checkpoint_of_a_lineage() {
    let (place, engine) = place();
    let lines = [
        "states run /variables/loss",
        "states run/1 /variables/loss",
        "states run@step-1",
        "states run /messages/2/content --json",
        "states run /messages --json",
    ];
    let printed = same(&place, engine, &lines);
    let cells = |out: &str| -> Vec<Vec<String>> {
        let lines = out.lines().skip(1);
        lines.map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
    };
    assert_eq!(
        cells(&printed[0]),
        [["run/0@3", "step-0", "0.5"], ["run/0@6", "step-1", "0.4"], ["run/0@9", "step-2", "0.3"]]
    );
    assert_eq!(
        cells(&printed[1]),
        [["run/0@3", "step-0", "0.5"], ["run/0@6", "step-1", "0.4"], ["run/1@9", "-", "9"]]
    );
    assert_eq!(cells(&printed[2]), [["run/0@3", "step-0", "{\"loss\":0.5}"]]);
    let values = |out: &str| -> Vec<Value> {
        let lines = out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.map(|line| line.get("value").cloned().unwrap_or(json!("absent"))).collect()
    };
    assert_eq!(values(&printed[3]), ["absent", "absent", "step"]);
    let lens = values(&printed[4]).into_iter().map(|all| all.as_array().unwrap().len());
    assert!(lens.eq([1, 2, 3]));
    let wrong = place.say("states run /variables/los");
    wrong.failed(1, "no checkpoint has a value at `/variables/los`");
    wrong.failed(1, "/variables/loss");
    place.say("start empty").ok();
    assert_eq!(place.say("states empty").ok(), "no checkpoints\n");
}

#[test]
fn attached_data_is_shown_with_its_checkpoint() {
    let (place, engine) = place();
    let printed = same(&place, engine, &["show run/0@6", "show run@9", "show @id-1"]);
    let attached = |out: &str| -> Vec<String> {
        let lines = out.lines().filter(|line| line.starts_with("attached"));
        lines.map(str::to_owned).collect()
    };
    let expected = ["attached    worker 0 pending: 12 bytes", "attached    worker -1: \"late\""];
    assert_eq!(attached(&printed[0]), expected);
    assert_eq!(attached(&printed[1]), [""; 0]);
    assert_eq!(attached(&printed[2]), expected);
}

#[test]
fn a_cleanup_before_a_point_keeps_what_is_behind_it() {
    for beside in [false, true] {
        let (place, engine) = place();
        let engine = match beside {
            true => Some(engine),
            false => {
                engine.close().unwrap();
                None
            }
        };
        let attached = engine.as_ref().map(|engine| milepost_server::attach(engine).unwrap());
        let plan = place.say("cleanup --trim-before run@step-2 --dry-run").ok();
        assert!(
            plan.contains("2 checkpoints and 11 events") && plan.contains("would go"),
            "{plan}"
        );
        place.say("cleanup --trim-before run@step-2 --yes").ok();
        let labels: Vec<Value> = (place.items("checkpoints run").as_array().unwrap().iter())
            .map(|one| one["label"].clone())
            .collect();
        assert_eq!(labels, [json!(null), json!("step-2")], "{labels:?}");
        let wrong = place.say("cleanup --trim-before run@step-2 --task run");
        assert!(wrong.code == 2 && wrong.err.contains("cannot be used with"), "{wrong:?}");
        drop(attached);
    }
}
