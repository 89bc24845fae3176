//! Threads and a plain model: each checkpoint has the values that it was put with.

use std::collections::BTreeMap;

use milepost::events::{Application, Data};
use milepost::{Append, Body, Engine, Mark, Options, Reducer as _};
use proptest::prelude::*;

use crate::record::{EVENT, Record};
use crate::{
    Checkpoint, Content, Given, Lost, Missing, Step, Thread, ThreadReducer, Typed, joined,
};

/// The values of a checkpoint, by channel.
type Values = BTreeMap<String, Typed>;

fn text(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    rmp::encode::write_str(&mut bytes, text).unwrap();
    bytes
}

fn list(items: &[Vec<u8>]) -> Typed {
    Typed::new("msgpack", &joined(items))
}

fn checkpoint(id: &str, parent: Option<&str>) -> Checkpoint {
    Checkpoint {
        id: id.into(),
        parent: parent.map(Into::into),
        content: Typed::new("msgpack", &text(id)),
        metadata: Typed::new("msgpack", &[0x80]),
        step: Some(Step { number: 3, source: Some("loop".into()) }),
    }
}

/// A change of a channel from one checkpoint to the next.
#[derive(Debug, Clone)]
enum Edit {
    Keep,
    Push(Vec<String>),
    Cut(usize, Vec<String>),
    Scalar(u8),
    Other(Vec<u8>),
    Remove,
    Same,
}

fn edit() -> impl Strategy<Value = Edit> {
    let texts = || prop::collection::vec("[a-z]{0,6}", 0..4);
    prop_oneof![
        3 => Just(Edit::Keep),
        4 => texts().prop_map(Edit::Push),
        2 => (0..8usize, texts()).prop_map(|(at, texts)| Edit::Cut(at, texts)),
        1 => any::<u8>().prop_map(Edit::Scalar),
        1 => prop::collection::vec(any::<u8>(), 0..20).prop_map(Edit::Other),
        1 => Just(Edit::Remove),
        1 => Just(Edit::Same),
    ]
}

fn items_of(value: Option<&Typed>) -> Vec<Vec<u8>> {
    let items = value.and_then(|value| crate::split(&value.bytes));
    items.unwrap_or_default().into_iter().map(<[u8]>::to_vec).collect()
}

/// Returns the values after edits, and the channels that have a new version.
fn edited(before: &Values, edits: &[(u8, Edit)]) -> (Values, Vec<String>) {
    let mut values = before.clone();
    let mut new = Vec::new();
    for (channel, edit) in edits {
        let name = format!("c/{channel}~");
        let old = values.get(&name).cloned();
        let extended = |kept: usize, texts: &[String]| {
            let mut items = items_of(old.as_ref());
            items.truncate(kept);
            items.extend(texts.iter().map(|one| text(one)));
            list(&items)
        };
        let value = match edit {
            Edit::Keep => continue,
            Edit::Remove => {
                values.remove(&name);
                continue;
            }
            Edit::Same => match old {
                Some(old) => old,
                None => continue,
            },
            Edit::Push(texts) => extended(usize::MAX, texts),
            Edit::Cut(at, texts) => extended(*at, texts),
            Edit::Scalar(number) => Typed::new("msgpack", &[0xcc, *number]),
            Edit::Other(bytes) => Typed::new("pickle", bytes),
        };
        values.insert(name.clone(), value);
        new.push(name);
    }
    (values, new)
}

fn shown(values: &Values) -> serde_json::Value {
    let value = |value: &Typed| match &*value.encoding {
        "msgpack" => serde_json::from_str(&crate::to_json(&value.bytes).unwrap()).unwrap(),
        other => serde_json::json!({
            "encoding": other, "bytes": value.bytes.len(), "why": "of an unknown encoding",
        }),
    };
    values.iter().map(|(name, one)| (name.clone(), value(one))).collect()
}

/// A checkpoint of the model.
struct Known {
    values: Values,
    versions: BTreeMap<String, String>,
    /// The checkpoint's address.
    address: String,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Each checkpoint continues from any earlier one, on its lineage or on a new one.
    #[test]
    fn each_checkpoint_has_the_values_it_was_put_with(
        puts in prop::collection::vec(
            (
                any::<prop::sample::Index>(),
                prop::collection::vec((0..4u8, edit()), 0..5),
                any::<bool>(),
            ),
            1..14,
        )
    ) {
        let engine = Engine::in_memory(Options::default().reducer(ThreadReducer)).unwrap();
        let task = engine.start_task("lg:t", "ana").unwrap();
        let mut known: Vec<Known> = Vec::new();
        let mut last: Option<usize> = None;
        for (at, (from, edits, fresh)) in puts.iter().enumerate() {
            let parent = (!known.is_empty() && !fresh).then(|| from.index(known.len()));
            let before = parent.map(|parent| &known[parent]);
            let values = before.map(|one| one.values.clone()).unwrap_or_default();
            let (values, mut new) = edited(&values, edits);
            let mut versions = before.map(|one| one.versions.clone()).unwrap_or_default();
            new.dedup();
            for name in &new {
                versions.insert(name.clone(), format!("\"{at}\""));
            }
            let given: Vec<Given> = values.iter().map(|(name, value)| Given {
                name: name.clone(),
                version: versions[name].clone(),
                value: new.contains(name).then(|| value.clone().into()),
            }).collect();
            let id = format!("id-{at}");
            let point = before.map(|one| engine.point(&one.address).unwrap());
            let named = parent.map(|parent| format!("id-{parent}"));
            let checkpoint = checkpoint(&id, named.as_deref());
            let events = match &point {
                Some(point) => {
                    let before = engine.state(&ThreadReducer, point).unwrap();
                    checkpoint.events(&before, &given)
                }
                None => checkpoint.first_events(&given),
            };
            let append = Append::batch(events.unwrap()).mark(Mark::new().alias(&id));
            let marked = match point {
                Some(point) if parent == last => {
                    let lineage = task.lineage_named(point.lineage).unwrap();
                    lineage.append(append).unwrap().checkpoint
                }
                Some(point) => engine.branch(&point).append(append).unwrap().1.checkpoint,
                None if at == 0 => task.append(append).unwrap().checkpoint,
                None => {
                    let point = task.point(1).unwrap();
                    engine.branch(&point).append(append).unwrap().1.checkpoint
                }
            };
            last = Some(at);
            known.push(Known { values, versions, address: format!("@{}", marked.unwrap()) });
            for one in &known {
                let point = engine.point(&one.address).unwrap();
                let thread = engine.state(&ThreadReducer, &point).unwrap();
                let found: Values = thread.channels.iter()
                    .map(|(name, channel)| (name.to_string(), channel.content.typed().unwrap()))
                    .collect();
                prop_assert_eq!(&found, &one.values);
                let state = engine.run_state(&point).unwrap();
                let variables = state.variables.text();
                let variables: serde_json::Value = serde_json::from_str(&variables).unwrap();
                prop_assert_eq!(variables, shown(&one.values));
                let encoded = ThreadReducer.encode(&thread).unwrap();
                prop_assert_eq!(ThreadReducer.decode(&encoded).unwrap(), thread);
                let again = engine.encoded_state(ThreadReducer::NAME, &point).unwrap();
                prop_assert_eq!(again, encoded);
            }
        }
    }

    #[test]
    fn any_bytes_are_refused_or_decoded(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Record::decode(&bytes);
        let _ = ThreadReducer.decode(&bytes);
        let mut thread = Thread::default();
        let data = Data::Bytes([&[1][..], &bytes].concat());
        thread.apply(&Application { name: EVENT.into(), data }.into());
    }
}

#[test]
fn a_list_that_grew_is_stored_as_its_new_items() {
    let long = "x".repeat(1000);
    let mut items: Vec<Vec<u8>> = (0..100).map(|n| text(&format!("{n}{long}"))).collect();
    let given = |items: &[Vec<u8>], version: &str| {
        [Given { name: "m".into(), version: version.into(), value: Some(list(items).into()) }]
    };
    let mut thread = Thread::default();
    let first = checkpoint("a", None).events(&thread, &given(&items, "1")).unwrap();
    first.iter().for_each(|body| thread.apply(body));
    items.push(text("new"));
    let second = checkpoint("b", Some("a")).events(&thread, &given(&items, "2")).unwrap();
    let size: usize = second.iter().map(|body| body.to_json().unwrap().len()).sum();
    assert!(size < 1000, "{size} bytes");
}

/// Bytes of nested lists.
fn nested(levels: usize) -> Vec<u8> {
    [vec![0x91; levels], vec![0x90]].concat()
}

#[test]
fn people_get_a_list_while_it_fits_and_else_its_size() {
    let engine = Engine::in_memory(Options::default().reducer(ThreadReducer)).unwrap();
    let task = engine.start_task("lg:t", "ana").unwrap();
    let large = text(&"x".repeat(1_000_000));
    let lists: [Vec<Vec<u8>>; 8] = [
        vec![large.clone(); 3],
        vec![large.clone(); 4],
        // Over the limit at once, more of it, and within it again.
        vec![large.clone(); 5],
        vec![large.clone(); 6],
        vec![large.clone(), text("end")],
        vec![large.clone(), text("end"), nested(200)],
        vec![large.clone(), text("end"), nested(200), text("more")],
        vec![nested(95), nested(96), nested(97), nested(98), nested(99), nested(100)],
    ];
    let mut thread = Thread::default();
    for (number, items) in lists.iter().enumerate() {
        let (version, value) = (number.to_string(), Some(list(items).into()));
        let given = [Given { name: "m".into(), version, value }];
        let events = checkpoint("a", None).events(&thread, &given).unwrap();
        events.iter().for_each(|body| thread.apply(body));
        assert!(events.iter().any(|body| matches!(body, Body::VariablesPatched(_))), "{number}");
        task.append(Append::batch(events)).unwrap();
        let state = engine.run_state(&engine.point("lg:t").unwrap()).unwrap();
        assert!(state.last_error.is_none(), "{number}: {:?}", state.last_error);
        let variables: serde_json::Value = serde_json::from_str(&state.variables.text()).unwrap();
        let shown = &variables["m"];
        if items.iter().map(Vec::len).sum::<usize>() > 4 << 20 {
            assert_eq!(shown["why"], "too large to be shown", "{number}");
            continue;
        }
        let shown = shown.as_array().unwrap();
        assert_eq!(shown.len(), items.len(), "{number}");
        for (shown, item) in shown.iter().zip(items) {
            match shown {
                serde_json::Value::Object(why) => {
                    let why = why["why"].as_str().unwrap();
                    assert!(why.contains("deep") && item.len() > 96, "{why}");
                }
                shown => {
                    let text = crate::to_json(item).unwrap();
                    assert_eq!(*shown, serde_json::from_str::<serde_json::Value>(&text).unwrap());
                }
            }
        }
    }
}

#[test]
fn a_value_that_the_parent_does_not_have_is_asked_for() {
    let given = |version: &str| [Given { name: "m".into(), version: version.into(), value: None }];
    let mut thread = Thread::default();
    let missing = Err(Missing(vec!["m".to_owned()]));
    assert_eq!(checkpoint("a", None).events(&thread, &given("1")).map(drop), missing.clone());
    let value = [Given { name: "m".into(), version: "1".into(), value: Some(list(&[]).into()) }];
    let first = checkpoint("a", None).events(&thread, &value).unwrap();
    first.iter().for_each(|body| thread.apply(body));
    assert!(checkpoint("b", Some("a")).events(&thread, &given("1")).is_ok());
    assert_eq!(checkpoint("b", Some("a")).events(&thread, &given("2")).map(drop), missing);
}

#[test]
fn what_depends_on_an_erased_event_is_lost_until_it_is_set_again() {
    let engine = Engine::in_memory(Options::default()).unwrap();
    let task = engine.start_task("t", "ana").unwrap();
    let mut thread = Thread::default();
    let mut offsets = Vec::new();
    for (at, items) in
        [vec!["a"], vec!["a", "b"], vec!["a", "b", "c"], vec!["z"]].iter().enumerate()
    {
        let items: Vec<Vec<u8>> = items.iter().map(|one| text(one)).collect();
        let given =
            [Given { name: "m".into(), version: at.to_string(), value: Some(list(&items).into()) }];
        let events = checkpoint(&at.to_string(), None).events(&thread, &given).unwrap();
        events.iter().for_each(|body| thread.apply(body));
        let is_ours = |body: &Body| matches!(body, Body::Application(_));
        let place = events.iter().position(is_ours).unwrap() as u64;
        let appended = task.append(Append::batch(events)).unwrap();
        offsets.push((appended.first + place, appended.head.next));
    }
    engine.retention().erase(&task.point(offsets[1].0).unwrap(), None).unwrap();
    let value = |at: usize| {
        let point = task.point(offsets[at].1).unwrap();
        engine.state(&ThreadReducer, &point).unwrap().value("m")
    };
    assert_eq!(value(0), Some(Ok(list(&[text("a")]))));
    assert_eq!(value(2), Some(Err(Lost)));
    assert_eq!(value(3), Some(Ok(list(&[text("z")]))));
    let point = task.point(offsets[2].1).unwrap();
    let lost = engine.state(&ThreadReducer, &point).unwrap();
    assert_eq!(lost.channels["m"].content, Content::Lost);
    assert_eq!(ThreadReducer.decode(&ThreadReducer.encode(&lost).unwrap()).unwrap(), lost);
}

/// The bytes of an event, as stores have them. A change needs a new version of the form.
#[test]
fn the_bytes_of_an_event_stay_the_same() {
    let mut thread = Thread::default();
    let given = |version: &str, items: &[Vec<u8>]| {
        let list =
            Given { name: "m".into(), version: version.into(), value: Some(list(items).into()) };
        let whole = Given {
            name: "n".into(),
            version: "7".into(),
            value: Some(Typed::new("null", &[]).into()),
        };
        [list, whole]
    };
    let events = checkpoint("a", None).first_events(&given("1", &[text("x")])).unwrap();
    events.iter().for_each(|body| thread.apply(body));
    let second = checkpoint("b", Some("a")).events(&thread, &given("2", &[text("x"), text("y")]));
    let hex = |events: &[Body]| {
        let bytes = events.iter().find_map(|body| match body {
            Body::Application(Application { data: Data::Bytes(bytes), .. }) => Some(bytes),
            _ => None,
        });
        data_encoding::HEXLOWER.encode(bytes.unwrap())
    };
    assert_eq!(
        hex(&events),
        concat!(
            "01",
            "0161",
            "00",
            "01",
            "076d73677061636b02a161",
            "076d73677061636b0180",
            "02",
            "05016d01310102a178",
            "03016e0137046e756c6c00",
        )
    );
    assert_eq!(
        hex(&second.unwrap()),
        concat!(
            "01",
            "0162",
            "010161",
            "00",
            "076d73677061636b02a162",
            "076d73677061636b0180",
            "01",
            "04016d01310132010102a179",
        )
    );
    let state = data_encoding::HEXLOWER.encode(&ThreadReducer.encode(&thread).unwrap());
    assert_eq!(
        state,
        concat!(
            "01",
            "0161",
            "00",
            "076d73677061636b02a161",
            "076d73677061636b0180",
            "02",
            "016d0131020102a178",
            "016e013701046e756c6c00",
        )
    );
}
