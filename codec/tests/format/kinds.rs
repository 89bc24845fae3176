//! Enumerations and the JSON form of `docs/FORMAT.md`, beyond the golden values.

use milepost_codec::{
    ActivationCause, Application, Body, Data, ErrorKind, Extra, JSON_DEPTH_MAX, Json, LineageType,
    MarkCause, MarkStatus, Message, PatchForm, RestoreOutcome, RunControl, Scope,
};

/// Position and JSON name of each value.
macro_rules! positions {
    ($($type:ident: $($value:ident $name:literal)*;)*) => {$(
        let names = [$($name),*];
        for (position, value) in [$($type::$value),*].into_iter().enumerate() {
            assert_eq!(value as usize, position, "{value:?}");
            let json = serde_json::to_string(&value).unwrap();
            assert_eq!(json, format!("\"{}\"", names[position]));
        }
    )*};
}

#[test]
fn every_enumeration_keeps_its_positions_and_names() {
    positions! {
        LineageType: Root "root" Automatic "automatic" Manual "manual" Restore "restore"
            Rollback "rollback" Branch "branch";
        RunControl: Idle "idle" Running "running" Paused "paused" Stopped "stopped";
        PatchForm: Merge "merge" Patch "patch";
        MarkCause: Manual "manual" Step "step" Idle "idle" BeforeTool "before_tool"
            BeforeRestore "before_restore" Imported "imported";
        MarkStatus: Success "success" Failure "failure";
        Scope: All "all" State "state" Files "files";
        ActivationCause: Opened "opened" Restored "restored" Undone "undone" Chosen "chosen";
        RestoreOutcome: Done "done" Undone "undone" GivenUp "given_up";
    }
}

#[test]
fn a_position_that_does_not_exist_is_corrupt() {
    // A control change from a fifth control, and a mark of a seventh cause.
    assert_eq!(Body::decode(6, &[4, 0, 0]).unwrap_err().kind(), ErrorKind::Corrupt);
    assert_eq!(Body::decode(17, &[0, 0, 0, 6, 0, 0, 0]).unwrap_err().kind(), ErrorKind::Corrupt);
}

#[test]
fn absent_fields_have_the_documented_values() {
    for (short, long) in [
        (
            r#"{"kind":"tool_returned","call":"c"}"#,
            r#"{"kind":"tool_returned","call":"c","ok":true}"#,
        ),
        (
            r#"{"kind":"variables_patched","patch":{}}"#,
            r#"{"kind":"variables_patched","form":"merge","patch":{}}"#,
        ),
        (
            r#"{"kind":"checkpoint_marked"}"#,
            r#"{"kind":"checkpoint_marked","cause":"manual","status":"success"}"#,
        ),
        (
            r#"{"kind":"step_finished","step":1,"result":null}"#,
            r#"{"kind":"step_finished","step":1}"#,
        ),
    ] {
        assert_eq!(Body::from_json(short).unwrap().to_json().unwrap(), long);
    }
}

#[test]
fn a_kind_that_is_known_from_elsewhere_is_said_once_more_at_most_and_the_same() {
    let read = |kind: &str, text: &str| {
        let body = Body::from_json_of(kind, text).map_err(|e| e.to_string());
        body.map(|body| body.map(|body| body.to_json().unwrap()))
    };
    let shown = r#"{"kind":"step_started","step":1}"#;
    for text in [r#"{"step":1}"#, shown, " {\"step\": 1, \"kind\":\"step_started\"}\n"] {
        assert_eq!(read("step_started", text), Ok(Some(shown.into())), "{text}");
    }
    assert_eq!(read("step_strated", shown), Ok(None));
    for (text, why) in [
        (r#"{"kind":"step_failed","step":1}"#, "that of `body` is `step_failed`"),
        (r#"{"kind":"step_started","kind":"step_failed","step":1}"#, "more than one `kind`"),
        (r#"{"kind":1,"step":1}"#, "not a string"),
        (r#"{"step":1,"stop":2}"#, "no field `stop`"),
        (r#"[1]"#, "no object"),
        ("1", "no object"),
        ("", "no object"),
        (r#"{"step":1"#, "EOF"),
    ] {
        let error = read("step_started", text).unwrap_err();
        assert!(error.contains(why), "{text}: {error}");
    }
    let said = r#"{"role":"user","content":"hi","kind":"message","score":1}"#;
    let extra = r#"{"kind":"message","role":"user","content":"hi","score":1}"#;
    assert_eq!(read("message", said), Ok(Some(extra.into())));
}

#[test]
fn an_object_of_base64_alone_is_bytes_where_data_is_read() {
    let read = |data: &str| {
        let line = format!(r#"{{"kind":"application","name":"a","data":{data}}}"#);
        let Body::Application(app) = Body::from_json(&line).unwrap() else { panic!("{line}") };
        app.data
    };
    let json = |text: &str| Data::Json(Json::new(text).unwrap());
    assert_eq!(read(r#"{"base64":"AP8="}"#), Data::Bytes(vec![0, 255]));
    for text in [r#"{"base64":"AP8"}"#, r#"{"base64":"AP8=","n":1}"#, r#"{"base64":7}"#, "null"] {
        assert_eq!(read(text), json(text));
    }
}

#[test]
fn an_unknown_body_shown_in_json_is_read_as_an_application_event() {
    let shown = Body::decode(9999, &[1, 2, 3]).unwrap().to_json().unwrap();
    let data = Data::Json(Json::new(shown.as_str()).unwrap());
    let app = Application { name: "unknown".into(), data };
    assert_eq!(Body::from_json(&shown).unwrap(), Body::Application(app));
}

/// The JSON form of a body is a level deeper than its content, and was once refused for that.
#[test]
fn what_nests_as_deep_as_it_may_goes_through_json() {
    let depth = JSON_DEPTH_MAX as usize;
    let deep = Json::new("[".repeat(depth) + &"]".repeat(depth)).unwrap();
    let body = Body::Application(Application { name: "a".into(), data: Data::Json(deep) });
    assert_eq!(Body::from_json(&body.to_json().unwrap()).unwrap(), body);
    let deeper = format!(
        r#"{{"kind":"application","name":"a","data":{}{}}}"#,
        "[".repeat(depth + 1),
        "]".repeat(depth + 1)
    );
    assert_eq!(Body::from_json(&deeper).unwrap_err().kind(), ErrorKind::Invalid);
}

#[test]
fn extra_fields_keep_their_order_their_text_and_their_names() {
    let line = concat!(
        r#"{"kind":"message","role":"user","name":"n","#,
        r#""z":1.0,"":[ 1 ],"a.b":"\u00e9","extra":{"x":1e400},"kind2":null}"#
    );
    let body = Body::from_json(line).unwrap();
    let Body::Message(Message { extra: Some(Extra(extra)), .. }) = &body else { panic!("{line}") };
    assert!(extra.text().starts_with(r#"{"z":1.0,"":[ 1 ],"a.b":"\u00e9","extra":"#));
    assert_eq!(body.to_json().unwrap(), line);
}
