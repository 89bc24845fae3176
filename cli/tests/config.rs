//! Configuration of the service: a file, the environment, flags.

use serde_json::{Value, json};

use crate::common::Place;

const FILE: &str = r#"
listen = "127.0.0.1:1111"
keep_count = 3

[limits]
body = "1 MiB"
drain = "5s"

[log]
level = "warn"
"#;

/// `config check` of a file's text, with these variables and flags.
fn check(text: &str, variables: &[(&str, &str)], flags: &[&str]) -> Result<Value, String> {
    let place = Place::new();
    let file = place.path("milepost.toml");
    std::fs::write(&file, text).unwrap();
    let mut args = vec!["--json", "config", "check", "--config", file.to_str().unwrap()];
    args.extend(flags);
    let mut command = place.command(&args);
    command.envs(variables.iter().copied());
    let output = command.output().unwrap();
    match output.status.success() {
        true => Ok(serde_json::from_slice(&output.stdout).unwrap()),
        false => Err(String::from_utf8(output.stderr).unwrap()),
    }
}

#[test]
fn flags_stand_over_the_environment_over_the_file_over_what_holds_else() {
    let variables = [("MILEPOST_LISTEN", "127.0.0.1:2222"), ("MILEPOST_LOG_LEVEL", "error")];
    let found = check(FILE, &variables, &["--listen", "127.0.0.1:3333"]).unwrap();
    let of = |key: &str| found[key].clone();
    let flag = json!({"value": "127.0.0.1:3333", "from": "the flag --listen"});
    assert_eq!(of("listen"), flag);
    let variable = json!({"value": "error", "from": "the variable MILEPOST_LOG_LEVEL"});
    assert_eq!(of("log.level"), variable);
    assert_eq!(of("limits.body")["value"], "1 MiB");
    assert!(of("keep_count")["from"].as_str().unwrap().contains("milepost.toml"));
    assert_eq!(of("limits.streams"), json!({"value": "2048", "from": "the default"}));
}

#[test]
fn what_is_not_known_is_refused_with_the_name_that_was_meant() {
    for (text, variables, meant) in [
        ("listne = \"127.0.0.1:1\"", vec![], "`listen`"),
        ("[limits]\nbodies = 1", vec![], "`limits.body`"),
        ("[limit]\nbody = 1", vec![], "limits."),
        ("", vec![("MILEPOST_LIMIT_BODY", "1")], "`MILEPOST_LIMITS_BODY`"),
    ] {
        let said = check(text, &variables, &[]).unwrap_err();
        assert!(said.contains("is not known") && said.contains(meant), "{said}");
    }
}

#[test]
fn a_value_that_is_none_is_refused_with_its_place() {
    for (text, flags, place) in [
        ("listen = 7733", vec![], "milepost.toml"),
        ("keep_count = -1", vec![], "milepost.toml"),
        ("[limits]\nbody = \"1 MB\"", vec![], "`limits.body`"),
        ("[limits]\ndrain = \"0s\"", vec![], "`limits.drain`"),
        ("[log]\nlevel = [1]", vec![], "`log.level`"),
        ("[limits]\nheader = \"4 KiB\"", vec![], "8 KiB to 1 MiB"),
        ("[limits]\nread_timeout = 0", vec![], "`limits.read_timeout`"),
        ("[limits]\nconnections = 0", vec![], "`limits.connections`"),
        ("[cors]\norigins = [\"*\"]", vec![], "`cors.origins`"),
        ("[cors]\norigins = [1]", vec![], "`cors.origins`"),
        ("[cors]\norigins = \"https://a.example\"", vec![], "type string"),
        ("[cors]\norigins = [\"https://a.example/\"]", vec![], "https://a.example/"),
        ("[tls]\ncertificate = \"a.pem\"", vec![], "`tls.key` is not"),
        ("[tls]\nkey = \"a.pem\"", vec![], "`tls.certificate` is not"),
        (
            "listen = \"unix:x\"\n[tls]\ncertificate = \"a\"\nkey = \"b\"",
            vec![],
            "which has no TLS",
        ),
        ("", vec!["--listen", "unix:"], "the flag --listen"),
        ("limits = 1", vec![], "`limits`"),
        ("listen = ", vec![], "no TOML"),
        ("", vec!["--listen", "nowhere"], "the flag --listen"),
        ("read_only = \"true\"", vec![], "type string"),
        ("read_only = 1", vec![], "`true` or `false`"),
        ("keep_count = true", vec![], "type boolean"),
        ("", vec!["--keep-count", "1000001"], "the flag --keep-count"),
    ] {
        let said = check(text, &[], &flags).unwrap_err();
        assert!(said.contains(place), "{text}: {said}");
    }
}

#[test]
fn origins_are_a_list_in_a_file_and_stand_between_commas_in_the_environment() {
    let text = "[cors]\norigins = [\"https://a.example\", \"http://localhost:3000\"]";
    let found = check(text, &[], &[]).unwrap();
    let both = "https://a.example,http://localhost:3000";
    assert_eq!(found["cors.origins"]["value"], both);
    let variables = [("MILEPOST_CORS_ORIGINS", "https://b.example, https://c.example")];
    let found = check(text, &variables, &[]).unwrap();
    let from = "the variable MILEPOST_CORS_ORIGINS";
    assert_eq!(found["cors.origins"]["from"], from);
    let said = check("", &[("MILEPOST_CORS_ORIGINS", "https://b.example,*")], &[]);
    assert!(said.unwrap_err().contains("`cors.origins`"));
}

#[test]
fn a_switch_is_true_or_false_in_a_file_and_a_flag_without_a_value() {
    let said = |value: &str, from: &str| json!({"value": value, "from": from});
    let found = check("", &[("MILEPOST_PAGER", "cat")], &[]).unwrap();
    assert_eq!(found["read_only"], said("false", "the default"));
    assert_eq!(check("read_only = true", &[], &[]).unwrap()["read_only"]["value"], "true");
    let found = check("read_only = false", &[], &["--read-only"]).unwrap();
    assert_eq!(found["read_only"], said("true", "the flag --read-only"));
    assert_eq!(
        check("", &[], &["--no-page"]).unwrap()["page"],
        said("false", "the flag --no-page")
    );
    let found = check("", &[("MILEPOST_READ_ONLY", "true")], &[]).unwrap();
    assert_eq!(found["read_only"], said("true", "the variable MILEPOST_READ_ONLY"));
}

#[test]
fn what_has_to_do_with_connections_is_set_like_everything_else() {
    let text =
        "listen = \"unix:/run/milepost\"\n[limits]\nheader = \"8 KiB\"\nread_timeout = \"5s\"";
    let found = check(text, &[("MILEPOST_LIMITS_CONNECTIONS", "7")], &[]).unwrap();
    let of = |key: &str| found[key]["value"].clone();
    assert_eq!(of("listen"), "unix:/run/milepost");
    assert_eq!(of("limits.header"), "8 KiB");
    assert_eq!(of("limits.read_timeout"), "5s");
    assert_eq!(of("limits.connections"), "7");
    let tls = "[tls]\ncertificate = \"a\"\nkey = \"b\"";
    assert_eq!(check(tls, &[], &[]).unwrap()["tls.key"]["value"], "b");
}
