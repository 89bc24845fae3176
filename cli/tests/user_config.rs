//! The configuration of the user: options that are added to commands, and aliases.

use crate::common::{Place, Ran};

/// Runs a line with a configuration.
fn with(place: &Place, config: &str, line: &str) -> Ran {
    let file = place.path("config.toml");
    std::fs::write(&file, config).unwrap();
    let mut command = place.command(line.split(' '));
    Ran::of(command.env("MILEPOST_USER_CONFIG", &file).output().unwrap())
}

#[test]
fn an_option_of_the_file_holds_until_the_command_line_says_otherwise() {
    let place = Place::recorded();
    let config = "[log]\nutc = true\nlast = 2\n";
    let out = with(&place, config, "log run").ok();
    assert_eq!(out, place.say("log run --utc -n 2").ok());
    assert_eq!(with(&place, config, "log run -n 1").ok(), place.say("log run --utc -n 1").ok());
    // Other commands have none.
    assert_eq!(with(&place, config, "lineages run").ok(), place.say("lineages run").ok());
}

#[test]
fn an_alias_is_a_command_with_its_arguments() {
    let place = Place::recorded();
    let config = "[alias]\nlast = \"log --utc -n 1\"\n";
    assert_eq!(with(&place, config, "last run").ok(), place.say("log run --utc -n 1").ok());
    let listed = with(&place, config, "config list").ok();
    assert!(listed.contains("alias last = log --utc -n 1"), "{listed}");
}

#[test]
fn a_wrong_file_is_named_with_its_fault_and_the_way_out() {
    let place = Place::recorded();
    let ran = with(&place, "[log]\nutcc = true\n", "log run");
    ran.failed(1, "config.toml has `utcc` of `log`: no such option");
    assert!(ran.err.contains("MILEPOST_USER_CONFIG= milepost"), "{ran:?}");
    with(&place, "[log]\nutcc = true\n", "log run --json").failed(1, "no such option");
}

#[test]
fn the_file_is_in_the_configuration_folder_of_the_user() {
    let place = Place::recorded();
    let folder = place.path("config/milepost");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), "[log]\nutc = true\n").unwrap();
    let mut command = place.command(["config", "list", "--json"]);
    command.env_remove("MILEPOST_USER_CONFIG").env("XDG_CONFIG_HOME", place.path("config"));
    let listed: serde_json::Value =
        serde_json::from_str(&Ran::of(command.output().unwrap()).ok()).unwrap();
    assert_eq!(listed["defaults"]["log"][0], "--utc");
    assert!(place.say("config list").out.contains("no defaults"));
}

#[test]
fn the_store_of_the_environment_takes_precedence_over_that_of_the_file() {
    let place = Place::recorded();
    let config = format!("[everywhere]\nstore = \"{}\"\n", place.path("other").display());
    let file = place.write("config.toml", config);
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_milepost"));
    command.args(["lineages", "run"]).env("MILEPOST_STORE", place.store());
    let out = Ran::of(command.env("MILEPOST_USER_CONFIG", &file).output().unwrap()).ok();
    assert_eq!(out, place.say("lineages run").ok());
}
